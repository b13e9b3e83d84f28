# SPDX-License-Identifier: BSD-3-Clause
"""Copies between the host and the device: whole and strided, and how fast they are."""

from __future__ import annotations

import ctypes as C
import statistics
import time
from typing import Any, Callable

import numpy as np

import dlbridge
from proof.driver import Gpu
from proof.exchange import Producer
from proof.registry import Figures, check, require

BASE = np.random.default_rng(5).standard_normal((33, 17, 29)).astype(np.float32)
VIEWS = {
    "whole": BASE,
    "column-major": np.asfortranarray(BASE),
    "slice": BASE[1:30, 3:15, 2:27],
    "steps": BASE[::2, 1:, ::3],
    "transposed": BASE.T,
    "reversed": BASE[::-1, :, ::-2],
    "one column": BASE[5:9, :, 3],
    "empty": BASE[:0],
    "one element": BASE[3, 4, 5:6],
}


@check("A copy to the device and back has every element, whole and for eight kinds of strides")
def copies_of_strided_arrays() -> None:
    gpu = Gpu()
    for name, view in VIEWS.items():
        there = dlbridge.from_dlpack(view, device="cuda:0")
        if view.size:
            raw = np.frombuffer(gpu.read(there.data_ptr, view.nbytes), np.float32)
            steps = [each * raw.itemsize for each in there.strides]
            seen = np.lib.stride_tricks.as_strided(raw, view.shape, steps)
            require(np.array_equal(seen, view), f"{name}: on the device")
        back = dlbridge.from_dlpack(there, device="cpu")
        require(np.array_equal(np.asarray(back), view), f"{name}: back on the host")


def rate(size: int, run: Callable[[], object]) -> float:
    """The median of seven runs, in GB/s."""
    run()
    seconds = []
    for _ in range(7):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return round(size / statistics.median(seconds) / 1e9, 2)


def rates(gpu: Gpu, size: int) -> Figures:
    host = bytearray(size)
    pageable: Any = (C.c_char * size).from_buffer(host)
    C.memset(C.byref(pageable), 1, size)
    device, pinned, stream = gpu.allocate(size), gpu.allocate(size, "pinned"), gpu.stream()
    there = dlbridge.from_dlpack(Producer(gpu, device, stream, size=size), stream=stream)
    locked = dlbridge.from_dlpack(Producer(gpu, pinned, stream, size=size, kind="pinned"))

    def plain(function: str, to: Any, source: Any) -> None:
        gpu.call(function, to, source, size, stream)
        gpu.synchronize(stream)

    def moved(source: Any) -> None:
        dlbridge.as_tensor(source, device="cuda:0", stream=stream)
        gpu.synchronize(stream)

    up, down = "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"
    block, fixed = C.byref(pageable), C.c_void_p(pinned)
    ways: dict[str, Callable[[], object]] = {
        "to the device, pageable, the driver alone": lambda: plain(up, device, block),
        "to the device, pageable, dlbridge": lambda: moved(host),
        "to the device, pinned, the driver alone": lambda: plain(up, device, fixed),
        "to the device, pinned, dlbridge": lambda: moved(locked),
        "to the host, pageable, the driver alone": lambda: plain(down, block, device),
        "to the host, pageable, dlbridge": lambda: dlbridge.from_dlpack(there, device="cpu"),
        "to the host, pinned, the driver alone": lambda: plain(down, fixed, device),
        "to the host, pinned, dlbridge": lambda: dlbridge.from_dlpack(there, device="cuda_host:0"),
    }
    figures: Figures = {}
    for name, run in ways.items():
        try:
            figures[name] = rate(size, run)
        except (BufferError, RuntimeError, ValueError) as error:  # a way that dlbridge lacks
            figures[name] = f"refused: {error}"
    return figures


@check("The speed of copies in GB/s, beside the driver's plain asynchronous copy", limit=120)
def gigabytes_per_second() -> Figures:
    gpu = Gpu()
    sizes = (1 << 20,) if gpu.simulated else (1 << 20, 1 << 26, 1 << 28)
    return {f"{size >> 20} MiB": rates(gpu, size) for size in sizes}
