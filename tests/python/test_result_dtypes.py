# SPDX-License-Identifier: BSD-3-Clause
"""Results whose dtype the library of the caller does not have: they keep their values, or the call
is refused with what the caller can do."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import pytest

from bindings import MODULES

HAS_JAX = bool(importlib.util.find_spec("jax"))
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


class Narrowed:
    """An array of a library that is not known to dlbridge, and has dtypes of 32 bits only."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __array_namespace__(self) -> Any:
        return Narrowed

    @staticmethod
    def from_dlpack(producer: Any) -> Narrowed:
        array = np.from_dlpack(producer)
        with np.errstate(over="ignore"):
            return Narrowed(array.astype(NARROW.get(str(array.dtype), array.dtype)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


@pytest.fixture
def dtypes(extension: Any) -> Any:
    return extension.dtypes


LIBRARIES: dict[str, Callable[[Any], Any]] = {"unknown": Narrowed}
if HAS_JAX:
    LIBRARIES["jax"] = lambda array: importlib.import_module("jax.numpy").asarray(array)
if importlib.util.find_spec("mlx"):
    LIBRARIES["mlx"] = lambda array: importlib.import_module("mlx.core").array(array)
KEEPS_INTEGERS = ["mlx"]  # of 64 bits


@pytest.fixture(params=LIBRARIES)
def caller(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def item(result: Any) -> Any:
    """The array in a result that may be a container."""
    result = result["values"] if isinstance(result, dict) else result
    return np.asarray(result[0] if isinstance(result, (list, tuple)) else result)


def called(dtypes: Any, like: Any, values: Any) -> Any:
    received: list[Any] = []
    dtypes.called(like, values, received.append)
    return received[0]


def by_name(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda dtypes, like, values: getattr(dtypes, name)(like, values)


PATHS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{
        name: by_name(name)
        for name in (
            "managed", "moved", "like", "in_tuple", "in_list", "in_dict", "optional", "variant",
            "overloaded", "plain", "fast",
        )
    },
    "called": called,
}  # fmt: skip


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, dtypes: Any, caller: str) -> Callable[[Any], Any]:
    """A function that returns the values to a caller of that library, by one way."""
    like = LIBRARIES[caller](np.ones(1, "float32"))
    return lambda values: PATHS[request.param](dtypes, like, values)


VALUES = {
    "int64": [-(2**31), 2**31 - 1],
    "uint64": [0, 2**32 - 1],
    "float32": [1.5, float("inf")],
    "complex64": [1 + 2j, -3j],
    "int32": [-(2**31), 7],
    "uint8": [0, 255],
    "bool": [True, False],
}


@pytest.mark.parametrize("dtype", VALUES)
def test_values_that_fit_come_back(path: Any, dtype: str) -> None:
    values = np.array([VALUES[dtype], VALUES[dtype]], dtype)
    assert item(path(values)).tolist() == values.tolist()


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_an_integer_that_is_lost_ends_the_call(path: Any, caller: str, dtype: str) -> None:
    values = np.zeros((2, 3), dtype)
    values[1, 2] = 2**33
    if caller in KEEPS_INTEGERS:
        assert item(path(values)).tolist() == values.tolist()
        return
    lost = re.escape(f"of {NARROW[dtype]}, which lacks the value at [1, 2]: dtype differs. ")
    with pytest.raises(BufferError, match=rf"expected {dtype}\[2, 3\] on cpu, .*{lost}"):
        path(values)
    values[1, 2] = -(2**31) - 1 if dtype == "int64" else 2**32
    with pytest.raises(BufferError, match=lost):
        path(values)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_rounding_ends_the_call(path: Any, dtype: str) -> None:
    expected = rf"expected {dtype}\[1\] on cpu, as the function returned; got .* of {NARROW[dtype]}"
    with pytest.raises(BufferError, match=rf"{expected}: dtype differs. (Call|Pass) "):
        path(np.ones(1, dtype))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_position_is_that_of_the_result(dtypes: Any, caller: str, order: Any) -> None:
    """Strides of the result do not matter."""
    values = np.zeros((3, 2), "float64", order)
    values[2, 0] = 1e39
    like = LIBRARIES[caller](np.ones(1, "float32"))
    with pytest.raises(BufferError, match=r"lacks the value at \[2, 0\]"):
        dtypes.managed_narrow(like, values)


NARROWING = ["managed_narrow", "like_narrow", "in_tuple_narrow", "fast_narrow"]


@pytest.mark.parametrize("name", NARROWING)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_author_states_narrow(dtypes: Any, caller: str, name: str, dtype: str) -> None:
    def narrowed(values: list[complex]) -> Any:
        given = np.array(values)
        given = given.astype(dtype) if dtype == "complex128" else given.real.copy()
        like = LIBRARIES[caller](np.ones(1, "float32"))
        return item(getattr(dtypes, name)(like, given))

    largest = float(np.finfo("float32").max)
    halfway = largest + 2.0**103  # rounds to infinity
    below = np.nextafter(halfway, 0.0)
    values = [0.1, -0.0, float("inf"), float("-inf"), below, -below, 1e-300]
    result = narrowed([complex(x) for x in values])
    assert result.dtype == NARROW[dtype]
    with np.errstate(under="ignore"):
        np.testing.assert_array_equal(result.real, np.array(values).astype("float32"))
    assert np.signbit(result.real[1])
    assert np.isnan(narrowed([complex("nan")])).all()
    for number in (halfway, -halfway, 1e300):
        with pytest.raises(BufferError, match=r"lacks the value at \[1\]"):
            narrowed([0, number])
        if dtype == "complex128":
            with pytest.raises(BufferError, match=r"lacks the value at \[1\]"):
                narrowed([0, complex(0, number)])


def test_narrow_does_not_lose_integers(dtypes: Any, caller: str) -> None:
    if caller not in KEEPS_INTEGERS:
        like = LIBRARIES[caller](np.ones(1, "float32"))
        with pytest.raises(BufferError, match=r"lacks the value at \[0\]"):
            dtypes.managed_narrow(like, np.array([2**40]))


def test_narrow_for_a_module() -> None:
    program = """
import importlib, sys
import numpy as np
from test_result_dtypes import Narrowed
dtypes = importlib.import_module(sys.argv[1]).dtypes
dtypes.narrow_all()
for name in ("managed", "plain", "fast"):
    result = getattr(dtypes, name)(Narrowed(np.ones(1)), np.array([0.1]))
    assert np.asarray(result).tolist() == [np.float32(0.1)], name
try:
    dtypes.plain(Narrowed(np.ones(1)), np.array([1e300]))
except BufferError:
    print("refused")
"""
    for name in MODULES:
        command = [sys.executable, "-c", program, name]
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        out = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **path}
        )
        assert (out.stdout, out.returncode) == ("refused\n", 0), out.stderr


