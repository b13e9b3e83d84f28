# SPDX-License-Identifier: BSD-3-Clause
"""The values of arrays: numbers in nested lists, compared and counted."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from dlbridge.tools import elements

_DTYPE = re.compile(r"bfloat16|float[48]_?\w*|(?:u?int|float|complex)\d+|bool")


def dtype_of(x: Any) -> str | None:
    """Returns the name of the dtype, or None where the array does not report it by name."""
    try:
        text = str(getattr(x, "dtype", ""))
    except Exception:  # tvm_ffi has no name for complex dtypes
        return None
    match = _DTYPE.search(text)
    return match.group() if match else None


def looks_like(values: Any, dtype: str) -> str:
    """Returns the dtype of an array that does not report it, as far as its values show."""
    return "numbers" if dtype == "bool" and type(first(values)) is int else dtype


def same(values: Any, expected: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(values, (list, tuple))
            and len(values) == len(expected)
            and all(map(same, values, expected))
        )
    return not isinstance(values, (list, tuple)) and bool(values == expected)


def in_memory_order(values: Any, strides: Sequence[int]) -> list[Any]:
    """Returns the numbers in the order of their addresses.

    >>> in_memory_order([[0, 1], [2, 3]], (1, 2))
    [0, 2, 1, 3]
    """
    indices = itertools.product(*map(range, elements.shape_of(values)))
    placed = zip(indices, elements.flat(values))
    return [x for _, x in sorted(placed, key=lambda each: _offset(each[0], strides))]


def _offset(index: Sequence[int], strides: Sequence[int]) -> int:
    return sum(i * stride for i, stride in zip(index, strides))


def first(values: Any) -> Any:
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return values


def empty(values: Any) -> bool:
    return isinstance(values, list) and all(map(empty, values))


def different(values: Any) -> Any:
    """Returns other values of the same shape."""
    return list(map(different, values)) if isinstance(values, list) else type(values)(not values)


def rank(values: Any) -> int:
    return 1 + rank(values[0]) if isinstance(values, list) and values else 0
