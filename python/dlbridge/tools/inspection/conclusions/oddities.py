# SPDX-License-Identifier: BSD-3-Clause
"""Oddities of a tensor or of its producer, and the consumers that they affect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..cases import CASES
from ..cases.case import Level
from ..reading.observation import Observation
from ..reading.protocols import COPIES
from . import access, comparisons, refusals
from .checks import CHECKS
from .faults import judged
from .verdicts import Verdict, affected

LEVELS: tuple[Level, ...] = ("defect", "risk", "note")


@dataclass(frozen=True)
class Oddity:
    """A violation of a rule, a risk or a remarkable property."""

    level: Level  # defect: violates the rules or gives wrong values; risk: valid, but some fail
    what: str
    who: str = ""  # the effect on consumers
    protocols: tuple[str, ...] = ()  # by which it shows; empty: it concerns the object
    repair: str = ""  # what the author of the producer should change


def _of_tensors(x: Observation, verdicts: Sequence[Verdict]) -> Iterator[Oddity]:
    """Yields the cases that hold, each once, with the protocols by which they hold."""
    described = [
        (each.name, each.description)
        for each in x.responses
        if each.description is not None and each.name not in COPIES
    ]
    for case in CASES:
        if not case.level:
            continue
        sentences: dict[str, list[str]] = {}
        for name, description in described:
            if case.holds(description):
                sentences.setdefault(case.sentence(description), []).append(name)
        for sentence, names in sentences.items():
            if sentence[-1] != ".":
                sentence = f"{sentence[0].upper()}{sentence[1:]}."
            yield Oddity(
                case.level,
                sentence,
                affected(verdicts, case.name, case.reactions),
                () if len(names) == len(described) else tuple(names),
            )


def oddities(x: Observation, verdicts: Sequence[Verdict]) -> list[Oddity]:
    """Returns all oddities, the most severe first."""
    of_producer = [Oddity(*each) for check in CHECKS for each in check(x, verdicts)]
    checks = (*comparisons.CHECKS, *access.CHECKS, refusals.refused_array)
    of_protocols = [Oddity(*each) for check in checks for each in check(x)]
    of_signs = [Oddity(*judged(sign)) for sign in x.signs]
    return sorted(
        [*of_producer, *of_protocols, *of_signs, *_of_tensors(x, verdicts)],
        key=lambda each: LEVELS.index(each.level),
    )
