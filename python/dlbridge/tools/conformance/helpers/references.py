# SPDX-License-Identifier: BSD-3-Clause
"""Counts the references to an array, and to what it refers to."""

from __future__ import annotations

import contextlib
import ctypes as C
import gc
import sys
import types
from collections.abc import Iterator
from typing import Any, Callable

from .memory import settle, shortest, too_slow

# They are referred to from everywhere, so that their counts tell nothing.
SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
SHARED_VALUES = (int, float, complex, str, bytes, type(None), type(Ellipsis))

FEWEST, MOST, QUICKLY = 5, 20, 0.5  # calls, and seconds for them
# Calls when these have left something, and seconds for them: more than tensors wait to be freed.
FEWEST_CERTAINLY, CERTAINLY, LONG = 200, 500, 4.0
SLOWEST = 0.2  # seconds of a call


def watched(x: Any) -> dict[str, Any]:
    """Returns the array and the objects whose references an export may take, by a description."""
    found = {"the array": x}
    for name, value in [*getattr(x, "__dict__", {}).items(), ("base", getattr(x, "base", None))]:
        found[f"its attribute {name!r}"] = value
    for value in gc.get_referents(x):
        found.setdefault(f"its {type(value).__name__}", value)
    return {
        name: value
        for name, value in found.items()
        if not isinstance(value, (*SHARED, *SHARED_VALUES))
    }


def left(x: Any, act: Callable[[], object]) -> str | None:
    """Describes how calls change reference counts; None where they leave them as they were.

    A change counts that is as large as the number of calls, and comes again. Raises Skip for calls
    that are too slow to be counted.
    """
    objects = watched(x)
    act()  # fills caches
    each = shortest(act, SLOWEST)
    if each > SLOWEST:
        raise too_slow(each)
    times = _fitting(each, QUICKLY, FEWEST, MOST)
    for _ in range(2):
        before = _counts(objects)
        for _ in range(times):
            act()
        if _change(objects, before, times) is None:
            return None
        settle(lambda: _change(objects, before, times) is None)  # noqa: B023 - called at once
        if _change(objects, before, times) is None:
            return None
    return _left_for_certain(objects, act, each)


def _fitting(each: float, seconds: float, fewest: int, most: int) -> int:
    """Returns how many calls fit into some seconds, within bounds."""
    return max(fewest, min(most, int(seconds / max(each, 1e-7))))


def _left_for_certain(
    objects: dict[str, Any], act: Callable[[], object], each: float
) -> str | None:
    """Repeats the calls so often that a number of tensors which wait to be freed does not count."""
    times = _fitting(each, LONG, 0, CERTAINLY)
    if times < FEWEST_CERTAINLY:
        raise too_slow(each)
    with _lent(objects, 2 * times):
        settle()
        before = _counts(objects)
        for _ in range(times):
            act()
        settle(lambda: _change(objects, before, times) is None)
        return _change(objects, before, times)


@contextlib.contextmanager
def _lent(objects: dict[str, Any], count: int) -> Iterator[None]:
    """Adds references, so that calls which drop one too many do not free an object.

    At the end it takes back those that are not missing.
    """
    before = _counts(objects)
    for value in objects.values():
        for _ in range(count):
            C.pythonapi.Py_IncRef(C.py_object(value))
    try:
        yield
    finally:
        for name, value in objects.items():
            there = sys.getrefcount(value) - before[name]
            for _ in range(max(0, min(count, there))):
                C.pythonapi.Py_DecRef(C.py_object(value))


def _counts(objects: dict[str, Any]) -> dict[str, int]:
    return {name: sys.getrefcount(value) for name, value in objects.items()}


def _change(objects: dict[str, Any], before: dict[str, int], times: int) -> str | None:
    for name, value in objects.items():
        each = (sys.getrefcount(value) - before[name]) / times
        if each > 0.5:
            return f"{each:.0f} reference{'s' if each > 1.5 else ''} to {name} for each"
        if each < -0.5:
            return f"{-each:.0f} too few references to {name} for each"
    return None
