# SPDX-License-Identifier: BSD-3-Clause
"""Whether an array is read-only: by its own attributes, and by what dlbridge makes of it."""

from __future__ import annotations

from typing import Any

from . import core

# By attribute: whether True means that the array may be written.
_MARKS = {
    "flags.writeable": True,  # NumPy, and those that imitate it
    "flags.writable": True,  # dpnp
    "readonly": False,  # memoryview, cuda.core, mpi4py, dlbridge
    "read_only": False,
    "is_mutable": True,  # PyArrow's Tensor
}


def own_mark(x: Any) -> tuple[str, bool] | None:
    """Returns the attribute by which an array tells whether it is read-only, and whether it is.

    Where two attributes disagree, the one that protects the array counts. None where it has none.
    Passes exceptions of the attributes on, except AttributeError.

    >>> own_mark(memoryview(b"x")), own_mark(memoryview(bytearray(1))), own_mark([])
    (('readonly', True), ('readonly', False), None)
    """
    found = []
    for name, means_writable in _MARKS.items():
        value = x
        for part in name.split("."):
            value = getattr(value, part, None)
        if isinstance(value, bool):
            found.append((name, value is not means_writable))
    return next((each for each in found if each[1]), found[0] if found else None)


def type_name(kind: type) -> str:
    """Returns the full name of a type, as immutable_by() expects it."""
    module = str(getattr(kind, "__module__", ""))
    name = str(getattr(kind, "__qualname__", kind.__name__))
    return name if module in ("builtins", "__main__", "") else f"{module}.{name}"


def by_dlbridge(x: Any) -> str:
    """Returns what dlbridge makes of an array: "writable", "read-only", or its exception.

    Returns "" where dlbridge is not compiled. dlbridge does not survive invalid pointers, so only
    arrays of libraries whose exports are known may be passed.
    """
    if core.is_missing():
        return ""
    import dlbridge

    try:
        tensor = dlbridge.from_dlpack(x)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "read-only" if tensor.readonly else "writable"
