"""grid as producer and consumer, by the rules of DLPack: python -m dlbridge conformance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMAND = ["conformance", "grid_factory:make", "--consumer", "grid:from_dlpack", "--json"]
# An overload for each dtype, with neither device= nor copy=, is not the array API's from_dlpack.
BEYOND_THE_SIXTY = {"S-11", "S-13", "S-15"}


def test_no_rule_is_broken():
    done = subprocess.run(
        [sys.executable, "-m", "dlbridge", *COMMAND],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    broken = {it["id"] for it in report["results"] if it["outcome"] not in ("pass", "skip")}
    assert broken == BEYOND_THE_SIXTY
    assert report["counts"]["pass"] > 50
