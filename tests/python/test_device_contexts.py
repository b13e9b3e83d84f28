# SPDX-License-Identifier: BSD-3-Clause
"""Default streams of CUDA contexts that are not primary ones, such as those of PyCUDA.

The handles 1 and 2 mean another stream in each context, and each thread has its current context.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dlbridge
from device_arrays import no_leaks
from simulated import Driver

BASE = bytes(range(64))
HOST = dlbridge.as_tensor(BASE)


@pytest.fixture
def driver() -> Iterator[Driver]:
    """A driver in whose context of its own this thread works."""
    driver = Driver("cuda")
    driver.reset()
    driver.call("cuCtxCreate_v2", ctypes.byref(ctypes.c_void_p()), 0, 0)
    yield driver
    driver.reset()


def here(driver: Driver, work: Callable[[], None]) -> None:
    work()


def on_another_thread(driver: Driver, work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def in_the_primary_context(driver: Driver, work: Callable[[], None]) -> None:
    """On this thread, in another context of the same device."""
    context = ctypes.c_void_p()
    driver.call("cuCtxGetCurrent", ctypes.byref(context))
    driver.select(0)
    work()
    driver.call("cuCtxSetCurrent", context)


pytestmark = pytest.mark.parametrize("run", [here, on_another_thread, in_the_primary_context])


def pinned(driver: Driver) -> dlbridge.Tensor:
    buffer = driver.buffer(len(BASE), "pinned")
    buffer.poke(BASE)
    return dlbridge.from_pointer(buffer.address, len(BASE), "uint8", device="cuda_host")


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("device", ["cuda:0", "cuda_managed:0"])
@pytest.mark.parametrize("read", ["synchronize", "CPU", "device"])
def test_a_move_on_a_default_stream(
    driver: Driver, run: Any, stream: int, device: str, read: str
) -> None:
    """The copy is pending in the context of the thread that has moved the tensor."""
    t = dlbridge.from_dlpack(pinned(driver), device=device, stream=stream)
    assert driver.pending
    results: list[bytes] = []

    def work() -> None:
        if read == "synchronize":
            t.synchronize()
            assert driver.pending == 0
        if read == "device":
            moved = dlbridge.from_dlpack(t, device="cuda:1", stream=1)
            results.append(moved.to("cpu").tobytes())
        else:
            results.append(t.to("cpu").tobytes())

    run(driver, work)
    assert (results, driver.races, driver.misuses) == ([BASE], [], [])


def test_a_producer_of_the_default_stream(driver: Driver, run: Any) -> None:
    """A tensor that is imported without stream= is ready on the default stream of its thread."""
    buffer = driver.buffer(64)
    t = dlbridge.from_dlpack(dlbridge.from_pointer(buffer.address, 64, "uint8", device="cuda:0"))
    driver.default_stream(1).write(buffer, 7)
    run(driver, t.synchronize)
    assert driver.pending == 0
    driver.default_stream(1).write(buffer, 8)
    results: list[bytes] = []
    run(driver, lambda: results.append(t[32:].to("cpu").tobytes()))
    assert (results, driver.races) == ([b"\x08" * 32], [])


@pytest.mark.parametrize("stream", [1, 2])
def test_a_free_waits_for_default_streams(driver: Driver, run: Any, stream: int) -> None:
    """dlbridge records the default streams to which it exports, and those of record_stream."""
    target = driver.buffer(len(BASE))
    dlbridge.from_dlpack(HOST, device="cuda:0")  # the memory that dlbridge keeps
    with no_leaks(driver):
        t = dlbridge.from_dlpack(HOST, device="cuda:0")
        if stream == 1:
            consumer = dlbridge.from_dlpack(t, stream=1)
        else:
            consumer = t
            t.record_stream(2)
        driver.call("simulated_copy", stream, target.address, t.data_ptr, len(BASE))
        owners = [t, consumer]
        del t, consumer
        run(driver, owners.clear)
    assert (target.peek(), driver.races, driver.misuses) == (BASE, [], [])
