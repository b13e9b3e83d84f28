"""Counts the references to an array, and to what it refers to."""

from __future__ import annotations

import gc
import sys
import types
from typing import Any, Callable

# They are referred to from everywhere, so that their counts tell nothing.
SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
SHARED_VALUES = (int, float, complex, str, bytes, type(None), type(Ellipsis))


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


def left(x: Any, act: Callable[[], object], times: int) -> str | None:
    """Describes how calls change reference counts; None where they leave them as they were.

    A change counts that is as large as the number of calls, and comes again.
    """
    objects = watched(x)
    act()
    description = None
    for _ in range(2):
        before = {name: sys.getrefcount(value) for name, value in objects.items()}
        for _ in range(times):
            act()
        description = _change(objects, before, times)
        if description is not None:
            gc.collect()
            description = _change(objects, before, times)
        if description is None:
            return None
    return description


def _change(objects: dict[str, Any], before: dict[str, int], times: int) -> str | None:
    for name, value in objects.items():
        each = (sys.getrefcount(value) - before[name]) / times
        if each > 0.5:
            return f"{each:.0f} reference{'s' if each > 1.5 else ''} to {name} for each"
        if each < -0.5:
            return f"{-each:.0f} too few references to {name} for each"
    return None
