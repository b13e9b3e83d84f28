# SPDX-License-Identifier: BSD-3-Clause
"""Tensors in shared memory: copied to it once, used in place by joblib's workers."""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import dlbridge

ROWS, COLUMNS, WORKERS = 64, 1 << 15, 2  # 16 MiB
TIMEOUT = 60  # seconds


# [share]
@dataclass
class Shared:
    """The data for a worker: the pickle without its buffers, and the file that has these."""

    file: Path
    pickled: bytes
    sizes: list[int]

    @classmethod
    def of(cls, x: Any, file: Path) -> Shared:
        """Copies the memory of every Tensor in x into a file, once."""
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
        with file.open("wb") as out:
            for buffer in buffers:
                out.write(buffer.raw())
                out.seek(-out.tell() % mmap.PAGESIZE, os.SEEK_CUR)  # each starts on a page
            out.truncate(max(out.tell(), 1))  # an empty file cannot be mapped
        return cls(file, pickled, [buffer.raw().nbytes for buffer in buffers])

    def open(self) -> Any:
        """x again, with its Tensors on the file's memory: writes are visible to all processes."""
        with self.file.open("r+b") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0))
        buffers, start = [], 0
        for size in self.sizes:
            buffers.append(memory[start : start + size])
            start += size + -size % mmap.PAGESIZE
        return pickle.loads(self.pickled, buffers=buffers)


# [/share]
# [work]
def work(shared: Shared, first: int) -> tuple[int, float]:
    """Doubles a part of the rows in place."""
    field, weights = shared.open()
    rows = np.from_dlpack(field)[first::WORKERS]
    rows *= 2
    return os.getpid(), float((rows @ np.from_dlpack(weights)).sum())


# [/work]
def total(t: dlbridge.Tensor) -> float:
    return float(np.from_dlpack(t).sum())


def main() -> None:
    numbers = np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS) % 7
    weights = np.full(COLUMNS, 0.5)
    pair = dlbridge.from_dlpack(numbers), dlbridge.from_dlpack(weights)
    pool = joblib.Parallel(n_jobs=WORKERS, timeout=TIMEOUT)
    with tempfile.TemporaryDirectory() as folder:
        shared = Shared.of(pair, Path(folder) / "tensors")
        mapped, _ = shared.open()
        before = np.from_dlpack(mapped).copy()
        results = pool(joblib.delayed(work)(shared, first) for first in range(WORKERS))
        after = np.from_dlpack(mapped)
        assert np.array_equal(before, numbers) and np.array_equal(after, 2 * numbers)
        assert sum(part for _, part in results) == numbers.sum()
        assert os.getpid() not in {process for process, _ in results}
        size = len(pickle.dumps(shared))
        assert size < 1000
        print(f"Tensors of {sum(shared.sizes)} bytes; sent to each worker: {size} bytes")
        print(f"written by {WORKERS} workers, read here in the same memory")
    # joblib also accepts a Tensor directly. It has no out-of-band buffers, so it copies the bytes.
    assert sum(pool(joblib.delayed(total)(t) for t in pair)) == numbers.sum() + weights.sum()
    print(f"passed directly: {sum(len(pickle.dumps(t)) for t in pair)} bytes through a pipe")


if __name__ == "__main__":
    main()
