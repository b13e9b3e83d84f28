# SPDX-License-Identifier: BSD-3-Clause
"""Tensors on a device that are imported from Tensors: they share the memory, the record of the
streams that use it, and its owner."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dlbridge
import foreign
from device_arrays import DEFAULTS, NAMES
from simulated import Buffer, Driver

BASE = np.arange(64, dtype=np.uint8)
# Imports of a Tensor of which the memory is already where the caller requests it.
SHARES: dict[str, Any] = {
    "from_dlpack": dlbridge.from_dlpack,
    "without a copy": lambda t, **stream: dlbridge.from_dlpack(t, copy=False, **stream),
    "read-only": lambda t, **stream: dlbridge.from_dlpack(t, readonly=True, **stream),
    "as_tensor": dlbridge.as_tensor,
    "to": lambda t, **stream: t.to(t.device, **stream),
    "of a view": lambda t, **stream: dlbridge.from_dlpack(t[:], **stream),
    "then a view": lambda t, **stream: dlbridge.from_dlpack(t, **stream)[:],
}


@pytest.fixture(params=["cuda", "hip"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def on_device(driver: Driver, memory: str = "device") -> tuple[Any, Buffer, Any]:
    """A Tensor, its memory and its stream."""
    suffix = {"device": "", "pinned": "_host", "managed": "_managed"}[memory]
    stream, buffer = driver.stream(), driver.buffer(64, memory)
    device = NAMES[driver.kind] + suffix
    t = dlbridge.from_pointer(buffer.address, 64, "uint8", device=device, stream=stream.handle)
    return t, buffer, stream


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("named", ["stream", "none", -1])
def test_an_export_of_a_share_is_recorded(driver: Driver, share: str, named: Any) -> None:
    """The memory that dlbridge allocated outlives the work of the default stream."""
    default = driver.default_stream(DEFAULTS[driver.kind])
    t: Any = dlbridge.from_dlpack(BASE, device=NAMES[driver.kind], stream=driver.stream())
    t.synchronize()
    address = t.data_ptr
    stream = {"stream": driver.stream().handle, "none": None, -1: -1}[named]
    t = SHARES[share](t, stream=stream)
    consumed = foreign.consume(t.__dlpack__(stream=default.handle, max_version=(1, 0)))
    default.read(Buffer(driver, address, 64, "device"))
    del t, consumed
    gc.collect()
    assert driver.races == []


@pytest.mark.parametrize("share", SHARES)
def test_record_stream_of_a_share(driver: Driver, share: str) -> None:
    t: Any = dlbridge.from_dlpack(BASE, device=NAMES[driver.kind])
    theirs = driver.stream()
    t = SHARES[share](t, stream=driver.stream())
    t.record_stream(theirs)
    theirs.read(Buffer(driver, t.data_ptr, 64, "device"))
    del t
    gc.collect()
    assert driver.races == []


@pytest.mark.parametrize("memory", ["device", "pinned", "managed"])
@pytest.mark.parametrize("share", SHARES)
def test_only_the_named_stream_waits(driver: Driver, share: str, memory: str) -> None:
    """Neither the default stream nor the host does. -1 enqueues nothing."""
    if (driver.kind, memory) == ("hip", "managed"):
        pytest.skip("DLPack has no device type for it")
    t, buffer, theirs = on_device(driver, memory)
    default = driver.default_stream(DEFAULTS[driver.kind])
    ours = driver.stream()
    other = driver.buffer(4)
    wait = driver.names["wait"]
    theirs.write(buffer, 7)
    default.write(other, 1)
    pending, waits = driver.pending, driver.call_count(wait)
    SHARES[share](t, stream=-1)
    assert (driver.pending, driver.call_count(wait)) == (pending, waits)
    u = SHARES[share](t, stream=ours.handle)
    assert driver.call_count(wait) == waits + 1 and driver.pending > pending
    ours.read(buffer)
    assert driver.races == []
    ours.read(other)
    assert driver.races, "ours was not ordered after unrelated work of the default stream"
    driver.clear_races()
    ours.write(buffer, 8)
    assert u.to("cpu").tolist() == [8] * 64  # the host waits for ours
    assert driver.races == []


@pytest.mark.parametrize("memory", ["device", "pinned", "managed"])
def test_without_a_named_stream(driver: Driver, memory: str) -> None:
    """The default stream waits; pinned memory, which has no stream, is ready for the host."""
    if (driver.kind, memory) == ("hip", "managed"):
        pytest.skip("DLPack has no device type for it")
    t, buffer, theirs = on_device(driver, memory)
    theirs.write(buffer, 7)
    u = dlbridge.from_dlpack(t)
    if memory == "pinned":
        assert buffer.peek() == b"\7" * 64
    else:
        driver.default_stream(DEFAULTS[driver.kind]).read(buffer)
    assert u.to("cpu").tolist() == [7] * 64
    assert driver.races == []


def test_a_wrong_stream_is_refused(driver: Driver) -> None:
    for memory in ("device", "pinned"):
        t, _, _ = on_device(driver, memory)
        for share in SHARES.values():
            for stream in (-2, "stream"):
                with pytest.raises(ValueError, match="stream"):
                    share(t, stream=stream)


@pytest.mark.parametrize("device", ["cuda", "cuda_host", "cuda_managed", "rocm", "rocm_host"])
def test_repeated_imports_form_no_chain(device: str) -> None:
    """A chain of wrappers would overflow the stack when it is freed."""
    program = f"""
import resource
import dlbridge
from simulated import Driver
from test_device_shares import SHARES
resource.setrlimit(resource.RLIMIT_STACK, (2**20, -1))
driver = Driver({"hip" if device.startswith("rocm") else "cuda"!r})
for share in SHARES.values():
    for stream in ({{}}, {{"stream": driver.stream().handle}}):
        t = dlbridge.empty(4, "float32", device={device!r})
        for _ in range(20_000):
            t = share(t, **stream)
        del t
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == 0
