# SPDX-License-Identifier: BSD-3-Clause
"""The values of arrays: numbers in nested lists, compared and counted."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Sequence
from typing import Any

from .. import elements

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


def difference(values: Any, expected: Any) -> str | None:
    """Describes the first number that differs; None where the shapes do.

    >>> difference([[0.0, 1.0]], [[0.0, 1.5]])
    '1.0 at [0, 1], where 1.5 was sent'
    """
    if not isinstance(expected, (list, tuple)):
        is_number = not isinstance(values, (list, tuple))
        return f"{values!r}, where {expected!r} was sent" if is_number else None
    shape = elements.shape_of(expected)
    if elements.shape_of(values) != shape:
        return None
    for index in itertools.product(*map(range, shape)):
        got, sent = _at(values, index), _at(expected, index)
        if isinstance(got, (list, tuple)):
            return None
        if not elements.same(got, sent):
            return f"{got!r} at {list(index)}, where {sent!r} was sent"
    return None


def _at(values: Any, index: Sequence[int]) -> Any:
    for i in index:
        values = values[i]
    return values


def in_memory_order(values: Any, strides: Sequence[int]) -> list[Any]:
    """Returns the numbers in the order of their addresses.

    >>> in_memory_order([[0, 1], [2, 3]], (1, 2))
    [0, 2, 1, 3]
    """
    placed = zip(elements.offsets(elements.shape_of(values), strides), elements.flat(values))
    return [x for _, x in sorted(placed, key=operator.itemgetter(0))]


def first(values: Any) -> Any:
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return values


def different(values: Any) -> Any:
    """Returns other values of the same shape."""
    return list(map(different, values)) if isinstance(values, list) else type(values)(not values)
