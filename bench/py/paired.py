"""Ratios that survive a noisy machine: adjacent pairs in alternating order, and an A/A guard.

A machine that is shared drifts by tens of percent within a second, so two blocks timed one after
the other say nothing. Here A and B take turns in batches of some 50 microseconds; each pair gives
one ratio, and the median of the pairs is one repeat. A thing against itself (A/A) shows how far a
ratio may be trusted: when its repeats differ by more than one percent the run refuses to judge.
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
    """One call to time: function(*arguments, **keywords), its result dropped at once."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None
    note: str = ""  # what this side does that the other does not, or the reverse
    count: int = field(default=0, init=False)

    def _run(self, count: int) -> float:
        nanoseconds = bench_loop.run(self.function, self.arguments, self.keywords, count)
        return float(nanoseconds) / count

    def prepare(self) -> None:
        """Warms caches, and finds how many calls make a batch."""
        self._run(100)
        self.count = max(1, int(BATCH_NS / self._run(100)))

    def time(self) -> float:
        """Nanoseconds per call in one batch."""
        return self._run(self.count)


@dataclass
class Ratio:
    """A's time over B's: the median of the repeats, and their extremes."""

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
    """One core, no collections: fewer reasons for two equal calls to differ."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    gc.collect()
    gc.disable()


def compare(a: Case, b: Case) -> Ratio:
    """The paired ratio of two cases."""
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
    """The same case against itself: what this machine, now, cannot tell apart."""
    return compare(case, case)


def trusted(same: Ratio) -> bool:
    return same.most - same.least <= TRUSTED_WIDTH and abs(same.median - 1) <= TRUSTED_WIDTH