def test_the_remedy_of_the_argument(dtypes: Any, caller: str) -> None:
    values = np.array([1e300, 2])
    x = LIBRARIES[caller](np.ones(2, "float32"))
    with pytest.raises(BufferError, match=r"ass numpy\.asarray of the argument"):
        dtypes.managed(x, values)
    result = dtypes.managed(np.asarray(x), values)
    assert type(result) is np.ndarray and result.tolist() == values.tolist()


def test_other_libraries_keep_the_dtype(dtypes: Any) -> None:
    for dtype, values in {**VALUES, "float64": [1e300, -0.0], "int64": [2**63 - 1]}.items():
        array = np.array(values, dtype)
        for name in ("managed", "moved", "like", "fast"):
            result = getattr(dtypes, name)(np.ones(1), array)
            assert (result.dtype, result.tolist()) == (array.dtype, array.tolist())


REMEDY = (
    r'Call (jax\.config\.update\("jax_enable_x64", True\))'
    r"(?:, or pass numpy\.asarray of the argument)?$"
)


@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
class TestJax:
    @pytest.fixture
    def jax(self) -> Iterator[Any]:
        jax: Any = importlib.import_module("jax")
        yield jax
        jax.config.update("jax_enable_x64", False)

    @pytest.mark.parametrize("name", [*PATHS, "in_jax"])
    def test_the_remedy(self, dtypes: Any, name: str, jax: Any) -> None:
        x = jax.numpy.ones(1)

        def call(values: Any) -> Any:
            return item(
                dtypes.in_jax(values) if name == "in_jax" else PATHS[name](dtypes, x, values)
            )

        with pytest.raises(BufferError, match=REMEDY) as raised:
            call(np.array([1e300, 2]))
        found = re.search(REMEDY, str(raised.value))
        assert found
        exec(found[1], {"jax": jax})
        wide = {"float64": [1e300], "int64": [2**40], "complex128": [1j]}
        for dtype, values in {**VALUES, **wide}.items():
            result = call(np.array(values, dtype))
            assert (result.dtype, result.tolist()) == (dtype, np.array(values, dtype).tolist())

    def test_a_function_of_jax_names_no_argument(self, dtypes: Any) -> None:
        with pytest.raises(BufferError) as raised:
            dtypes.in_jax(np.array([1e300]))
        assert "numpy.asarray" not in str(raised.value)
        with pytest.raises(BufferError, match=r"lacks the value at \[1\]"):
            dtypes.in_jax(np.array([1, 2**33]))
        assert dtypes.in_jax(np.array([[3]])).tolist() == [[3]]
        assert dtypes.in_jax_narrow(np.array([0.1])).tolist() == [np.float32(0.1)]
        with pytest.raises(BufferError, match=r"lacks the value at \[0\]"):
            dtypes.in_jax_narrow(np.array([1e300]))

    def test_views_of_an_object(self, dtypes: Any, jax: Any) -> None:
        table = dtypes.Table()
        like = jax.numpy.ones(1)
        expected = r"got jaxlib\._jax\.ArrayImpl of float32"
        with pytest.raises(BufferError, match=expected):
            _ = table.in_jax
        with pytest.raises(BufferError, match=expected):
            table.like(like)
        with pytest.raises(BufferError, match=expected):
            next(iter(table))

    def test_the_example_of_the_page(self, dtypes: Any, jax: Any) -> None:
        result = dtypes.halves(jax.numpy.asarray([1.0, 3]))
        assert (result.dtype, result.tolist()) == ("float32", [0.5, 1.5])
        assert dtypes.halves(np.ones(1, "float32")).dtype == "float64"
