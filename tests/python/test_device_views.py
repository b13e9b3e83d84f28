# SPDX-License-Identifier: BSD-3-Clause
"""Views of tensors in device memory, and new device memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dlbridge
import foreign
from device_arrays import NAMES, DeviceArray
from simulated import Driver


@pytest.fixture(params=["cuda", "hip"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def name(driver: Driver) -> str:
    return NAMES[driver.kind] + ":0"


def test_a_view_is_ready_on_the_stream_of_its_tensor(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(8), driver.stream())
    ours = driver.stream()
    t = dlbridge.from_dlpack(x, stream=ours.handle)
    ours.write(x.buffer, 7)
    for view in (t[2:], t.reshape(2, 4).T, t[::2].view("int8")):
        assert bytes(memoryview(view.to("cpu"))) == b"\7" * view.size
        copied = view.copy()
        assert copied.device == t.device and copied.data_ptr != view.data_ptr
        assert bytes(memoryview(copied.to("cpu"))) == b"\7" * view.size
    assert driver.races == []


@pytest.mark.parametrize("memory", ["", "_host"])
def test_copies_in_the_same_memory_are_row_major(driver: Driver, memory: str) -> None:
    """As those on the host, whereas a move keeps the order of a tensor without gaps."""
    values = np.arange(24, dtype="float32").reshape(2, 3, 4)
    t = dlbridge.from_dlpack(values, device=f"{NAMES[driver.kind]}{memory}:0")
    cases = (
        (t.T, values.T),
        (t.permute(1, 0, 2), values.transpose(1, 0, 2)),
        (t[:, ::-1], values[:, ::-1]),
        (t[..., :3].T, values[..., :3].T),
    )
    for view, expected in cases:
        copied = view.copy()
        assert (copied.device, copied.c_contiguous) == (t.device, True)
        assert np.array_equal(np.from_dlpack(copied.to("cpu")), expected)
        for flat in (copied.reshape(expected.size), view.ravel()):
            assert flat.device == t.device
            assert flat.to("cpu").tolist() == expected.ravel().tolist()
    assert t.ravel().data_ptr == t.data_ptr
    if not memory:
        assert t.T.to("cpu").f_contiguous
    assert driver.races == []


def test_record_stream_of_a_view(driver: Driver) -> None:
    """The memory outlives the work of a stream that uses the view."""
    t = dlbridge.from_dlpack(np.arange(64, dtype="u1"), device=name(driver))
    t[8:].reshape(7, 8)[1:].record_stream(driver.stream())
    foreign_memory = DeviceArray(driver.buffer(8), driver.stream())
    view: Any = dlbridge.from_dlpack(foreign_memory)[1:]
    with pytest.raises(ValueError, match="memory of another owner"):
        view.record_stream(driver.stream())
    assert driver.races == []


@pytest.mark.parametrize("keywords", [{}, {"pinned": True}])
def test_empty(driver: Driver, keywords: Any) -> None:
    where = "cpu" if keywords else name(driver)
    t = dlbridge.empty((3, 5), "int32", device=where, **keywords)
    assert (t.shape, t.dtype, t.c_contiguous, t.readonly) == ((3, 5), "int32", True, False)
    if keywords:
        assert t.device in ("cuda_host:0", "rocm_host:0")
        np.asarray(t)[...] = 3
        assert t.tolist() == [[3] * 5] * 3
    else:
        assert t.device == where
        t.record_stream(driver.stream())
    assert foreign.consume(t.__dlpack__(max_version=(1, 0))).flags == 0
    assert dlbridge.empty((0, 2), "int8", device=where, **keywords).size == 0


def test_from_pointer_asks_the_driver(driver: Driver) -> None:
    buffer = driver.buffer(64)
    stream = driver.stream()
    t = dlbridge.from_pointer(
        buffer.address, 16, "int32", device=name(driver), stream=stream.handle, owner=buffer
    )
    stream.write(buffer, 1)
    assert t[:2].to("cpu").tolist() == [0x01010101] * 2
    assert driver.races == []
    with pytest.raises(ValueError, match=r"expected memory on \w+:1; got memory on \w+:0"):
        dlbridge.from_pointer(buffer.address, 16, "int32", device=NAMES[driver.kind] + ":1")


def test_from_pointer_accepts_every_ordinal_of_managed_memory(driver: Driver) -> None:
    """CUDA's managed memory has ordinal 0 or that of a GPU, ROCm's is pinned memory in DLPack."""
    buffer = driver.buffer(16, "managed")
    kind = {"cuda": 13, "hip": 11}[driver.kind]
    for ordinal in (0, 1):
        t = dlbridge.from_pointer(buffer.address, 16, "uint8", device=(kind, ordinal))
        assert t.device.id == ordinal
        memoryview(t)[:] = bytes([ordinal]) * 16
        assert t.to("cpu").tolist() == [ordinal] * 16
    with pytest.raises(ValueError, match=r"expected memory on \w+:0; got memory on \w+"):
        dlbridge.from_pointer(buffer.address, 16, "uint8", device=name(driver))


@pytest.mark.parametrize("kind", ["device", "managed"])
def test_from_pointer_asks_the_driver_of_pinned_memory(driver: Driver, kind: str) -> None:
    """The host cannot read device memory. Memory that the driver does not know is accepted."""
    pinned = NAMES[driver.kind] + "_host"
    if (driver.kind, kind) != ("hip", "managed"):
        with pytest.raises(ValueError, match=r"expected memory on \w+_host:0; got memory on \w+:0"):
            dlbridge.from_pointer(driver.buffer(16, kind).address, 16, "uint8", device=pinned)
    x = np.arange(16, dtype="u1")
    for address in (driver.buffer(16, "pinned").address, x.ctypes.data):
        assert dlbridge.from_pointer(address, 16, "uint8", device=pinned).size == 16


@pytest.mark.parametrize("ordinal", [1, 7])
def test_every_ordinal_of_pinned_memory(driver: Driver, ordinal: int) -> None:
    device = f"{NAMES[driver.kind]}_host:{ordinal}"
    t: Any = dlbridge.empty(4, "uint8", device=device)
    assert t.device == dlbridge.from_dlpack(np.arange(4)).to(device).device == device
    memoryview(t)[:] = b"\7\7\7\7"
    assert t.tolist() == [7] * 4
