"""What is odd in what a producer says, in plain words, and what it breaks in whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlbridge.tools.inspection.cases import CASES
from dlbridge.tools.inspection.cases.case import Level
from dlbridge.tools.inspection.habits import RULES
from dlbridge.tools.inspection.roads import COPIES
from dlbridge.tools.inspection.verdicts import who_minds

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection

LEVELS: tuple[Level, ...] = ("defect", "risk", "note")


@dataclass(frozen=True)
class Oddity:
    """One thing that is odd."""

    level: Level  # defect: against the rules, or values arrive wrong; risk: legal, and breaks some
    what: str
    who: str = ""  # what it breaks in whom
    roads: tuple[str, ...] = ()  # on which it shows; none: on the object as a whole


def _of_tensors(x: Inspection) -> Iterator[Oddity]:
    """The cases that hold, each once, with the roads on which it holds."""
    for case in CASES:
        if not case.level:
            continue
        said: dict[str, list[str]] = {}
        for road in x.roads:
            seen = road.description
            if seen is not None and road.name not in COPIES and case.holds(seen):
                said.setdefault(case.sentence(seen), []).append(road.name)
        for sentence, roads in said.items():
            everywhere = len(roads) == sum(
                r.description is not None and r.name not in COPIES for r in x.roads
            )
            if sentence[-1] != ".":
                sentence = f"{sentence[0].upper()}{sentence[1:]}."
            yield Oddity(
                case.level,
                sentence,
                who_minds(x, case.name, case.cells),
                () if everywhere else tuple(roads),
            )


def oddities(x: Inspection) -> list[Oddity]:
    """All that is odd, the worst first."""
    found = [Oddity(*each) for rule in RULES for each in rule(x)]
    return sorted([*found, *_of_tensors(x)], key=lambda each: LEVELS.index(each.level))
