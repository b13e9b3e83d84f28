# SPDX-License-Identifier: BSD-3-Clause
"""Nanoseconds per call, beside PyTorch and CuPy."""

from __future__ import annotations

import ctypes as C
import time
from typing import Any, Callable

import dlbridge
from proof.driver import WITHOUT_TIMING, Gpu
from proof.exchange import Producer
from proof.registry import Figures, check


def nanoseconds(gpu: Gpu, run: Callable[[], object]) -> int:
    """The least of five means."""
    turns = 100 if gpu.simulated else 5000
    for _ in range(turns // 20):
        run()
    means = []
    for _ in range(5):
        begin = time.perf_counter_ns()
        for _ in range(turns):
            run()
        means.append((time.perf_counter_ns() - begin) / turns)
        gpu.synchronize()
    return round(min(means))


@check("Nanoseconds of an exchange with and without order, beside the two driver calls", limit=120)
def nanoseconds_per_call() -> Figures:
    gpu = Gpu()
    ours, theirs, event = gpu.stream(), gpu.stream(), C.c_void_p()
    tensor = dlbridge.from_dlpack(Producer(gpu, gpu.zeros(), ours), stream=ours)
    gpu.call("cuEventCreate", C.byref(event), WITHOUT_TIMING)
    record, wait = gpu.library.cuEventRecord, gpu.library.cuStreamWaitEvent
    first, second = C.c_void_p(ours), C.c_void_p(theirs)
    ways: dict[str, Callable[[], object]] = {
        "from_dlpack(Tensor, its stream)": lambda: dlbridge.from_dlpack(tensor, stream=ours),
        "__dlpack__(another stream)": lambda: tensor.__dlpack__(stream=theirs),
        "__dlpack__(stream=-1)": lambda: tensor.__dlpack__(stream=-1),
        "cuEventRecord and cuStreamWaitEvent by ctypes": lambda: (
            record(event, first),
            wait(second, event, 0),
        ),
    }
    return {name: nanoseconds(gpu, run) for name, run in ways.items()}


def beside(library: str, array: Any, from_dlpack: Callable[[Any], Any]) -> Figures:
    gpu, ours = Gpu(), dlbridge.from_dlpack(array)
    gpu.synchronize()
    ways: dict[str, Callable[[], object]] = {
        f"{library}.from_dlpack({library})": lambda: from_dlpack(array),
        f"dlbridge.from_dlpack({library})": lambda: dlbridge.from_dlpack(array),
        f"{library}.from_dlpack(dlbridge)": lambda: from_dlpack(ours),
    }
    return {name: nanoseconds(gpu, run) for name, run in ways.items()}


@check("Nanoseconds of exchanges with PyTorch", simulated=False, limit=120)
def nanoseconds_beside_torch() -> Figures:
    from proof.checks.torch_arrays import load

    torch = load()
    return beside("torch", torch.zeros(16, device="cuda"), torch.from_dlpack)


@check("Nanoseconds of exchanges with CuPy", simulated=False, limit=120)
def nanoseconds_beside_cupy() -> Figures:
    from proof.checks.cupy_arrays import load

    cupy = load()
    return beside("cupy", cupy.zeros(16, dtype="float32"), cupy.from_dlpack)
