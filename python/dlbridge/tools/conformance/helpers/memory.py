"""Measures the memory of this process, and what calls leave behind."""

from __future__ import annotations

import ctypes as C
import gc
import sys
import time
from dataclasses import dataclass
from typing import Callable

TIMES, FEWEST = 500, 50
SECONDS = 0.15  # for one repeated call; slow libraries get fewer repetitions
SURELY = 1000  # calls, before what they leave counts


class _MallInfo(C.Structure):
    _fields_ = [
        (name, C.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@dataclass(frozen=True)
class Usage:
    """The memory of a process at one moment."""

    python: int  # blocks of Python's own allocator
    malloc: int  # bytes; 0 where the C library does not report it
    resident: int  # bytes; 0 where the system does not report it


def measure() -> Usage:
    gc.collect()
    try:
        mallinfo = C.CDLL(None).mallinfo2
        mallinfo.restype = _MallInfo
        info = mallinfo()
        malloc = info.uordblks + info.hblkhd
    except AttributeError:
        malloc = 0
    try:
        with open("/proc/self/statm") as statm:
            resident = int(statm.read().split()[1]) * 4096
    except OSError:
        resident = 0
    return Usage(sys.getallocatedblocks(), malloc, resident)


def how_often(act: Callable[[], object]) -> int:
    """Returns how many calls fit into SECONDS, at most TIMES."""
    begin = time.perf_counter()
    for _ in range(10):
        act()
    each = (time.perf_counter() - begin) / 10
    return max(FEWEST, min(TIMES, int(SECONDS / 2.2 / max(each, 1e-7))))


def growth(function: Callable[[], object], times: int) -> str | None:
    """Describes the memory that repeated calls leave behind; None where they leave nothing.

    A first round fills caches. What only one of the rounds shows does not count, as other threads
    and caches allocate too.
    """
    for _ in range(10 + times // 5):
        function()
    description = None
    gc.collect()
    gc.freeze()  # collections need not look at what exists already
    try:
        for repetitions in (times, times, max(3 * times, SURELY)):
            before = measure()
            for _ in range(repetitions):
                function()
            description = _left(before, measure(), repetitions)
            if description is None:
                return None
    finally:
        gc.unfreeze()
    return description


def _left(before: Usage, after: Usage, times: int) -> str | None:
    blocks = (after.python - before.python) / times
    bytes_ = (after.malloc - before.malloc) / times
    resident = after.resident - before.resident
    if blocks > 0.5:
        return f"{blocks:.1f} blocks of Python's memory for each"
    if bytes_ > 16:
        return f"{bytes_:.0f} bytes for each"
    if resident > max(8 << 20, 128 * times):
        return f"{resident / times:.0f} bytes of resident memory for each"
    return None
