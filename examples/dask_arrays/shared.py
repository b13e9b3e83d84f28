"""Tensors in memory that processes share: put there once, used in place by joblib's workers."""

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
PATIENCE = 60  # seconds


# [share]
@dataclass
class Shared:
    """What a worker is sent: the pickle without its bytes, and the file that these are in."""

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
                out.seek(-out.tell() % mmap.PAGESIZE, os.SEEK_CUR)  # each on pages of its own
            out.truncate(max(out.tell(), 1))  # an empty file cannot be mapped
        return cls(file, pickled, [buffer.raw().nbytes for buffer in buffers])

    def open(self) -> Any:
        """x again, its Tensors on the file's memory: what is written there, all see."""
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
    """Doubles a part of the rows, where they lie."""
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
    pool = joblib.Parallel(n_jobs=WORKERS, timeout=PATIENCE)
    with tempfile.TemporaryDirectory() as folder:
        shared = Shared.of(pair, Path(folder) / "tensors")
        ours, _ = shared.open()
        ours_before = np.from_dlpack(ours).copy()
        done = pool(joblib.delayed(work)(shared, first) for first in range(WORKERS))
        written = np.from_dlpack(ours)
        assert np.array_equal(ours_before, numbers) and np.array_equal(written, 2 * numbers)
        assert sum(part for _, part in done) == numbers.sum()
        assert os.getpid() not in {process for process, _ in done}
        sent = len(pickle.dumps(shared))
        assert sent < 1000
        print(f"Tensors of {sum(shared.sizes)} bytes; what is sent for them: {sent} bytes")
        print(f"written by {WORKERS} workers of joblib's, read here: the same memory")
    # A Tensor can be passed as it is too. joblib has no out-of-band buffers: its bytes are copied.
    assert sum(pool(joblib.delayed(total)(t) for t in pair)) == numbers.sum() + weights.sum()
    print(f"passed as they are: {sum(len(pickle.dumps(t)) for t in pair)} bytes through a pipe")


if __name__ == "__main__":
    main()
