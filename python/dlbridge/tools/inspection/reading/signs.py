# SPDX-License-Identifier: BSD-3-Clause
"""What an examination of exports found: one sign for each rule that is broken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sign:
    """What an export breaks: a rule of conformance, or else a kind of conclusions/faults.py."""

    kind: str  # "P-38", "conversion"
    protocols: tuple[str, ...] = ()  # by which it shows
    # "text": what judgement/ says of a rule. "repair": in place of the usual one. The others are
    # words of the kind's sentence.
    words: Mapping[str, str] = field(default_factory=dict)


def signs_of(rule: str, text: str | None, *protocols: str) -> list[Sign]:
    """Returns the sign of what a function of judgement/ says; none where the rule holds."""
    return [Sign(rule, protocols, {"text": text})] if text else []


def merged(signs: Iterable[Sign]) -> tuple[Sign, ...]:
    """Returns the signs, those of the same words together."""
    found: dict[tuple[str, str], Sign] = {}
    for sign in signs:
        key = sign.kind, repr(sorted(sign.words.items()))
        names = dict.fromkeys((*(found[key].protocols if key in found else ()), *sign.protocols))
        found[key] = Sign(sign.kind, tuple(names), sign.words)
    return tuple(found.values())


@dataclass(frozen=True)
class Comparison:
    """With what the elements of the exports were compared, or why they were not."""

    truth: str = ""  # the object's own way of reading: "tolist()"
    count: int = 0  # elements
    protocols: tuple[str, ...] = ()  # that were compared with it
    reason: str = ""  # why nothing was compared
