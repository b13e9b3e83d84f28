# SPDX-License-Identifier: BSD-3-Clause
"""Whether an array is read-only: by its own attributes, and by what dlbridge makes of it."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping
from typing import Any, Callable

from . import core
from .buffers import buffer_of


def _attribute(name: str, *, means_writable: bool) -> Callable[[Any], Any]:
    def read(x: Any) -> Any:
        for part in name.split("."):
            x = getattr(x, part)
        return operator.index(x) != int(means_writable)  # a method, or None, is no mark

    return read


def _of_buffer(x: Any) -> Any:
    buffer = buffer_of(x)
    return None if buffer is None else buffer.readonly


# By the road on which an array tells whether it is read-only. Each raises where it has none.
_ROADS: dict[str, Callable[[Any], Any]] = {
    "flags.writeable": _attribute("flags.writeable", means_writable=True),  # as NumPy has it
    "flags.writable": _attribute("flags.writable", means_writable=True),  # dpnp
    # memoryview, cuda.core, mpi4py, dlbridge
    "readonly": _attribute("readonly", means_writable=False),
    "read_only": _attribute("read_only", means_writable=False),
    "is_mutable": _attribute("is_mutable", means_writable=True),  # PyArrow's Tensor
    "the buffer protocol": _of_buffer,
    "__array_interface__": lambda x: x.__array_interface__["data"][1],
    "__cuda_array_interface__": lambda x: x.__cuda_array_interface__["data"][1],
}


def read_only_marks(x: Any) -> dict[str, bool]:
    """Returns whether an array is read-only, by each road on which it tells.

    Where it tells nothing, these are the roads of its base. No method of DLPack is called.

    >>> read_only_marks(memoryview(b"x")), read_only_marks([])
    ({'readonly': True, 'the buffer protocol': True}, {})
    """
    found = _marks(x)
    if not found:
        with contextlib.suppress(Exception):
            return {f"base.{road}": mark for road, mark in _marks(x.base).items()}
    return found


def _marks(x: Any) -> dict[str, bool]:
    found = {}
    for road, read in _ROADS.items():
        with contextlib.suppress(Exception):
            mark = read(x)
            if mark is not None:
                found[road] = bool(mark)
    return found


def mark_read_only(x: Any) -> bool:
    """Marks an array as read-only by the attributes that it has for it. Returns whether it is."""
    for road, mark in read_only_marks(x).items():
        names = road.split(".")
        with contextlib.suppress(Exception):
            if not mark and all(map(str.isidentifier, names)):
                owner = x if len(names) == 1 else getattr(x, names[0])
                setattr(owner, names[-1], not getattr(owner, names[-1]))
    return bool(is_read_only(x))


def protecting(marks: Mapping[str, bool]) -> str:
    """Names the roads that say so, for a sentence; "" where none does."""
    return ", ".join(road for road, mark in marks.items() if mark)


def is_read_only(x: Any) -> bool | None:
    """Returns whether an array is read-only by any road; None where it tells on none."""
    marks = read_only_marks(x)
    return any(marks.values()) if marks else None


def type_name(kind: type) -> str:
    """Returns the full name of a type, as immutable_by() expects it."""
    module = str(getattr(kind, "__module__", ""))
    name = str(getattr(kind, "__qualname__", kind.__name__))
    return name if module in ("builtins", "__main__", "") else f"{module}.{name}"


def is_column(x: Any) -> bool:
    """Whether an object is a column of a known library, which as_tensor accepts by Arrow."""
    known = type_name(type(x)).partition(".")[0] in ("pandas", "polars", "pyarrow")
    exports = any(hasattr(type(x), f"__arrow_c_{kind}__") for kind in ("array", "stream"))
    return known and exports and not hasattr(type(x), "__dlpack__")


def by_dlbridge(x: Any) -> str:
    """Returns what dlbridge makes of an array: "writable", "read-only", or its exception.

    Returns "" where dlbridge is not compiled. dlbridge does not survive invalid pointers, so only
    arrays and columns of libraries whose exports are known may be passed.
    """
    if core.is_missing():
        return ""
    import dlbridge

    try:
        tensor = dlbridge.as_tensor(x) if is_column(x) else dlbridge.from_dlpack(x)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "read-only" if tensor.readonly else "writable"
