# SPDX-License-Identifier: BSD-3-Clause
"""The probes of C-13: what consumers with read-only arrays do with read-only memory."""

from __future__ import annotations

import contextlib
from typing import Any

from ... import abi
from ..helpers.consumption import (
    VERSIONED,
    Cases,
    ConsumerCall,
    import_as,
    summed_up,
    takes_versioned,
)
from ..helpers.producers import VERSION
from ..helpers.results import marks, shares_memory, tensors_below, views
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target

IGNORED = "ignored, as the standard prefers for a library without read-only arrays"


# Beside READ_ONLY: it counts whatever the other flags and the minor version are.
_MARKED: Cases = {
    "READ_ONLY": {},
    "READ_ONLY and IS_COPIED": {"flags": abi.READ_ONLY | abi.IS_COPIED},
    "READ_ONLY and an unknown flag": {"flags": abi.READ_ONLY | 1 << 40, "version": (1, 99)},
    "READ_ONLY of version (1, 99)": {"version": (1, 99)},
    "READ_ONLY, a vector": {"shape": (4,), "strides": (1,)},
    "READ_ONLY, transposed": {"strides": (1, 2)},
    "READ_ONLY, uint8": {"dtype": (1, 8, 1)},
    "READ_ONLY, float64 at an offset": {"dtype": (2, 64, 1), "byte_offset": 16},
}


def _import(target: Target, **fields: Any) -> ConsumerCall:
    takes_versioned(target)
    fields = {"flags": abi.READ_ONLY, "version": VERSION, **fields}
    call = import_as(target, VERSIONED, **fields)
    if call.refusal is not None:
        raise Skip(f"read-only memory is refused: {call.error_text}")
    return call


def _has_read_only_arrays(target: Target, found: dict[str, bool]) -> bool:
    """Whether a library has such arrays: it creates one, or its result has a mark."""
    if target.library is not None and target.library.read_only is not None:
        return True
    if target.library is None and target.consumer is None and "readonly" in target.accepts:
        return True
    return "flags.writeable" in found or any(found.values())


def _writes(x: Any) -> bool:
    """Tries to write an element, and returns whether the array let it happen."""
    with contextlib.suppress(Exception):
        first = x[(0,) * len(x.shape)]
        x[(0,) * len(x.shape)] = first
        return True
    return False


@probe("C-13", hostile=True)
def read_only_memory_stays_read_only(target: Target) -> str:
    call = _import(target)
    found = marks(call.result)
    if not _has_read_only_arrays(target, found):
        return IGNORED
    if not shares_memory(call):
        return "the result is a copy"
    _must_be_marked("the result", call, found)
    return f"read-only, by {', '.join(found)}" if found else "the result cannot be written"


@probe("C-13", hostile=True, extra=True)
def read_only_memory_of_every_kind_stays_read_only(target: Target) -> str:
    if not _has_read_only_arrays(target, marks(_import(target).result)):
        return IGNORED
    notes = []
    for name, fields in _MARKED.items():
        try:
            call = _import(target, **fields)
        except Skip as why:
            notes.append(f"{name}: {why}")
            continue
        if shares_memory(call):
            _must_be_marked(f"the result of {name}", call, marks(call.result))
    return "; ".join(notes)


def _must_be_marked(what: str, call: ConsumerCall, found: dict[str, bool]) -> None:
    writable = [name for name, mark in found.items() if not mark]
    if writable:
        raise Broken(f"{what} is writable, by {' and '.join(writable)}")
    if not found and _writes(call.result):
        raise Broken(f"an element of {what} can be assigned")
    before = call.producer.read(16)  # shares_memory() may have written to it
    with contextlib.suppress(Exception):
        call.result[(0,) * len(call.result.shape)] = 77
    if call.producer.read(16) != before:
        raise Broken(f"the assignment of 77 wrote into memory that is marked READ_ONLY: {what}")


@probe("C-13", hostile=True)
def views_stay_read_only(target: Target) -> str:
    first = _import(target)
    if not _has_read_only_arrays(target, marks(first.result)):
        return IGNORED
    wrong, right = [], 0
    for name, way in views(target).items():
        call = _import(target)
        try:
            view = way(call.result)
        except Exception:
            continue
        if not tensors_below(target, call.producer, view):  # a copy may be written
            continue
        writable = [how for how, mark in marks(view).items() if not mark]
        if writable:
            wrong.append(f"{name} is writable, by {' and '.join(writable)}")
        else:
            right += 1
    if wrong:
        raise Broken(
            summed_up(wrong), fix="Let every view inherit the read-only flag of its array."
        )
    return f"{right} views stay read-only"
