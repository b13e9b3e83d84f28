# SPDX-License-Identifier: BSD-3-Clause
"""Measures how long a process has had to do something, without its waits for a processor.

A limit in these seconds ends a process that hangs, asleep or in a loop, and none that the load of
the machine has delayed.
"""

from __future__ import annotations

import os
import time

_SECOND = 1e9  # nanoseconds


class Stopwatch:
    """Counts the seconds since its creation in which no thread of a process waited for a processor.

    Where the system does not tell how long threads wait (all but Linux), it counts all seconds.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._begin = time.monotonic()
        self._first = self._read_delays()
        self._waited = 0  # nanoseconds: the longest wait of a thread

    def seconds(self) -> float:
        """Returns the seconds so far; fewer than before where a long wait has just ended.

        Linux states a wait once it has ended. Of several threads, the longest wait counts.
        """
        waits = (it - self._first.get(task, 0) for task, it in self._read_delays().items())
        self._waited = max(self._waited, *waits, 0)
        return max(0.0, time.monotonic() - self._begin - self._waited / _SECOND)

    def _read_delays(self) -> dict[str, int]:
        """Returns how long each thread has waited for a processor, in nanoseconds."""
        folder = f"/proc/{self._process}/task"
        found = {}
        try:
            for task in os.listdir(folder):
                with open(f"{folder}/{task}/schedstat") as file:
                    found[task] = int(file.read().split()[1])
        except (OSError, IndexError):  # a thread or the process has ended, or it is another system
            pass
        return found


def now() -> float:
    """Returns the seconds of a clock that stands still while this thread waits for a processor."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return time.monotonic() - int(file.read().split()[1]) / _SECOND
    except (OSError, IndexError):
        return time.monotonic()
