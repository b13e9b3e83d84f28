"""Paired timing: ratios of two calls on a noisy machine, with a comparison of a call with itself.

The speed of a shared machine can change by tens of percent within a second, so two blocks that are
timed one after the other cannot be compared. Here the calls A and B alternate in batches of about
50 microseconds. Each pair of batches gives one ratio, and the median of the pairs is one repeat.
The comparison of a call with itself (A/A) shows the accuracy: if its repeats differ by more than
one percent, the benchmarks do not check limits.
"""

from __future__ import annotations

import gc
import os
import statistics
from dataclasses import dataclass, field
from typing import Any, Callable

import bench_loop

BATCH_NS = 50_000
PAIRS = 101
REPEATS = 7
TRUSTED_WIDTH = 0.01


@dataclass
class Case:
    """A call to time: function(*arguments, **keywords). The result is dropped immediately."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None
    note: str = ""  # what this call does or omits, compared with the other one
    count: int = field(default=0, init=False)

    def _run(self, count: int) -> float:
        nanoseconds = bench_loop.run(self.function, self.arguments, self.keywords, count)
        return float(nanoseconds) / count

    def prepare(self) -> None:
        """Warms caches, and computes the number of calls of a batch."""
        self._run(100)
        self.count = max(1, int(BATCH_NS / self._run(100)))

    def time(self) -> float:
        """Times one batch. Returns nanoseconds per call."""
        return self._run(self.count)


@dataclass
class Ratio:
    """The time of A divided by that of B: the median, minimum and maximum of the repeats."""

    a: str
    b: str
    median: float
    least: float
    most: float
    a_ns: float
    b_ns: float

    def __str__(self) -> str:
        return f"{self.median:6.3f} [{self.least:.3f}, {self.most:.3f}]"


def quiet() -> None:
    """Pins the process to one core and disables garbage collection, to reduce noise."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    gc.collect()
    gc.disable()


def compare(a: Case, b: Case) -> Ratio:
    """Returns the paired ratio of two calls."""
    a.prepare()
    b.prepare()
    medians: list[float] = []
    a_ns: list[float] = []
    b_ns: list[float] = []
    for _ in range(REPEATS):
        ratios = []
        for pair in range(PAIRS):
            if pair % 2 == 0:
                first, second = a.time(), b.time()
            else:
                second, first = b.time(), a.time()
            ratios.append(first / second)
            a_ns.append(first)
            b_ns.append(second)
        medians.append(statistics.median(ratios))
    return Ratio(
        a.name,
        b.name,
        statistics.median(medians),
        min(medians),
        max(medians),
        statistics.median(a_ns),
        statistics.median(b_ns),
    )


def guard(case: Case) -> Ratio:
    """Compares a call with itself, which shows the accuracy of ratios on this machine."""
    return compare(case, case)


def trusted(same: Ratio) -> bool:
    """Whether the comparison of a call with itself is accurate enough to check limits."""
    return same.most - same.least <= TRUSTED_WIDTH and abs(same.median - 1) <= TRUSTED_WIDTH
