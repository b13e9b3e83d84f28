# SPDX-License-Identifier: BSD-3-Clause
"""The results of an examination: the outcome of each rule, and the exit status of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .. import core
from ..output import INTERRUPTED, printable
from .rules import Kind, Severity, Text

Outcome = Literal["crash", "fail", "warn", "note", "skip", "pass"]
WORST_FIRST: tuple[Outcome, ...] = ("crash", "fail", "warn", "note", "skip", "pass")
VIOLATIONS: tuple[Outcome, ...] = ("crash", "fail", "warn", "note")

SCHEMA = 1  # of as_json(); docs/howto/test_your_library.md says what stays the same within a number
LONGEST = 2000  # characters of a text that quotes the library


@dataclass(frozen=True)
class Applied:
    """What a waiver did to the result of its rule."""

    reason: str
    strict: bool
    # waived: the violation does not count. unexpected pass: there is none. other outcome: there is
    # one of another kind, which counts. unused: the rule was skipped.
    state: Literal["waived", "unexpected pass", "other outcome", "unused"]


@dataclass(frozen=True)
class Result:
    """The outcome of one rule."""

    id: str
    kind: Kind
    severity: Severity  # of a violation, under the standard that counts
    outcome: Outcome
    expected: str
    got: str  # the violation, the reason for a skip, or a note
    fix: str
    sources: tuple[Text, ...] = ()
    seconds: float = 0.0  # that its probes took
    waiver: Applied | None = None
    causes: tuple[str, ...] = ()  # broken rules that may be the cause of the violation
    strict: bool = False  # whether a violated recommendation fails

    @property
    def fails(self) -> bool:
        """Whether the result makes the exit status 1."""
        state = self.waiver and self.waiver.state
        if self.waiver and state == "unexpected pass":
            return self.waiver.strict
        failing = ("crash", "fail", "warn") if self.strict else ("crash", "fail")
        return self.outcome in failing and state != "waived"

    @property
    def is_waived(self) -> bool:
        return self.waiver is not None and self.waiver.state == "waived"


@dataclass(frozen=True)
class Report:
    """The outcomes of all rules."""

    target: str
    consumer: str | None
    standard: str | None  # the version of the array API that counts; None: only DLPack's own texts
    versions: dict[str, str | None]
    results: list[Result]
    complete: bool = True  # False after Ctrl-C: rules that did not run are skipped
    remarks: Sequence[str] = ()  # on calls that end the process and are no part of DLPack

    @property
    def counts(self) -> dict[str, int]:
        """The number of rules with each outcome."""
        return {
            each: sum(result.outcome == each for result in self.results)
            for each in reversed(WORST_FIRST)
        }

    @property
    def status(self) -> int:
        """The exit status: 1 where a result fails, 0 where none does, 2 where all are skipped.

        130 after Ctrl-C.
        """
        if not self.complete:
            return INTERRUPTED
        if self.counts["skip"] == len(self.results):
            return 2
        return int(any(result.fails for result in self.results))

    def ordered(self) -> list[Result]:
        """Returns the results, the worst first, and before them what may be the cause of others."""
        causes = {cause for each in self.results for cause in each.causes}
        return sorted(
            self.results,
            key=lambda each: (each.id not in causes, WORST_FIRST.index(each.outcome)),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "dlbridge": core.version(),
            "complete": self.complete,
            "target": self.target,
            "consumer": self.consumer,
            "standard": self.standard,
            "versions": self.versions,
            "results": [asdict(result) for result in self.results],
            "counts": self.counts,
            "remarks": list(self.remarks),
        }


def cite(source: Text) -> str:
    """Formats a sentence of a standard in one line.

    >>> cite(Text("array API", "2023.12", "__dlpack__, copy", "It must.", "must"))
    'array API 2023.12, __dlpack__, copy: "It must."'
    """
    return f'{source.document} {source.since}, {source.place}: "{source.sentence}"'


def presentable(text: str) -> str:
    """Prepares a text that quotes the library: cuts it, and escapes what cannot be printed."""
    kept = printable(text[:LONGEST])
    return kept if len(text) <= LONGEST else f"{kept} ... ({len(text)} characters)"
