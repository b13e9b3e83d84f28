"""The probes of producers find planted defects, and pass what the standards permit."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import planted_producers
import pytest

from dlbridge.tools import children
from dlbridge.tools.conformance.probes import in_order
from dlbridge.tools.conformance.rules import RULES

# A destructor in Python cannot preserve a pending exception, and a deleter in Python cannot run
# after the interpreter's end: test_conformance_mutants.py has.
OURS = {rule for rule in RULES if rule[0] == "P"} | {"X-01", "X-03", "X-04", "X-07", "X-08"}
PRODUCERS = [
    probe
    for probe in in_order()
    if probe.rule in OURS and not probe.name.startswith(("sharing.", "consumer.", "reading."))
]

# The rule that must find each defect, and others that it necessarily violates.
DEFECTS: dict[str, tuple[str, ...]] = {
    "no_device_method": ("P-01",),
    "device_float": ("P-02",),
    "device_text": ("P-02",),
    "device_none": ("P-02",),
    "device_list": ("P-02",),
    "device_three": ("P-02",),
    "device_zero": ("P-02", "P-10"),
    "device_negative": ("P-02", "P-33"),
    "bare_value_error": ("P-03", "P-08"),
    "returns_number": ("P-03",),
    "named_v1": ("P-04",),
    "struct_of_other_name": ("P-04", "P-05"),
    "always_legacy": ("P-05",),
    "absurd_minor": ("P-06",),
    "echoed_version": ("P-06",),
    "unknown_keywords": ("P-08",),
    "device_other": ("P-10", "P-27"),
    "capsule_on_cuda": ("P-10",),
    "size_0_wrong": ("P-11",),
    "no_strides": ("P-12",),
    "one_element_off": ("P-13", "P-38"),
    "one_before": ("P-13", "P-38"),
    "huge_offset": ("P-13",),
    "no_lanes": ("P-16",),
    "double_as_float": ("P-16",),
    "uint8_as_int8": ("P-16",),
    "complex_by_part": ("P-16",),
    "bool_as_uint8": ("P-17",),
    "empties_refused": ("P-19",),
    "scalars_refused": ("P-20",),
    "rank_0_as_vector": ("P-20", "P-11"),
    "read_only_missing": ("P-22",),
    "read_only_lost_on_views": ("P-22",),
    "copy_for_false": ("P-23",),
    "copy_dropped_for_device": ("P-24",),
    "copy_dropped_for_version": ("P-24",),
    "copy_dropped_for_legacy": ("P-24",),
    "device_ignored": ("P-26", "P-51"),
    "unreachable_value_error": ("P-26",),
    "stream_none_refused": ("P-28",),
    "capsule_cached": ("P-32",),
    "capsule_cached_on_threads": ("P-32",),
    "same_struct": ("P-32",),
    "frees_newest": ("P-32",),
    "device_index_1": ("P-33",),
    "capsule_index_1": ("P-33",),
    "always_versioned": ("P-34",),
    "no_keywords": ("P-35",),
    "newer_refused": ("P-36",),
    "older_type_error": ("P-36",),
    "device_pinned": ("P-37",),
    "capsule_pinned": ("P-37",),
    "views_compact": ("P-38",),
    "views_of_base": ("P-38",),
    "transposed_wrongly": ("P-11", "P-38"),
    "strides_in_bytes": ("P-38", "P-13"),
    "offset_twice": ("P-38", "P-13"),
    "stale": ("P-38", "P-23", "P-39"),
    "copied_missing": ("P-39",),
    "silent_copy": ("P-39", "P-23", "P-24"),
    "cached_silent_copy": ("P-39", "P-23"),
    "copied_on_shared": ("P-40",),
    "copied_sticks": ("P-40",),
    "data_of_empty": ("P-41",),
    "copy_read_only": ("P-42",),
    "copies_by_value_error": ("P-43",),
    "shared_copies": ("P-44",),
    "enum_refused": ("P-45",),
    "reserved_flags": ("P-47",),
    "none_is_newest": ("P-48",),
    "kind_sticks": ("P-34", "P-48"),
    "read_only_in_legacy": ("P-49",),
    "read_only_on_writable": ("P-50",),
    "no_destructor": ("X-01",),
    "destructor_twice": ("X-01",),
    "destructor_blind": ("X-03",),
    "destructor_knows_legacy": ("X-03",),
    "own_thread_only": ("X-04",),
    "shape_lent": ("X-07",),
    "strides_lent": ("X-07",),
    "shape_static": ("X-07",),
    "legacy_keeps_nothing": ("X-07",),
    "versioned_keeps_nothing": ("X-07",),
    "views_keep_nothing": ("X-07",),
    "copies_keep_nothing": ("X-07",),
    "struct_only": ("X-08",),
    "never_dropped": ("X-08",),
    "reference_leaked": ("X-08",),
    "refusals_leak": ("X-08",),
    "refusals_leak_memory": ("X-08",),
    "memory_leaked": ("X-08",),
    "much_memory_leaked": ("X-08",),
    "copies_leaked": ("X-08",),
    "views_leaked": ("X-08",),
}
PERMITTED = sorted({name for name in planted_producers.names() if name.startswith("permitted_")})


Outcomes = dict[str, dict[str, str]]  # by the probe; each with its rule


@pytest.fixture(scope="module")
def worker() -> Iterator[children.Worker]:
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    with children.Worker(environment={"PYTHONPATH": paths}) as worker:
        yield worker


def examine(worker: children.Worker, name: str, rule: str | None = None) -> Outcomes:
    """Runs the probes of one rule, or all of them."""
    outcomes = {}
    for probe in PRODUCERS:
        if rule in (None, probe.rule):
            answer = worker.call("planted_producers:run_quickly", name=name, probe=probe.name)
            value = answer.value or {"outcome": answer.outcome, "got": answer.message}
            outcomes[probe.name] = {**value, "rule": probe.rule}
    worker.close()
    return outcomes


def broken(outcomes: Outcomes) -> dict[str, str]:
    """Returns what was found, by the rule."""
    return {
        each["rule"]: each["got"]
        for each in outcomes.values()
        if each["outcome"] not in ("pass", "skip")
    }


def test_each_rule_has_a_probe() -> None:
    assert {probe.rule for probe in PRODUCERS} == OURS


def test_every_defect_is_examined() -> None:
    planted = {name for name in planted_producers.names() if not name.startswith("permitted_")}
    assert set(DEFECTS) == planted


def test_the_sound_producer_breaks_nothing(worker: children.Worker) -> None:
    outcomes = examine(worker, "sound")
    assert broken(outcomes) == {}
    skipped = {each["rule"] for each in outcomes.values() if each["outcome"] == "skip"}
    # They need devices, dtypes below a byte, content that DLPack cannot describe, or a refusal.
    assert skipped == {"P-27", "P-18", "P-30", "P-46", "P-43"}


@pytest.mark.parametrize("name", PERMITTED)
def test_what_is_permitted_breaks_nothing(name: str, worker: children.Worker) -> None:
    assert broken(examine(worker, name)) == {}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found_by_its_rule(name: str, worker: children.Worker) -> None:
    rule = DEFECTS[name][0]
    found = broken(examine(worker, name, rule))
    assert rule in found
    assert not found[rule].startswith("the check ended with")
