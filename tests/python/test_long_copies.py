# SPDX-License-Identifier: BSD-3-Clause
"""Copies of many bytes let other Python threads run, and copies of few do not wait for them."""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Callable

import cpython_build
import numpy as np
import pytest

import dlbridge

with_gil = pytest.mark.skipif(cpython_build.FREE_THREADED, reason="other threads run in any case")

LONG, SHORT = (1024, 1024), (16, 16)  # float32: 4 MiB and 1 KiB


def tensor(array: Any) -> Any:
    return dlbridge.from_dlpack(array)


class WithoutCopy:
    """A producer without copy=: dlbridge makes the copy."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def pickled(t: Any) -> bytes:
    return pickle.dumps(t, protocol=5, buffer_callback=lambda buffer: None)


Copy = Callable[[], Any]
COPIES: dict[str, Callable[[Any], Copy]] = {
    "ndarray": lambda a: partial(dlbridge.from_dlpack, a, copy=True),
    "producer without copy=": lambda a: partial(dlbridge.from_dlpack, WithoutCopy(a), copy=True),
    "Tensor": lambda a: tensor(a).copy,
    "transposed Tensor": lambda a: tensor(a).T.copy,
    "ravel": lambda a: tensor(a).T.ravel,
    "tobytes": lambda a: tensor(a).tobytes,
    "tobytes of a transposed Tensor": lambda a: tensor(a).T.tobytes,
    "export": lambda a: partial(tensor(a).__dlpack__, max_version=(1, 0), copy=True),
    "pickle": lambda a: partial(pickled, tensor(a)[:, ::-1]),
}


@contextmanager
def counting() -> Iterator[Callable[[], int]]:
    """Counts in another thread, which runs only while this one releases the GIL by itself."""
    count, ended = 0, False

    def run() -> None:
        nonlocal count
        while not ended:
            count += 1
            time.sleep(0)  # lets the other thread take the GIL

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=run)
    sys.setswitchinterval(1000)
    thread.start()
    try:
        time.sleep(0.02)  # the thread now waits for so long
        yield lambda: count
    finally:
        ended = True
        sys.setswitchinterval(interval)
        thread.join()


@with_gil
@pytest.mark.parametrize("how", COPIES)
def test_other_threads_run_during_a_long_copy(how: str) -> None:
    copy = COPIES[how](np.ones(LONG, "float32"))
    with counting() as count:
        before, until = count(), time.monotonic() + 10
        while count() == before:  # the system may wake the other thread after the copy
            copy()
            assert time.monotonic() < until


@pytest.fixture
def releases() -> Callable[[], int]:
    """Counts how often this thread releases the GIL in dlbridge's module."""
    library = Path(os.environ.get("DLBRIDGE_TEST_MODULES", "")) / "libfailing_api.so"
    if not library.exists():
        pytest.skip("no replacement of the C API for this build")
    api = ctypes.PyDLL(str(library))
    api.count_gil_releases.restype = ctypes.py_object
    api.count_gil_releases(os.fsencode(dlbridge._core.__file__))
    api.gil_releases.restype = ctypes.c_long
    return api.gil_releases


@with_gil
@pytest.mark.parametrize("shape", [SHORT, LONG])
@pytest.mark.parametrize("how", COPIES)
def test_long_copies_alone_release_the_gil(
    releases: Callable[[], int], how: str, shape: tuple[int, ...]
) -> None:
    copy = COPIES[how](np.ones(shape, "float32"))
    before = releases()
    copy()
    assert (releases() > before) == (shape == LONG)


@pytest.mark.parametrize("shape", [LONG, SHORT, (3,), (0, 2)])
@pytest.mark.parametrize("change", ["T", "reversed", "cast"])
def test_the_bytes_are_those_of_numpy(shape: tuple[int, ...], change: str) -> None:
    array = np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)
    array = {"T": array.T, "reversed": array[::-1], "cast": array.astype("int8")}[change]
    assert tensor(array).tobytes() == array.tobytes()


@pytest.mark.parametrize("count", [7, 2**22 + 1])
def test_the_bits_after_the_last_packed_element_are_0(count: int) -> None:
    data = (bytes(range(255, 0, -1)) * (count // 510 + 1))[: count // 2 + 1]
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
    t = dlbridge.from_pointer(address, (count,), "int4", owner=data, readonly=True)
    assert t.tobytes() == data[:-1] + bytes([data[-1] & 0xF])
    assert t.tobytes() == dlbridge.from_dlpack(t, copy=True).tobytes()
