# SPDX-License-Identifier: BSD-3-Clause
"""Moves that do not wait for the copy, and memory that is kept for the work of a stream."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import device_extension
import dlbridge
import foreign
from device_arrays import DEFAULTS, NAMES, DeviceArray, no_leaks
from simulated import Buffer, Driver, Stream

BASE = np.arange(64, dtype=np.uint8)


@pytest.fixture(params=["cuda", "hip"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def name(driver: Driver, device: int = 0) -> str:
    return f"{NAMES[driver.kind]}:{device}"


def stream_of(driver: Driver, kind: str) -> tuple[Any, Stream]:
    """The value of stream=, and the stream."""
    stream = driver.stream() if kind != "default" else driver.default_stream(DEFAULTS[driver.kind])
    return (stream if kind == "object" else stream.handle), stream


def fill_the_pool(driver: Driver) -> None:
    """Moves once, so that dlbridge has the staging memory that it keeps."""
    ours = driver.stream()
    dlbridge.from_dlpack(BASE, device=name(driver), stream=ours.handle).synchronize()
    ours.destroy()


MOVES: dict[str, Any] = {
    "of an array": lambda x, device, stream: dlbridge.from_dlpack(x, device=device, stream=stream),
    "of a Tensor": lambda x, device, stream: dlbridge.from_dlpack(x).to(device, stream=stream),
    "as_tensor of a Tensor": lambda x, device, stream: dlbridge.as_tensor(
        dlbridge.from_dlpack(x), device=device, stream=stream
    ),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("kind", ["object", "integer", "default"])
@pytest.mark.parametrize("layout", ["row-major", "strided"])
def test_a_move_on_a_named_stream(driver: Driver, kind: str, layout: str, move: str) -> None:
    """It returns while earlier work of the stream is pending, and later work sees the copy."""
    x = BASE.copy() if layout == "row-major" else BASE.reshape(8, 8)[:, ::2].T
    expected = x.tobytes()
    stream, ours = stream_of(driver, kind)
    fill_the_pool(driver)
    ours.write(driver.buffer(4), 1)  # pending
    with no_leaks(driver):
        t = MOVES[move](x, name(driver), stream)
        assert driver.pending, "the host did not wait"
        if layout == "row-major":
            x[:] = 0  # pageable memory has been read
        back = driver.buffer(x.nbytes)
        driver.call("simulated_copy", ours.handle, back.address, t.data_ptr, x.nbytes)
        ours.synchronize()
        moved = np.frombuffer(back.peek(), np.uint8)
        order: Any = "F" if layout == "strided" and not t.c_contiguous else "C"
        assert moved.reshape(t.shape, order=order).tobytes() == expected
        back.free()
        t.synchronize()
        del t
    assert driver.races == []


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("stream", [None, -1])
def test_a_move_without_a_stream_waits(driver: Driver, stream: Any, move: str) -> None:
    t = MOVES[move](BASE, name(driver), stream)
    assert driver.pending == 0
    del t


def test_between_devices(driver: Driver) -> None:
    """The source lives until the copy has completed, although its last owner is gone."""
    x = DeviceArray(driver.buffer(4), driver.stream())
    x.stream.write(x.buffer, 7)
    driver.select(1)
    ours = driver.stream()
    driver.select(0)
    t = dlbridge.from_dlpack(x, device=name(driver, 1), stream=ours)
    assert driver.pending
    assert not x.is_released, "the copy has not run"
    driver.select(1)
    target = driver.buffer(4)
    driver.call("simulated_copy", ours.handle, target.address, t.data_ptr, 4)
    t.synchronize()  # also releases what completed copies have read
    assert x.is_released
    assert target.peek() == b"\7\7\7\7"
    assert driver.races == []


def test_pinned_sources_live_until_the_copy_has_run(driver: Driver) -> None:
    ours = driver.stream()
    buffer = driver.buffer(4, "pinned")
    buffer.poke(b"abcd")
    x = DeviceArray(buffer, driver.stream())
    ours.write(driver.buffer(4), 1)
    t = dlbridge.from_dlpack(x, device=name(driver), stream=ours.handle)
    assert not x.is_released
    t.synchronize()
    assert x.is_released
    assert foreign.consume(t.__dlpack__(dl_device=(1, 0))).tobytes() == b"abcd"


def test_the_example_of_the_page(driver: Driver) -> None:
    theirs = driver.stream()
    target = driver.buffer(BASE.nbytes)

    def kernel(stream: Stream, x: dlbridge.Tensor) -> None:
        driver.call("simulated_copy", stream.handle, target.address, x.data_ptr, x.nbytes)

    # [record]
    t = dlbridge.from_dlpack(BASE, device=name(driver))
    kernel(theirs, dlbridge.from_dlpack(t, stream=theirs))  # enqueues work and returns
    t.record_stream(theirs)  # the memory outlives the work of theirs
    del t
    # [/record]
    assert (target.peek(), driver.races) == (BASE.tobytes(), [])


@pytest.mark.parametrize("kind", ["object", "integer", "per thread"])
def test_record_stream(driver: Driver, kind: str) -> None:
    """Pending work of the recorded stream uses the memory, which is dropped."""
    if kind == "per thread":
        if driver.kind == "hip":
            pytest.skip("ROCm's handle 2 is no stream")
        theirs = driver.default_stream(2)
    else:
        theirs = driver.stream()
    t = dlbridge.from_dlpack(BASE, device=name(driver))
    t.__dlpack__(stream=theirs.handle)
    target = driver.buffer(BASE.nbytes)
    driver.call("simulated_copy", theirs.handle, target.address, t.data_ptr, BASE.nbytes)
    t.record_stream(theirs if kind == "object" else theirs.handle)
    del t
    assert (target.peek(), driver.races) == (BASE.tobytes(), [])


def test_record_stream_of_pinned_memory(driver: Driver) -> None:
    theirs = driver.stream()
    kind = "cuda_host" if driver.kind == "cuda" else "rocm_host"
    t = dlbridge.from_dlpack(BASE, device=kind)
    target = driver.buffer(BASE.nbytes)
    driver.call("simulated_copy", theirs.handle, target.address, t.data_ptr, BASE.nbytes)
    t.record_stream(theirs.handle)
    del t
    assert (target.peek(), driver.races) == (BASE.tobytes(), [])


def test_the_per_thread_stream_of_one_thread_hides_no_other() -> None:
    """Moved on the per-thread stream of a thread, then exported to the legacy stream by another."""
    driver = Driver("cuda")
    driver.reset()
    tensors: list[Any] = []

    def move() -> None:
        driver.select(0)
        tensors.append(dlbridge.from_dlpack(BASE, device="cuda:0"))
        tensors[0].record_stream(2)

    def drop() -> None:
        tensors.clear()

    thread = threading.Thread(target=move)
    thread.start()
    thread.join()
    target = driver.buffer(BASE.nbytes)
    tensors[0].record_stream(1)
    driver.call("simulated_copy", 1, target.address, tensors[0].data_ptr, BASE.nbytes)
    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert (target.peek(), driver.races) == (BASE.tobytes(), [])


def test_an_export_by_the_table_is_recorded(driver: Driver) -> None:
    ours, default = driver.stream(), driver.default_stream(DEFAULTS[driver.kind])
    t: Any = dlbridge.from_dlpack(BASE, device=name(driver), stream=ours.handle)
    exported = foreign.slot(type(t), "give", t)
    target = driver.buffer(BASE.nbytes)
    driver.call("simulated_copy", default.handle, target.address, t.data_ptr, BASE.nbytes)
    del t, exported
    assert (target.peek(), driver.races) == (BASE.tobytes(), [])


def test_a_deferred_free_keeps_the_stream_object() -> None:
    """The stream is captured when the memory is dropped, and its last other owner goes later."""
    driver = Driver("cuda")
    driver.reset()

    class Destroying(Stream):
        def __del__(self) -> None:
            self.destroy()

    ours = Destroying(driver, driver.stream().handle)
    t: Any = dlbridge.from_dlpack(BASE, device="cuda:0", stream=ours)
    ours.synchronize()
    driver.call("cuStreamBeginCapture_v2", ours.handle, 2)
    del t
    graph = ctypes.c_void_p()
    driver.call("cuStreamEndCapture", ours.handle, ctypes.byref(graph))
    del ours
    gc.collect()
    dlbridge.from_dlpack(BASE, device="cuda:0")  # collects
    assert driver.misuses == []


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("use", ["moved on a stream object", "moved on the default stream",
                                 "exported to the default stream"])  # fmt: skip
def test_streams_that_last_are_recorded(driver: Driver, use: str, move: str) -> None:
    """dlbridge records on its own what cannot be destroyed before the memory is freed."""
    default = driver.default_stream(DEFAULTS[driver.kind])
    theirs = driver.stream() if use == "moved on a stream object" else default
    moved_on = driver.stream().handle if use.startswith("exported") else theirs
    t: Any = MOVES[move](BASE, name(driver), moved_on)
    target = driver.buffer(BASE.nbytes)
    address = t.data_ptr
    if use.startswith("exported"):
        t = foreign.consume(t.__dlpack__(stream=default.handle))
    driver.call("simulated_copy", theirs.handle, target.address, address, BASE.nbytes)
    del t
    assert (target.peek(), driver.races) == (BASE.tobytes(), [])


def test_the_stream_object_of_a_copy_is_recorded(driver: Driver) -> None:
    theirs, ours = driver.stream(), driver.stream()
    t: Any = dlbridge.from_dlpack(BASE, device=name(driver), stream=ours)
    u: Any = dlbridge.from_dlpack(t, stream=theirs, copy=True)
    target = driver.buffer(BASE.nbytes)
    driver.call("simulated_copy", theirs.handle, target.address, u.data_ptr, BASE.nbytes)
    del t, u
    assert (target.peek(), driver.races) == (BASE.tobytes(), [])


def test_a_stream_object_is_recorded_once(driver: Driver) -> None:
    """However often the memory is used on it."""
    theirs = driver.stream()
    t: Any = dlbridge.from_dlpack(BASE, device=name(driver))
    before = sys.getrefcount(theirs)
    for _ in range(5):
        t.record_stream(theirs)
    assert sys.getrefcount(theirs) == before + 1


class Owning(Stream):
    """A stream object that destroys its stream."""

    def __del__(self) -> None:
        self.destroy()


def test_a_tensor_as_stream_keeps_the_stream(driver: Driver) -> None:
    """The stream of the other Tensor is used after that Tensor is gone."""
    ours = Owning(driver, driver.stream().handle)
    other: Any = dlbridge.from_dlpack(DeviceArray(driver.buffer(4), driver.stream()), stream=ours)
    imported: Any = dlbridge.from_dlpack(DeviceArray(driver.buffer(4), ours), stream=other)
    moved: Any = dlbridge.from_dlpack(BASE, device=name(driver), stream=other)
    recorded: Any = dlbridge.from_dlpack(BASE, device=name(driver))
    recorded.record_stream(other)
    del ours, other
    gc.collect()
    for t in (imported, moved):
        t.synchronize()
    del t, imported, moved, recorded
    gc.collect()
    assert (driver.misuses, driver.counter("streams")) == ([], 1)


def test_a_tensor_on_its_own_stream_is_freed(driver: Driver) -> None:
    """The memory keeps the stream, and not the Tensor that keeps the memory."""
    ours = driver.stream()
    fill_the_pool(driver)
    with no_leaks(driver):
        t: Any = dlbridge.from_dlpack(BASE, device=name(driver), stream=ours)
        t.record_stream(t)
        t[2:].record_stream(t)
        u = dlbridge.from_dlpack(t, stream=t)
        ours.synchronize()
        del t, u
        gc.collect()


class Handle:
    """A stream of a library whose objects are also integers."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def __index__(self) -> int:
        return self.stream.handle


