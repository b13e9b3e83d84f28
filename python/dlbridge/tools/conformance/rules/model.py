# SPDX-License-Identifier: BSD-3-Clause
"""What a rule is, and how severe its violation is under a version of the array API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# The versions of the array API, the oldest first.
STANDARDS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12", "draft")
ARRAY_API = "array API"

Kind = Literal["must", "should", "unsound", "hardening", "courtesy"]
KINDS: dict[Kind, str] = {
    "must": "a standard demands it",
    "should": "a standard recommends it",
    "unsound": "its violation is a crash, wrong values, a leak or a double free on input that the "
    "standards permit",
    "hardening": "the input breaks a standard, and a robust library refuses or handles it",
    "courtesy": "no standard says so; other libraries depend on it",
}

# What a sentence does: it demands or defines, it recommends, it permits, or it only describes.
Force = Literal["must", "should", "may", "states"]

# F: a failure. W: a warning. N: a note.
Severity = Literal["F", "W", "N"]


@dataclass(frozen=True)
class Text:
    """A sentence of a standard, quoted word for word; white space and markup may differ."""

    document: str  # "dlpack.h", "DLPack Python specification", ARRAY_API, "CPython"
    since: str  # the first version of the document that has the sentence
    place: str  # what the sentence is about: "DLTensor.data", "__dlpack__, copy"
    sentence: str
    force: Force

    def binds(self, standard: str | None) -> bool:
        """Whether the sentence is part of what a library claims; None: it claims no array API."""
        if self.document != ARRAY_API:
            return True
        return standard is not None and STANDARDS.index(self.since) <= STANDARDS.index(standard)


@dataclass(frozen=True)
class Rule:
    """One expectation. Its id never changes its meaning; a retired id is not used again."""

    id: str
    kind: Kind
    text: str  # the expectation, in one sentence
    texts: tuple[Text, ...]  # the sentences that it follows from; none for most courtesies
    fix: str  # the change that a violating library needs
    remark: str = ""  # why the kind is no higher, or which libraries depend on it
    # Of a crash; None: N for hardening, whose input is invalid, and F elsewhere.
    crash: Severity | None = None
    # Whether a library without a claim to the array API is free to do otherwise.
    for_claims: bool = False

    @property
    def since(self) -> str:
        """The document and version that first had the rule; "" where no standard has it."""
        if not self.texts:
            return ""
        return f"{self.texts[0].document} {self.texts[0].since}"


def severity(rule: Rule, standard: str | None) -> Severity:
    """Returns the severity of a violation by a library that claims a version of the array API.

    A must needs a sentence that demands, and a should one that recommends or defines: the use of a
    mere permission is a note. Without a claim (None), those of dlpack.h and of DLPack's Python
    specification bind a library. The array API recommends its semantics to it: "Python libraries
    that want to implement only DLPack support are recommended to do so using the same syntax and
    semantics". A sentence of a later version than the claimed one does not count.
    """
    if rule.kind == "unsound":
        return "F"
    if rule.kind in ("hardening", "courtesy") or (standard is None and rule.for_claims):
        return "N"
    binding = {text.force for text in rule.texts if text.binds(standard)}
    if rule.kind == "must":
        return "F" if "must" in binding else "W" if standard is None else "N"
    return "W" if binding - {"may"} else "N"


def severity_of_crash(rule: Rule) -> Severity:
    """Returns the severity of a crash or a hang during a check of the rule.

    A crash on permitted input is unsound, whatever the rule. On invalid input it breaks nothing.
    """
    if rule.crash is not None:
        return rule.crash
    return "N" if rule.kind == "hardening" else "F"
