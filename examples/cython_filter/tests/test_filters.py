# SPDX-License-Identifier: BSD-3-Clause
"""Functions that are written in Cython, with the arrays of NumPy and PyTorch."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest
import torch
from cython_filter import filters


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype="uint8")


def luma_of(image):
    return np.asarray(image) @ np.array([0.299, 0.587, 0.114])


def test_luma_of_any_strides(image):
    for x in (image, image[::-2, 1:], image.transpose(1, 0, 2)):
        out = filters.luma(x)
        assert type(out) is np.ndarray and out.dtype == np.float32
        np.testing.assert_allclose(out, luma_of(x), rtol=1e-6)


def test_luma_returns_the_library_of_the_image(image):
    out = filters.luma(torch.from_numpy(image))
    assert type(out) is torch.Tensor and out.dtype == torch.float32
    np.testing.assert_allclose(out, luma_of(image), rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_scale_writes_into_the_memory_of_the_caller(make):
    memory = np.ones((2, 4), "float32")
    filters.scale(make(memory).T, 3)
    filters.scale(make(memory)[:, ::2])
    assert memory.tolist() == [[6, 3, 6, 3]] * 2


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_mean_requires_a_row_major_array(make):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    assert filters.mean(make(x)) == 11.5 and filters.mean(make(x[1])) == 17.5
    with pytest.raises(TypeError, match=r"float32\[...\] on cpu, row-major; got .*layout differs"):
        filters.mean(make(x.T))


def test_refusals_state_what_is_expected():
    with pytest.raises(TypeError) as raised:
        filters.luma(np.zeros((2, 3)))
    assert str(raised.value) == (
        "luma(): argument 'image': expected uint8[*, *, 3] on cpu; got float64[2, 3] on cpu: "
        "dtype, rank differ"
    )
    frozen = np.ones((2, 2), "float32")
    frozen.flags.writeable = False
    with pytest.raises(TypeError, match=r"scale.*writable.*writability differs"):
        filters.scale(frozen, 2)
    with pytest.raises(TypeError, match=r"'image': not a DLPack producer.*got one of type list"):
        filters.luma([1])


def test_the_exception_of_a_producer_is_the_cause():
    class Lost:
        def __init__(self, exception):
            self.exception = exception

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            raise self.exception

    with pytest.raises(TypeError, match=r"luma.*'image': RuntimeError: device lost") as raised:
        filters.luma(Lost(RuntimeError("device lost")))
    assert isinstance(raised.value.__cause__, RuntimeError)
    with pytest.raises(KeyboardInterrupt):
        filters.luma(Lost(KeyboardInterrupt()))


def test_a_result_that_the_library_refuses(image):
    class Namespace:
        @staticmethod
        def from_dlpack(x):
            raise ValueError("no memory left")

    class Array:
        def __dlpack_device__(self):
            return image.__dlpack_device__()

        def __dlpack__(self, **keywords):
            return image.__dlpack__(**keywords)

        def __array_namespace__(self):
            return Namespace

    with pytest.raises(ValueError, match="no memory left"):
        filters.luma(Array())


def test_nothing_leaks(image):
    class Array(np.ndarray):
        pass

    x = image.view(Array)
    reference, count = weakref.ref(x), sys.getrefcount(x)
    for _ in range(100):
        filters.luma(x)
        with pytest.raises(TypeError):
            filters.scale(x, 2)
    assert sys.getrefcount(x) == count
    del x
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_description_of_any_tensor(make):
    for dtype, code, bits in (("int16", 0, 16), ("float64", 2, 64), ("complex64", 5, 64)):
        for memory in (np.zeros((2, 3, 4), dtype), np.zeros((2, 5), dtype).T, np.zeros((), dtype)):
            assert filters.describe(make(memory)) == {
                "address": memory.ctypes.data,
                "bytes": memory.nbytes,
                "dtype": (code, bits),
                "device": (1, 0),
                "read_only": False,
            }
    with pytest.raises(BufferError, match="gaps"):
        filters.describe(make(np.zeros((4, 4))[:, ::2]))


def test_description_of_read_only_memory():
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert filters.describe(frozen)["read_only"] is True
