# SPDX-License-Identifier: BSD-3-Clause
"""inspect finds each planted fault, and calls no sound producer faulty."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, Callable

import odd_producers
import pytest
import sound_targets
from odd_producers import MORTAL, SOUND, Array

from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.inspection.conclusions.faults import EFFECTS, FAULTS, judged
from dlbridge.tools.inspection.inspection import Inspection, inspect
from dlbridge.tools.inspection.reading import afterwards, elements
from dlbridge.tools.inspection.reading.signs import Sign

REMARKS = {"same managed tensor", "writable marked read-only", "empty with a pointer"}
RISKS = {
    "copy is read-only", "reserved flags", "index of the CPU",
    "index of pinned memory", "absurd minor", "echoed minor", "misaligned", "mask",
    "padded before 1.1", "conversion to another dtype", "conversion to another shape",
    "conversion to other values",
}  # fmt: skip


def text_of(inspection: Inspection) -> str:
    """Returns the oddities in one line each, without the effect on consumers."""
    lines: list[str] = []
    repairs = 0
    wide = inspection.text(10_000).partition("\nOddities\n")[2].partition("\n\nConsumers")[0]
    for line in wide.splitlines():
        if line.strip().startswith("Repair: ") and lines:
            lines[-1] += f" {line.strip()}"
            repairs += 1
        elif not line.strip().startswith(("-> ", "Rule ")):
            lines.append(" ".join(line.split()))
    assert repairs == sum(bool(odd.repair) for odd in inspection.oddities)
    return "\n".join(lines)


def levels(inspection: Inspection, words: str) -> set[str]:
    return {line.split()[0] for line in text_of(inspection).splitlines() if words in line}


@pytest.mark.parametrize("name", odd_producers.FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    make, words = odd_producers.FAULTS[name]
    inspection = inspect(make())
    expected = "note" if name in REMARKS else "risk" if name in RISKS else "defect"
    assert levels(inspection, words) == {expected}, text_of(inspection)
    assert inspection.sound == (expected != "defect")
    restored = Inspection.from_dict(json.loads(json.dumps(inspection.to_dict())))
    assert restored == inspection and restored.text() == inspection.text()


def test_the_gravest_fault_comes_first_and_quotes_the_standard() -> None:
    inspection = inspect(Array(all={"byte_offset": 12}, copied={"flags": 0}))
    defects = [odd for odd in inspection.oddities if odd.level == "defect"]
    rules = [odd.rule for odd in defects]
    assert rules[0] == "P-38" and "P-39" in rules
    lines = " ".join(inspection.text().split())
    assert f"Rule P-39: {RULES['P-39'].texts[0].document}: “" in lines
    assert defects[0].quote in inspection._repr_html_().replace("&#x27;", "'")


def test_cells_are_aligned_to_the_left() -> None:
    """Notebooks align them to the right, with a style sheet that comes after the one here."""
    html = inspect(Array(all={"byte_offset": 12}))._repr_html_()
    cells = re.findall("<t[dh][^>]*>", html)
    assert len(cells) > 20
    assert all("text-align: left" in cell or 'class="took"' in cell for cell in cells)


def test_a_right_copy_of_a_wrong_export_is_no_fault() -> None:
    kinds = {sign.kind for sign in inspect(Array(strides=(8, 2), legacy={"strides": (3, 1)})).signs}
    assert "P-38" in kinds
    view = Array(strides=(8, 2), all={"strides": (3, 1)}, copied={"strides": (3, 1)})
    assert {sign.kind for sign in inspect(view).signs} == {"P-38"}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_producer_has_no_fault(name: str) -> None:
    make = SOUND[name]
    inspection = inspect(make())
    assert inspection.sound, text_of(inspection)
    assert {sign.kind for sign in inspection.signs} <= ({"P-49"} if name == "read-only" else set())
    assert afterwards.examine(make) == []


def test_every_kind_of_sign_is_planted() -> None:
    planted = {
        sign.kind for make, _ in odd_producers.FAULTS.values() for sign in inspect(make()).signs
    }
    planted |= {sign.kind for make, _ in MORTAL.values() for sign in afterwards.examine(make)}
    planted |= {"release crashes"}  # which a test of the command shows
    assert planted >= set(FAULTS) and planted - set(FAULTS) <= set(RULES)


@pytest.mark.parametrize("name", MORTAL)
def test_exports_that_die_with_their_object(name: str) -> None:
    make, words = MORTAL[name]
    signs = afterwards.examine(make)
    assert signs and all(words in sign.words["text"] for sign in signs)
    protocols = [name for sign in signs for name in sign.protocols]
    assert protocols == (["bare"] if name == "legacy" else ["bare", "1.0"])


def test_an_object_is_freed_after_its_inspection() -> None:
    for kind in (Array, odd_producers.KeepsItself, odd_producers.Dropping):
        x = kind()
        gone = weakref.ref(x)
        inspect(x)
        del x
        gc.collect()
        assert gone() is None, kind


# With what values are compared ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "truth", "count"),
    [
        (Array, "tolist()", 6),
        (odd_producers.Indexed, "its items", 6),
        (lambda: type("Bare", (odd_producers.Interface,), {"tolist": None})(),
         "__array_interface__", 6),
    ],
)  # fmt: skip
def test_the_truth(make: Any, truth: str, count: int) -> None:
    inspection = inspect(make())
    assert (inspection.comparison.truth, inspection.comparison.count) == (truth, count)
    assert {"bare", "1.0", "1.3", "copy", "1.0 copy"} <= set(inspection.comparison.protocols)
    assert f"compared with {truth}: equal" in inspection.text(200)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (odd_producers.Silent, "the object has no other way to read its elements"),
        (lambda: Array(shape=(0, 3)), "it has no elements"),
        (odd_producers.reporting((2, 0), all={"device": (2, 0)}), "the memory is on cuda:0"),
        (lambda: Array(all={"dtype": (10, 8, 1)}), "cannot read float8_e4m3fn"),
        (lambda: Array(all={"data": odd_producers.NOWHERE}), "the memory is not readable"),
    ],
)
def test_the_reason_why_nothing_is_compared(make: Any, reason: str) -> None:
    inspection = inspect(make())
    assert reason in inspection.comparison.reason and not inspection.comparison.truth
    assert f"not compared, because {inspection.comparison.reason}" in inspection.text(200)


def test_a_message_without_a_period_ends_its_sentence() -> None:
    class Refuses:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **_: Any) -> Any:
            raise RuntimeError("called unwrap on None")

    assert "called unwrap on None. By __dlpack__()" in text_of(inspect(Refuses()))


def test_methods_that_raise_or_give_no_numbers() -> None:
    class Raising(Array):
        def tolist(self) -> Any:
            raise RuntimeError("no list")

    class Masked(Array):
        def tolist(self) -> Any:
            return [[None, 1, 2], [3, 4, 5]]

    assert inspect(Raising()).comparison.reason == "tolist() raises RuntimeError: no list"
    inspection = inspect(Masked())
    assert inspection.comparison.reason == "it has masked elements"
    assert "every consumer of DLPack reads them as numbers" in inspection.text(200)
    assert inspect(Raising()).sound and inspect(Masked()).sound


def test_large_tensors_are_compared_in_part() -> None:
    chosen = elements.chosen((1000, 1000))
    assert len(chosen) == len(set(chosen)) == elements.MOST
    assert (chosen[0], chosen[-1]) == (0, 999999) and list(chosen) == sorted(chosen)


# The command ------------------------------------------------------------------------------------


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dlbridge", "inspect", *arguments],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        timeout=120,
    )


def test_command_drops_the_object() -> None:
    process = run("odd_producers:MortalLegacy()")
    assert process.returncode == 1 and "Traceback" not in process.stderr
    assert "After the array was freed its memory holds other bytes" in process.stdout
    report = json.loads(run("--json", "odd_producers:Fatal()").stdout)
    # CPython 3.13.0 itself crashes while it prints the traceback of a callback that aborts.
    ends = [f"Dropping a capsule after its object ends the process: {signal}."
            for signal in ("SIGABRT", "SIGSEGV")]  # fmt: skip
    assert any(odd["what"] in ends for odd in report["oddities"])
    assert report["sound"] is False


def test_command_has_a_schema_number() -> None:
    for what in ("odd_producers:Array()", "odd_producers:nothing"):
        values = json.loads(run("--json", what).stdout)
        assert next(iter(values.items())) == ("schema", 1)


@pytest.mark.parametrize("page", ["missing/page.html", "."])
def test_command_with_a_page_that_cannot_be_written(page: str) -> None:
    process = run("--html", page, "odd_producers:Array()")
    assert process.returncode == 2 and "Traceback" not in process.stderr
    assert "--html: " in process.stderr


def test_command_of_what_is_no_tensor() -> None:
    process = run("builtins:3")
    assert process.returncode == 1 and "It is no tensor: int has none of" in process.stdout


def test_kinds_have_sentences_without_gaps() -> None:
    for kind, fault in FAULTS.items():
        assert fault.who and fault.repair and fault.what.endswith("."), kind
    with pytest.raises(KeyError):
        judged(Sign("conversion"))
    assert set(EFFECTS) <= set(RULES)


@pytest.mark.parametrize("make", [sound_targets.freed_later, sound_targets.freed_on_a_thread])
def test_tensors_that_are_freed_later_leave_no_references(make: Callable[[], object]) -> None:
    assert "X-08" not in {sign.kind for sign in inspect(make()).signs}


def test_tensors_without_a_deleter_may_be_in_several_capsules() -> None:
    assert "P-32" not in {sign.kind for sign in inspect(sound_targets.permanent()).signs}


def test_a_class_in_place_of_an_array() -> None:
    process = run("odd_producers:Array")
    assert process.returncode == 1
    assert "It is the class odd_producers.Array, and no array." in process.stdout
    assert "pass an array that it creates, as in odd_producers:Array(...)" in process.stdout
    assert process.stdout.count("defect") == 1
