# SPDX-License-Identifier: BSD-3-Clause
"""Every allocation of every operation fails, once and for good: a MemoryError, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cpython_build import FREE_THREADED, without_ignored

HERE = Path(__file__).resolve().parent
LIBRARY = Path(os.environ.get("DLBRIDGE_TEST_MODULES", "")) / "libfailing_malloc.so"


@pytest.mark.skipif(FREE_THREADED, reason="this CPython requires an allocator of its own")
@pytest.mark.skipif(
    sys.version_info[:3] == (3, 15, 0),
    reason="CPython 3.15.0 frees the argument of list.append twice if it cannot grow the list",
)
@pytest.mark.skipif(not LIBRARY.exists(), reason="no replacement of malloc for this build")
def test_every_allocation_fails_in_turn() -> None:
    process = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "allocations.py")],
        env={
            **os.environ,
            "LD_PRELOAD": str(LIBRARY),
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": os.pathsep.join([*sys.path, str(HERE)]),
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (process.returncode, without_ignored(process.stderr)) == (0, "")
    counts = [int(line.split(": ")[1].split()[0]) for line in process.stdout.splitlines()]
    assert len(counts) >= 45 and all(count > 0 for count in counts)
