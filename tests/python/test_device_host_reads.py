# SPDX-License-Identifier: BSD-3-Clause
"""The host reads managed memory, to which a stream still writes: it waits for that stream first."""

from __future__ import annotations

import pickle
import sys
from typing import Any, Callable

import numpy as np
import pytest

import device_extension
import dlbridge
import foreign
import plain_device_extension
from device_arrays import DeviceArray
from simulated import Buffer, Driver, Stream

NEW = b"\7\7\7\7"


def out_of_band(t: Any) -> bytes:
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    return bytes(buffers[0])


def copied(t: Any) -> bytes:
    return foreign.consume(t.__dlpack__(copy=True, dl_device=(1, 0))).tobytes()


class OnlyInterface:
    """Passes the array interface of a Tensor on."""

    def __init__(self, t: Any) -> None:
        self.__array_interface__ = t.__array_interface__


# How the host reads a Tensor in managed memory, without a stream of its own.
READS: dict[str, Callable[[Any], bytes]] = {
    "memoryview": lambda t: bytes(memoryview(t)),
    "numpy.asarray": lambda t: np.asarray(t).tobytes(),
    "numpy.from_dlpack": lambda t: np.from_dlpack(t).tobytes(),
    "__array__": lambda t: t.__array__().tobytes(),
    "tolist": lambda t: bytes(t.view("uint8").ravel().tolist()),
    "item": lambda t: bytes(each.item() for each in t.view("uint8").ravel()),
    "tobytes": lambda t: t.tobytes(),
    "a view": lambda t: bytes(memoryview(t.reshape(-1, 1).T[:, ::-1][..., None])),
    "__array_interface__": lambda t: np.asarray(OnlyInterface(t)).tobytes(),
    "pickle": lambda t: bytes(memoryview(pickle.loads(pickle.dumps(t)))),
    "pickle, out of band": out_of_band,
    "as the CPU's": lambda t: bytes(memoryview(dlbridge.from_dlpack(t, device="cpu"))),
    "a copy on the CPU": copied,
    "to_dlpack": lambda t: foreign.consume(dlbridge.to_dlpack(t)).tobytes(),
    "synchronize": lambda t: [t.synchronize(), bytes(memoryview(t.__array__()))][1],
    "extension, borrowed": device_extension.read_host,
    "extension, by a caster": device_extension.cast_host,
    "extension, owned": device_extension.own_host,
    "extension, overloaded": device_extension.overloaded,
    "extension without devices": plain_device_extension.read_host,
    "extension without devices, owned": plain_device_extension.own_host,
}


@pytest.fixture
def driver() -> Driver:
    driver = Driver("cuda")  # DLPack has no managed memory of ROCm
    driver.reset()
    return driver


def managed(driver: Driver, **fields: Any) -> DeviceArray:
    return DeviceArray(driver.buffer(4, "managed"), driver.stream(), **fields)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("stream", ["integer", "object", "legacy"])
def test_a_tensor(driver: Driver, read: str, stream: str) -> None:
    x = managed(driver)
    if stream == "legacy":
        x.stream = driver.default_stream(1)
    t = dlbridge.from_dlpack(x, stream=x.stream.handle if stream != "object" else x.stream)
    x.stream.write(x.buffer, 7)
    assert READS[read](t) == NEW
    assert driver.races == []


@pytest.mark.parametrize("kind", ["cuda", "hip"])
@pytest.mark.parametrize("stream", ["own", "default"])
def test_pinned_memory_with_a_named_stream(kind: str, stream: str) -> None:
    """DLPack has no stream for it, but the caller's stream writes to it."""
    driver = Driver(kind)
    driver.reset()
    default = driver.default_stream({"cuda": 1, "hip": 0}[kind])
    ours = default if stream == "default" else driver.stream()
    reads = (read for name, read in READS.items() if "without devices" not in name)
    for read in reads:
        x = DeviceArray(driver.buffer(4, "pinned"), driver.stream())
        t = dlbridge.from_dlpack(x, stream=ours.handle)
        assert "stream" not in x.requests[0]
        ours.write(x.buffer, 7)
        assert read(t) == NEW
        copied = dlbridge.from_dlpack(t, copy=True)
        ours.write(x.buffer, 8)
        shared = dlbridge.from_dlpack(t, stream=ours.handle)
        assert bytes(memoryview(shared)) == b"\x08\x08\x08\x08"
        assert bytes(memoryview(copied)) == NEW
    assert driver.races == []


def test_an_array_interface_of_pinned_memory(driver: Driver) -> None:
    ours = driver.stream()
    memory = driver.buffer(4, "pinned")

    class Described:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**memory.__cuda_array_interface__, "stream": ours.handle}

    t = dlbridge.as_tensor(Described())
    ours.write(memory, 7)
    assert bytes(memoryview(t)) == NEW
    assert driver.races == []


