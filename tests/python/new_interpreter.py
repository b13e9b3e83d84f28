# SPDX-License-Identifier: BSD-3-Clause
"""Runs code in an interpreter that must exit without a word."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(code: str) -> str:
    """The output of a new interpreter, which must exit with status 0 and without errors."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONFAULTHANDLER": "1",
        "PYTHONDEVMODE": "1",
    }
    prologue = "import sys, gc, atexit, threading\nimport dlbridge, foreign, producers\n"
    result = subprocess.run(
        [sys.executable, "-c", prologue + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=HERE,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout
