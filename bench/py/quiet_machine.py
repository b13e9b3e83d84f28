# SPDX-License-Identifier: BSD-3-Clause
"""Waits for a machine that is quiet enough to measure, and states how noisy it was.

The noise is how much a call differs from itself when it is measured twice (A/A).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

TRUSTED = 0.01  # the noise at which a limit can be judged without slack
FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 30.0


@dataclass
class Guard:
    """The noise that was measured, until the machine was quiet enough."""

    wanted: float
    noises: list[float] = field(default_factory=list)
    waited_s: float = 0

    @property
    def noise(self) -> float:
        """The last one, which is that of the measurements that follow."""
        return self.noises[-1]

    @property
    def quiet(self) -> bool:
        return self.noise <= self.wanted

    def __str__(self) -> str:
        verdict = "quiet enough" if self.quiet else "too noisy"
        return (
            f"a call compared with itself differs by {100 * self.noise:.1f} % between repeats "
            f"(at most {100 * self.wanted:.1f} % wanted; {len(self.noises)} attempts, "
            f"{self.waited_s:.0f} s of waiting): {verdict}"
        )


def wait(
    noise: Callable[[], float],
    wanted: float,
    patience_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> Guard:
    """Measures the noise until it is at most `wanted`, with growing pauses, and gives up after
    `patience_s` of waiting."""
    result = Guard(wanted)
    pause = FIRST_PAUSE_S
    while True:
        result.noises.append(noise())
        if result.quiet or result.waited_s >= patience_s:
            return result
        pause = min(pause, LONGEST_PAUSE_S, patience_s - result.waited_s)
        sleep(pause)
        result.waited_s += pause
        pause *= 2
