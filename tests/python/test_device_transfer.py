# SPDX-License-Identifier: BSD-3-Clause
"""Copies between simulated devices and the CPU: equal bits, stream order, no leaks."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dlbridge
import foreign
from device_arrays import NAMES, TYPES, DeviceArray, current, no_leaks, objects
from simulated import Driver

KINDS = ["cuda", "hip"]
IS_COPIED = 2


@pytest.fixture(params=KINDS)
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def name(driver: Driver, device: int = 0) -> str:
    return f"{NAMES[driver.kind]}:{device}"


def bits(x: Any) -> bytes:
    return np.ascontiguousarray(x).tobytes()


BASE = np.random.default_rng(5).integers(0, 2**31, (6, 7, 8), dtype=np.int32)
ARRAYS = {
    "row-major": BASE,
    "column-major": np.asfortranarray(BASE),
    "slice": BASE[1:5, 2:6, 1:7],
    "steps": BASE[::2, ::3, ::-2],
    "transposed": BASE.transpose(2, 0, 1),
    "broadcast": np.broadcast_to(BASE[0, 0], (3, 8)),
    "one row of many": BASE[:, 3, :],
    "one column": BASE[:, :, 2],
    "bytes": BASE.view(np.uint8)[:, 1::2, 3:17],
    "complex": BASE.view(np.complex64)[::2, :, 1:],
    "rank 0": BASE[1, 2, 3, ...],
    "size 0": BASE[:0],
    "read-only": BASE[2:].copy(),
}
ARRAYS["read-only"].flags.writeable = False


@pytest.mark.parametrize("which", ARRAYS)
def test_there_and_back(driver: Driver, which: str) -> None:
    x = ARRAYS[which]
    with no_leaks(driver):
        there = dlbridge.from_dlpack(x, device=name(driver))
        assert str(there.device) == name(driver)
        assert there.shape == x.shape
        back = dlbridge.from_dlpack(there, device="cpu")
        assert bits(back) == bits(x)
        assert bits(np.from_dlpack(there, device="cpu")) == bits(x)  # NumPy calls the Tensor
        assert np.asarray(back).flags.writeable, "a copy is writable"
        consumed = foreign.consume(there.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
        assert (consumed.tobytes(), consumed.flags) == (bits(x), IS_COPIED)
        assert not x.size or back.data_ptr != x.ctypes.data
        assert driver.counter("device_synchronizations") == 0, "only freeing waits for a device"
        del there, back, consumed
    assert driver.races == []


@pytest.mark.parametrize("which", ["slice", "steps", "bytes"])
def test_a_strided_tensor_of_a_device(driver: Driver, which: str) -> None:
    """The producer exports a part of a buffer that a pending kernel writes."""
    x = ARRAYS[which]
    base = x.base if x.base is not None else x
    while base.base is not None:
        base = base.base
    start = x.ctypes.data - base.ctypes.data
    array = DeviceArray(
        driver.buffer(base.nbytes),
        driver.stream(),
        shape=x.shape,
        strides=tuple(each // x.itemsize for each in x.strides),
        dtype=(0 if x.dtype == np.int32 else 1, x.itemsize * 8, 1),
        byte_offset=start,
    )
    content = driver.buffer(base.nbytes)
    content.poke(base.tobytes())
    array.stream.copy(array.buffer, content)
    assert bits(dlbridge.from_dlpack(array, device="cpu")) == bits(x)
    assert array.requests[0]["dl_device"] == (1, 0), "dlbridge requests the copy first"
    assert "dl_device" not in array.requests[1]
    assert array.is_released
    assert driver.races == []


def test_every_ordinal_of_the_cpu_names_the_cpu(driver: Driver) -> None:
    t = dlbridge.from_dlpack(BASE, device=name(driver))
    moves = [t.to("cpu:1"), dlbridge.from_dlpack(t, device=(1, 7))]
    exported = foreign.consume(t.__dlpack__(dl_device=(1, 1)))
    assert [str(moved.device) for moved in moves] == ["cpu", "cpu"]
    assert [bits(moved) for moved in moves] == [bits(BASE)] * 2
    assert (exported.device, exported.tobytes()) == ((1, 0), bits(BASE))

    pinned = dlbridge.empty((2, 3), "float32", device="cpu:1", pinned=True)
    with_dlpack = foreign.consume(pinned.__dlpack__(dl_device=(1, 1), copy=False))
    assert (with_dlpack.device, with_dlpack.data) == ((1, 0), pinned.data_ptr)
    assert pinned.to("cpu:1", copy=False).data_ptr == pinned.data_ptr


def test_a_producer_is_asked_for_the_cpu_without_an_ordinal(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, device="cpu:1")
    assert (x.requests[0]["dl_device"], t.__dlpack_device__()) == ((1, 0), (1, 0))


@pytest.mark.parametrize("dtype, count", [((0, 4, 1), 7), ((17, 4, 2), 5), ((1, 2, 1), 9)])
def test_packed_elements(driver: Driver, dtype: tuple[int, int, int], count: int) -> None:
    size = (count * dtype[1] * dtype[2] + 7) // 8
    content = bytes(range(1, size + 1))
    array = DeviceArray(
        driver.buffer(size), driver.stream(), shape=(count,), strides=(1,), dtype=dtype
    )
    array.buffer.poke(content)
    back = dlbridge.from_dlpack(array, device="cpu")
    assert ctypes.string_at(back.data_ptr, size) == content
    there = dlbridge.from_dlpack(back, device=name(driver))
    again = dlbridge.from_dlpack(there, device="cpu")
    assert ctypes.string_at(again.data_ptr, size) == content
    assert again.dtype == back.dtype


def test_both_drivers_in_one_process() -> None:
    """From NumPy to CUDA, through the CPU to ROCm, and back to NumPy."""
    drivers = [Driver(kind) for kind in KINDS]
    x = BASE[::2, 1:, ::-1]
    t: Any = x
    for kind in KINDS * 2:
        t = dlbridge.from_dlpack(dlbridge.from_dlpack(t, device="cpu"), device=NAMES[kind])
    assert bits(dlbridge.from_dlpack(t, device="cpu")) == bits(x)
    assert [driver.races for driver in drivers] == [[], []]


def test_copies_between_drivers_are_refused(driver: Driver) -> None:
    other = "rocm" if driver.kind == "cuda" else "cuda"
    t = dlbridge.from_dlpack(BASE, device=name(driver))
    with pytest.raises(BufferError, match=rf"expected {other}:0|dl_device {other}:0"):
        dlbridge.from_dlpack(t, device=other)


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("place", ["cpu", "device"])
def test_a_device_that_cannot_be_served(driver: Driver, place: str, copy: Any) -> None:
    """BufferError (spec 4.5), also for an ordinal that the driver does not have. Only where a copy
    would serve the request is copy=False the reason."""
    t: Any = dlbridge.from_dlpack(BASE, device=name(driver) if place == "device" else None)
    metal, own = (8, 0), TYPES[driver.kind]
    for device in (metal, (own, 9), (own, -1), (14, 0)):
        with pytest.raises(BufferError, match=r"expected a device to which .* can be copied") as e:
            t.__dlpack__(dl_device=device, copy=copy, max_version=(1, 0))
        assert not isinstance(e.value, dlbridge.CopyForbiddenError)
        assert (e.value.__cause__ is not None) == (device[0] == own)
    if copy is False:
        with pytest.raises(dlbridge.CopyForbiddenError, match="Leave copy= out"):
            t.__dlpack__(dl_device=(own, 1), copy=copy, max_version=(1, 0))
        with pytest.raises(BufferError, match="metal") as e:
            dlbridge.from_dlpack(t, device="metal", copy=copy)
        assert not isinstance(e.value, dlbridge.CopyForbiddenError)
    else:
        with pytest.raises(RuntimeError, match=r"one of the 2 devices of its driver; got .*:9"):
            t.to(f"{NAMES[driver.kind]}:9", copy=copy)


def test_copies_between_devices(driver: Driver) -> None:
    x = ARRAYS["steps"]
    with no_leaks(driver):
        t = dlbridge.from_dlpack(x, device=name(driver, 0))
        u = dlbridge.from_dlpack(t, device=name(driver, 1))
        assert str(u.device) == name(driver, 1)
        assert bits(dlbridge.from_dlpack(u, device="cpu")) == bits(x)
        del t, u
    assert driver.races == []


@pytest.mark.parametrize("copy", [None, True, False])
def test_copy(driver: Driver, copy: Any) -> None:
    t = dlbridge.from_dlpack(BASE, device=name(driver))
    is_same = dlbridge.from_dlpack(t, copy=copy).data_ptr == t.data_ptr
    assert is_same is (copy is not True)
    if copy is False:
        with pytest.raises(dlbridge.CopyForbiddenError):
            dlbridge.from_dlpack(t, device="cpu", copy=False)
        with pytest.raises(dlbridge.CopyForbiddenError):
            t.__dlpack__(dl_device=(1, 0), copy=False)
        forbidden = f"got one from cpu to {name(driver)}"
        with pytest.raises(dlbridge.CopyForbiddenError, match=forbidden) as raised:
            dlbridge.from_dlpack(BASE, device=name(driver), copy=False)
        assert "unsupported device" in str(raised.value.__cause__)  # NumPy's message
        return
    for x in (t, BASE):
        there = dlbridge.from_dlpack(x, device=name(driver), copy=copy)
        assert (there.data_ptr == t.data_ptr) == (x is t and copy is None)
        assert bits(dlbridge.from_dlpack(there, device="cpu", copy=copy)) == bits(BASE)


@pytest.mark.parametrize("kind", ["pinned", "managed"])
@pytest.mark.parametrize("by", ["from_dlpack", "__dlpack__"])
def test_a_copy_has_the_kind_of_memory(driver: Driver, kind: str, by: str) -> None:
    """copy=True alone keeps the device, as the array API requires; the copy follows the stream."""
    if (driver.kind, kind) == ("hip", "managed"):
        pytest.skip("DLPack has no device type for it")
    x = DeviceArray(driver.buffer(4, kind), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle if kind == "managed" else None)
    x.stream.write(x.buffer, 7)
    if kind == "pinned":  # the protocol has no stream for it, so the producer waits
        x.stream.synchronize()
    copied = foreign.consume(
        (dlbridge.from_dlpack(t, copy=True) if by == "from_dlpack" else t).__dlpack__(
            copy=True if by == "__dlpack__" else None, max_version=(1, 0)
        )
    )
    assert copied.device == x.__dlpack_device__()
    assert copied.flags == (IS_COPIED if by == "__dlpack__" else 0)
    assert copied.data != x.buffer.address
    x.stream.synchronize()
    driver.synchronize()
    assert ctypes.string_at(copied.data, 4) == b"\7\7\7\7"
    assert driver.races == []


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_a_copy_of_a_producer_that_makes_none_has_its_kind_of_memory(
    driver: Driver, kind: str
) -> None:
    if (driver.kind, kind) == ("hip", "managed"):
        pytest.skip("DLPack has no device type for it")
    x = DeviceArray(driver.buffer(4, kind), driver.stream())
    x.stream.write(x.buffer, 7)
    x.stream.synchronize()
    t = dlbridge.from_dlpack(x, copy=True)
    assert t.__dlpack_device__() == x.__dlpack_device__()
    assert t.data_ptr != x.buffer.address
    t.synchronize()
    assert ctypes.string_at(t.data_ptr, 4) == b"\7\7\7\7"
    assert driver.races == []


class OldArray(DeviceArray):
    """A producer of before 2023.12, which knows no keyword but stream."""

    def __dlpack__(self, **keywords: Any) -> object:
        if keywords.keys() - {"stream"}:
            raise TypeError("unexpected keyword")
        return super().__dlpack__(**keywords)


class RefusingArray(DeviceArray):
    """A producer that refuses to copy."""

    def __dlpack__(self, **keywords: Any) -> object:
        if keywords.get("copy"):
            raise BufferError("this library makes no copies")
        return super().__dlpack__(**keywords)


REQUESTS: list[dict[str, Any]] = [
    {"copy": True},
    {"device": "cpu"},
    {"device": "cpu", "copy": True},
    {"device": "other"},
    {"device": "pinned", "copy": True},
]


@pytest.mark.parametrize("request_of", REQUESTS, ids=str)
@pytest.mark.parametrize("array", [DeviceArray, OldArray, RefusingArray])
@pytest.mark.parametrize("kind", ["device", "managed"])
def test_copies_by_dlbridge_are_ordered(
    driver: Driver, kind: str, array: Any, request_of: dict[str, Any]
) -> None:
    """stream=-1 leaves the order to the caller, except where dlbridge reads the elements."""
    if driver.kind == "hip" and kind == "managed":
        pytest.skip("DLPack has no device type for it")
    buffer = driver.buffer(16, kind)
    buffer.poke(bytes(16))
    x = array(buffer, driver.stream())
    x.stream.write(buffer, 7)
    runtime = NAMES[driver.kind]
    names = {"other": f"{runtime}:1", "pinned": f"{runtime}_host"}
    device = names.get(request_of.get("device", ""), request_of.get("device"))
    t = dlbridge.from_dlpack(x, **{**request_of, "device": device}, stream=-1)
    assert (t.to("cpu").tobytes(), driver.races) == (b"\7" * 16, [])
    if request_of == {"copy": True} and driver.kind == "cuda" and kind == "device":
        stream: Any = t
        assert stream.__cuda_stream__() == (0, 1), "the caller named none"
    del t
    assert x.is_released


@pytest.mark.parametrize("request_of", REQUESTS, ids=str)
def test_copies_of_an_array_interface_are_ordered(request_of: dict[str, Any]) -> None:
    driver = Driver("cuda")
    driver.reset()
    buffer = driver.buffer(16)
    buffer.poke(bytes(16))
    work = driver.stream()
    work.write(buffer, 7)
    interface = {**buffer.__cuda_array_interface__, "stream": work.handle}
    x = SimpleNamespace(__cuda_array_interface__=interface)
    names = {"other": "cuda:1", "pinned": "cuda_host"}
    device = names.get(request_of.get("device", ""), request_of.get("device"))
    t = dlbridge.as_tensor(x, **{**request_of, "device": device}, stream=-1)
    assert (t.to("cpu").tobytes(), driver.races) == (b"\7" * 16, [])
    if t.device.startswith("cuda:"):
        stream: Any = t
        assert stream.__cuda_stream__() == (0, 1), "the caller named none"


def test_dl_device_there_and_back(driver: Driver) -> None:
    """Tensor.__dlpack__ with a dl_device other than the tensor's device."""
    where = (TYPES[driver.kind], 1)
    host = dlbridge.from_dlpack(BASE)
    theirs = driver.stream()
    consumed = foreign.consume(
        host.__dlpack__(dl_device=where, copy=True, stream=-1, max_version=(1, 0))
    )
    assert (consumed.device, consumed.flags) == (where, IS_COPIED)
    assert consumed.data != host.data_ptr
    consumed.release()
    driver.select(1)
    theirs = driver.stream()
    consumed = foreign.consume(host.__dlpack__(dl_device=where, stream=theirs.handle))
    assert consumed.device == where
    assert consumed.release()
    assert driver.races == []


