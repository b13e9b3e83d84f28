"""How much memory this process holds, and what of it stays after a call."""

from __future__ import annotations

import ctypes as C
import gc
import sys
from dataclasses import dataclass
from typing import Callable


class _MallInfo(C.Structure):
    _fields_ = [
        (name, C.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@dataclass(frozen=True)
class Held:
    """What a process holds at one moment."""

    python: int  # blocks of Python's own allocator
    malloc: int  # bytes; 0 where the C library does not tell
    resident: int  # bytes; 0 where the system does not tell


def held() -> Held:
    gc.collect()
    try:
        mallinfo = C.CDLL(None).mallinfo2
        mallinfo.restype = _MallInfo
        found = mallinfo()
        malloc = found.uordblks + found.hblkhd
    except AttributeError:
        malloc = 0
    try:
        with open("/proc/self/statm") as statm:
            resident = int(statm.read().split()[1]) * 4096
    except OSError:
        resident = 0
    return Held(sys.getallocatedblocks(), malloc, resident)


def growth(act: Callable[[], object], times: int) -> str | None:
    """What is left behind by every one of so many calls, in words; None where nothing is.

    A first round fills caches. What grows once and no more is not counted.
    """
    for _ in range(times // 5):
        act()
    said = None
    for _ in range(2):
        before = held()
        for _ in range(times):
            act()
        after = held()
        said = _left(before, after, times)
        if said is None:
            return None
    return said


def _left(before: Held, after: Held, times: int) -> str | None:
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
