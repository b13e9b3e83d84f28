# SPDX-License-Identifier: BSD-3-Clause
"""The exchanges detect faults: libraries with planted faults, and wrong rows of the table."""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

import dlbridge
from dlbridge.tools.libraries import CASES, LIBRARIES, Library
from exchanges import DIRECTIONS, Outcome, explain
from expected import COPIED, READ_ONLY, ZERO_COPY, crashes, expected_of, refused

CORRECT = LIBRARIES["dlbridge"]  # a correct library, here in the role of the peer
GRID = CASES["row-major"]
SUMMARY = Path(__file__).resolve().parents[2] / ".ci" / "peers_summary.py"
leaked: list[Any] = []


def overwrite(m: Any, x: Any) -> Any:
    """Imports a tensor and overwrites an element."""
    t = m.from_dlpack(x)
    ctypes.c_float.from_address(t.data_ptr + 4).value = 99
    return t


def leak(m: Any, x: Any) -> Any:
    """Imports a tensor and never releases it."""
    leaked.append(m.from_dlpack(x))
    return leaked[-1]


def export_copy(m: Any, x: Any) -> Any:
    """Exports a copy."""
    t = m.from_dlpack(x, copy=True)
    return t.__dlpack__(max_version=(1, 0))


FAULTS: dict[str, tuple[str, str, Library, str]] = {
    "copies": (
        "takes",
        "take",
        replace(CORRECT, take=lambda m, x: m.from_dlpack(x, copy=True)),
        "expected: zero-copy; got: copied",
    ),
    "writes": ("takes", "take", replace(CORRECT, take=overwrite), "got: misread. the values are"),
    "keeps": (
        "takes",
        "take",
        replace(CORRECT, take=leak),
        "freed [0] times, dlbridge dropped first",
    ),
    "keeps what returns": (
        "returns",
        "take",
        replace(CORRECT, take=leak),
        "freed [0] times",
    ),
    "gives a copy": (
        "gives",
        "from_dlpack",
        replace(CORRECT, give=export_copy),
        "expected: zero-copy; got: copied",
    ),
    "gives read-only": (
        "gives",
        "from_dlpack",
        replace(CORRECT, give=lambda m, x: m.from_dlpack(x, readonly=True)),
        "expected read-only: False; got: True",
    ),
    "gives other values": (
        "gives",
        "from_dlpack",
        replace(CORRECT, give=lambda m, x: overwrite(m, x)),
        "got: misread. the values are",
    ),
    "refuses": (
        "takes",
        "take",
        replace(CORRECT, take=lambda m, x: m.from_dlpack(5)),
        "expected: zero-copy; got: refused. TypeError: not a DLPack producer",
    ),
    "has no arrays": ("gives", "from_dlpack", replace(CORRECT, array=None), "got: impossible"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_detected(fault: str) -> None:
    direction, method, library, text = FAULTS[fault]
    got = DIRECTIONS[direction](library, dlbridge, method, GRID)
    assert text in explain(ZERO_COPY, GRID, got)
    leaked.clear()
    gc.collect()


@pytest.mark.parametrize("direction, method", [("gives", "as_tensor"), ("takes", "take"),
                                             ("returns", "take")])  # fmt: skip
def test_a_correct_library_passes(direction: str, method: str) -> None:
    for case in CASES.values():
        got = DIRECTIONS[direction](CORRECT, dlbridge, method, case)
        expected = READ_ONLY if case.name == "read-only" and direction != "takes" else ZERO_COPY
        assert explain(expected, case, got) == ""


@pytest.mark.parametrize(
    "expected, got, text",
    [
        (crashes("SIGABRT"), Outcome("zero-copy"), "expected: crashes; got: zero-copy"),
        (refused("no such"), Outcome("zero-copy"), "expected: refused; got: zero-copy"),
        (refused("no such"), Outcome("refused", "ValueError: why"), "expected the text 'no such'"),
        (COPIED, Outcome("zero-copy"), "expected: copied; got: zero-copy"),
        (ZERO_COPY, Outcome("zero-copy", dtype="int8"), "expected: float32; got: int8"),
        (READ_ONLY, Outcome("zero-copy"), "expected read-only: True; got: False"),
        (ZERO_COPY, Outcome("zero-copy", violations="freed [2] times"), "freed [2] times"),
    ],
)
def test_a_wrong_row_is_detected(expected: Any, got: Outcome, text: str) -> None:
    assert text in explain(expected, GRID, got)


def test_the_most_specific_row_is_used() -> None:
    assert expected_of("torch", "takes", "capsule", "read-only").outcome == "refused"
    assert expected_of("torch", "takes", "take", "read-only") is ZERO_COPY
    assert expected_of("torch", "takes", "copy=True", "offset") is COPIED
    assert expected_of("tensorflow", "takes", "versioned capsule", "int8").outcome == "refused"
    assert expected_of("torch", "returns", "there and back", "backwards").outcome == "crashes"


def tally(failed: int = 0, passed: int = 3) -> dict[str, Any]:
    exchanges = [["gives", "from_dlpack", "vector", "zero-copy", ""]]
    made = {"version": "1.2", "python": "3.11.2", "date": "2026-11-28"}
    return {**made, "passed": passed, "failed": failed, "exchanges": exchanges}


Summary = Callable[..., "tuple[int, str]"]


@pytest.fixture
def summary(tmp_path: Path) -> Summary:
    def run(tallies: dict[str, Any], *arguments: str) -> tuple[int, str]:
        (tmp_path / "newest.json").write_text(json.dumps(tallies))
        command = [sys.executable, str(SUMMARY), str(tmp_path), *arguments]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.returncode, result.stdout

    return run


def test_the_summary_counts(summary: Summary) -> None:
    status, output = summary({"numpy": tally()}, "newest=numpy")
    assert (status, "FAILED" in output) == (0, False)
    assert "1 exchanges with 1 libraries" in output
    assert "3.11.2  2026-11-28" in output


@pytest.mark.parametrize(
    "tallies, libraries, text",
    [
        ({}, "newest=numpy", "numpy is missing from newest"),
        ({"numpy": tally()}, "newest=numpy,torch", "torch is missing from newest"),
        ({"numpy": tally()}, "oneapi=dpnp", "dpnp is missing from oneapi"),
        ({"numpy": tally(failed=2)}, "newest=numpy", "numpy in newest: 2 tests failed"),
        ({"numpy": tally(passed=0)}, "newest=numpy", "numpy in newest: no test ran"),
    ],
)
def test_the_summary_fails(
    summary: Summary, tallies: dict[str, Any], libraries: str, text: str
) -> None:
    status, output = summary(tallies, libraries)
    assert status == 1
    assert f"FAILED: {text}" in output
