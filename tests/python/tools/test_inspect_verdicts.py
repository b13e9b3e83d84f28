"""What inspect says that a consumer does, beside what that consumer does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args

import pytest

import verdict_cases
from dlbridge.tools import children
from dlbridge.tools.inspection.cases import CASES, OTHER_MAJOR
from dlbridge.tools.inspection.cases.case import COLUMNS, EXCEPTIONS, SIGNALS, WORDS
from dlbridge.tools.inspection.consumers import CONSUMERS
from dlbridge.tools.inspection.looking import look
from dlbridge.tools.inspection.text import OUTCOMES
from dlbridge.tools.inspection.verdicts import SAID, WORST, Outcome
from dlbridge.tools.libraries import LIBRARIES as LIBRARY
from dlbridge.tools.versions import contains

LIBRARIES = {name: name for name in CONSUMERS if name != "nanobind"}  # which is no library
# NumPy 1 asks for no version, and has 32 dimensions; the verdicts are of NumPy 2.
# The verdicts are of NumPy 2: the releases that take a case otherwise.
OLD_NUMPY = {
    "bool": "1 to 1.24.4",
    "ndim 40": "1 to 1.26.4",
    "read-only": "1 to 2.0.2",
    "version 2.0": "1 to 2.0.2",
}
MODULES = os.environ.get("DLBRIDGE_TEST_MODULES", "")
PATH = os.pathsep.join([str(Path(__file__).parent), MODULES, os.environ.get("PYTHONPATH", "")])


def observed(answer: children.Answer) -> tuple[str, str]:
    if answer.outcome == "returned":
        outcome, said = answer.value
        return outcome, said
    if answer.outcome == "crashed":
        return ("breaks" if "TAKEN" in answer.noise else "crashes"), answer.said
    return answer.outcome, f"{answer.said} {answer.noise}"


def agrees(case: str, verdict: tuple[str, str], seen: tuple[str, str]) -> bool:
    said, happened = verdict[0], seen[0]
    if said == "unknown":
        return True
    if case.startswith("empty") and {said, happened} <= {"shares", "copies"}:
        return True  # there is nothing whose address could be compared
    if "2.0" in case and said == "breaks":
        return happened in ("shares", "copies")  # read as a version 1, which this one also is
    if said == "refuses":
        return happened == said and verdict[1].split(":")[0] == seen[1].split(":")[0]
    return said == happened


def test_verdicts_come_true(library: str) -> None:
    readable = verdict_cases.readable()
    wrong = []
    with children.Worker(environment={"PYTHONPATH": PATH}) as worker:
        judged = worker.call("verdict_cases:judge_all")
        assert judged.outcome == "returned", judged
        for case in verdict_cases.CASES:
            verdict = tuple(judged.value[case][library])
            read = readable[case] or verdict[0] in ("breaks", "wrong")
            seen = observed(
                worker.call("verdict_cases:take", consumer=library, case=case, read=read)
            )
            if not agrees(case, verdict, seen):
                wrong.append((case, verdict, seen))
    version = LIBRARY[library].version or ""
    older = OLD_NUMPY if library == "numpy" else {}
    other = {case for case, releases in older.items() if contains(releases, version)}
    assert {case for case, *_ in wrong} == other, wrong


def test_every_row_has_a_cell_for_every_consumer() -> None:
    known = {".", *EXCEPTIONS, *SIGNALS, *WORDS}
    assert sorted(CONSUMERS) == sorted(COLUMNS)
    for cells in [*(case.cells for case in CASES), OTHER_MAJOR]:
        assert len(cells.split()) == len(COLUMNS), cells
        assert set(cells.split()) <= known, cells
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_outcome_has_its_words() -> None:
    outcomes: tuple[Any, ...] = get_args(Outcome)
    assert set(SAID) == set(OUTCOMES) == set(WORST) == set(outcomes)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_met_by_some_tensor(case: Any) -> None:
    """The conditions can be read off anything, and no one of them is always true or never."""
    seen = [
        case.holds(road.description)
        for make, _ in verdict_cases.CASES.values()
        for road in look(make(), copy=False).roads
        if road.description is not None
    ]
    assert not all(seen)
    if case.level and case.name not in UNMET:
        assert any(seen), "add a tensor to verdict_cases.py"


# Without a tensor in verdict_cases.py, as taking such tells nothing; test_inspect.py has them.
UNMET = {
    "shape NULL", "ndim over 64", "shape unreadable", "strides unreadable", "extent negative",
    "too big", "lanes 0", "float128", "data NULL", "memory unreadable",
    "byte offset on a device", "byte offset in an element", "alignment of elements",
    "strides NULL against its version", "format =", "padded without need",
}  # fmt: skip
