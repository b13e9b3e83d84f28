# SPDX-License-Identifier: BSD-3-Clause
"""Tensors as arguments of extension functions, and as the value of stream=: their stream is that of
the Tensor, on which the elements are ready, so that no other stream waits, nor the host."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import pytest

import device_extension
import dlbridge
import plain_device_extension
from device_arrays import DEFAULTS, NAMES, DeviceArray
from simulated import Buffer, Driver

CAPTURES = {
    "cuda": ("cuStreamBeginCapture_v2", "cuStreamEndCapture"),
    "hip": ("hipStreamBeginCapture", "hipStreamEndCapture"),
}
MODULES = [device_extension, plain_device_extension]


def test_results_compile_no_kernels_of_copies() -> None:
    """An extension that returns tensors has the kernels only if it calls use_devices."""
    has = [b"copy_elements" in Path(str(module.__file__)).read_bytes() for module in MODULES]
    assert has == [True, False]


@pytest.fixture(params=["cuda", "hip"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def tensor_on(driver: Driver, stream: Any, memory: str = "device") -> tuple[Any, Buffer]:
    if (driver.kind, memory) == ("hip", "managed"):
        pytest.skip("DLPack has no device type for it")
    suffix = {"device": "", "pinned": "_host", "managed": "_managed"}[memory]
    buffer = driver.buffer(4, memory)
    device = NAMES[driver.kind] + suffix
    t = dlbridge.from_pointer(buffer.address, 4, "uint8", device=device, stream=stream)
    return t, buffer


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("memory", ["device", "managed"])
def test_no_other_stream_waits(driver: Driver, memory: str, module: Any) -> None:
    ours = driver.stream()
    t, buffer = tensor_on(driver, ours.handle, memory)
    for argument, address in ((t, t.data_ptr), (t[1:], t.data_ptr + 1)):
        ours.write(buffer, 7)
        pending, calls = driver.pending, driver.call_count()
        assert module.stream_of(argument) == ours.handle
        assert module.address_of(argument) == address
        assert (driver.pending, driver.call_count()) == (pending, calls)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("memory", ["device", "managed"])
def test_a_captured_stream(driver: Driver, memory: str, module: Any) -> None:
    ours = driver.stream()
    t, _ = tensor_on(driver, ours.handle, memory)
    begin, end = CAPTURES[driver.kind]
    driver.call(begin, ours.handle, 2)
    try:
        assert module.stream_of(t) == ours.handle
        assert module.address_of(t) == t.data_ptr
    finally:
        driver.call(end, ours.handle, ctypes.byref(ctypes.c_void_p()))


@pytest.mark.parametrize("module", MODULES)
def test_pinned_memory_is_ready_for_the_host(driver: Driver, module: Any) -> None:
    """A function may read it where it is, as DLPack has no stream for it."""
    for function in (module.address_of, module.stream_of, module.read_host):
        ours = driver.stream()
        t, buffer = tensor_on(driver, ours.handle, "pinned")
        ours.write(buffer, 7)
        function(t)
        assert buffer.peek() == b"\7\7\7\7"
    assert driver.races == []


@pytest.mark.parametrize("module", MODULES)
def test_the_per_thread_stream_of_another_thread(module: Any) -> None:
    """Its handle means another stream here. The default stream waits for it."""
    driver = Driver("cuda")
    driver.reset()
    results: list[Any] = []

    def work() -> None:
        driver.select(0)
        t, buffer = tensor_on(driver, 2)
        driver.default_stream(2).write(buffer, 7)
        results.extend([t, buffer, module.stream_of(t)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    t, buffer, there = results
    assert (there, module.stream_of(t)) == (2, 1)
    driver.default_stream(1).read(buffer)
    assert driver.races == []


@pytest.mark.parametrize("memory", ["device", "managed", "pinned"])
def test_a_tensor_names_its_stream(driver: Driver, memory: str) -> None:
    ours = driver.stream()
    t, _ = tensor_on(driver, ours, memory)
    x = DeviceArray(driver.buffer(4), driver.stream())
    x.stream.write(x.buffer, 7)
    u: Any = dlbridge.from_dlpack(x, stream=t)
    assert [each["stream"] for each in x.requests] == [ours.handle]
    assert device_extension.stream_of(u) == ours.handle
    u.__dlpack__(stream=t)
    ours.read(x.buffer)
    assert driver.races == []


def test_a_tensor_without_a_stream_of_the_device_is_refused(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    other = {"cuda": "hip", "hip": "cuda"}[driver.kind]
    there = dlbridge.from_pointer(4096, 4, "uint8", device=NAMES[other], stream=DEFAULTS[other])
    for t in (dlbridge.empty(4, "uint8"), there):
        if t is there and other == "cuda":
            continue  # it has __cuda_stream__, whose handle states no runtime
        with pytest.raises(ValueError, match="stream"):
            dlbridge.from_dlpack(x, stream=t)


def test_a_function_of_arrays_of_a_gpu() -> None:
    """The work is enqueued on the stream of the argument, and the function does not wait."""
    driver = Driver("cuda")
    driver.reset()
    ours, theirs = driver.stream(), driver.stream()
    buffers = driver.buffer(16), driver.buffer(16)
    x, out = (
        dlbridge.from_pointer(buffer.address, 4, "float32", device="cuda", stream=stream.handle)
        for buffer, stream in zip(buffers, (ours, theirs))
    )
    ours.write(buffers[0], 7)
    theirs.write(buffers[1], 9)
    pending = driver.pending
    # [gpu_out]
    assert device_extension.filtered_into(x, out) is out
    # [/gpu_out]
    assert driver.pending > pending
    theirs.read(buffers[1])
    theirs.synchronize()
    assert buffers[1].peek() == b"\7" * 16
    assert driver.races == []
    with pytest.raises(BufferError):  # the library of a Tensor has no allocator for a GPU
        device_extension.filtered(x)
    with pytest.raises(TypeError, match=r"argument 'x': expected .* on cuda.*; got .* on cpu"):
        device_extension.filtered(dlbridge.empty(4, "float32"))
