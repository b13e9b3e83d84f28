"""grid as producer and consumer, by the rules of DLPack: python -m dlbridge conformance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMAND = ["conformance", "grid_factory:make", "--consumer", "grid:from_dlpack", "--json"]


def test_no_rule_is_broken():
    done = subprocess.run(
        [sys.executable, "-m", "dlbridge", *COMMAND],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    broken = [it for it in report["results"] if it["outcome"] not in ("pass", "skip")]
    assert broken == []
    assert report["counts"]["pass"] > 40
