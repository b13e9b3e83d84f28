# SPDX-License-Identifier: BSD-3-Clause
"""Checks under NVIDIA's compute-sanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from proof.driver import CYCLES
from proof.registry import Figures, Skipped, check, require

NAMES = ("order_by_events", "copies_of_strided_arrays", "capture_stays_valid", "one_free")
FOUND = 9  # the exit status that compute-sanitizer is told to return


def find_tool() -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"])
    tool = shutil.which("compute-sanitizer", path=path)
    if tool is None:
        raise Skipped("compute-sanitizer is not installed")
    return tool


def summary_of(tool: str, name: str) -> str:
    """Runs a check under memcheck, and returns the summary of its errors."""
    with tempfile.TemporaryDirectory() as folder:
        command = [tool, "--tool", "memcheck", "--report-api-errors", "no"]
        command += ["--error-exitcode", str(FOUND), sys.executable]
        child = ["-m", "proof.child", "proof.checks", name, str(Path(folder, "answer.json"))]
        try:
            done = subprocess.run([*command, *child], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, CYCLES: "2000000"})  # fmt: skip
        except subprocess.TimeoutExpired:
            return "no result within 60 s"
    lines = [line for line in done.stdout.splitlines() if "not supported" in line]
    if lines:
        raise Skipped(f"compute-sanitizer: {lines[0]}")
    lines = [line for line in done.stdout.splitlines() if "ERROR SUMMARY" in line]
    require(done.returncode != FOUND, f"{name}: {done.stdout[-300:]}")
    return lines[-1].split("ERROR SUMMARY:")[1].strip() if lines else "no summary"


@check(
    "compute-sanitizer's memcheck finds nothing in four of the checks", simulated=False, limit=250
)
def compute_sanitizer() -> Figures:
    tool = find_tool()
    return {name: summary_of(tool, name) for name in NAMES}
