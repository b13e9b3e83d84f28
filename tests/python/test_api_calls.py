# SPDX-License-Identifier: BSD-3-Clause
"""Every call of Python's C API in every operation raises, and the exception reaches the caller."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cpython_build import FREE_THREADED, without_ignored

HERE = Path(__file__).resolve().parent
LIBRARY = Path(os.environ.get("DLBRIDGE_TEST_MODULES", "")) / "libfailing_api.so"


@pytest.mark.skipif(FREE_THREADED, reason="the rules are those of the GIL")
@pytest.mark.skipif(not LIBRARY.exists(), reason="no replacement of the C API for this build")
def test_every_call_raises_in_turn() -> None:
    process = subprocess.run(
        # CPython 3.12 warns of a fork while threads run, such as those of NumPy
        [sys.executable, "-W", "ignore::DeprecationWarning", str(HERE / "api_calls.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(HERE)])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (process.returncode, without_ignored(process.stderr)) == (0, "")
    counts = [int(line.split(": ")[-1].split()[0]) for line in process.stdout.splitlines()]
    assert len(counts) >= 70 and sum(counts) > 2000
