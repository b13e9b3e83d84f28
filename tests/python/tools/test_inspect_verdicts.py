"""The verdicts of inspect, compared with the consumers themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args

import pytest

import verdict_cases
from dlbridge.tools import children
from dlbridge.tools.inspection.cases import CASES, OTHER_MAJOR
from dlbridge.tools.inspection.cases.case import (
    EXCEPTIONS,
    NO_EFFECT,
    OF_NUMPY,
    SIGNALS,
    TEXTS,
    reactions,
)
from dlbridge.tools.inspection.conclusions.verdicts import WORST, Outcome
from dlbridge.tools.inspection.consumers import CONSUMERS
from dlbridge.tools.inspection.inspection import inspect
from dlbridge.tools.inspection.rendering.facts import OUTCOMES
from dlbridge.tools.libraries import LIBRARIES as LIBRARY
from dlbridge.tools.versions import contains, meets
from producers import Producer

LIBRARIES = {name: name for name in CONSUMERS if name != "nanobind"}  # which needs a compiler
# The verdicts describe NumPy 2: the releases that differ, by case.
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
        outcome, message = answer.value
        return outcome, message
    if answer.outcome == "crashed":
        return ("breaks" if "TAKEN" in answer.noise else "crashes"), answer.message
    return answer.outcome, f"{answer.message} {answer.noise}"


def agrees(case: str, verdict: tuple[str, str], outcome: tuple[str, str]) -> bool:
    prediction, actual = verdict[0], outcome[0]
    if prediction == "unknown":
        return True
    if case.startswith("empty") and {prediction, actual} <= {"shares", "copies"}:
        return True  # an empty tensor has no address to compare
    if "2.0" in case and prediction == "breaks":
        return actual in ("shares", "copies")  # read as version 1, whose fields it has
    if prediction == "refuses":
        predicted, raised = verdict[1].split(":")[0], outcome[1].split(":")[0]
        if predicted == OF_NUMPY:
            newer = meets(LIBRARY["numpy"].version or "0", ">=2.5")
            predicted = "BufferError" if newer else "RuntimeError"
        return actual == prediction and predicted == raised
    return prediction == actual


def test_verdicts_come_true(library: str) -> None:
    readable = verdict_cases.readable()
    wrong = []
    with children.Worker(environment={"PYTHONPATH": PATH}) as worker:
        answer = worker.call("verdict_cases:judge_all")
        assert answer.outcome == "returned", answer
        for case in verdict_cases.CASES:
            verdict = tuple(answer.value[case][library])
            read = readable[case] or verdict[0] in ("breaks", "wrong")
            outcome = observed(
                worker.call("verdict_cases:take", consumer=library, case=case, read=read)
            )
            if not agrees(case, verdict, outcome):
                wrong.append((case, verdict, outcome))
    version = LIBRARY[library].version or ""
    older = OLD_NUMPY if library == "numpy" else {}
    other = {case for case, releases in older.items() if contains(releases, version)}
    assert {case for case, *_ in wrong} == other, wrong


def test_every_row_has_a_reaction_of_every_consumer() -> None:
    names = {NO_EFFECT, *EXCEPTIONS, *SIGNALS, *TEXTS}
    for row in [*(case.reactions for case in CASES), OTHER_MAJOR]:
        assert set(row) == set(CONSUMERS)
        assert set(row.values()) <= names, row
    assert len({case.name for case in CASES}) == len(CASES)


def test_unknown_consumers_and_reactions_are_errors() -> None:
    with pytest.raises(KeyError, match="no consumer is named 'nunpy'"):
        reactions(nunpy="TypeError")
    with pytest.raises(KeyError, match="numpy: no reaction is named 'Typo'"):
        reactions(numpy="Typo")
    row = reactions("TypeError", numpy=NO_EFFECT)
    assert (row["numpy"], row["torch"]) == (NO_EFFECT, "TypeError")


@pytest.mark.parametrize("dtype", [(18, 32, 1), (2, 80, 1), (0, 128, 1), (17, 4, 4)])
def test_dtypes_that_were_not_observed_are_unknown(dtype: tuple[int, int, int]) -> None:
    outcomes = {row.outcome for row in inspect(Producer(dtype=dtype)).verdicts}
    assert "unknown" in outcomes and outcomes <= {"unknown", "refuses"}


def test_every_outcome_has_a_text_and_a_style() -> None:
    outcomes: tuple[Any, ...] = get_args(Outcome)
    for table in (OUTCOMES, WORST):
        assert set(table) == set(outcomes)


@pytest.fixture(scope="module")
def descriptions() -> list[Any]:
    """What inspect reads of every tensor of verdict_cases.py, by each protocol."""
    return [
        response.description
        for make, _ in verdict_cases.CASES.values()
        for response in inspect(make(), copy=False).responses
        if response.description is not None
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_met_by_some_tensor(case: Any, descriptions: list[Any]) -> None:
    """Every condition can be evaluated for every tensor, and none is constant."""
    results = [case.holds(each) for each in descriptions]
    assert not all(results)
    if case.level and case.name not in UNMET:
        assert any(results), "add a tensor to verdict_cases.py"


# Without a tensor in verdict_cases.py; test_inspect.py has them.
UNMET = {
    "shape NULL", "ndim over 64", "shape unreadable", "strides unreadable", "extent negative",
    "too big", "lanes 0", "float128", "data NULL", "memory unreadable",
    "byte offset on a device", "byte offset in an element", "alignment of elements",
    "strides NULL against its version", "format =", "padded without need",
}  # fmt: skip
