# SPDX-License-Identifier: BSD-3-Clause
"""Groups failing exchanges by their cause: one fault of one library, seen in some exchanges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from .. import known
from .exchange import FAILED, OUTCOMES

Exchange = dict[str, Any]

# Parts of a message that differ between exchanges with one cause.
_DIFFERS = (
    (re.compile(r"^(arrives as|after its source is freed, it is) .*"), r"\1 other values"),
    (re.compile(r"\[[-\d, .]*\]"), "[...]"),
    (re.compile(r"\b\d+\b"), "N"),
    (re.compile(r"(\w+Error: )+"), r"\1"),
)


@dataclass(frozen=True)
class Cause:
    """One fault or refusal of a library, with every exchange that shows it."""

    library: str  # the one that is at fault, or that refuses
    side: str  # "producer" or "consumer"
    outcome: str
    message: str
    defect: str | None  # the id of the known defect that explains it
    exchanges: Sequence[Exchange]

    @property
    def is_fault(self) -> bool:
        """Whether a rule is broken, or another outcome than a refusal is not explained."""
        if self.defect is not None:
            return known.DEFECTS[self.defect].is_fault
        return self.outcome != "refused"

    @property
    def is_silent(self) -> bool:
        """Whether a mark or a dtype is lost without an error, although no rule forbids it."""
        return not self.is_fault and self.outcome != "refused"

    @property
    def text(self) -> str:
        """What happens: the sentence of the known defect, or else the message."""
        return self.message if self.defect is None else known.DEFECTS[self.defect].what

    @property
    def others(self) -> list[str]:
        """The libraries on the other side, each once."""
        other = {"producer": "consumer", "consumer": "producer"}
        names = (each[other[each.get("whose", "consumer")]] for each in self.exchanges)
        return list(dict.fromkeys(names))

    @property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(each["case"] for each in self.exchanges))


def normalised(message: str) -> str:
    """Returns a message without the parts that differ between exchanges with one cause.

    >>> normalised("overflowed with sizes=[6] and strides=[-1]")
    'overflowed with sizes=[...] and strides=[...]'
    >>> normalised("arrives as [0.0, 1.0]")
    'arrives as other values'
    """
    for pattern, instead in _DIFFERS:
        message = pattern.sub(instead, message)
    return message


def _defect_of(exchange: Exchange, library: str, version: str) -> str | None:
    """Returns the known defect of the library that explains the outcome of an exchange."""
    said, because = exchange.get("said", ""), exchange.get("because", "")
    unusual = ", ".join(exchange.get("unusual", ()))
    line = f"{exchange['case']}: {exchange['outcome']}: {said} ({because}) [{unusual}]"
    for row in known.of(library):
        if row.seen_as and re.search(row.seen_as, line) and row.is_in(version):
            return row.id
    return None


_Key = tuple[str, Optional[str], str, str, str]  # library, defect, side, outcome, message


def of(report: dict[str, Any], exchanges: Iterable[Exchange]) -> list[Cause]:
    """Groups the failing ones of these exchanges, the gravest and most frequent causes first."""
    versions: dict[str, dict[str, str]] = {
        environment["name"]: environment["libraries"] for environment in report["environments"]
    }
    groups: dict[_Key, list[Exchange]] = {}
    for each in exchanges:
        if each["outcome"] not in FAILED:
            continue
        side = each.get("whose", "consumer")
        library = str(each.get(side, side))
        there = versions.get(each.get("environment", ""), {})
        defect = _defect_of(each, library, there.get(library, ""))
        # A defect may have several outcomes and messages, as a crash and an error.
        shown = ("", "", "") if defect else (side, each["outcome"], _message(each))
        groups.setdefault((library, defect, *shown), []).append(each)
    causes = [
        Cause(
            library,
            group[0].get("whose", "consumer"),
            max((each["outcome"] for each in group), key=_gravity),
            _message(group[0]),
            defect,
            group,
        )
        for (library, defect, *_), group in groups.items()
    ]
    return sorted(
        causes,
        key=lambda cause: (not cause.is_fault, -_gravity(cause.outcome), -len(cause.exchanges)),
    )


def _message(exchange: Exchange) -> str:
    return normalised(exchange.get("because") or exchange.get("said", ""))


def _gravity(outcome: str) -> int:
    return list(OUTCOMES).index(outcome)
