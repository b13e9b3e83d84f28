# SPDX-License-Identifier: BSD-3-Clause
"""The processor time that `import dlbridge` adds to an interpreter, and the size of the wheel."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path


def seconds(code: str) -> float:
    """The processor time of a program, which varies less than its duration."""
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise RuntimeError(f"the program failed: {code}")
    return usage.ru_utime + usage.ru_stime


def milliseconds(pairs: int) -> tuple[float, float, float]:
    """What `import dlbridge` adds to an empty program: median and quartiles of the pairs."""
    seconds("import dlbridge")  # reads the files
    added = []
    for pair in range(pairs):
        programs = ("import dlbridge", "pass") if pair % 2 == 0 else ("pass", "import dlbridge")
        times = {code: seconds(code) for code in programs}
        added.append(1000 * (times["import dlbridge"] - times["pass"]))
    quartiles = statistics.quantiles(added, n=4)
    return statistics.median(added), quartiles[0], quartiles[2]


def wheel_bytes(folder: str) -> int | None:
    """The size of the wheel in a folder."""
    wheels = sorted(Path(folder).glob("*.whl"))
    return wheels[-1].stat().st_size if wheels else None
