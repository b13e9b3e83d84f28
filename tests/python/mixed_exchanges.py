# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges of all kinds in several threads, dropped in random order: `COUNT [THREADS] [SEED]`.

Prints what was exchanged; exits with 1 if memory grew, a reference was lost, or a deleter did not
run exactly once.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import dlbridge
import extension
import foreign
import producers
from dlbridge._core import _vector

V = (1, 0)
REFUSED = ("refuse", "refused call")  # the steps that raise
Step = Callable[[], Any]


class Lender(foreign.Exported):
    __dlpack_c_exchange_api__ = foreign.exchange_capsule(foreign.exchange_table())


class Plain:
    """A producer with the least overhead."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, *, max_version: Any = None, copy: Any = None) -> object:
        return foreign.tensor(shape=(3,)).capsule(max_version is not None)


def steps() -> dict[str, Step]:
    """Exchanges by name, each of which returns what it made."""
    plain = Plain()
    tensor = dlbridge.from_dlpack(plain)
    memory = bytearray(24)
    result: dict[str, Step] = {
        "import": lambda: dlbridge.from_dlpack(plain),
        "copy": lambda: dlbridge.from_dlpack(plain, copy=True),
        "share": lambda: dlbridge.from_dlpack(tensor),
        "buffer": lambda: dlbridge.as_tensor(memory),
        "vector": lambda: _vector(3, int),
        "capsule": lambda: tensor.__dlpack__(max_version=V),
        "consume": lambda: foreign.consume(tensor.__dlpack__()),
        "view": lambda: memoryview(tensor),
        "refuse": lambda: dlbridge.from_dlpack(producers.Producer(shape=(-1,))),
        "lend": lambda: extension.by_def.sum(Lender(foreign.tensor(shape=(3,)))),
        "def": lambda: extension.by_def.doubled(plain),
        "def of a container": lambda: extension.by_def.totals([plain, tensor]),
        "pybind11": lambda: extension.by_library.owned(plain),
        "def_fast": lambda: extension.by_fast.same(plain),
        "refused call": lambda: extension.by_fast.sum(producers.Producer(dtype=(0, 64, 1))),
        "def_dlpack": lambda: dlbridge.from_dlpack(extension.Image(2, 3)),
    }
    with contextlib.suppress(ImportError):
        import numpy as np

        a = np.arange(3, dtype=np.float32)
        result["from NumPy"] = lambda: dlbridge.from_dlpack(a)
        result["to NumPy"] = lambda: np.from_dlpack(tensor)
        result["NumPy argument"] = lambda: extension.by_fast.doubled(a)
    with contextlib.suppress(ImportError):
        import torch

        b = torch.arange(3.0)
        result["from torch"] = lambda: dlbridge.from_dlpack(b)
        result["to torch"] = lambda: torch.from_dlpack(tensor)  # type: ignore[attr-defined]
        result["torch argument"] = lambda: extension.by_fast.doubled(b)
    with contextlib.suppress(ImportError):
        jnp = importlib.import_module("jax.numpy")

        c = jnp.arange(3.0)
        result["from JAX"] = lambda: dlbridge.from_dlpack(c)
        result["JAX argument"] = lambda: extension.by_def.sum(c)
    with contextlib.suppress(ImportError):
        import tvm_ffi

        d = tvm_ffi.from_dlpack(dlbridge.from_dlpack(plain))
        result["from tvm-ffi"] = lambda: dlbridge.from_dlpack(d)
        result["to tvm-ffi"] = lambda: tvm_ffi.from_dlpack(tensor)
        result["tvm-ffi argument"] = lambda: extension.by_fast.sum(d)
    return result


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def exchange(
    all: dict[str, Step], count: int, threads: int, seed: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Makes `count` exchanges in several threads.

    Returns how many of each kind, and how many of each kind were refused or accepted unexpectedly.
    """
    totals, faults = dict.fromkeys(all, 0), dict.fromkeys(all, 0)
    lock = threading.Lock()

    def work(number: int) -> None:
        choose = random.Random(seed * 1000 + number)
        names = list(all)
        kept: list[Any] = [None] * 64
        counts, unexpected = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        for _ in range(count // threads):
            name = choose.choice(names)
            is_refused = False
            try:
                kept[choose.randrange(64)] = all[name]()
            except (BufferError, TypeError):
                is_refused = True
            unexpected[name] += is_refused != (name in REFUSED)
            counts[name] += 1
        with lock:
            for name in names:
                totals[name] += counts[name]
                faults[name] += unexpected[name]

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return totals, faults


def race(rounds: int, threads: int) -> int:
    """Lets threads consume one capsule at a time. Returns the rounds without exactly one winner."""
    wrong = 0
    for _ in range(rounds):
        handle = foreign.tensor()
        capsule = handle.capsule(True)
        start = threading.Barrier(threads)
        winners: list[Any] = []

        def compete(start: Any = start, capsule: Any = capsule, winners: Any = winners) -> None:
            start.wait()
            with contextlib.suppress(ValueError):
                winners.append(dlbridge.from_dlpack(capsule))

        workers = [threading.Thread(target=compete) for _ in range(threads)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        wrong += len(winners) != 1
        winners.clear()
        wrong += handle.calls != 1
    return wrong


def check(count: int, threads: int = 4, seed: int = 0) -> list[str]:
    """Makes the exchanges; the list of what is wrong afterwards."""
    all = steps()
    counted = sys.getrefcount
    exchange(all, 20_000, threads, seed)  # caches, arenas and pools
    gc.collect()
    references = {name: counted(step) for name, step in all.items()}
    before, accounts = resident_bytes(), foreign.accounts()
    began = time.monotonic()
    totals, unexpected = exchange(all, count, threads, seed + 1)
    seconds = time.monotonic() - began
    gc.collect()
    grown = resident_bytes() - before
    exports, calls = (now - then for now, then in zip(foreign.accounts(), accounts))
    faults = [
        f"{name}: {n} were {'accepted' if name in REFUSED else 'refused'}"
        for name, n in unexpected.items()
        if n
    ]
    if exports != calls:
        faults.append(f"{exports} exports, {calls} deleter calls")
    if grown > 8 * 1024 * 1024 + count // 4:
        faults.append(f"memory grew by {grown} bytes")
    for name, step in all.items():
        if counted(step) != references[name]:
            faults.append(f"{name}: {counted(step) - references[name]} more references")
    wrong = race(min(1000, count // 100), 8)
    if wrong:
        faults.append(f"{wrong} races for a capsule without exactly one winner")
    print(
        f"{sum(totals.values())} exchanges of {len(totals)} kinds in {threads} threads, "
        f"{seconds:.0f} s, {exports} exports, {calls} deleter calls, memory {grown:+} bytes"
    )
    return faults


if __name__ == "__main__":
    faults = check(*map(int, sys.argv[1:]))
    print(*faults or ["no fault"], sep="\n")
    sys.exit(bool(faults))
