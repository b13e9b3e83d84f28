# SPDX-License-Identifier: BSD-3-Clause
"""Checks grid as producer and consumer with python -m dlbridge conformance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMAND = ["conformance", "grid_factory:make", "--consumer", "grid:from_dlpack", "--json"]
# grid.from_dlpack is a set of overloads: it has neither device= nor copy=, and no overload fits a
# device that is refused (C-34), or a producer that raises (S-13), so that both become TypeError.
EXPECTED = {"C-34": "warn", "S-11": "note", "S-13": "warn"}


def test_no_rule_fails():
    result = subprocess.run(
        [sys.executable, "-m", "dlbridge", *COMMAND],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    report = json.loads(result.stdout)
    broken = {
        it["id"]: it["outcome"] for it in report["results"] if it["outcome"] not in ("pass", "skip")
    }
    assert broken == EXPECTED
    assert report["counts"]["pass"] > 95
