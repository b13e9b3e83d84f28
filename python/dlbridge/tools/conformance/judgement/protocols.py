# SPDX-License-Identifier: BSD-3-Clause
"""The rules of several descriptions of one array: legacy, versioned, by the exchange table."""

from __future__ import annotations

from typing import Any

from ... import abi
from ..helpers.exports import steps


def described(contents: abi.Contents) -> dict[str, Any]:
    """Returns what two descriptions of one array must have in common.

    The strides of extents of 1 mean nothing, and neither does the address of an empty array.
    """
    shape = contents.shape or ()
    if 0 in shape:
        return {"shape": shape, "dtype": contents.dtype, "device": contents.device}
    return {
        "address": contents.first,
        "shape": shape,
        "strides": tuple(step for n, step in zip(shape, steps(contents)) if n > 1),
        "dtype": contents.dtype,
        "device": contents.device,
    }


def difference(one: abi.Contents, other: abi.Contents) -> str | None:
    """Returns how two descriptions of one array differ, None when they agree."""
    first, second = described(one), described(other)
    return next(
        (f"{name} is {first[name]} and {second.get(name)}"
         for name in first if first[name] != second.get(name)),
        None,
    )  # fmt: skip


def other_elements(
    one: abi.Contents, other: abi.Contents, first: bytes | None, second: bytes | None
) -> str | None:
    """Returns how two exports of one array differ, of which each may be a copy.

    `first` and `second` are their elements, as far as they can be read.
    """
    for name in ("shape", "dtype", "device"):
        if getattr(one, name) != getattr(other, name):
            return f"{name} is {getattr(one, name)} and {getattr(other, name)}"
    is_known = first is not None and second is not None
    return None if first == second or not is_known else "elements are others"
