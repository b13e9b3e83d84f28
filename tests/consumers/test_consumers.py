# SPDX-License-Identifier: BSD-3-Clause
"""Libraries that get a Tensor: the same result as of the ndarray, or a refusal that says why."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from consumers_of_tensors import ARRAYS, ROWS, Row

import dlbridge

# The session `consumers` installs all of them, and requires each.
REQUIRED = os.environ.get("DLBRIDGE_REQUIRE_CONSUMERS", "")


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_tensor_in_place_of_an_array(row: Row) -> None:
    try:
        module = importlib.import_module(row.library)
    except ImportError:
        if REQUIRED:
            raise
        pytest.skip(f"requires {row.library}")
    array = ARRAYS[row.array]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = row.use(module, array)
        tensor = dlbridge.from_dlpack(array)
        if row.refuses:
            with pytest.raises(Exception) as raised:
                row.use(module, tensor)
            assert row.refuses in str(raised.value)
        else:
            assert row.use(module, tensor) == expected


def load(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        if REQUIRED:
            raise
        pytest.skip(f"requires {name}")


def test_a_column_of_objects_with_a_tensor() -> None:
    """Comparisons raise as with an ndarray, except with one number: pandas drops a TypeError."""
    pandas = load("pandas")
    column = pandas.Series([None, 1], dtype=object)
    column[0] = dlbridge.from_dlpack(ARRAYS["vector"])
    for compare in (
        lambda: column == [1, 1],
        lambda: column == pandas.Series([1, 1], dtype=object),
        lambda: column.to_numpy() == 1,
        lambda: column.replace(1, 2),
    ):
        with pytest.raises(TypeError, match="a Tensor does not compare its elements"):
            compare()
    assert (column == 1).tolist() == column.isin([1]).tolist() == [False, True]


TABLES = {
    "pandas": ("Series([1.0, 2.0])", "DataFrame({'a': [1.0]})", "Series([1, None], dtype='Int64')"),
    "polars": ("Series([1.0, 2.0])", "DataFrame({'a': [1.0]})", "Series([1, None])"),
    "xarray": ("DataArray([1.0, 2.0])",),
    "zarr": ("array([1.0, 2.0])",),
    "pyarrow": ("chunked_array([[1.0], [2.0]])",),
}
TEXTS = {
    "pandas": ("Series(['a'])", "DataFrame({'a': [1], 'b': ['x']})", "Categorical(['a'])"),
    "polars": ("Series(['a'])", "DataFrame({'a': [1], 'b': ['x']})"),
    "xarray": ("DataArray(['a'])",),
    "pyarrow": ("chunked_array([['a']])",),
}
HINTS: dict[str, Callable[[Any], dlbridge.Tensor]] = {
    "Pass numpy.asarray() of it": lambda x: dlbridge.from_dlpack(np.asarray(x)),
    "Call as_tensor()": dlbridge.as_tensor,
}


@pytest.mark.parametrize("library", TABLES)
def test_the_hint_of_a_refusal_is_right(library: str) -> None:
    module = load(library)
    for text in (*TABLES[library], *TEXTS.get(library, ())):
        x = eval(f"module.{text}", {"module": module})
        with pytest.raises(TypeError) as raised:
            dlbridge.from_dlpack(x)
        for hint, follow in HINTS.items():
            if hint in str(raised.value):
                t = follow(x)  # of a table with one column, that column
                np.testing.assert_array_equal(np.asarray(t), np.asarray(x).reshape(t.shape))
        has_hint = any(hint in str(raised.value) for hint in HINTS)
        assert has_hint == (text in TABLES[library]), text


def test_twenty_libraries_are_covered() -> None:
    assert len({row.library for row in ROWS} - {"numpy", "jax.numpy"}) >= 20
