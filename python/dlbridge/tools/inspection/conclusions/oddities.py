# SPDX-License-Identifier: BSD-3-Clause
"""Oddities of a tensor or of its producer, and the consumers that they affect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...conformance.rules import RULES
from ..cases import CASES
from ..cases.case import Level
from ..reading.observation import Observation
from ..reading.protocols import COPIES
from . import objects, refusals
from .checks import CHECKS, effect_of_versioned
from .faults import judged
from .verdicts import Verdict, affected

LEVELS: tuple[Level, ...] = ("defect", "risk", "note")
KINDS = ("unsound", "must", "should", "hardening", "courtesy")  # of rules, the gravest first


@dataclass(frozen=True)
class Oddity:
    """A violation of a rule, a risk or a remarkable property."""

    level: Level  # defect: violates the rules or gives wrong values; risk: valid, but some fail
    what: str
    who: str = ""  # the effect on consumers
    protocols: tuple[str, ...] = ()  # by which it shows; empty: it concerns the object
    repair: str = ""  # what the author of the producer should change
    rule: str = ""  # of conformance, that is broken

    @property
    def quote(self) -> str:
        """The sentence of a standard that the rule follows from; "" without one."""
        texts = RULES[self.rule].texts if self.rule else ()
        return f"{texts[0].document}: \u201c{texts[0].sentence}\u201d" if texts else ""


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
                rule=case.rule,
            )


def _of_signs(x: Observation, verdicts: Sequence[Verdict]) -> Iterator[Oddity]:
    """Yields what the signs mean, except for rules of which a case says the same of a tensor."""
    for sign in x.signs:
        said = {
            name
            for name in sign.protocols
            for case in CASES
            if case.level and case.rule == sign.kind
            if (tensor := x.description(name)) is not None and case.holds(tensor)
        }
        names = tuple(name for name in sign.protocols if name not in said)
        if names or not sign.protocols:
            odd = Oddity(*judged(replace(sign, protocols=names)))
            is_refused = odd.rule == "P-34"
            yield replace(odd, who=effect_of_versioned(verdicts)) if is_refused else odd


def _gravity(odd: Oddity) -> tuple[int, int]:
    """Sorts by level, and within one by the kind of the rule."""
    kind = RULES[odd.rule].kind if odd.rule else "must"
    return LEVELS.index(odd.level), KINDS.index(kind)


def oddities(x: Observation, verdicts: Sequence[Verdict]) -> list[Oddity]:
    """Returns all oddities, the gravest first."""
    of_producer = [
        replace(Oddity(*each), rule=rule) for check, rule in CHECKS for each in check(x, verdicts)
    ]
    checks = (*objects.CHECKS, (refusals.refused_array, ""))
    of_object = [replace(Oddity(*each), rule=rule) for check, rule in checks for each in check(x)]
    every = [*of_producer, *_of_signs(x, verdicts), *of_object, *_of_tensors(x, verdicts)]
    return sorted(every, key=_gravity)
