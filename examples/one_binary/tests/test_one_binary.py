# SPDX-License-Identifier: BSD-3-Clause
"""One test suite for three extensions, with whichever CPython runs it."""

from __future__ import annotations

import gc
import importlib
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(params=["plain", "with_nanobind", "with_cython"])
def signal(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(f"one_binary.{request.param}")


@pytest.fixture(params=["numpy", "torch", "dlbridge"])
def make(request: pytest.FixtureRequest) -> Callable[[np.ndarray], Any]:
    """Makes a tensor of a library on the memory of an array."""
    library = pytest.importorskip(request.param)
    return np.asarray if library is np else library.from_dlpack


def test_a_result_is_of_the_library_of_the_argument(signal, make):
    x = make(np.array([0, 3, 6, 0], dtype="float32"))
    out = signal.smooth(x)
    assert type(out) is type(x)
    assert np.from_dlpack(out).tolist() == [1, 3, 3, 2]
    strided = signal.smooth(make(np.array([0, 9, 3, 9, 6, 9, 0, 9], dtype="float32"))[::2])
    assert np.from_dlpack(strided).tolist() == [1, 3, 3, 2]


def test_scale_writes_into_the_memory_of_the_caller(signal, make):
    memory = np.arange(6, dtype="float32")
    signal.scale(make(memory), 2.0)
    signal.scale(make(memory)[::2], factor=10)
    assert memory.tolist() == [0, 2, 40, 6, 80, 10]


def test_refusals(signal, make):
    with pytest.raises(TypeError) as raised:
        signal.smooth(make(np.zeros((2, 3))))
    assert str(raised.value) == (
        "smooth(): argument 'x': expected float32[*] on cpu; got float64[2, 3] on cpu: "
        "dtype, rank differ"
    )


def test_objects_that_are_no_tensors(signal):
    with pytest.raises(
        TypeError, match=r"smooth.*'x': not a DLPack producer.*got one of type list"
    ):
        signal.smooth([1.0])
    with pytest.raises(TypeError, match=r"scale\(\).*'x': not a DLPack producer"):
        signal.scale(None, 2.0)


def test_read_only_memory_is_refused(signal):
    frozen = np.ones(3, dtype="float32")
    frozen.flags.writeable = False
    assert signal.smooth(frozen).tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match=r"scale.*float32\[\*\] on cpu, writable.*writability diff"):
        signal.scale(frozen, 2.0)
    assert frozen.tolist() == [1, 1, 1]


def test_a_track_shares_its_memory(signal, make):
    track = signal.Track(3)
    samples = np.from_dlpack(track)
    assert samples.dtype == np.float32 and samples.tolist() == [0, 0, 0]
    samples[:] = [1, 2, 3]
    assert np.from_dlpack(make(track)).tolist() == [1, 2, 3]
    signal.scale(track, 2.0)
    assert np.asarray(track).tolist() == [2, 4, 6] and list(track) == [2, 4, 6]
    assert track.__dlpack_device__() == (1, 0)
    del track
    gc.collect()
    assert samples.tolist() == [2, 4, 6]
    with pytest.raises((MemoryError, OverflowError, TypeError, ValueError)):
        signal.Track(-1)


def test_a_track_is_a_buffer(signal):
    if signal.__name__.endswith("with_cython"):
        pytest.skip("Cython's extension types implement __getbuffer__ for it")
    view = memoryview(signal.Track(3))
    assert view.format == "f" and view.shape == (3,) and not view.readonly
    view[1] = 5
    assert np.asarray(view).tolist() == [0, 5, 0]


def test_types_that_python_code_changes(signal):
    """A class of Python code, which the limited API tells no change of."""

    class Producer:
        __dlpack_device__ = staticmethod(lambda: (1, 0))

        def __dlpack__(self, **keywords):
            return np.zeros(2, "float32").__dlpack__(**keywords)

    producer = Producer()
    signal.scale(producer, 2.0)
    signal.scale(producer, 2.0)
    Producer.__dlpack__ = lambda self, **_: np.zeros(2).__dlpack__(**_)
    with pytest.raises(TypeError, match="got float64"):
        signal.scale(producer, 2.0)
    del Producer.__dlpack__
    with pytest.raises(TypeError, match="not a DLPack producer"):
        signal.scale(producer, 2.0)


def test_nothing_leaks(signal):
    class Array(np.ndarray):
        pass

    x = np.zeros(3, dtype="float32").view(Array)
    reference, count = weakref.ref(x), sys.getrefcount(x)
    for _ in range(100):
        signal.smooth(x)
        signal.scale(x, 2.0)
        with pytest.raises(TypeError):
            signal.smooth(x[None])
    assert sys.getrefcount(x) == count
    del x
    gc.collect()
    assert reference() is None
    track_type = signal.Track
    count = sys.getrefcount(track_type)
    for _ in range(100):
        np.from_dlpack(track_type(3))
    assert sys.getrefcount(track_type) == count


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no suffix for the stable ABI")
@pytest.mark.skipif("t" in getattr(sys, "abiflags", ""), reason="has a build of its own")
def test_the_module_is_of_the_stable_abi(signal):
    assert Path(signal.__file__).name.endswith(".abi3.so")
