# SPDX-License-Identifier: BSD-3-Clause
"""All oddities of an observation: from checks, from signs, and from the cases of each tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...conformance.rules import RULES
from ..cases import CASES
from ..cases.case import Level
from ..reading.observation import Observation
from ..reading.protocols import COPIES, TITLES
from .checks import OF_OBJECT, OF_PRODUCER, effect_of_versioned
from .faults import judged
from .oddity import Oddity
from .verdicts import Verdict, affected

LEVELS: tuple[Level, ...] = ("defect", "risk", "note")
KINDS = ("unsound", "must", "should", "hardening", "courtesy")  # of rules, the gravest first


def _of_tensors(x: Observation, verdicts: Sequence[Verdict]) -> Iterator[Oddity]:
    """Yields the cases that hold, each once, with the protocols by which they hold."""
    described = x.described([name for name in TITLES if name not in COPIES])
    for case in CASES:
        if not case.level:
            continue
        sentences: dict[str, list[str]] = {}
        for name, description in described.items():
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
                case.repair,
                case.rule,
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
            odd = judged(replace(sign, protocols=names))
            is_refused = odd.rule == "P-34"
            yield replace(odd, who=effect_of_versioned(verdicts)) if is_refused else odd


def _gravity(odd: Oddity) -> tuple[int, int]:
    """Sorts by level, and within one by the kind of the rule."""
    kind = RULES[odd.rule].kind if odd.rule else "must"
    return LEVELS.index(odd.level), KINDS.index(kind)


def oddities(x: Observation, verdicts: Sequence[Verdict]) -> list[Oddity]:
    """Returns all oddities, the gravest first."""
    of_producer = [odd for check in OF_PRODUCER for odd in check(x, verdicts)]
    of_object = [odd for check in OF_OBJECT for odd in check(x, verdicts)]
    every = [*of_producer, *_of_signs(x, verdicts), *of_object, *_of_tensors(x, verdicts)]
    return sorted(every, key=_gravity)
