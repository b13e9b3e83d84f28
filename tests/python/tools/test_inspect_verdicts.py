# SPDX-License-Identifier: BSD-3-Clause
"""The verdicts of inspect, compared with the consumers themselves."""

from __future__ import annotations

import dataclasses
import doctest
import os
from pathlib import Path
from typing import Any, get_args

import pytest

import verdict_cases
from dlbridge.tools import abi, children
from dlbridge.tools.inspection import consumers
from dlbridge.tools.inspection.cases import CASES, OTHER_MAJOR
from dlbridge.tools.inspection.cases.case import (
    EXCEPTIONS,
    NO_EFFECT,
    SIGNALS,
    TEXTS,
    Changed,
    names_in,
    reactions,
)
from dlbridge.tools.inspection.conclusions.verdicts import WORST, Outcome, Verdict
from dlbridge.tools.inspection.consumers import CONSUMERS
from dlbridge.tools.inspection.inspection import Inspection, inspect
from dlbridge.tools.inspection.rendering.facts import OUTCOMES
from dlbridge.tools.libraries import LIBRARIES as LIBRARY
from producers import Producer

LIBRARIES = {name: name for name in CONSUMERS if name != "nanobind"}  # which needs a compiler
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
    assert wrong == []


def test_every_row_has_a_reaction_of_every_consumer() -> None:
    names = {NO_EFFECT, *EXCEPTIONS, *SIGNALS, *TEXTS}
    for row in [*(case.reactions for case in CASES), OTHER_MAJOR]:
        assert set(row) == set(CONSUMERS)
        assert {name for each in row.values() for name in names_in(each)} <= names, row
    assert len({case.name for case in CASES}) == len(CASES)


def test_unknown_consumers_and_reactions_are_errors() -> None:
    with pytest.raises(KeyError, match="no consumer is named 'nunpy'"):
        reactions(nunpy="TypeError")
    with pytest.raises(KeyError, match="numpy: no reaction is named 'Typo'"):
        reactions(numpy="Typo")
    with pytest.raises(KeyError, match="numpy: no reaction is named 'Typo'"):
        reactions(numpy=Changed("TypeError", "2.0", "Typo"))
    row = reactions("TypeError", numpy=NO_EFFECT)
    assert (row["numpy"], row["torch"]) == (NO_EFFECT, "TypeError")


def verdict_of(x: Any, consumer: str, installed: str) -> Verdict:
    """The verdict where this version of the consumer is installed; "": none is."""
    versions = {consumer: installed} if installed else {}
    findings = dataclasses.replace(inspect(x), installed=versions)
    (row,) = (each for each in findings.verdicts if each.consumer == consumer)
    return row


ABORTS = "SIGABRT: a negative stride; fixed in 2.14.0: upgrade to 2.14.0"


@pytest.mark.parametrize(
    "installed, outcome, text",
    [
        ("2.9.0", "crashes", ABORTS),
        ("2.13.0+cpu", "crashes", ABORTS),
        ("2.14.0.dev20260801", "crashes", ABORTS),
        ("2.14.0", "refuses", "RuntimeError: a negative stride"),
        ("2.14.1+cu130", "refuses", "RuntimeError: a negative stride"),
        ("unknown", "crashes", ABORTS),
        ("", "crashes", ABORTS),  # that of the newest observed version
    ],
)
def test_a_verdict_is_that_of_the_installed_version(
    installed: str, outcome: str, text: str
) -> None:
    x = verdict_cases.Producer(shape=(4,), strides=(-1,), byte_offset=12)
    row = verdict_of(x, "torch", installed)
    assert (row.outcome, row.text) == (outcome, text)
    assert (row.version, row.installed) == ("2.13.0", installed)
    findings = dataclasses.replace(inspect(x), installed={"torch": installed} if installed else {})
    (odd,) = (each for each in findings.oddities if each.what.startswith("A stride is negative"))
    crashes = "crashes PyTorch before 2.14.0 (SIGABRT)" in odd.who
    assert crashes == (outcome == "crashes")
    assert Inspection.from_dict(findings.to_dict()).verdicts == findings.verdicts


@pytest.mark.parametrize(
    "consumer, installed, observed, outcome",
    [
        ("jax", "0.9.0", "0.10.2", "refuses"),
        ("jax", "0.11.2", "0.10.2", "refuses"),
        ("jax", "0.12.0", "0.12.0.1", "shares"),
        ("jax", "0.13.0", "0.12.0.1", "shares"),
        ("jax", "", "0.12.0.1", "shares"),
        ("numpy", "1.22.4", "1.23.5", "refuses"),
        ("numpy", "2.0.2", "1.26.4", "refuses"),
        ("numpy", "2.1.0", "2.4.6", "shares"),
        ("numpy", "2.5.4", "2.4.6", "shares"),
        ("numpy", "2.6.0.dev0", "2.5.5", "shares"),
    ],
)
def test_the_requests_are_those_of_the_installed_version(
    consumer: str, installed: str, observed: str, outcome: str
) -> None:
    row = verdict_of(verdict_cases.Producer(flags=abi.READ_ONLY), consumer, installed)
    assert (row.outcome, row.version) == (outcome, observed)


class AlwaysVersioned(Producer):
    def __dlpack__(self, **keywords: Any) -> Any:
        return super().__dlpack__(**{**keywords, "max_version": (1, 3)})


@pytest.mark.parametrize(
    "name, version, is_named",
    [("numpy", "2.0.2", True), ("numpy", "2.1.0", False),
     ("jax", "0.11.2", True), ("jax", "0.12.0", False), ("tensorflow", "", True)],
)  # fmt: skip
def test_a_sentence_names_the_consumers_of_the_installed_versions(
    name: str, version: str, is_named: bool
) -> None:
    findings = dataclasses.replace(inspect(AlwaysVersioned()), installed={name: version})
    (odd,) = (each for each in findings.oddities if each.rule == "P-34")
    named = odd.who.partition("refused by ")[2].split(", ")
    assert (LIBRARY[name].title in named) == is_named


def test_the_versions_are_named() -> None:
    assert not doctest.testmod(consumers).failed
    findings = dataclasses.replace(inspect(Producer()), installed={"torch": "2.14.1"})
    words = " ".join(findings.text(80).split())
    assert "PyTorch 2.13.0 (2.14.1 is installed), JAX 0.12.0.1, TensorFlow" in words
    installed = inspect(Producer()).installed
    assert all(installed.get(name) == LIBRARY[name].version for name in CONSUMERS)


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
