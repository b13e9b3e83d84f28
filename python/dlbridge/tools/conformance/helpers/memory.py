"""Measures the memory of this process, and what calls leave behind."""

from __future__ import annotations

import contextlib
import ctypes as C
import gc
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable

TIMES, FEWEST = 500, 50
SECONDS = 0.15  # for one repeated call; slow libraries get fewer repetitions
SURELY = 1000  # calls, before what they leave counts
LONGEST = 3.0  # seconds for so many calls


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
    """The memory of a process at one moment, or what each call added to it."""

    python: float  # blocks of Python's own allocator
    malloc: float  # bytes; 0 where the C library does not report it
    resident: float  # bytes; 0 where the system does not report it


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

    A first round fills caches. A leak shows in every round, and does not become smaller for each
    call in the longest one, as what a cache takes does.
    """
    first = 10 + times // 5
    begin = time.perf_counter()
    for _ in range(first):
        function()
    fitting = int(LONGEST / max((time.perf_counter() - begin) / first, 1e-7))
    rounds: list[Usage] = []
    with _frozen():
        for repetitions in (times, times, max(3 * times, min(SURELY, fitting))):
            before = measure()
            for _ in range(repetitions):
                function()
            rounds.append(_for_each(before, measure(), repetitions))
            metrics = [name for name, limit in LIMITS.items() if _grows(rounds, name, limit)]
            if not metrics:
                return None
    return f"{getattr(rounds[-1], metrics[0]):.1f} {UNITS[metrics[0]]} for each"


@contextlib.contextmanager
def _frozen() -> Iterator[None]:
    """Lets collections skip what exists already."""
    if gc.get_freeze_count():  # by open_target(), whose objects gc.unfreeze() would include again
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


# More than so much for each call is a leak.
LIMITS = {"python": 0.5, "malloc": 12.0, "resident": 4096.0}
UNITS = {
    "python": "blocks of Python's memory",
    "malloc": "bytes",
    "resident": "bytes of resident memory",
}


def _for_each(before: Usage, after: Usage, times: int) -> Usage:
    return Usage(
        (after.python - before.python) / times,
        (after.malloc - before.malloc) / times,
        (after.resident - before.resident) / times,
    )


def _grows(rounds: list[Usage], name: str, limit: float) -> bool:
    rates = [getattr(each, name) for each in rounds]
    return bool(min(rates) > limit and rates[-1] >= rates[0] / 2)
