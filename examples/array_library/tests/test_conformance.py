"""Checks grid as producer and consumer with python -m dlbridge conformance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMAND = ["conformance", "grid_factory:make", "--consumer", "grid:from_dlpack", "--json"]
# grid.from_dlpack has neither device= nor copy=, unlike from_dlpack of the array API.
EXPECTED_FAILURES = {"S-11", "S-13", "S-15"}


def test_no_other_rule_fails():
    result = subprocess.run(
        [sys.executable, "-m", "dlbridge", *COMMAND],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    failures = {it["id"] for it in report["results"] if it["outcome"] not in ("pass", "skip")}
    assert failures == EXPECTED_FAILURES
    assert report["counts"]["pass"] > 50
