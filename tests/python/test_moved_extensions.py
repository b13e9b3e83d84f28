# SPDX-License-Identifier: BSD-3-Clause
"""Extensions that moved from py::array_t and nb::ndarray: both forms of each function give the same
results for the arrays that both accept, and the tables in the docs state the differences."""

from __future__ import annotations

import array
import gc
import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest


def module(name: str) -> Any:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} was not built")
    return importlib.import_module(name)


@pytest.fixture(params=["before", "after"])
def array_t(request: pytest.FixtureRequest) -> Any:
    return getattr(module("moved_pybind11"), request.param)


@pytest.fixture(params=["before", "after"])
def ndarray(request: pytest.FixtureRequest) -> Any:
    return getattr(module("moved_nanobind"), request.param)


NUMBERS = np.array([1.0, 2, 4, 8])
CONVERTIBLE = [
    NUMBERS,
    NUMBERS.astype("float32"),
    NUMBERS.astype("int64"),
    NUMBERS.astype("uint8"),
    NUMBERS.astype("float16"),
    NUMBERS.repeat(2)[::2],
    NUMBERS[::-1][::-1],
    np.frombuffer(bytearray(b"x" + NUMBERS.tobytes()), "uint8")[1:].view("float64"),
]


@pytest.mark.parametrize("x", CONVERTIBLE, ids=lambda x: f"{x.dtype}-{x.strides[0]}")
def test_array_t_converts_real_dtypes_and_layouts(array_t: Any, x: Any) -> None:
    result = array_t.smoothed(x)
    assert (result.tolist(), result.dtype) == ([1, 1.5, 3, 6], np.float64)
    assert array_t.total(x) == 15
    assert array_t.total(x, x) == 85
    assert array_t.total(x=x, weights=None) == 15


def test_array_t_that_is_written(array_t: Any) -> None:
    out = np.ones(4)
    array_t.add_to(out, [1, 2, 3, 4] if array_t.__name__.endswith("before") else np.arange(1, 5))
    assert out.tolist() == [2, 3, 4, 5]
    assert array_t.identity(2).tolist() == [[1, 0], [0, 1]]
    assert type(array_t.identity(2)) is np.ndarray


@pytest.mark.parametrize("all_", [[], [np.ones((2, 3)), np.full((1, 2), 4.0)]], ids=len)
def test_array_t_in_containers(array_t: Any, all_: list[Any]) -> None:
    result = array_t.sums(all_)
    assert [type(each) for each in result.values()] == [np.ndarray] * 2
    assert result["count"].tolist() == [each.size for each in all_]
    assert result["sum"].tolist() == [each.sum() for each in all_]


def test_array_t_of_other_lengths(array_t: Any) -> None:
    with pytest.raises(IndexError):
        array_t.total(NUMBERS, NUMBERS[:2])


def test_array_t_loses_what_is_written_to_a_copy() -> None:
    extension = module("moved_pybind11")
    out = np.ones(4, "int64")
    extension.before.add_to(out, NUMBERS)
    assert out.tolist() == [1, 1, 1, 1]  # pybind11 converted it silently
    with pytest.raises(TypeError, match=r"'out': expected float64\[n\] on cpu, writable; got int"):
        extension.after.add_to(out, NUMBERS)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.arange(6.0).reshape(2, 3), np.arange(3)),
        (np.ones((2, 3, 4))[::-1], [[1], [2], [3]]),
        (3.0, np.ones((2, 1), "float32")),
        (np.array(3.0), 4),
        (3, 4),
    ],
)
def test_vectorize(x: Any, y: Any) -> None:
    extension = module("moved_pybind11")
    expected = extension.before.hypotenuse(x, y)
    result = extension.after.hypotenuse(x, y)
    assert type(result) is type(expected) and np.shape(result) == np.shape(expected)
    np.testing.assert_array_equal(result, expected)


def test_lists() -> None:
    extension = module("moved_pybind11")
    assert extension.before.smoothed([1, 2]).tolist() == [1, 1.5]
    with pytest.raises(TypeError, match=r"got one of type list\. Pass numpy\.asarray\(\) of it"):
        extension.after.smoothed([1, 2])
    with pytest.raises(TypeError, match=r"got one of type tuple\. Pass numpy\.asarray\(\) of it"):
        extension.after.smoothed((1, 2))
    for x in ([1, 2, 3], (1, 2.0, 3), np.arange(1, 4), np.arange(1, 4, dtype="float32")):
        assert extension.after.mean(x) == 2


