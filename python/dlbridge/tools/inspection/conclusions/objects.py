# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the object itself: no tensor, protocols that disagree, arrays that never change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ... import dtypes
from ..cases.case import Level
from ..reading.description import Description
from ..reading.observation import Observation
from ..reading.protocols import COPIES, DLPACK, TITLES
from .differences import FACETS

# The level, the sentence, the effect on consumers, the protocols, the repair.
Findings = Iterator[tuple[Level, str, str, tuple[str, ...], str]]

NOT_DLPACK = ("buffer", "array", "cuda array")


def exports_of(x: Observation) -> list[tuple[str, Description]]:
    """The exports that are no requested copies, with their descriptions."""
    return _described(x, [name for name in DLPACK if name not in COPIES])


def _described(x: Observation, names: Sequence[str]) -> list[tuple[str, Description]]:
    return [
        (each.name, each.description)
        for each in x.responses
        if each.description is not None and each.name in names
    ]


def no_tensor(x: Observation) -> Findings:
    if x.tensor is not None or any(each.outcome == "unreadable" for each in x.responses):
        return
    refusals = [each for each in x.responses if each.outcome == "raised" and each.name != "device"]
    if refusals:
        yield (
            "risk",
            f"No protocol gives a tensor: {refusals[0].title} raises {refusals[0].said}",
            "refused by all",
            tuple(each.name for each in refusals),
            "",
        )
    elif x.subject.is_class:
        yield (
            "defect",
            f"It is the class {x.subject.type}, and no array.",
            "refused by all",
            (),
            f"pass an array that it creates, as in {x.title or x.subject.type}(...)",
        )
    elif not any(each.outcome == "skipped" for each in x.responses):
        names = "__dlpack__, exchange table, buffer protocol and array interface"
        yield (
            "defect",
            f"It is no tensor: {x.subject.type} has none of {names}.",
            "refused by all",
            (),
            "pass an array, a tensor, a buffer or a capsule",
        )


def interfaces_disagree(x: Observation) -> Findings:
    """The buffer protocol and the array interfaces describe the same object."""
    exports = exports_of(x)
    if not exports:
        return
    name, export = exports[0]
    for other_name, other in _described(x, NOT_DLPACK):
        for facet in ("dtype", "shape", "strides"):
            read, text = FACETS[facet]
            values = read(export), read(other)
            if None in values or values[0] == values[1]:
                continue
            if facet == "dtype" and other.dtype == (dtypes.BOOL, 8, 1):
                continue  # P-17 judges bool that is exported as integers
            if facet == "strides" and (export.shape != other.shape or export.first != other.first):
                continue
            yield (
                "defect",
                f"{TITLES[name]} gives {text(export)}, the object's {TITLES[other_name]} "
                f"{text(other)}.",
                "consumers of one of them read other values",
                (),
                "fill both descriptions from the same fields",
            )
            break


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


# The rule that each check belongs to; "": none of conformance.
CHECKS = ((no_tensor, ""), (interfaces_disagree, "S-04"), (immutable, ""))
