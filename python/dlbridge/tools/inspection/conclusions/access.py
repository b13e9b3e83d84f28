# SPDX-License-Identifier: BSD-3-Clause
"""Checks of access: read-only marks that some protocol lacks, and arrays that never change."""

from __future__ import annotations

from ..reading.observation import Observation
from ..reading.protocols import TITLES
from .comparisons import (
    Findings,
    exports_of,
    meet,
    others_of,
)


def read_only_lost(x: Observation) -> Findings:
    exports = [(name, each) for name, each in exports_of(x) if each.read_only is not None]
    marks = [
        (f"its {TITLES[name]}", other.read_only)
        for name, other in others_of(x)
        if other.read_only is not None and any(meet(other, each) for _, each in exports)
    ]
    if x.subject.own_read_only is not None:
        marks.append((f"its {x.subject.own_mark}", x.subject.own_read_only))
    protecting = [name for name, mark in marks if mark]
    writable = tuple(name for name, each in exports if not each.read_only)
    read_only = tuple(name for name, each in exports if each.read_only)
    if protecting and writable:
        yield (
            "defect",
            f"It is read-only by {protecting[0]}, and exported as writable.",
            "consumers write to memory that must not change",
            writable,
            "set DLPACK_FLAG_BITMASK_READ_ONLY",
        )
    elif writable and read_only:
        yield (
            "defect",
            "It is read-only by one protocol and writable by another.",
            "consumers of the other protocol write to it",
            min(read_only, writable, key=len),
            "set DLPACK_FLAG_BITMASK_READ_ONLY in every export",
        )
    elif read_only and marks and not protecting:
        yield (
            "note",
            f"It is writable by {marks[0][0]}, and exported as read-only: unusual, permitted.",
            "some consumers refuse it",
            read_only,
            "",
        )


def immutable(x: Observation) -> Findings:
    """The library promises never to change the array, whatever its export says."""
    if not x.subject.immutable:
        return
    exports = exports_of(x)
    unmarked = tuple(name for name, each in exports if not each.read_only)
    is_protected = x.subject.by_dlbridge == "read-only"
    treated = f"; dlbridge treats it as {x.subject.by_dlbridge}" if x.subject.by_dlbridge else ""
    yield (
        "risk" if unmarked else "note",
        f"It is immutable: {x.subject.immutable} never changes its arrays{treated}.",
        "consumers of exports without the read-only flag may write to it" if unmarked else "",
        unmarked,
        "" if is_protected or not unmarked else "pass dlbridge.from_dlpack(x, readonly=True)",
    )


CHECKS = (read_only_lost, immutable)