class Column:  # as a column of a table library
    dtype = np.dtype("float64")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return NUMBERS


class Interrupted:
    def __getattr__(self, name: str) -> Any:
        raise {"__array__": KeyboardInterrupt}.get(name, AttributeError)(name)


class Ragged:  # whose array has no dtype of numbers, as far as one can tell
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("ragged")


class Texts(Ragged):
    dtype = np.dtype("U1")


class Sparse(Column):
    def todense(self) -> Any: ...


class Older:
    def to_dlpack(self) -> Any:
        return NUMBERS.__dlpack__()


ASARRAY = ". Pass numpy.asarray() of it"
REMEDIES = [
    (2.5, ASARRAY),
    (1, ASARRAY),
    (np.float64(2.5), ASARRAY),
    (np.float32(2.5), ASARRAY),
    (range(3), ASARRAY),
    (array.array("d", [1, 2]), ASARRAY),
    (Column(), ASARRAY),
    ([[1, 2], [3, 4]], ASARRAY),
    (Ragged(), ""),
    (Texts(), ""),
    (Sparse(), ". Pass x.todense()"),
    (["text"], ""),
    ([["text"]], ""),
    (Older(), ". Pass the capsule that its to_dlpack() returns"),
    (b"12345678", ". Pass numpy.frombuffer() of it, with its dtype"),
    (Column, ""),
    ("text", ""),
    (None, ""),
    (object(), ""),
]


@pytest.mark.parametrize(
    ("x", "remedy"), REMEDIES, ids=[type(each).__name__ for each, _ in REMEDIES]
)
def test_a_refusal_of_what_numpy_converts_states_the_remedy(x: object, remedy: str) -> None:
    with pytest.raises(TypeError) as refusal:
        module("moved_pybind11").after.smoothed(x)
    name = type(x).__qualname__ if type(x).__module__ != "numpy" else f"numpy.{type(x).__name__}"
    name = "array.array" if isinstance(x, array.array) else name
    assert str(refusal.value) == (
        "smoothed(): argument 'x': not a DLPack producer: expected an object with __dlpack__ and "
        f"__dlpack_device__; got one of type {name}{remedy}"
    )


def test_an_exception_of_the_search_for_the_remedy_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        module("moved_pybind11").after.smoothed(Interrupted())


def test_what_numpy_does_not_export() -> None:
    extension = module("moved_pybind11")
    for x in (NUMBERS.astype(">f8"), NUMBERS.astype(object)):
        assert extension.before.total(x) == 15
        with pytest.raises(TypeError, match="argument 'x': BufferError: expected a dtype"):
            extension.after.total(x)
        assert extension.after.total(x.astype("float64")) == 15


def points(n: int = 2) -> Any:
    return np.arange(3 * n, dtype="float32").reshape(n, 3)


def test_ndarray_functions(ndarray: Any) -> None:
    x = points()
    result = ndarray.doubled(x)
    assert (type(result), result.tolist()) == (np.ndarray, (2 * x).tolist())
    ndarray.shift(x, 1.0)
    assert x.tolist() == (points() + 1).tolist()
    assert (ndarray.weight(x), ndarray.weight(x, None)) == (2, 2)
    assert ndarray.weight(x, w=np.array([1, 3], "float32")) == 4
    frozen = points()
    frozen.flags.writeable = False
    assert ndarray.doubled(frozen).tolist() == (2 * points()).tolist()
    with pytest.raises(TypeError):
        ndarray.shift(frozen, 1.0)
    with pytest.raises(TypeError):
        ndarray.doubled(np.zeros((2, 4), "float32"))


def test_ndarray_on_the_memory_of_an_object(ndarray: Any) -> None:
    cloud = ndarray.Cloud(points())
    view = cloud.points
    view[1, 2] = 50
    assert cloud.points[1, 2] == 50
    del cloud
    gc.collect()
    assert view[1, 2] == 50
    del view
    gc.collect()


def test_ndarray_converts_and_dlbridge_refuses() -> None:
    extension = module("moved_nanobind")
    for x, differs in (
        (points().astype("float64"), "dtype"),
        (np.asfortranarray(points()), "layout"),
    ):
        assert extension.before.doubled(x).tolist() == (2 * points()).tolist()
        with pytest.raises(TypeError, match=f"{differs} differs"):
            extension.after.doubled(x)
