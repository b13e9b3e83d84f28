# SPDX-License-Identifier: BSD-3-Clause
"""Measures the memory of this process, and what calls leave behind."""

from __future__ import annotations

import contextlib
import ctypes as C
import gc
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable

from ... import clock
from ...clock import Stopwatch
from ..outcomes import Skip

TIMES, FEWEST = 500, 50
SECONDS = 0.15  # for one repeated call; slow libraries get fewer repetitions
SURELY = 1000  # calls, before what they leave counts
LONGEST = 3.0  # seconds for so many calls
SLOWEST = 0.02  # seconds of a call
ATTEMPTS = 3  # at a call that seems to take longer
# Seconds without a change, after which none is expected: until that has been in vain, and then.
PATIENCE, LEAST_PATIENCE = 1.0, 0.2
LONGEST_CHANGE = 5.0  # seconds
NOISE, MUCH = 20.0, 1000.0  # blocks of Python's memory: that of one measurement, and of many


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
    """Returns how many calls fit into SECONDS, at most TIMES.

    Raises Skip where so few fit that nothing can be said of them.
    """
    act()
    begin = clock.now()
    times = [shortest(act, SLOWEST)]
    if times[0] > SLOWEST:
        raise too_slow(times[0])
    while len(times) < 10 and clock.now() - begin < SECONDS:
        times.append(shortest(act, SLOWEST))
    return max(FEWEST, min(TIMES, int(SECONDS / 2.2 / max(min(times), 1e-7))))


def shortest(act: Callable[[], object], limit: float) -> float:
    """Returns how many seconds a call takes.

    One above the `limit` is made again, up to ATTEMPTS times: the system may have run other
    processes meanwhile, which says nothing of the library.
    """
    best = math.inf
    for _ in range(ATTEMPTS):
        begin = clock.now()
        act()
        best = min(best, clock.now() - begin)
        if best <= limit:
            break
    return best


def growth(function: Callable[[], object], times: int) -> str | None:
    """Describes the memory that repeated calls leave behind; None where they leave nothing.

    A first round fills caches. A leak shows in every round, and does not become smaller for each
    call in the longest one, as what a cache takes does. What the library frees later is no leak.
    """
    first = 10 + times // 5
    begin = clock.now()
    for _ in range(first):
        function()
    fitting = int(LONGEST / max((clock.now() - begin) / first, 1e-7))
    rounds: list[Usage] = []
    with frozen():
        for _ in range(2):
            rounds.append(_round(function, times))
            if not _growing(rounds):
                return None
        settle(much=math.inf)  # what these rounds have left for later
        rounds.append(_round(function, max(3 * times, min(SURELY, fitting)), rounds))
        metrics = _growing(rounds)
    if not metrics:
        return None
    return f"{getattr(rounds[-1], metrics[0]):.1f} {UNITS[metrics[0]]} for each"


def may_leave(function: Callable[[], object], times: int) -> bool:
    """Whether some calls seem to leave memory behind, which growth() says for certain.

    It takes less time: it waits for nothing, and a cache that is being filled seems to be left.
    Call it with what exists already frozen().
    """
    rounds: list[Usage] = []
    for _ in range(2):
        rounds.append(_round(function, times))
        if not _growing(rounds):
            return False
    return True


def _round(
    function: Callable[[], object], times: int, earlier: Sequence[Usage] | None = None
) -> Usage:
    """Returns what each of some calls leaves.

    With earlier rounds it waits for what the library frees later.
    """
    before = measure()
    for _ in range(times):
        function()
    if earlier is not None:
        much = max(MUCH, (_in_use() - _blocks(before)) / 4)
        settle(lambda: not _growing([*earlier, _for_each(before, measure(), times)]), much)
    return _for_each(before, measure(), times)


def _growing(rounds: Sequence[Usage]) -> list[str]:
    return [name for name, limit in LIMITS.items() if _grows(rounds, name, limit)]


@contextlib.contextmanager
def frozen() -> Iterator[None]:
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


def _grows(rounds: Sequence[Usage], name: str, limit: float) -> bool:
    rates = [getattr(each, name) for each in rounds]
    return bool(min(rates) > limit and rates[-1] >= rates[0] / 2)


# What libraries free later ----------------------------------------------------------------------

_waited_in_vain: list[bool] = []


def settle(is_settled: Callable[[], bool] = lambda: False, much: float = MUCH) -> None:
    """Waits while memory is freed on other threads, until `is_settled`.

    A deleter notifies the producer that a tensor is no longer needed. No sentence of the standards
    demands that the memory is free when the deleter returns. Raises Skip where so `much` has been
    freed after LONGEST_CHANGE, and not all, that nothing can be said of what remains.
    """
    patience = LEAST_PATIENCE if _waited_in_vain else PATIENCE
    stopwatch = Stopwatch(os.getpid())
    begin = since = stopwatch.seconds()
    first = least = _in_use()
    while not is_settled():
        now = stopwatch.seconds()
        if now - since > patience:
            if least == first:
                _waited_in_vain.append(True)
            return
        if now - begin > LONGEST_CHANGE:
            if first - least < much:
                return
            raise Skip(f"tensors are freed later than their deleters are called: after "
                       f"{LONGEST_CHANGE:g} s not all are")  # fmt: skip
        time.sleep(0.005)
        current = _in_use()
        if current <= least - NOISE:
            least, since = current, stopwatch.seconds()


def _in_use() -> float:
    """Returns the memory that is in use, as a number of blocks of Python's memory."""
    return _blocks(measure())


def _blocks(usage: Usage) -> float:
    return usage.python + usage.malloc / LIMITS["malloc"]


def too_slow(seconds: float) -> Skip:
    """Returns why nothing is measured of a call that takes so long."""
    return Skip(f"too slow to measure what calls leave behind: one takes {seconds:.2g} s")
