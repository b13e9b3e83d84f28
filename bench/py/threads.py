"""Calls of dlbridge in several threads, compared with calls of an empty function in as many.

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
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

import numpy as np

import dlbridge

SECONDS = 0.1
THREADS = (1, 2, 4)


def empty(_: Any) -> None: ...


def rate(function: Callable[[Any], Any], arguments: Iterable[Any]) -> float:
    """Calls for each second of all threads together; each thread has one argument."""
    arguments = list(arguments)
    ready = threading.Barrier(len(arguments) + 1)
    counts = [0] * len(arguments)
    deadline = [0.0]

    def work(index: int, x: Any) -> None:
        ready.wait()
        count = 0
        while time.perf_counter() < deadline[0]:
            for _ in repeat(None, 1000):
                function(x)
            count += 1000
        counts[index] = count

    threads = [threading.Thread(target=work, args=(index, x)) for index, x in enumerate(arguments)]
    for each in threads:
        each.start()
    start = time.perf_counter()
    deadline[0] = start + SECONDS
    ready.wait()
    for each in threads:
        each.join()
    return sum(counts) / (time.perf_counter() - start)


def measure(rounds: int) -> dict[str, Any]:
    arrays = [np.zeros((2, 3), dtype="float32") for _ in range(max(THREADS))]
    tensors = [dlbridge.from_dlpack(each) for each in arrays]
    cases: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
        "empty call": (empty, arrays),
        "from_dlpack, distinct tensors": (dlbridge.from_dlpack, tensors),
        "from_dlpack, one shared tensor": (dlbridge.from_dlpack, tensors[:1] * max(THREADS)),
        "from_dlpack, distinct ndarrays": (dlbridge.from_dlpack, arrays),
    }
    rates: dict[str, dict[int, list[float]]] = {name: {n: [] for n in THREADS} for name in cases}
    for _ in range(rounds):  # alternately, as the speed of the machine changes
        for count in THREADS:
            for name, (function, arguments) in cases.items():
                rates[name][count].append(rate(function, arguments[:count]))
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
