# SPDX-License-Identifier: BSD-3-Clause
"""The driver waits for the device when it frees memory; other threads run meanwhile."""

from __future__ import annotations

import ctypes
import faulthandler
import threading
from typing import Any

import numpy as np
import pytest

import dlbridge
import foreign
from simulated import Driver


@pytest.fixture
def driver() -> Driver:
    driver = Driver("cuda")
    driver.reset()
    return driver


HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@pytest.mark.parametrize("owner", ["tensor", "capsule", "foreign consumer", "share"])
def test_a_host_function_that_needs_the_gil(driver: Driver, owner: str) -> None:
    """Memory is dropped while its stream has a pending host function that calls Python. The driver
    runs the function on another thread while it waits, so that the free must release the GIL."""
    ours = driver.stream()
    t: Any = dlbridge.from_dlpack(np.arange(4, dtype=np.uint8), device="cuda:0", stream=ours.handle)
    called: list[str] = []
    function = HOST_FUNCTION(lambda _: called.append(threading.current_thread().name))
    driver.call("cuLaunchHostFunc", ours.handle, function, None)
    if owner == "capsule":
        t = t.__dlpack__(stream=ours.handle)
    elif owner == "foreign consumer":
        t = foreign.consume(t.__dlpack__(stream=ours.handle))
    elif owner == "share":
        t = dlbridge.from_dlpack(t, stream=ours.handle)

    assert called == []
    faulthandler.dump_traceback_later(60, exit=True)  # a free that holds the GIL waits for ever
    t = None
    faulthandler.cancel_dump_traceback_later()
    assert len(called) == 1 and called[0] != threading.current_thread().name
    assert driver.races == []


@pytest.mark.parametrize("kind", ["cuda", "hip"])
@pytest.mark.parametrize("memory", ["device", "pinned"])
def test_a_tensor_that_a_host_function_drops(kind: str, memory: str) -> None:
    """The function must not call the driver. A later call of dlbridge frees the memory."""
    driver = Driver(kind)
    driver.reset()
    runtime = {"cuda": "cuda", "hip": "rocm"}[kind]
    name = f"{runtime}:0" if memory == "device" else f"{runtime}_host"
    ours = driver.stream()
    box = [dlbridge.empty(64, "uint8", device=name)]
    driver.call("simulated_read", ours.handle, box[0].data_ptr, 64)
    function = HOST_FUNCTION(lambda _: box.clear())
    driver.call({"cuda": "cuLaunchHostFunc", "hip": "hipLaunchHostFunc"}[kind], ours.handle,
                function, None)  # fmt: skip
    ours.synchronize()
    assert box == []
    counter = "device_bytes" if memory == "device" else "pinned_bytes"
    assert driver.counter(counter) == 64
    dlbridge.empty(0, "uint8", device=f"{runtime}:0").synchronize()
    assert driver.counter(counter) == 0
    assert (driver.races, driver.misuses) == ([], [])
