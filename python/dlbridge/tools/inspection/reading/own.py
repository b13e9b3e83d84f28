# SPDX-License-Identifier: BSD-3-Clause
"""Reads the elements of an object by its own methods: tolist(), indexing, or conversion to NumPy.

They are independent of the object's exports, so that the exports can be compared with them.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, Callable

from ...elements import shape_of
from .elements import Elements, Number, chosen
from .protocols import Raised, guarded
from .signs import MASKED

MOST_LISTED = 4096  # elements for which tolist() is called
MOST_CONVERTED = 1 << 22  # elements for which a conversion to NumPy is called
MOST_INDEXED = 32  # elements that are read one by one


class NoNumbers(Exception):
    """The object has elements that are no numbers."""


class Masked(Exception):
    """The object has masked elements: NumPy lists None for them."""


@dataclass(frozen=True)
class Own:
    """The elements by one method of the object."""

    method: str
    shape: tuple[int, ...] | None  # None: the method does not tell
    elements: Elements  # at the first of the chosen indices


def _number(x: Any) -> Number:
    """Returns an element as a number of Python."""
    if not isinstance(x, (bool, int, float, complex)) and hasattr(x, "item"):
        x = x.item()
    if isinstance(x, (bool, int, float, complex)):
        return x
    if x is None:
        raise Masked
    if isinstance(x, (str, bytes)):
        raise NoNumbers(f"an element is {x!r:.20}")
    try:
        return operator.index(x)  # float() rounds an integer above 2**53
    except Exception:
        return float(x)


def _at(values: Any, index: tuple[int, ...]) -> Any:
    for i in index:
        values = values[i]
    return values


def _by_list(x: Any, shape: tuple[int, ...]) -> Own | None:
    if math.prod(shape) > MOST_LISTED or not callable(getattr(x, "tolist", None)):
        return None
    values = x.tolist()
    own = shape_of(values)
    if own != shape:  # a flat list tells no shape
        return None if getattr(x, "shape", None) == shape else Own("tolist()", own, ())
    return Own("tolist()", own, tuple(_number(_at(values, i)) for i in chosen(shape)))


def _by_index(x: Any, shape: tuple[int, ...]) -> Own | None:
    if not hasattr(type(x), "__getitem__"):
        return None
    numbers = []
    for index in chosen(shape)[:MOST_INDEXED]:
        element = x[index[0] if len(index) == 1 else index]
        numbers.append(_number(element))
    return Own("x[index]", None, tuple(numbers))


def numbers_of(array: Any, shape: tuple[int, ...]) -> Elements:
    """Returns the numbers of NumPy's array that are compared."""
    return tuple(_number(array[index]) for index in chosen(shape))


def _by_conversion(method: str) -> Callable[[Any, tuple[int, ...]], Own | None]:
    def convert(x: Any, shape: tuple[int, ...]) -> Own | None:
        if math.prod(shape) > MOST_CONVERTED or not hasattr(type(x), method):
            return None
        array = getattr(x, method)()
        own = tuple(array.shape)
        if own != shape:
            return Own(f"{method}()", own, ())
        return Own(f"{method}()", own, numbers_of(array, shape))

    return convert


# The first one that gives numbers counts.
METHODS: tuple[Callable[[Any, tuple[int, ...]], Own | None], ...] = (
    _by_list, _by_index, _by_conversion("__array__"), _by_conversion("numpy"),
)  # fmt: skip


def read(x: Any, shape: tuple[int, ...]) -> tuple[Own | None, str]:
    """Returns the elements by the object's own methods, or None and the reason."""
    reason = "the object has no other way to read its elements"
    for method in METHODS:
        try:
            own: Own | None = guarded(lambda method=method: method(x, shape))  # type: ignore[misc]
        except Raised as error:
            if error.type == "NoNumbers":
                return None, "its elements are no plain numbers"
            if error.type == "Masked":
                return None, MASKED
            reason = f"the object's own methods raise {error}"
            continue
        if own is not None:
            return own, ""
    return None, reason
