"""What each consumer will do with an object: it asks what it asks, and reads what it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dlbridge.tools import abi
from dlbridge.tools.inspection.cases import CASES, OTHER_MAJOR
from dlbridge.tools.inspection.cases.case import COLUMNS, EXCEPTIONS, SIGNALS, WORDS
from dlbridge.tools.inspection.consumers import ROWS, Ask, Consumer
from dlbridge.tools.inspection.roads import Road

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection

Outcome = Literal["shares", "copies", "depends", "refuses", "wrong", "breaks", "crashes", "unknown"]
WORST = ("shares", "copies", "depends", "unknown", "wrong", "breaks", "refuses", "crashes")

# How an outcome is said, before its text.
SAID: dict[Outcome, str] = {
    "shares": "without a copy",
    "copies": "copies",
    "depends": "depends",
    "refuses": "refuses",
    "wrong": "WRONG VALUES",
    "breaks": "TAKES IT, FAILS LATER",
    "crashes": "ENDS THE PROCESS",
    "unknown": "not known",
}


@dataclass(frozen=True)
class Verdict:
    """What one consumer will do."""

    consumer: str
    title: str
    version: str  # with which this was seen
    call: str
    outcome: Outcome
    text: str
    road: str = ""  # the one that it reads, when it comes to that
    met: tuple[str, ...] = ()  # the cases, by name, that decide


@dataclass(frozen=True)
class _Judged:
    outcome: Outcome
    text: str
    road: str = ""
    met: tuple[str, ...] = ()


def verdicts(inspection: Inspection) -> list[Verdict]:
    """One for each consumer. What nobody has tried is `unknown`, and not guessed."""
    found = []
    for row in ROWS:
        judged = _changed(_judge(row, inspection), inspection)
        known = (row.name, row.title, row.version, row.call)
        found.append(Verdict(*known, judged.outcome, judged.text, judged.road, judged.met))
    return found


def _judge(row: Consumer, inspection: Inspection) -> _Judged:
    if inspection.subject.is_capsule:
        return _judge_capsule(row, inspection.roads[0])
    refused = _refuses(row.no_tensor, "it has no __dlpack__")
    for ask in row.asks:
        road = inspection.road(ask.road)
        if road is None or road.outcome == "absent":
            continue
        if road.outcome == "skipped":
            return _Judged("unknown", road.said)
        before = _before(row, ask, inspection)
        if before is not None:
            return before
        if road.outcome == "raised":
            refused = _Judged("refuses", f"{road.raised}: raised by {road.title}", road.name)
            if road.raised in ask.goes_on:
                continue
            return refused
        if road.capsule is not None and road.capsule not in ask.takes:
            return _refuses(ask.error or "BufferError", _name_text(road, ask))
        return _read(row, road)
    return refused


def _changed(judged: _Judged, inspection: Inspection) -> _Judged:
    """What PyTorch would still have to do to the values, nobody does who takes them."""
    for mark in ("negated", "conjugated"):
        if mark in inspection.subject.marks and judged.outcome in ("shares", "copies"):
            return replace(judged, outcome="wrong", text=f"the values are not {mark}")
    return judged


def _before(row: Consumer, ask: Ask, inspection: Inspection) -> _Judged | None:
    """What stops a consumer before it has called __dlpack__."""
    device = inspection.road("device")
    if ask.road not in ("bare", "1.0", "1.3"):
        return None
    if row.needs_device and device is not None and device.outcome == "absent":
        return _refuses(row.needs_device, "it has no __dlpack_device__")
    if row.needs_device and device is not None and device.outcome == "raised":
        return _Judged("refuses", f"{device.raised}: raised by __dlpack_device__()")
    if row.needs_stream and not inspection.knows("stream"):
        return _refuses("TypeError", "__dlpack__ does not know stream=")
    return None


def _name_text(road: Road, ask: Ask) -> str:
    if road.capsule == abi.LEGACY:
        return "the answer is a legacy capsule, which it does not read"
    if road.capsule == abi.VERSIONED and abi.LEGACY in ask.takes:
        return "the answer is a versioned capsule, which it did not ask for"
    return f"the capsule is named {road.capsule!r}"


def _judge_capsule(row: Consumer, road: Road) -> _Judged:
    if not row.capsules:
        return _refuses(row.no_capsule, "it takes objects, and no raw capsules")
    if road.capsule not in row.capsules:
        return _refuses(row.no_capsule, f"a capsule named {road.capsule!r}")
    return _read(row, road)


def _read(row: Consumer, road: Road) -> _Judged:
    """What it makes of what is in the tensor."""
    if road.version is not None and road.version[0] != 1:
        cell = OTHER_MAJOR.split()[COLUMNS.index(row.name)]
        judged = _of_cell(cell, f"version {road.version[0]}.{road.version[1]}")
        return replace(judged, road=road.name, met=(OTHER,))
    x = road.description
    if x is None:
        return _Judged("unknown", road.said, road.name)
    best = _Judged("copies", "always") if row.always_copies else _Judged("shares", "")
    met, notes = [], []
    for case in CASES:
        cell = case.cell(row.name)
        if cell == "." or not case.holds(x):
            continue
        met.append(case.name)
        judged = _of_cell(cell, case.why(x))
        if judged.outcome in ("refuses", "crashes"):
            # Consumers look in the order of the cases, and stop here.
            return replace(judged, road=road.name, met=(case.name,))
        if cell in NOTES:
            notes.append(WORDS[cell])
        elif judged.outcome == best.outcome != "shares" and best.text != "always":
            best = replace(best, text=f"{best.text}; {judged.text}")
        elif WORST.index(judged.outcome) >= WORST.index(best.outcome):
            best = judged
    if x.capsule == abi.LEGACY and row.legacy_note:
        notes.append(row.legacy_note)
    text = "; ".join(filter(None, [best.text, *notes]))
    return _Judged(best.outcome, text, road.name, tuple(met))


OTHER = "other major"  # the case that OTHER_MAJOR has the cells of
NOTES = ("writes", "sends", "memory")  # cells that change nothing but deserve a word
OUTCOMES: dict[str, Outcome] = {
    "copies": "copies",
    "narrows": "copies",
    "wrong": "wrong",
    "later": "breaks",
    "use!": "breaks",
    "drop!": "breaks",
    "device": "depends",
    "?": "unknown",
}


def _refuses(error: str, why: str) -> _Judged:
    return _Judged("refuses", f"{error}: {why}")


def _of_cell(cell: str, why: str) -> _Judged:
    if cell in EXCEPTIONS:
        return _refuses(EXCEPTIONS[cell], why)
    if cell in SIGNALS:
        return _Judged("crashes", f"{SIGNALS[cell]}: {why}")
    said = WORDS.get(cell, "").replace("takes it, and ", "")
    if cell in ("copies", "wrong", "later", "?"):
        return _Judged(OUTCOMES[cell], why)
    return _Judged(OUTCOMES.get(cell, "shares"), f"{said}: {why}" if said else "")


def who_minds(x: Inspection, case: str, cells: str) -> str:
    """The consumers whose verdict a case decides, in words: "refused by NumPy, dpnp; ..."."""
    groups: dict[str, list[str]] = {}
    for verdict in x.verdicts:
        cell = cells.split()[COLUMNS.index(verdict.consumer)]
        if case not in verdict.met or cell in ("?", "device"):
            continue
        if cell in EXCEPTIONS:
            groups.setdefault("refused by", []).append(verdict.title)
        elif cell in SIGNALS:
            who = f"{verdict.title} ({SIGNALS[cell]})"
            groups.setdefault("ends the process of", []).append(who)
        else:
            groups.setdefault(WORDS[cell], []).append(verdict.title)
    worst_first = sorted(groups, key=lambda said: -_HEAVY.get(said, 1))
    return "; ".join(
        f"{said} {', '.join(groups[said])}"
        if said.endswith((" by", " of"))
        else f"{', '.join(groups[said])}: {said}"
        for said in worst_first
    )


_HEAVY = {
    "ends the process of": 9,
    WORDS["use!"]: 8,
    WORDS["drop!"]: 8,
    WORDS["wrong"]: 7,
    WORDS["writes"]: 6,
    WORDS["later"]: 5,
    "refused by": 4,
}