def test_the_stream_of_the_copy(driver: Driver) -> None:
    """The copy runs after the producer's operations and before the caller's later operations."""
    ours = driver.stream()
    # [move]
    t = dlbridge.from_dlpack(BASE, device=name(driver))  # from NumPy, for example to cuda:0
    back = np.from_dlpack(t, device="cpu")  # NumPy requests a copy from the Tensor
    assert np.array_equal(back, BASE)
    # [/move]
    t = dlbridge.from_dlpack(BASE, device=name(driver), stream=ours.handle)
    target = driver.buffer(BASE.nbytes)
    driver.call("simulated_copy", ours.handle, target.address, t.data_ptr, BASE.nbytes)
    ours.synchronize()
    assert target.peek() == BASE.tobytes()
    theirs = driver.stream()
    t.__dlpack__(stream=theirs.handle)
    driver.call("simulated_read", theirs.handle, t.data_ptr, BASE.nbytes)
    assert driver.races == []


def test_an_invalid_device_is_reported(driver: Driver) -> None:
    with no_leaks(driver), pytest.raises(RuntimeError, match="Pass a device that the runtime has"):
        dlbridge.from_dlpack(BASE, device=name(driver, 9))


def test_out_of_memory(driver: Driver) -> None:
    t = dlbridge.from_dlpack(BASE, device=name(driver))
    driver.limit_memory(2 * BASE.nbytes - 1)
    with no_leaks(driver), pytest.raises(MemoryError, match="out of memory"):
        dlbridge.from_dlpack(BASE, device=name(driver))
    assert bits(dlbridge.from_dlpack(t, device="cpu")) == bits(BASE)


