# SPDX-License-Identifier: BSD-3-Clause
"""Tests of what the benchmarks conclude from measurements: they require no compiled module."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "py")]

import cpp_instructions
import limits
import measure
import quiet_machine
import report

QUIET = {"noises": [0.01], "noise": 0.01, "waited_s": 0.0, "wanted": 0.05, "quiet": True}
NOISY = {**QUIET, "noises": [0.5], "noise": 0.5, "quiet": False}


def test_the_guard_waits_until_the_machine_is_quiet() -> None:
    noises = [0.5, 0.2, 0.005]
    pauses: list[float] = []
    result = quiet_machine.wait(iter(noises).__next__, 0.01, 100, pauses.append)
    assert result.quiet
    assert result.noises == noises
    assert pauses == [2, 4]


def test_the_guard_gives_up_and_says_how_noisy_the_machine_was() -> None:
    pauses: list[float] = []
    result = quiet_machine.wait(lambda: 0.123, 0.01, 60, pauses.append)
    assert not result.quiet
    assert sum(pauses) == result.waited_s == 60
    assert "12.3 %" in str(result)
    assert "too noisy" in str(result)


def judged(monkeypatch: Any, row: dict[str, Any], *again: dict[str, Any], noise: Any = QUIET,
           kind: str = "time") -> int:  # fmt: skip
    """The exit status of one gate, whose repeats yield the results in `again`."""
    gate = limits.Limit("gate", "ours", "theirs", 1.0, gate=True, kind=kind)
    monkeypatch.setattr(measure, "LIMITS", (gate,))
    results = iter(again)
    monkeypatch.setattr(measure, "run_worker", lambda *_: {
        "guard": noise, "limits": {"gate": next(results)}})  # fmt: skip
    whole = {"limits": [{"id": "gate", "theirs": "theirs", **row}], "guards": [noise]}
    return measure.check_gates(argparse.Namespace(), whole)


def test_a_gate_has_slack_and_retries(monkeypatch: Any) -> None:
    assert judged(monkeypatch, {"median": 1.09}) == 0
    assert judged(monkeypatch, {"median": 1.5}, {"median": 1.6}, {"median": 1.05}) == 0


def test_a_missed_gate_fails(monkeypatch: Any) -> None:
    bad = {"median": 1.5}
    assert judged(monkeypatch, bad, bad, bad) == measure.MISSED


def test_a_gate_that_cannot_be_judged_does_not_pass(monkeypatch: Any) -> None:
    bad = {"median": 1.5}
    assert judged(monkeypatch, bad, bad, bad, noise=NOISY) == measure.NOT_JUDGED
    assert judged(monkeypatch, {"reason": "torch cannot be imported"}) == measure.NOT_JUDGED
    counted = {"median": 0.5, "reason": "the limit is for another CPython"}
    assert judged(monkeypatch, counted, kind="instructions") == measure.NOT_JUDGED


def test_instructions_have_less_slack_and_no_retries(monkeypatch: Any) -> None:
    assert judged(monkeypatch, {"median": 1.09}, kind="instructions") == 0
    assert judged(monkeypatch, {"median": 1.11}, kind="instructions") == measure.MISSED
    assert judged(monkeypatch, {"median": 1.11, "slack": 0.25}, kind="instructions") == 0


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("time", 0.9, "met"), ("time", 1.1, "missed"), ("at least", 0.9, "missed"),
     ("at least", 1.1, "met")],
)  # fmt: skip
def test_a_limit_is_judged_without_slack(kind: str, value: float, expected: str) -> None:
    row = limits.Limit("row", "ours", "theirs", 1.0, kind=kind)
    assert measure.verdict(row, {"median": value}) == expected
    assert measure.verdict(row, {"reason": "no peer"}) == "not measured"


def test_instructions_of_another_build_are_judged_with_its_slack() -> None:
    row = limits.Limit("row", "ours", "theirs", 100, kind="instructions")
    assert measure.verdict(row, {"median": 140.0, "slack": 0.5}) == "met"
    assert measure.verdict(row, {"median": 160.0, "slack": 0.5}) == "missed"


def test_ids_are_unique_and_have_a_section() -> None:
    names = [each.id for each in limits.LIMITS]
    assert len(names) == len(set(names))
    assert all(report.section_of({"id": name}) for name in names)


def test_the_page_says_what_is_missed_and_what_was_not_measured() -> None:
    stored = json.loads(report.STORED.read_text())
    for row in stored["limits"]:
        row["verdict"] = "missed"
    stored["limits"][0].update(verdict="not measured", reason="no such library")
    page = report.page(stored)
    assert "not measured: no such library" in page
    assert "**missed**" in page


def test_a_limit_by_rank_is_judged_at_every_rank() -> None:
    row = cpp_instructions.Limit("id", "ours", at_0=10, each=2, mallocs=0)
    counts = {"empty": [3.0] * 9, "ours": [13.0 + 2 * rank for rank in range(9)]}
    none = {name: [0.0] * 9 for name in counts}

    def verdict(more: float, mallocs: float = 0) -> str:
        ours = [*counts["ours"][:3], counts["ours"][3] + more, *counts["ours"][4:]]
        counted = cpp_instructions.Profile(
            "", "g++ 12", {**counts, "ours": ours}, {**none, "ours": [mallocs] * 9}
        )
        return str(cpp_instructions.judged(row, counted)["verdict"])

    assert verdict(0) == "met"
    assert verdict(1) == "missed"
    assert verdict(0, mallocs=1) == "missed"
    reason = cpp_instructions.Profile("valgrind is not installed")
    assert cpp_instructions.judged(row, reason)["verdict"] == "not measured"
