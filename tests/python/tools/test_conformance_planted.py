# SPDX-License-Identifier: BSD-3-Clause
"""The conformance tool finds what is planted in a library, and calls nothing broken that is sound.

The library (planted/) does not use dlbridge, except for its definition of the structs. It is clean
but for one planted row: a defect, which the rule of the row must find, with a message and a remedy,
and no other rule of the kinds must and unsound except those of the row; or a variant, which no rule
may call broken.
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
from planted import defects, variants
from planted.planting import DEFECTS, VARIANTS

from dlbridge.tools.conformance.rules import RULES

assert defects and variants  # their modules fill the tables
pytestmark = pytest.mark.slow  # each row is examined in a process of its own

CLEAN = ""  # nothing is planted
FOUND = {"crash", "fail", "warn", "note"}
BROKEN = {"crash", "fail"}
GRAVE = {"must", "unsound"}  # the kinds of rules
# These take seconds: they only run for their own defects, and for the clean library.
LONG = {"X-01", "X-08", "X-09"}
PRODUCING = ("copies", "exporting", "flags", "lifetime", "requests")  # modules of defects
OF_PRODUCERS = {rule for rule in RULES if rule.startswith("P-")}
OF_CONSUMERS = {rule for rule in RULES if rule.startswith("C-")}
# The session planted examines every row, and beside the own rule of a defect the quick ones of its
# side: that takes half an hour. Elsewhere every twelfth defect and every sixteenth variant are
# enough to notice that the tool has become blind or unjust.
ALL = "DLBRIDGE_ALL_PLANTED" in os.environ
OF_VALUES = {"importing.sign_of_zero_lost", "importing.float32_rounded_to_float16"}
# Defects that disturb the checks of several rules, of which one must report them.
DISTURBING = {"exporting.strides_of_rank_2_swapped", "lifetime.memory_not_kept"}
DISTURBED = {"P-24", "P-32", "P-38", "P-40", "P-44", "X-03", "X-07"}
EXAMINED_DEFECTS = sorted({*sorted(DEFECTS)[:: 1 if ALL else 12], *OF_VALUES, *DISTURBING})
EXAMINED_VARIANTS = sorted(VARIANTS)[:: 1 if ALL else 16]
QUICK_OF_PRODUCERS = OF_PRODUCERS | {"S-04", "S-06", "S-08"}
QUICK_OF_CONSUMERS = {
    *("C-01", "C-03", "C-05", "C-17", "C-18", "C-19", "C-23", "C-24", "C-25"),
    *("S-13", "S-14"),
}
# Need a device, elements below a byte, or refused copies (P-43): the library has none of these.
CANNOT_BE_EXAMINED = {
    *("P-18", "P-27", "P-43", "P-52", "P-53"),
    *("S-05", "S-07", "S-10", "S-21", "S-22"),
}
# What the tool cannot find, and why.
NOT_FOUND: dict[str, str] = {}
Results = dict[str, dict[str, Any]]  # by the rule


def rules_for(name: str) -> set[str]:
    """The rules that are examined for a row."""
    if name == CLEAN:
        return set(RULES)
    if name in VARIANTS:
        other = OF_CONSUMERS if name.startswith("producing.") else OF_PRODUCERS
        return set(RULES) - LONG - other
    if name in DISTURBING:
        return DISTURBED
    if not ALL:
        return {DEFECTS[name].rule}
    is_producer = name.partition(".")[0] in PRODUCING
    return {DEFECTS[name].rule} | (QUICK_OF_PRODUCERS if is_producer else QUICK_OF_CONSUMERS)


def examine(name: str) -> Results:
    """Examines the library with one row planted, in a process of its own."""
    here = str(Path(__file__).parent)
    process = subprocess.run(
        [
            *(sys.executable, "-m", "dlbridge", "conformance", "planted.library:make", "--json"),
            *(part for each in sorted(rules_for(name)) for part in ("--only", each)),
            *(("--timeout", "6") if name.startswith("endings.") else ()),  # some never end
        ],
        env={
            **os.environ,
            "DLBRIDGE_PLANTED": name,
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
    """The results of every row that a selected test needs, examined concurrently."""
    rows = [
        str(item.callspec.params["row"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and "examined" in item.fixturenames
        and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {row: pool.submit(examine, row) for row in (CLEAN, *rows)}


def got(results: Results, rules: set[str]) -> dict[str, str]:
    return {rule: results[rule]["got"] for rule in sorted(rules)}


def test_the_clean_library_breaks_no_rule(examined: dict[str, Future[Results]]) -> None:
    results = examined[CLEAN].result()
    found = {rule for rule, each in results.items() if each["outcome"] in FOUND}
    assert not found, got(results, found)


def test_the_clean_library_is_examined(examined: dict[str, Future[Results]]) -> None:
    """Only rules for what the library does not have are skipped."""
    results = examined[CLEAN].result()
    skipped = {rule for rule, each in results.items() if each["outcome"] == "skip"}
    assert skipped <= CANNOT_BE_EXAMINED, got(results, skipped)


@pytest.mark.parametrize("row", EXAMINED_DEFECTS)
def test_a_defect_is_found_by_its_rule(row: str, examined: dict[str, Future[Results]]) -> None:
    defect, results = DEFECTS[row], examined[row].result()
    own = results[defect.rule]
    if row in NOT_FOUND:
        assert own["outcome"] not in FOUND, f"it is found now: remove it from NOT_FOUND: {own}"
        return
    assert own["outcome"] in FOUND, f"{defect.text} {own}"
    assert own["got"] and own["fix"]
    if "*" in defect.also:
        return
    others = {
        rule
        for rule, each in results.items()
        if each["outcome"] in BROKEN and each["kind"] in GRAVE and rule != defect.rule
    }
    assert others <= defect.also, got(results, others - defect.also)


@pytest.mark.parametrize("row", sorted(DISTURBING))
def test_one_rule_reports_a_defect(row: str, examined: dict[str, Future[Results]]) -> None:
    results = examined[row].result()
    assert {rule for rule, each in results.items() if each["outcome"] in FOUND} == {
        DEFECTS[row].rule
    }
    explained = {rule for rule, each in results.items() if each["causes"] == [DEFECTS[row].rule]}
    assert "P-24" in explained, results


@pytest.mark.parametrize("row", EXAMINED_VARIANTS)
def test_a_sound_variant_breaks_no_rule(row: str, examined: dict[str, Future[Results]]) -> None:
    variant, results = VARIANTS[row], examined[row].result()
    broken = {rule for rule, each in results.items() if each["outcome"] in BROKEN}
    assert not broken, (variant.text, variant.permitted_by, got(results, broken))
    warned = {rule for rule, each in results.items() if each["outcome"] == "warn"}
    assert warned <= variant.warns, (variant.text, variant.permitted_by, got(results, warned))


def test_there_are_enough_rows() -> None:
    assert len(DEFECTS) >= 330
    assert len(EXAMINED_DEFECTS) >= (len(DEFECTS) if ALL else 30)
    assert sum(each.is_new for each in DEFECTS.values()) >= 60
    assert len(NOT_FOUND) <= 0.05 * len(DEFECTS)
    assert len(VARIANTS) >= 24
    assert all(each.permitted_by for each in VARIANTS.values())


def test_the_tables_name_rules() -> None:
    named = {rule for each in DEFECTS.values() for rule in (each.rule, *each.also)}
    named |= {rule for each in VARIANTS.values() for rule in each.warns}
    assert named <= {*RULES, "*"}
    assert set(NOT_FOUND) <= set(DEFECTS)
    assert {name.partition(".")[0] for name in DEFECTS} >= set(PRODUCING)
