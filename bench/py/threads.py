# SPDX-License-Identifier: BSD-3-Clause
"""Calls of dlbridge in several threads, compared with calls of an empty C function in as many.

A program of its own, which needs NumPy and dlbridge only, because the interpreter without the GIL
may be another one. Prints JSON: calls for each second, by the number of threads.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

import dlbridge

SECONDS = 0.1
THREADS = (1, 2, 4, 8)


# A C function that only reads the type of its argument. Its result is not counted by references.
empty = callable

Make = Callable[[], Any]


def rate(function: Callable[[Any], Any], makers: Sequence[Make]) -> float:
    """Calls for each second of all threads together, without what makes every call in a loop of
    Python slower without the GIL: each thread makes its argument itself, and holds one reference to
    the function for all calls."""
    ready = threading.Barrier(len(makers) + 1)
    counts = [0] * len(makers)
    deadline = [0.0]

    def work(index: int, make: Make) -> None:
        x = make()
        ready.wait()
        count = 0
        while time.perf_counter() < deadline[0]:
            deque(map(function, repeat(x, 1000)), maxlen=0)
            count += 1000
        counts[index] = count

    threads = [threading.Thread(target=work, args=each) for each in enumerate(makers)]
    for each in threads:
        each.start()
    start = time.perf_counter()
    deadline[0] = start + SECONDS
    ready.wait()
    for each in threads:
        each.join()
    return sum(counts) / (time.perf_counter() - start)


def measure(rounds: int) -> dict[str, Any]:
    def array() -> Any:
        return np.zeros((2, 3), dtype="float32")

    def tensor() -> Any:
        return dlbridge.from_dlpack(array())

    shared = tensor()
    cases: dict[str, tuple[Callable[[Any], Any], Make]] = {
        "empty call": (empty, array),
        "from_dlpack, distinct tensors": (dlbridge.from_dlpack, tensor),
        "from_dlpack, one shared tensor": (dlbridge.from_dlpack, lambda: shared),
        "from_dlpack, distinct ndarrays": (dlbridge.from_dlpack, array),
    }
    rates: dict[str, dict[int, list[float]]] = {name: {n: [] for n in THREADS} for name in cases}
    for _ in range(rounds):  # alternately, as the speed of the machine changes
        for count in THREADS:
            for name, (function, make) in cases.items():
                rates[name][count].append(rate(function, [make] * count))
    return {
        name: {str(n): statistics.median(each) for n, each in by_count.items()}
        for name, by_count in rates.items()
    }


def main() -> int:
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    rates = measure(int(sys.argv[1]))
    print(json.dumps({"python": platform.python_version(), "gil": gil, "rates": rates}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
