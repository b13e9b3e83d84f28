"""What arrays hold: numbers in lists in lists, compared and counted."""

from __future__ import annotations

import re
from typing import Any

_DTYPE = re.compile(r"bfloat16|float[48]_?\w*|(?:u?int|float|complex)\d+|bool")


def dtype_of(x: Any) -> str | None:
    """The name of the dtype, or None where the array does not say it by name."""
    try:
        said = str(getattr(x, "dtype", ""))
    except Exception:  # tvm_ffi has no word for complex numbers
        return None
    found = _DTYPE.search(said)
    return found.group() if found else None


def looks_like(values: Any, dtype: str) -> str:
    """The dtype of an array that does not say it, as far as its values tell."""
    return "numbers" if dtype == "bool" and type(first(values)) is int else dtype


def same(got: Any, sent: Any) -> bool:
    if isinstance(sent, (list, tuple)):
        return (
            isinstance(got, (list, tuple)) and len(got) == len(sent) and all(map(same, got, sent))
        )
    return not isinstance(got, (list, tuple)) and bool(got == sent)


def first(values: Any) -> Any:
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return values


def empty(values: Any) -> bool:
    return isinstance(values, list) and all(map(empty, values))


def others(values: Any) -> Any:
    """Values of the same shape, none of which is the same."""
    return list(map(others, values)) if isinstance(values, list) else type(values)(not values)


def rank(values: Any) -> int:
    return 1 + rank(values[0]) if isinstance(values, list) and values else 0
