# SPDX-License-Identifier: BSD-3-Clause
"""Paired timing: ratios of two calls on a noisy machine.

The speed of a shared machine can change by tens of percent within a second, so two blocks that are
timed one after the other cannot be compared. Here the calls A and B alternate in batches of about
50 microseconds. Each pair of batches gives one ratio, and the median of the pairs is one repeat.
"""

from __future__ import annotations

import gc
import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bench_loop

BATCH_NS = 50_000


@dataclass(frozen=True)
class Effort:
    """How often a comparison repeats, and for how long the guard waits for a quiet machine."""

    pairs: int = 101
    repeats: int = 7
    patience_s: float = 300


QUICK = Effort(pairs=31, repeats=3, patience_s=60)


@dataclass
class Case:
    """A call to time: function(*arguments, **keywords). The result is dropped immediately."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None
    fails: bool = False  # whether every call raises an exception
    over: tuple[Any, ...] = ()  # calls the function with each of these in turn instead
    count: int = field(default=0, init=False)

    def _run(self, count: int) -> float:
        if self.over:
            rounds = max(1, count // len(self.over))
            nanoseconds = bench_loop.run_over(self.function, self.over, rounds)
            return float(nanoseconds) / (rounds * len(self.over))
        arguments = (self.function, self.arguments, self.keywords, count, self.fails)
        return float(bench_loop.run(*arguments)) / count

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

    median: float
    least: float
    most: float
    a_ns: float
    b_ns: float

    @property
    def noise(self) -> float:
        """How far the repeats of a call compared with itself are from 1, and from each other."""
        return max(self.most - self.least, abs(self.median - 1))

    def __str__(self) -> str:
        return f"{self.median:7.3f} [{self.least:.3f}, {self.most:.3f}]"


def quiet() -> None:
    """Pins the process to one core and disables garbage collection, to reduce noise."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    gc.collect()
    gc.disable()


def compare(a: Case, b: Case, effort: Effort) -> Ratio:
    """Returns the paired ratio of two calls."""
    a.prepare()
    b.prepare()
    medians: list[float] = []
    a_ns: list[float] = []
    b_ns: list[float] = []
    for _ in range(effort.repeats):
        ratios = []
        for pair in range(effort.pairs):
            if pair % 2 == 0:
                first, second = a.time(), b.time()
            else:
                second, first = b.time(), a.time()
            ratios.append(first / second)
            a_ns.append(first)
            b_ns.append(second)
        medians.append(statistics.median(ratios))
    return Ratio(
        statistics.median(medians),
        min(medians),
        max(medians),
        statistics.median(a_ns),
        statistics.median(b_ns),
    )