def test_host_access_is_refused(driver: Driver) -> None:
    t = dlbridge.from_dlpack(BASE, device=name(driver))
    for access in (memoryview, np.asarray, np.from_dlpack):
        with pytest.raises((BufferError, RuntimeError, TypeError), match=r"device|CPU"):
            access(t)


# Functions whose failure some copies and exports survive.
SURVIVED = {
    "cuCtxGetDevice", "cuCtxGetId", "cuCtxPopCurrent_v2", "cuDeviceGetCount",
    "cuPointerGetAttribute", "cuThreadExchangeStreamCaptureMode", "hipGetDeviceCount",
    "hipPointerGetAttribute", "hipRuntimeGetVersion", "hipThreadExchangeStreamCaptureMode",
}  # fmt: skip


def test_every_call_fails_in_turn(driver: Driver) -> None:
    """A failure leaks nothing and changes no result and no current context; later calls succeed."""
    x = ARRAYS["steps"]
    t = dlbridge.from_dlpack(x, device=name(driver))
    there = DeviceArray(driver.buffer(16), driver.stream())
    before = objects(driver), current(driver)
    failed = set()
    for function in driver.functions:
        if any(word in function for word in ("Free", "Destroy", "Release")):
            continue  # if freeing fails, the object remains
        driver.fail_function(function, 999)
        made = []
        for action in (
            lambda: dlbridge.from_dlpack(x, device=name(driver)),
            lambda: dlbridge.from_dlpack(t, device="cpu"),
            lambda: dlbridge.from_dlpack(t, device=name(driver, 1)),
            lambda: dlbridge.from_dlpack(there, stream=-1).__dlpack__(stream=there.stream.handle),
        ):
            calls = driver.call_count(function)
            try:
                made.append(action())
            except (RuntimeError, BufferError) as error:
                failed.add(function)
                assert function in str(error) or "999" in str(error)
            else:
                assert function in SURVIVED or driver.call_count(function) == calls, function
        driver.clear_failures()
        for each in made:
            if isinstance(each, dlbridge.Tensor):
                assert bits(dlbridge.from_dlpack(each, device="cpu")) == bits(x), function
        made.clear()
        driver.run_pending()
        assert (objects(driver), current(driver)) == before, function
    assert len(failed) >= 8
    assert bits(dlbridge.from_dlpack(t, device="cpu")) == bits(x)
