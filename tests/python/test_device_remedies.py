# SPDX-License-Identifier: BSD-3-Clause
"""The remedies of test_remedies.py for memory of devices, on the simulated drivers."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

import device_extension
import dlbridge
import foreign
import plain_device_extension
from device_arrays import DEFAULTS, NAMES, TYPES, DeviceArray
from simulated import Driver

BYTES = np.arange(4, dtype=np.uint8)
CAPTURES = {
    "cuda": ("cuStreamBeginCapture_v2", "cuStreamEndCapture"),
    "hip": ("hipStreamBeginCapture", "hipStreamEndCapture"),
}


@pytest.fixture(params=["cuda", "hip"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def name(driver: Driver, device: int = 0) -> str:
    return f"{NAMES[driver.kind]}:{device}"


def refused(advice: str, call: Any) -> None:
    with pytest.raises(Exception) as raised:
        call()
    assert advice in str(raised.value)


def test_values_on_a_device(driver: Driver) -> None:
    t = dlbridge.from_dlpack(BYTES, device=name(driver))
    one = t[1:2]
    refused("Copy it first, with t.to('cpu')", lambda: t.tolist())
    assert t.to("cpu").tolist() == [0, 1, 2, 3]
    refused("Copy it first, with t.to('cpu').numpy()", lambda: t.numpy())
    assert t.to("cpu").numpy().tolist() == [0, 1, 2, 3]
    refused("compare a copy on the CPU, as t.to('cpu').numpy() == x", lambda: t == 1)
    assert (t.to("cpu").numpy() == 1).tolist() == [False, True, False, False]
    refused("Copy it to the host first", lambda: memoryview(t))
    assert bytes(memoryview(t.to("cpu"))) == BYTES.tobytes()
    refused("Copy it first, with t.to('cpu')", lambda: bool(one))
    assert bool(one.to("cpu"))
    refused("Copy it first, with from_dlpack(t, device='cpu')", lambda: pickle.dumps(one))
    assert pickle.dumps(dlbridge.from_dlpack(one, device="cpu"))


def test_a_device_that_the_runtime_lacks(driver: Driver) -> None:
    refused(
        "Pass a device that the runtime has",
        lambda: dlbridge.from_dlpack(BYTES, device=name(driver, 9)),
    )
    t = dlbridge.from_dlpack(BYTES, device=name(driver, 1))
    assert t.to("cpu").tolist() == BYTES.tolist()


def test_a_forbidden_move(driver: Driver) -> None:
    advice = "Leave copy= out if a copy is acceptable"
    refused(advice, lambda: dlbridge.from_dlpack(BYTES, device=name(driver), copy=False))
    assert dlbridge.from_dlpack(BYTES, device=name(driver)).device == name(driver)


def test_a_move_between_runtimes() -> None:
    for kind in ("cuda", "hip"):
        Driver(kind).reset()
    t = dlbridge.from_dlpack(BYTES, device="cuda:0")
    advice = "Move the tensor with a library that works on both devices"
    refused(advice, lambda: t.to("rocm:0"))
    assert t.to("cpu").to("rocm:0").to("cpu").tolist() == BYTES.tolist()


def test_the_integer_of_a_default_stream(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    advice, wrong = {
        "cuda": ("For the default stream pass 1 (legacy) or 2 (per thread)", 0),
        "hip": ("For the default stream pass 0", 1),
    }[driver.kind]
    refused(advice, lambda: dlbridge.from_dlpack(x, stream=wrong))
    for right in (1, 2) if driver.kind == "cuda" else (0,):
        assert dlbridge.from_dlpack(x, stream=right).shape == (4,)


def test_no_order_by_an_object(driver: Driver) -> None:
    class NoOrder:
        handle = -1

    x = DeviceArray(driver.buffer(4), driver.stream())
    advice = "For no order pass the integer -1 itself"
    refused(advice, lambda: dlbridge.from_dlpack(x, stream=NoOrder()))
    pending = driver.pending
    assert dlbridge.from_dlpack(x, stream=-1).shape == (4,)
    assert driver.pending == pending


def test_a_pointer_of_another_device(driver: Driver) -> None:
    buffer = driver.buffer(4)
    advice = "Pass device= as the driver of the memory reports it"
    other = name(driver, 1)
    refused(advice, lambda: dlbridge.from_pointer(buffer.address, 4, "uint8", device=other))
    buffer.poke(BYTES.tobytes())
    t = dlbridge.from_pointer(buffer.address, 4, "uint8", device=name(driver))
    assert t.to("cpu").tolist() == BYTES.tolist()


def test_the_stream_of_a_use_of_foreign_memory(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    ours = driver.stream()
    t: Any = dlbridge.from_dlpack(x, stream=ours.handle)
    advice = (
        "Order the owner's stream after yours before you drop the tensor, or use the record_stream "
        "of its library"
    )
    refused(advice, lambda: t.record_stream(ours.handle))
    ours.read(x.buffer)
    x.stream.wait_for(ours)
    t = None
    x.stream.write(x.buffer, 7)
    assert driver.races == []


def test_memory_of_a_device_that_runs_out(driver: Driver) -> None:
    large = np.arange(1000, dtype=np.uint8)
    kept = dlbridge.from_dlpack(large, device=name(driver))
    driver.limit_memory(2 * large.nbytes - 1)
    advice = "Free device memory, or transfer the tensor in smaller pieces"
    refused(advice, lambda: dlbridge.from_dlpack(large, device=name(driver)))
    piece = dlbridge.from_dlpack(large[:500], device=name(driver))
    assert piece.to("cpu").tolist() == large[:500].tolist()
    del kept, piece
    assert dlbridge.from_dlpack(large, device=name(driver)).to("cpu").tolist() == large.tolist()


def test_a_captured_stream(driver: Driver) -> None:
    begin, end = CAPTURES[driver.kind]
    x = DeviceArray(driver.buffer(4), driver.stream())
    theirs = driver.stream()
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    advice = (
        "Exchange tensors before the capture begins, or pass stream=-1 and order the streams "
        "yourself"
    )
    graph = ctypes.c_void_p()
    driver.call(begin, theirs.handle, 1)
    refused(advice, lambda: t.__dlpack__(stream=theirs.handle))
    assert foreign.consume(t.__dlpack__(stream=-1)).data == t.data_ptr
    driver.call(end, theirs.handle, ctypes.byref(graph))
    exchanged = t.__dlpack__(stream=theirs.handle)  # before the next capture
    driver.call(begin, theirs.handle, 1)
    assert foreign.consume(exchanged).data == t.data_ptr
    driver.call(end, theirs.handle, ctypes.byref(graph))


def test_waiting_for_a_captured_stream(driver: Driver) -> None:
    begin, end = CAPTURES[driver.kind]
    ours = driver.stream()
    t = dlbridge.from_dlpack(DeviceArray(driver.buffer(4), driver.stream()), stream=ours.handle)
    driver.call(begin, ours.handle, 1)
    advice = "Captured operations have not run yet: wait after launching the graph"
    refused(advice, lambda: t.synchronize())
    driver.call(end, ours.handle, ctypes.byref(ctypes.c_void_p()))
    t.synchronize()


def test_a_stream_that_was_destroyed(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    gone, alive = driver.stream(), driver.stream()
    t = dlbridge.from_dlpack(x)
    gone.destroy()
    advice = {
        "cuda": "A stream must belong to this runtime, and must exist until the call returns",
        "hip": "A stream and its context must exist until the call returns. A reset of the device "
        "destroys both",
    }[driver.kind]
    refused(advice, lambda: t.__dlpack__(stream=gone.handle))
    assert foreign.consume(t.__dlpack__(stream=alive.handle)).data == t.data_ptr


def test_an_array_that_has_moved(driver: Driver) -> None:
    ours, theirs = driver.stream(), driver.stream()
    buffer = driver.buffer(4)
    x = device_extension.MovingArray(buffer.address, ours.handle, TYPES[driver.kind])
    device_extension.call_meanwhile(lambda: x.move(buffer.address, 1))
    advice = "The array has moved; export it again"
    refused(advice, lambda: x.__dlpack__(stream=theirs.handle))
    x.move(buffer.address, 0)
    assert foreign.consume(x.__dlpack__(stream=theirs.handle)).data == buffer.address


def test_a_result_where_no_library_allocates(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    advice = "For the author: take the result as an argument of its own"
    refused(advice, lambda: device_extension.like(x))
    out = DeviceArray(driver.buffer(4), driver.stream())
    assert device_extension.into(x, out) == out.buffer.address


def test_a_device_number_of_another_machine(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream(), device=9)
    x.buffer.poke(BYTES.tobytes())
    stream = DEFAULTS[driver.kind]
    advice = "Pass a device that the runtime has; ordinals start at 0"
    refused(advice, lambda: dlbridge.from_dlpack(x, stream=stream).to("cpu"))
    x.device = 0
    assert dlbridge.from_dlpack(x, stream=stream).to("cpu").tolist() == BYTES.tolist()


def test_an_extension_without_the_streams_of_devices() -> None:
    driver = Driver("cuda")  # DLPack has no managed memory of ROCm
    driver.reset()
    x = DeviceArray(driver.buffer(4, "managed"), driver.stream())
    x.buffer.poke(BYTES.tobytes())
    advice = (
        "Its author calls dlbridge::use_devices() where the module is made; until then pass "
        "stream=-1 and order the streams yourself"
    )
    refused(advice, lambda: plain_device_extension.read_host(x))
    assert device_extension.read_host(x) == BYTES.tobytes()
    x.stream.synchronize()
    unordered = dlbridge.from_dlpack(x, stream=-1)
    assert plain_device_extension.read_host(unordered) == BYTES.tobytes()
    assert driver.races == []
