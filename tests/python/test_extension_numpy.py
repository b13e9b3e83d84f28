"""NumPy arrays as arguments of an extension: subclasses, flags, strides and dtypes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import extension
from bindings import BINDINGS, DETAILED, function
from test_numpy import NEW


class Sub(np.ndarray[Any, Any]):
    pass


def vector(*values: float) -> Any:
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_result_for_a_subclass_is_an_ndarray(binding: str) -> None:
    x = vector(1, 2, 3).view(Sub)
    assert function(binding, "owned")(x) == x.ctypes.data
    assert type(function(binding, "doubled")(x)) is np.ndarray


@pytest.mark.parametrize("binding", BINDINGS)
def test_empty_like_returns_an_array_that_owns_its_memory(binding: str) -> None:
    doubled = function(binding, "doubled")(vector(1, 2))
    assert (doubled.flags.owndata, doubled.flags.writeable) == (True, True)


@pytest.mark.parametrize("binding", DETAILED)
def test_read_only_arrays(binding: str) -> None:
    x = vector(1, 2)
    x.flags.writeable = False
    if not NEW:  # it exports legacy tensors only, which have no read-only flag
        with pytest.raises(TypeError, match=r"BufferError: .* readonly"):
            function(binding, "span_to_read")(x)
        return
    assert function(binding, "span_to_read")(x) == x.ctypes.data
    with pytest.raises(TypeError, match=r"read-only: writability differs. Take it as const"):
        function(binding, "span_to_write")(x)
    result = function(binding, "same")(x)
    assert not result.flags.writeable


@pytest.mark.parametrize("binding", DETAILED)
def test_misaligned_arrays_are_refused(binding: str) -> None:
    x = np.zeros(13, dtype=np.uint8)[1:].view(np.float32)
    with pytest.raises(TypeError, match=r"aligned to 1 byte: alignment differs$"):
        function(binding, "span_to_read")(x)


@pytest.mark.parametrize(
    "x",
    [
        vector(1, 2, 3)[::-1],
        np.lib.stride_tricks.as_strided(vector(2), (3,), (0,)),
        np.asfortranarray(np.ones((3, 2), np.float32))[:, 1],
    ],
)
def test_strides(x: Any) -> None:
    assert [function(binding, "sum")(x) for binding in BINDINGS] == [x.sum()] * 3


def random_array(pick: random.Random, dtype: str) -> Any:
    """An array of random rank, sliced, transposed and broadcast at random, possibly read-only."""
    order: Any = pick.choice("CF")
    x = np.zeros([pick.randrange(6) for _ in range(pick.randrange(5))], dtype, order)
    for axis, extent in enumerate(x.shape):
        start, step = pick.randrange(extent + 1), pick.choice([-3, -2, -1, 1, 1, 2, 3])
        x = x[(slice(None),) * axis + (slice(start, None, step),)]
    x = x.transpose(pick.sample(range(x.ndim), x.ndim))
    if pick.random() < 0.2:
        x = np.lib.stride_tricks.as_strided(x, (3, *x.shape), (0, *x.strides))
    if NEW and pick.random() < 0.2:
        x.flags.writeable = False
    return x


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex128"])
def test_the_layout_of_random_arrays(dtype: str) -> None:
    """By the fields of an ndarray, and by __dlpack__, which a subclass of ndarray uses."""
    pick = random.Random(dtype)
    for _ in range(1000):
        x = random_array(pick, dtype)
        for array in (x, x.view(Sub)):
            address, extents, strides, readonly = extension.describe(array)
            assert (tuple(extents), readonly) == (x.shape, not x.flags.writeable)
            if x.size:
                assert address == x.ctypes.data
                layout = zip(x.shape, x.strides, strides)
                assert all(n == 1 or b == s * x.itemsize for n, b, s in layout)


@pytest.mark.parametrize("dtype", ["object", "U3", "M8[s]", "f4,f4"])
@pytest.mark.parametrize("binding", DETAILED)
def test_the_exception_of_numpy_is_the_cause(binding: str, dtype: str) -> None:
    x: Any = np.zeros(2, dtype=dtype)
    with pytest.raises(TypeError) as raised:
        function(binding, "sum")(x)
    cause = raised.value.__cause__
    assert isinstance(cause, (BufferError, TypeError))
    assert str(raised.value) == f"sum(): argument 'x': {type(cause).__name__}: {cause}"


def test_a_function_writes_to_the_array() -> None:
    x = vector(1, 2, 3)
    extension.scale(x[::2], 10)
    assert x.tolist() == [10, 2, 30]


def test_numpy_imports_a_class_of_an_extension() -> None:
    image = extension.Image(2, 3)
    x = np.from_dlpack(image)
    image.fill(7)
    del image
    assert x.tolist() == [[7, 7, 7], [7, 7, 7]]
    assert x.flags.writeable is NEW
    if NEW:
        assert not np.from_dlpack(extension.Constant()).flags.writeable
    else:
        with pytest.raises(BufferError, match="read-only"):
            np.from_dlpack(extension.Constant())