class IndexAndProtocol(Handle):
    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.stream.handle)


class IndexAndHandle(Handle):
    @property
    def handle(self) -> int:
        return self.stream.handle


@pytest.mark.parametrize("kind", [IndexAndProtocol, IndexAndHandle, Handle])
def test_stream_objects_with_an_index(driver: Driver, kind: Any) -> None:
    """They are stream objects if they have another way to the handle, else integers."""
    theirs = kind(driver.stream())
    kept = weakref.ref(theirs)
    x = DeviceArray(driver.buffer(4), driver.stream())
    t: Any = dlbridge.from_dlpack(x, stream=theirs)
    del theirs
    assert (kept() is not None) == (kind is not Handle)
    del t
    assert kept() is None


def test_a_recorded_stream_object_lives_as_long_as_the_memory(driver: Driver) -> None:
    theirs = driver.stream()
    kept = weakref.ref(theirs)
    t: Any = dlbridge.from_dlpack(BASE, device=name(driver))
    t.record_stream(theirs)
    capsule = t.__dlpack__()
    del theirs, t
    gc.collect()
    assert kept() is not None
    del capsule
    assert kept() is None


def test_foreign_memory_records_no_stream(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    for t in (dlbridge.from_dlpack(x), dlbridge.from_dlpack(BASE)):
        with pytest.raises(ValueError, match=r"stream|memory of another owner"):
            t.record_stream(x.stream)
    own = dlbridge.from_dlpack(BASE, device=name(driver))
    with pytest.raises(ValueError, match="stream"):
        own.record_stream(-2)
    with pytest.raises(ValueError, match="expected a stream; got -1, which names none"):
        own.record_stream(-1)


def test_a_failed_copy_releases_the_source(driver: Driver) -> None:
    x = BASE.copy()
    kept = weakref.ref(x)
    fill_the_pool(driver)
    ours = driver.stream()
    driver.fail_function("cuMemcpyAsync" if driver.kind == "cuda" else "hipMemcpyAsync", 999)
    with no_leaks(driver), pytest.raises(RuntimeError):
        dlbridge.from_dlpack(x, device=name(driver), stream=ours.handle)
    driver.clear_failures()
    del x
    assert kept() is None


# Copies on the same device. The stream that the caller names is not that of the source.
COPIES: dict[str, Any] = {
    "of a Tensor": lambda t, x, **stream: dlbridge.from_dlpack(t, copy=True, **stream),
    "as_tensor of a Tensor": lambda t, x, **stream: dlbridge.as_tensor(t, copy=True, **stream),
    "to": lambda t, x, **stream: t.to(t.device, copy=True, **stream),
    "of a producer": lambda t, x, **stream: dlbridge.from_dlpack(x, copy=True, **stream),
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("memory", ["device", "managed"])
def test_a_copy_on_the_same_device(driver: Driver, memory: str, copy: str) -> None:
    """It runs on the named stream alone, and the call does not wait."""
    if (driver.kind, memory) == ("hip", "managed"):
        pytest.skip("DLPack has no device type for it")
    theirs, ours, buffer = driver.stream(), driver.stream(), driver.buffer(64, memory)
    device = NAMES[driver.kind] + ("_managed" if memory == "managed" else "")
    t = dlbridge.from_pointer(buffer.address, 64, "uint8", device=device, stream=theirs.handle)
    theirs.write(buffer, 7)
    u: Any = COPIES[copy](t, DeviceArray(buffer, theirs), stream=ours)
    assert buffer.peek() != b"\7" * 64, "the host did not wait"
    target = driver.buffer(64)
    driver.call("simulated_copy", ours.handle, target.address, u.data_ptr, 64)
    ours.synchronize()
    assert (target.peek(), driver.races) == (b"\7" * 64, [])


@pytest.mark.parametrize("stream", [None, -1])
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_without_a_stream_waits(driver: Driver, copy: str, stream: Any) -> None:
    theirs, buffer = driver.stream(), driver.buffer(64)
    device = NAMES[driver.kind]
    t = dlbridge.from_pointer(buffer.address, 64, "uint8", device=device, stream=theirs.handle)
    theirs.write(buffer, 7)
    u: Any = COPIES[copy](t, DeviceArray(buffer, theirs), stream=stream)
    assert Buffer(driver, u.data_ptr, 64, "device").peek() == b"\7" * 64
    assert device_extension.stream_of(u) == DEFAULTS[driver.kind]
    assert driver.races == []


def test_the_copy_of_an_export_runs_on_the_stream_of_the_consumer(driver: Driver) -> None:
    """Spec 4.3. The call waits for the copy, and thereby for earlier work of that stream."""
    theirs, ours, other = driver.stream(), driver.stream(), driver.buffer(4)
    buffer = driver.buffer(64)
    device = NAMES[driver.kind]
    t = dlbridge.from_pointer(buffer.address, 64, "uint8", device=device, stream=theirs.handle)
    theirs.write(buffer, 7)
    ours.write(other, 1)
    copied = foreign.consume(t.__dlpack__(stream=ours.handle, copy=True, max_version=(1, 0)))
    assert other.peek() == b"\1" * 4
    target = driver.buffer(64)
    driver.call("simulated_copy", ours.handle, target.address, copied.data, 64)
    ours.synchronize()
    assert (target.peek(), driver.races) == (b"\7" * 64, [])
