"""The probes of producers find planted defects, and pass what the standards permit."""

from __future__ import annotations

import os
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Callable

import planted_producers
import pytest

from dlbridge.tools import children, dtypes
from dlbridge.tools.conformance import target
from dlbridge.tools.conformance.helpers import deleters, memory, references, roads
from dlbridge.tools.conformance.helpers.grids import Grid
from dlbridge.tools.conformance.outcomes import Skip
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


@pytest.mark.slow
@pytest.mark.parametrize("name", PERMITTED)
def test_what_is_permitted_breaks_nothing(name: str, worker: children.Worker) -> None:
    assert broken(examine(worker, name)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found_by_its_rule(name: str, worker: children.Worker) -> None:
    rule = DEFECTS[name][0]
    found = broken(examine(worker, name, rule))
    assert rule in found
    assert not found[rule].startswith("the check ended with")


# The process that ends with live deleters --------------------------------------------------------


@pytest.fixture
def child_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))


@pytest.mark.parametrize("name", ["tensor", "prints_an_incomplete_line", "forks"])
@pytest.mark.usefixtures("child_paths")
def test_the_end_of_a_process(name: str) -> None:
    begin = time.monotonic()
    end = deleters.end_of_process(f"conformance_targets:{name}", None, registers=True)
    assert end == deleters.End(0, "")
    assert time.monotonic() - begin < deleters.BEFORE_THE_END


@pytest.mark.usefixtures("child_paths")
def test_the_end_of_a_process_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleters, "BEFORE_THE_END", 1.0)
    with pytest.raises(Skip, match="has not reached its end after 1 s"):
        deleters.end_of_process("conformance_targets:hangs", None, registers=True)
    with pytest.raises(Skip, match="failed before its end"):
        monkeypatch.setattr(deleters, "BEFORE_THE_END", 30.0)
        deleters.end_of_process("conformance_targets:raises", None, registers=True)


@pytest.mark.usefixtures("child_paths")
def test_a_deleter_that_needs_python_after_the_end() -> None:
    end = deleters.end_of_process("planted_producers:PLANTED.sound", None, registers=True)
    assert end.status not in (0, None)
    end = deleters.end_of_process("planted_producers:PLANTED.sound", None, registers=False)
    assert end.status == 0


# The references for views ------------------------------------------------------------------------

ROWS = Grid.of(range(24), (4, 6))


@pytest.mark.parametrize(
    ("view", "shape", "numbers"),
    [
        (ROWS[1:3, ::3], (2, 2), [6, 9, 12, 15]),
        (ROWS[::-2, 5], (2,), [23, 11]),
        (ROWS[2:2], (0, 6), []),
        (ROWS[1, 2], (), [8]),
        (ROWS[None, ..., 4:], (1, 4, 2), [4, 5, 10, 11, 16, 17, 22, 23]),
        (ROWS.T[1:, 0], (5,), [1, 2, 3, 4, 5]),
        (ROWS[:2, :2].mT, (2, 2), [0, 6, 1, 7]),
        (ROWS[:2, :2].reshape((4,)), (4,), [0, 1, 6, 7]),
        (ROWS[0, :2].broadcast((2, 2)), (2, 2), [0, 1, 0, 1]),
        (ROWS[:2, :1].broadcast((2, 2)), (2, 2), [0, 0, 6, 6]),
        (Grid.of(range(6), (1, 2, 3)).transpose(2, 0, 1), (3, 1, 2), [0, 3, 1, 4, 2, 5]),
    ],
)
def test_views_of_a_grid(view: Grid, shape: tuple[int, ...], numbers: list[int]) -> None:
    assert view.shape == shape
    assert view.flat() == numbers


def test_a_grid_without_numbers_has_shapes() -> None:
    view = Grid.of(None, (4, 6))[1:, ::2].T
    assert (view.shape, view.flat()) == ((3, 3), None)


# What arrays tell of themselves ------------------------------------------------------------------


class Numbers:
    """Tells its numbers by a chosen method."""

    def __init__(self, method: Callable[[], object]) -> None:
        self.tolist = method


def test_a_road_through_dlpack_does_not_count() -> None:
    class Exporter:
        def __dlpack__(self) -> None:
            pass

        def tolist(self) -> list[int]:
            self.__dlpack__()
            return [1, 2]

    assert roads.reading_of(Exporter(), (2,), dtypes.INT) is None
    assert roads.reading_of(Numbers(lambda: [1, 2]), (2,), dtypes.INT) == roads.Reading(
        "tolist()", (1, 2)
    )


def test_roads() -> None:
    items = array("d", [1.5, 2.5])
    assert roads.reading_of(memoryview(items), (2,), dtypes.FLOAT) == roads.Reading(
        "tolist()", (1.5, 2.5)
    )
    assert roads.bounds_of(items) == (items.buffer_info()[0], items.buffer_info()[0] + 16)
    assert [roads.is_readonly(x) for x in (items, b"12", 7)] == [False, True, None]
    flags = SimpleNamespace(writable=False)
    assert roads.is_readonly(SimpleNamespace(flags=flags)) is True
    assert roads.same([1.0, float("nan")], [1, float("nan")])
    assert not roads.same([1, 2], [1])


def test_numbers_tell_dtypes_apart() -> None:
    assert target.numbers((2, 0, 4)) == [[], []]
    assert target.numbers((), "bool") is True
    assert target.numbers((2,), "uint8") == [255, 254]
    assert target.numbers((2,), "complex64") == [-1 + 0j, 2 + 1j]
    assert min(target.numbers((128,), "int8")) >= -128
    assert len(set(target.numbers((24,), "float32"))) == 24


# Measuring memory and references -----------------------------------------------------------------


def test_a_leak_and_what_only_looks_like_one() -> None:
    kept: list[object] = []
    assert memory.growth(lambda: kept.append(bytes(100)), 100) is not None
    assert memory.growth(lambda: bytes(100), 100) is None
    cache: dict[int, bytes] = {}
    assert memory.growth(lambda: cache.setdefault(len(cache) % 300, bytes(100)), 100) is None


def test_references() -> None:
    class Owner:
        def __init__(self) -> None:
            self.part = bytearray(1)

    x, kept = Owner(), []  # type: tuple[Owner, list[object]]
    assert references.left(x, lambda: x.part, 20) is None
    assert references.left(x, lambda: kept.append(x), 20) == "1 reference to the array for each"
    assert "its attribute 'part'" in (references.left(x, lambda: kept.append(x.part), 20) or "")
