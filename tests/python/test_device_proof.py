# SPDX-License-Identifier: BSD-3-Clause
"""The proof of tests/gpu on the simulated driver, and its program on checks that misbehave."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def proof(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = [str(CHECKOUT / "tests" / "gpu"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-m", "proof", *arguments],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
    )


def lines(file: Path) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in map(json.loads, file.read_text().splitlines())}


# The checks ------------------------------------------------------------------------------------


def test_the_checks_that_the_simulated_driver_can_run(tmp_path: Path) -> None:
    """A check that fails because of a known defect is marked, and must fail until the repair."""
    done = proof("--json", str(tmp_path / "lines"))
    assert done.returncode == 0, done.stdout + done.stderr
    results = lines(tmp_path / "lines")
    outcomes = [each["outcome"] for each in results.values()]
    assert outcomes.count("passed") >= 20, done.stdout
    assert outcomes.count("waiting") >= 20, done.stdout
    assert results["control_without_order"]["figures"] == {"stale reads of 10": 10}

    page = json.loads((CHECKOUT / "docs" / "generated" / "gpu.json").read_text())["simulated"]
    changed = [name for name, each in results.items() if each["outcome"] != page[name]["outcome"]]
    assert changed == []  # to repair: python3 noxfile.py gpu -- --simulated --write


TRANSLATED = ("one_free", "order_by_events", "control_without_order", "stream_of_another_context",
              "copies_of_strided_arrays", "nothing_leaks", "capture_stays_valid")  # fmt: skip


def test_kernels_are_launched_as_a_real_driver_requires(tmp_path: Path) -> None:
    done = proof("--module", "translated", "--json", str(tmp_path / "lines"), "--only", *TRANSLATED)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {name: each["outcome"] for name, each in lines(tmp_path / "lines").items()}
    assert outcomes == dict.fromkeys(TRANSLATED, "passed")
    assert "| GPU |" in done.stdout


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas of CUDA's compiler is missing")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_100"])
def test_kernels_compile(tmp_path: Path, architecture: str) -> None:
    sys.path.insert(0, str(CHECKOUT / "tests" / "gpu"))
    from proof.kernels import PTX

    (tmp_path / "kernels.ptx").write_bytes(PTX)
    command = ["ptxas", f"-arch={architecture}", "-o", "/dev/null", str(tmp_path / "kernels.ptx")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_lists_these_checks() -> None:
    done = proof("--check")
    assert done.returncode == 0, done.stdout + done.stderr


# The program -----------------------------------------------------------------------------------

EXPECTED = {
    "passes": ("passed", ""),
    "fails": ("failed", "a | b c"),
    "raises": ("failed", "ValueError: unexpected"),
    "skips": ("skipped", "no such library"),
    "crashes": ("failed", "crashed: SIGSEGV"),
    "ends_the_process": ("failed", "crashed: exit status 0"),
    "crashes_at_exit": ("failed", "crashed after its result: exit status 3"),
    "hangs": ("failed", "hung: no result within 3 s"),
    "hangs_at_exit": ("failed", "hung: it did not end within 3 s"),
    "prints_garbage": ("passed", ""),
    "leaves_a_process": ("passed", ""),
    "leaves_a_sticky_error": ("failed", "cuCtxSynchronize returned 700"),
    "uses_the_driver_afterwards": ("passed", ""),
    "leaves_a_race": ("failed", "a race: simulated_copy"),
    "leaves_a_permitted_race": ("passed", ""),
    "needs_a_gpu": ("waiting", "a GPU"),
    "has_a_defect": ("failed", "slow"),
    "has_a_repaired_defect": ("passed", ""),
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The output of the planted checks, and the folder of the files that it wrote."""
    folder = tmp_path_factory.mktemp("proof")
    begin = time.monotonic()
    done = proof("--module", "planted_checks", "--json", str(folder / "lines"), "--write",
                 "--page", str(folder / "gpu.md"))  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert time.monotonic() - begin < 100  # also with a process that one of them left
    yield done.stdout, folder


def test_a_check_costs_its_row_only(planted: tuple[str, Path]) -> None:
    results = lines(planted[1] / "lines")
    assert list(results) == list(EXPECTED)
    for name, (outcome, reason) in EXPECTED.items():
        assert results[name]["outcome"] == outcome, results[name]
        assert str(results[name]["reason"]).startswith(reason), results[name]
    assert results["passes"]["figures"] == {"one": 1, "more": {"two": 2.5}}


def test_each_line_is_json_and_the_table_follows(planted: tuple[str, Path]) -> None:
    output, folder = planted
    printed = output.splitlines()[: len(EXPECTED)]
    assert printed == (folder / "lines").read_text().splitlines()
    assert "| `fails` | does not hold | failed: a \\| b c |" in output
    assert "unexpected: has_a_repaired_defect: passes, though it is marked: it was slow" in output
    assert "unexpected: has_a_defect" not in output


def test_the_page_keeps_the_results_of_other_runs(planted: tuple[str, Path]) -> None:
    page = planted[1] / "gpu.md"
    before = page.read_text()
    assert "| `passes` | passes | waiting for a GPU | passed |" in before
    assert "| `needs_a_gpu` | waits for a GPU | waiting for a GPU | waiting for a GPU |" in before
    done = proof("--module", "planted_checks", "--only", "fails", "--write", "--page", str(page))
    assert done.returncode == 1
    assert page.read_text() == before
    assert proof("--module", "planted_checks", "--check", "--page", str(page)).returncode == 0
    page.write_text(before.replace("| passes |", "| passed |"))
    assert proof("--module", "planted_checks", "--check", "--page", str(page)).returncode == 1


def test_the_time_of_all_checks_is_limited() -> None:
    done = proof("--module", "planted_checks", "--only", "passes", "fails", "--seconds", "1")
    assert done.returncode == 1
    assert done.stdout.count("no time was left of 1 s") == 6  # line, row and summary of each


def test_an_unknown_check() -> None:
    done = proof("--only", "nothing")
    assert done.returncode == 1
    assert "there is no check nothing" in done.stderr


def test_without_a_driver() -> None:
    """The program states how to run it on a machine without a GPU."""
    kept = os.environ.pop("LD_LIBRARY_PATH")
    try:
        done = proof()
    finally:
        os.environ["LD_LIBRARY_PATH"] = kept
    assert done.returncode == 2
    assert "-- --simulated" in done.stderr
