"""The exchanges notice what goes wrong: libraries with planted faults, and a table that lies."""

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

HONEST = LIBRARIES["dlbridge"]  # a library as good as any: it plays the other side
GRID = CASES["row-major"]
SUMMARY = Path(__file__).resolve().parents[2] / ".ci" / "peers_summary.py"
hoard: list[Any] = []


def spoilt(m: Any, x: Any) -> Any:
    """Writes into what it takes."""
    t = m.from_dlpack(x)
    ctypes.c_float.from_address(t.data_ptr + 4).value = 99
    return t


def hoarded(m: Any, x: Any) -> Any:
    """Never lets go of what it takes."""
    hoard.append(m.from_dlpack(x))
    return hoard[-1]


def given_again(m: Any, x: Any) -> Any:
    """Gives memory that it lets go of too early."""
    t = m.from_dlpack(x, copy=True)
    return t.__dlpack__(max_version=(1, 0))


FAULTS: dict[str, tuple[str, str, Library, str]] = {
    "copies": (
        "takes",
        "take",
        replace(HONEST, take=lambda m, x: m.from_dlpack(x, copy=True)),
        "expected: zero-copy; got: copied",
    ),
    "writes": ("takes", "take", replace(HONEST, take=spoilt), "got: misread. the values are"),
    "keeps": (
        "takes",
        "take",
        replace(HONEST, take=hoarded),
        "freed [0] times, ours dropped first",
    ),
    "keeps what returns": (
        "returns",
        "take",
        replace(HONEST, take=hoarded),
        "freed [0] times",
    ),
    "gives a copy": (
        "gives",
        "from_dlpack",
        replace(HONEST, give=given_again),
        "expected: zero-copy; got: copied",
    ),
    "gives read-only": (
        "gives",
        "from_dlpack",
        replace(HONEST, give=lambda m, x: m.from_dlpack(x, readonly=True)),
        "expected read-only: False; got: True",
    ),
    "gives other values": (
        "gives",
        "from_dlpack",
        replace(HONEST, give=lambda m, x: spoilt(m, x)),
        "got: misread. the values are",
    ),
    "refuses": (
        "takes",
        "take",
        replace(HONEST, take=lambda m, x: m.from_dlpack(5)),
        "expected: zero-copy; got: refused. TypeError: not a DLPack producer",
    ),
    "has no arrays": ("gives", "from_dlpack", replace(HONEST, array=None), "got: impossible"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    direction, road, library, words = FAULTS[fault]
    got = DIRECTIONS[direction](library, dlbridge, road, GRID)
    assert words in explain(ZERO_COPY, GRID, got)
    hoard.clear()
    gc.collect()


@pytest.mark.parametrize("direction, road", [("gives", "as_tensor"), ("takes", "take"),
                                             ("returns", "take")])  # fmt: skip
def test_without_faults_nothing_is_found(direction: str, road: str) -> None:
    for case in CASES.values():
        got = DIRECTIONS[direction](HONEST, dlbridge, road, case)
        expected = READ_ONLY if case.name == "read-only" and direction != "takes" else ZERO_COPY
        assert explain(expected, case, got) == ""


@pytest.mark.parametrize(
    "expected, got, words",
    [
        (crashes("SIGABRT"), Outcome("zero-copy"), "expected: crashes; got: zero-copy"),
        (refused("no such"), Outcome("zero-copy"), "expected: refused; got: zero-copy"),
        (refused("no such"), Outcome("refused", "ValueError: why"), "expected the words 'no such'"),
        (COPIED, Outcome("zero-copy"), "expected: copied; got: zero-copy"),
        (ZERO_COPY, Outcome("zero-copy", dtype="int8"), "expected: float32; got: int8"),
        (READ_ONLY, Outcome("zero-copy"), "expected read-only: True; got: False"),
        (ZERO_COPY, Outcome("zero-copy", lost="freed [2] times"), "freed [2] times"),
    ],
)
def test_a_table_that_lies_is_found(expected: Any, got: Outcome, words: str) -> None:
    assert words in explain(expected, GRID, got)


def test_the_nearest_row_counts() -> None:
    assert expected_of("torch", "takes", "capsule", "read-only").outcome == "refused"
    assert expected_of("torch", "takes", "take", "read-only") is ZERO_COPY
    assert expected_of("torch", "takes", "copy=True", "offset") is COPIED
    assert expected_of("tensorflow", "takes", "versioned capsule", "int8").outcome == "refused"
    assert expected_of("torch", "returns", "there and back", "backwards").outcome == "crashes"


def counted(failed: int = 0, passed: int = 3) -> dict[str, Any]:
    exchanges = [["gives", "from_dlpack", "vector", "zero-copy", ""]]
    return {"version": "1.2", "passed": passed, "failed": failed, "exchanges": exchanges}


Summary = Callable[..., "tuple[int, str]"]


@pytest.fixture
def summary(tmp_path: Path) -> Summary:
    def run(found: dict[str, Any], *arguments: str) -> tuple[int, str]:
        (tmp_path / "newest.json").write_text(json.dumps(found))
        command = [sys.executable, str(SUMMARY), str(tmp_path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


def test_the_summary_counts(summary: Summary) -> None:
    status, said = summary({"numpy": counted()}, "newest=numpy", "--left-out=paddle")
    assert (status, "FAILED" in said) == (0, False)
    assert "1 exchanges with 1 libraries" in said
    assert "LEFT OUT, as --fast was asked for: paddle" in said


@pytest.mark.parametrize(
    "found, wanted, words",
    [
        ({}, "newest=numpy", "numpy is missing from newest"),
        ({"numpy": counted()}, "newest=numpy,torch", "torch is missing from newest"),
        ({"numpy": counted()}, "oneapi=dpnp", "dpnp is missing from oneapi"),
        ({"numpy": counted(failed=2)}, "newest=numpy", "numpy in newest: 2 tests failed"),
        ({"numpy": counted(passed=0)}, "newest=numpy", "numpy in newest: no test ran"),
    ],
)
def test_the_summary_fails(
    summary: Summary, found: dict[str, Any], wanted: str, words: str
) -> None:
    status, said = summary(found, wanted)
    assert status == 1
    assert f"FAILED: {words}" in said
