# SPDX-License-Identifier: BSD-3-Clause
"""Measures copies of strided tensors, compared with the faster of NumPy and PyTorch (one thread).

Each cell is a layout, an element size, a size, and a destination: warm (existing memory) or fresh
(new memory, as copy=True allocates it). Prints the time of the faster library divided by that of
dlbridge, the median of paired repeats, and the geometric mean of all cells. Times are those of the
processor, because a busy machine interrupts a long copy. --json writes every cell to a file. With
--check the exit status is 1 if a cell or the mean misses its limit.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Callable

import bench_loop
import copies_dlbridge
import numpy as np
import paired
import torch

import dlbridge

DTYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}
SIZES = {"4x4": 0, "1 KiB": 1 << 10, "64 KiB": 1 << 16, "2 MiB": 2 << 20, "32 MiB": 32 << 20}
LEAST_RATIO, LEAST_MEAN = 0.95, 1.0
BATCH_SECONDS = 100e-6
Array = Any  # numpy.ndarray, whose element type varies


def numbers(dtype: str, *shape: int) -> Array:
    count = int(np.prod(shape))
    return (np.arange(count, dtype="int64") % 251).astype(dtype).reshape(shape)


def side(count: int) -> int:
    """The power of two whose square is at least about `count`."""
    power = 1
    while power * power * 2 <= count:
        power *= 2
    return power


def contiguous(dtype: str, n: int) -> Array:
    return numbers(dtype, n)


def padded_rows(dtype: str, n: int) -> Array:
    width = min(448, side(n))
    return numbers(dtype, max(1, n // width), width + width // 7 + 1)[:, :width]


def rows_of_7(dtype: str, n: int) -> Array:
    return numbers(dtype, max(1, n // 8), 8)[:, :7]


def every_second(dtype: str, n: int) -> Array:
    return numbers(dtype, 2 * n)[::2]


def reversed_1d(dtype: str, n: int) -> Array:
    return numbers(dtype, n)[::-1]


def transpose_power(dtype: str, n: int) -> Array:
    rows = side(n)
    return numbers(dtype, rows, n // rows).T


def transpose_odd(dtype: str, n: int) -> Array:
    rows = max(3, int(n**0.5) - 1) | 1
    return numbers(dtype, rows, max(3, n // rows - 2) | 1).T


def nchw_to_nhwc_64(dtype: str, n: int) -> Array:
    width = max(1, side(n // 64))
    return numbers(dtype, 1, 64, max(1, n // 64 // width), width).transpose(0, 2, 3, 1)


def nhwc_to_nchw_3(dtype: str, n: int) -> Array:
    width = max(1, side(n // 3))
    return numbers(dtype, 1, max(1, n // 3 // width), width, 3).transpose(0, 3, 1, 2)


def reversed_axes_3d(dtype: str, n: int) -> Array:
    edge = max(2, round(n ** (1 / 3)))
    return numbers(dtype, edge, edge, max(1, n // edge // edge)).transpose(2, 1, 0)


def broadcast(dtype: str, n: int) -> Array:
    rows = side(n)
    return np.broadcast_to(numbers(dtype, rows, 1), (rows, n // rows))


LAYOUTS: dict[str, Callable[[str, int], Array]] = {
    "contiguous": contiguous,
    "padded rows": padded_rows,
    "rows of 7 of 8": rows_of_7,
    "every second": every_second,
    "reversed": reversed_1d,
    "transpose, power of two": transpose_power,
    "transpose, odd": transpose_odd,
    "NCHW to NHWC, 64": nchw_to_nhwc_64,
    "NHWC to NCHW, 3": nhwc_to_nchw_3,
    "3-D, axes reversed": reversed_axes_3d,
    "broadcast": broadcast,
}


def source_of(layout: str, item: int, size: str) -> Array:
    """A NumPy array with the layout, of about the size. PyTorch has no negative strides."""
    count = 16 if size == "4x4" else SIZES[size] // item
    if size == "4x4" and layout.startswith(("contiguous", "transpose")):
        square = numbers(DTYPES[item], 4, 4)
        return square if layout == "contiguous" else square.T
    return LAYOUTS[layout](DTYPES[item], count)


@dataclass
class Call:
    """function(*arguments, **keywords), called by a loop in C as compiled Python code would."""

    name: str
    function: Callable[..., object]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None
    count: int = 1

    def prepare(self) -> None:
        self.count = 3
        self.time()  # fills the caches
        self.count = max(1, int(BATCH_SECONDS / self.time()))

    def time(self) -> float:
        start = time.thread_time()
        bench_loop.run(self.function, self.arguments, self.keywords, self.count, False)
        return (time.thread_time() - start) / self.count


@dataclass
class Cell:
    layout: str
    item: int
    size: str
    destination: str
    best: str  # the faster library
    ratio: float  # its time divided by that of dlbridge
    least: float
    most: float
    ours_ns: float
    theirs_ns: float
    memcpy_ns: float
    bytes: int

    @property
    def passes(self) -> bool:
        return self.ratio >= LEAST_RATIO


def calls(source: Array, destination: str) -> tuple[Call, list[Call], Call]:
    """The call of dlbridge, those of the other libraries, and memcpy of the same bytes."""
    flat = np.ones(source.size, source.dtype)
    target = np.zeros(source.size, source.dtype)
    has_torch = all(stride >= 0 for stride in source.strides)
    plain = (
        source
        if source.flags.writeable
        else np.lib.stride_tricks.as_strided(
            source.base if source.base is not None else source, source.shape, source.strides
        )
    )
    torch_source = torch.from_numpy(plain) if has_torch else None
    memcpy = Call("memcpy", copies_dlbridge.pair(flat, target).memcpy)
    if destination == "warm":  # the same memory for all, as its alignment to the source matters
        memory = np.zeros(source.shape, source.dtype)
        others = [Call("NumPy", np.copyto, (memory, source))]
        if torch_source is not None:
            others.append(Call("PyTorch", torch.from_numpy(memory).copy_, (torch_source,)))
        mine = copies_dlbridge.pair(source, memory).copy
        mine()
        np.testing.assert_array_equal(memory, source)
        return Call("dlbridge", mine), others, memcpy
    others = [Call("NumPy", source.copy, ("C",))]
    if torch_source is not None:
        compact = {"memory_format": torch.contiguous_format}
        others.append(Call("PyTorch", torch_source.clone, (), compact))
    mine = Call("dlbridge", dlbridge.from_dlpack, (dlbridge.from_dlpack(source),), {"copy": True})
    copy = mine.function(*mine.arguments, copy=True)
    np.testing.assert_array_equal(np.from_dlpack(copy), source)
    return mine, others, memcpy


def measure(layout: str, item: int, size: str, destination: str, repeats: int, pairs: int) -> Cell:
    source = source_of(layout, item, size)
    ours, others, memcpy = calls(source, destination)
    for each in (ours, *others, memcpy):
        each.prepare()
    best = min(others, key=lambda call: min(call.time() for _ in range(3)))
    medians, ours_s, theirs_s, memcpy_s = [], [], [], []
    for _ in range(repeats):
        ratios = []
        for pair in range(pairs):
            if pair % 2 == 0:
                a, b = ours.time(), best.time()
            else:
                b, a = best.time(), ours.time()
            ratios.append(b / a)
            ours_s.append(a)
            theirs_s.append(b)
        memcpy_s.append(memcpy.time())
        medians.append(statistics.median(ratios))
    nanoseconds = [statistics.median(each) * 1e9 for each in (ours_s, theirs_s, memcpy_s)]
    return Cell(
        layout,
        item,
        size,
        destination,
        best.name,
        statistics.median(medians),
        min(medians),
        max(medians),
        *nanoseconds,
        source.nbytes,
    )


def fix_origin_of_memory() -> None:
    """Makes each new array of 16 MiB and more new to the process, and smaller ones not (glibc).

    By default malloc reuses freed memory of up to 32 MiB or not, depending on the sizes that all
    libraries allocated before. A copy to memory that is mapped already is several times as fast.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        m_trim_threshold, m_mmap_threshold = -1, -3
        mallopt(m_mmap_threshold, 16 << 20)
        mallopt(m_trim_threshold, 8 << 20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few cells, without limits")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument("--json", metavar="FILE", help="write all cells to a file")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", default="", help="cells whose description has this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    paired.quiet()
    fix_origin_of_memory()
    sizes = ["4x4", "1 KiB"] if options.quick else list(SIZES)
    repeats, pairs = (1, 3) if options.quick else (options.repeats, options.pairs)
    cells = []
    for destination in ("warm", "fresh"):
        for size in sizes:
            for layout in LAYOUTS:
                for item in DTYPES:
                    text = f"{destination}, {size}, {layout}, {item} bytes"
                    if any(word not in text for word in options.only.split("&")):
                        continue
                    cell = measure(layout, item, size, destination, repeats, pairs)
                    cells.append(cell)
                    print(
                        f"{text:58} {cell.ratio:6.2f} [{cell.least:5.2f}, {cell.most:5.2f}] of "
                        f"{cell.best:7}  {cell.bytes / cell.ours_ns:7.2f} GB/s, "
                        f"{cell.memcpy_ns / cell.ours_ns:5.2f} of memcpy"
                        f"{'' if cell.passes else '  BELOW'}",
                        flush=True,
                    )
    mean = statistics.geometric_mean(cell.ratio for cell in cells)
    below = [cell for cell in cells if not cell.passes]
    print(
        f"\n{len(cells)} cells: geometric mean {mean:.2f}, least "
        f"{min(cell.ratio for cell in cells):.2f}, {len(below)} below {LEAST_RATIO}"
    )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"mean": mean, "cells": [asdict(cell) for cell in cells]}, file, indent=1)
    return int(options.check and (bool(below) or mean <= LEAST_MEAN))


if __name__ == "__main__":
    sys.exit(main())
