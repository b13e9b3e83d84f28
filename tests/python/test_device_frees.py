"""The driver waits for the device when it frees memory; other threads run meanwhile."""

from __future__ import annotations

import ctypes
import threading
import time
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
    """Memory is dropped while its stream has a pending host function that calls Python."""
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

    def drop() -> None:
        nonlocal t
        driver.select(0)
        t = None

    thread = threading.Thread(target=drop, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the free and the host function wait for each other"
    ours.synchronize()
    assert len(called) == 1
    assert driver.races == []


def test_other_threads_run_during_a_free(driver: Driver) -> None:
    ours = driver.stream()
    t: Any = dlbridge.from_dlpack(np.zeros(4, np.uint8), device="cuda:0", stream=ours.handle)
    pause = ctypes.CDLL(None).usleep  # in C, without the GIL
    function = ctypes.cast(pause, ctypes.c_void_p)
    driver.call("cuLaunchHostFunc", ours.handle, function, ctypes.c_void_p(500_000))
    gaps = [time.monotonic()]
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            gaps.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    del t
    took = time.monotonic() - begin
    stop.set()
    thread.join()
    longest = max(b - a for a, b in zip(gaps, gaps[1:]))
    assert took > 0.4, "the driver waited for the host function"
    assert longest < took / 2


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