def test_a_wait_that_fails(driver: Driver) -> None:
    """No buffer is left, and the driver's error reaches the caller."""
    x = managed(driver)
    t: Any = dlbridge.from_dlpack(x, stream=x.stream.handle)
    references = sys.getrefcount(t)
    driver.fail_function("cuStreamSynchronize", 700)
    for read in (memoryview, np.asarray, pickle.dumps, dlbridge.Tensor.synchronize):
        with pytest.raises(RuntimeError, match="cuStreamSynchronize"):
            read(t)
    driver.clear_failures()
    assert sys.getrefcount(t) == references
    del t
    assert x.is_released


def test_the_truth_of_one_element(driver: Driver) -> None:
    x = managed(driver, shape=(1,), strides=(1,))
    t: Any = dlbridge.from_dlpack(x, stream=x.stream.handle)
    x.buffer.poke(b"\0\0\0\0")
    x.stream.write(x.buffer, 7)
    assert bool(t) is True
    assert driver.races == []


@pytest.mark.parametrize("read", [np.asarray, lambda t: t.__array__()])
def test_a_dtype_without_a_format(driver: Driver, read: Any) -> None:
    """NumPy reads bfloat16 through a second Tensor, with another dtype."""
    x = managed(driver, shape=(2,), strides=(1,), dtype=(4, 16, 1))
    t: Any = dlbridge.from_dlpack(x, stream=x.stream.handle)
    x.stream.write(x.buffer, 7)
    assert read(t).tobytes() == NEW
    assert driver.races == []


@pytest.mark.parametrize("function", ["read_host", "own_host", "cast_host", "overloaded"])
@pytest.mark.parametrize("module", [device_extension, plain_device_extension])
def test_an_argument_of_a_foreign_library(driver: Driver, module: Any, function: str) -> None:
    """The library orders the stream that it is asked for, or waits for a request of the CPU."""

    class Library(DeviceArray):
        def __dlpack__(self, **keywords: Any) -> object:
            if keywords.get("dl_device") == (1, 0):
                self.stream.synchronize()
                keywords = {"max_version": keywords["max_version"], "stream": -1}
            return super().__dlpack__(**keywords)

    x = Library(driver.buffer(4, "managed"), driver.stream())
    x.stream.write(x.buffer, 7)
    assert getattr(module, function)(x) == NEW
    assert driver.races == []
    assert x.is_released


def test_an_extension_without_devices_refuses_unordered_memory(driver: Driver) -> None:
    x = managed(driver)  # knows no dl_device
    with pytest.raises(TypeError, match=r"use_devices\(\)"):
        plain_device_extension.read_host(x)
    assert x.is_released


def test_a_written_argument(driver: Driver) -> None:
    """The host writes after the work that is on the stream."""
    x = managed(driver)
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    x.stream.write(x.buffer, 7)
    device_extension.write_host(t)
    x.stream.synchronize()
    assert x.buffer.peek() == b"\x09\7\7\7"


class CurrentStream:
    """A library whose arrays tell the stream on which it works."""

    def __init__(self, buffer: Buffer, stream: Stream) -> None:
        self.array = DeviceArray(buffer, stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.array.stream.handle)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> object:
        return self.array.__dlpack__(**keywords)


@pytest.mark.parametrize("kind", ["device", "managed"])
def test_the_stream_of_an_argument(driver: Driver, kind: str) -> None:
    """That of the library in place of the legacy default one, also while it is captured."""
    x = CurrentStream(driver.buffer(4, kind), driver.stream())
    t = dlbridge.from_dlpack(x.array, stream=x.array.stream.handle)
    for argument in (x, t):
        assert device_extension.stream_of(argument) == x.array.stream.handle
    x.array.requests.clear()
    waits = driver.call_count("cuStreamWaitEvent")
    device_extension.stream_of(x)
    assert [each["stream"] for each in x.array.requests] == [x.array.stream.handle]
    driver.call("cuStreamBeginCapture_v2", x.array.stream.handle, 2)
    for argument in (x, t):
        assert device_extension.stream_of(argument) == x.array.stream.handle
        assert device_extension.stream_by_overload(argument) == x.array.stream.handle
    graph = np.zeros(1, np.uintp)
    driver.call("cuStreamEndCapture", x.array.stream.handle, graph.ctypes)
    by_producer = len(x.array.requests)
    assert driver.call_count("cuStreamWaitEvent") == waits + by_producer


def test_the_stream_of_a_tensor(driver: Driver) -> None:
    ours = driver.stream()
    x = DeviceArray(driver.buffer(4), ours)
    t: Any = dlbridge.from_dlpack(x, stream=ours.handle)
    assert t.__cuda_stream__() == (0, ours.handle)
    assert dlbridge.from_dlpack(x).__cuda_stream__() == (0, 1)
    assert not hasattr(dlbridge.from_dlpack(np.zeros(2)), "__cuda_stream__")
    ours.write(x.buffer, 7)
    t.synchronize()
    assert (x.buffer.peek(), driver.counter("device_synchronizations")) == (NEW, 0)
    dlbridge.from_dlpack(np.zeros(2)).synchronize()
