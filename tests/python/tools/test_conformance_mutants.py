"""The conformance tool detects defects that are planted in a small library.

The library does not use dlbridge, except for its definition of the structs. Without a defect no
rule is violated; with one, the tool names its rule, and no other of severity F except those that
the defect necessarily violates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mutants import CONSUMER, DEFECTS, PRODUCER

from dlbridge.tools.conformance.rules import RULES

pytestmark = pytest.mark.slow  # each defect is examined in a process of its own

BROKEN = {"fail", "crash", "warn"}
GRAVE = {"fail", "crash"}
SOUND = ""  # no defect
# These take seconds: they only run for defects of lifetime.
LONG = {"X-01", "X-05", "X-08", "X-09"}
Results = dict[str, dict[str, Any]]  # by the rule


def examine(defect: str) -> Results:
    """Examines the small library with one defect, in a process of its own."""
    rule = DEFECTS[defect].rule if defect else "X"
    rules = [each for each in RULES if rule.startswith("X") or each not in LONG]
    here = str(Path(__file__).parent)
    process = subprocess.run(
        [
            *(sys.executable, "-m", "dlbridge", "conformance", "small_library:make", "--json"),
            *(part for each in rules for part in ("--only", each)),
        ],
        env={
            **os.environ,
            "DLBRIDGE_MUTANT": defect,
            "PYTHONPATH": os.pathsep.join([here, *sys.path]),
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.stdout, process.stderr
    return {each["id"]: each for each in json.loads(process.stdout)["results"]}


@pytest.fixture(scope="session")
def examined(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Results]]]:
    """The results of every defect that a selected test needs, examined concurrently."""
    defects = [
        str(item.callspec.params["defect"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and "examined" in item.fixturenames
        and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {defect: pool.submit(examine, defect) for defect in (SOUND, *defects)}


def test_the_sound_library_breaks_no_rule(examined: dict[str, Future[Results]]) -> None:
    results = examined[SOUND].result()
    violations = {rule: each["got"] for rule, each in results.items() if each["outcome"] in BROKEN}
    assert violations == {}


def test_the_sound_library_is_examined(examined: dict[str, Future[Results]]) -> None:
    """Only rules that need a device, or a feature that the library lacks, are skipped."""
    results = examined[SOUND].result()
    skipped = {rule for rule, each in results.items() if each["outcome"] == "skip"}
    assert skipped <= {"P-27", "P-29", "S-03", "S-05", "S-07", "S-10", "S-16", "P-18"}


@pytest.mark.parametrize("defect", [each.name for each in [*PRODUCER, *CONSUMER]])
def test_a_defect_is_found_by_its_rule(defect: str, examined: dict[str, Future[Results]]) -> None:
    results = examined[defect].result()
    row = DEFECTS[defect]
    assert results[row.rule]["outcome"] in BROKEN, row.text
    grave = {rule for rule, each in results.items() if each["outcome"] in GRAVE}
    assert grave <= {row.rule, *row.also}, {rule: results[rule]["got"] for rule in grave}


def test_there_are_enough_of_them() -> None:
    assert len(PRODUCER) >= 15
    assert len(CONSUMER) >= 15
    assert all(rule in RULES for each in DEFECTS.values() for rule in (each.rule, *each.also))
