# SPDX-License-Identifier: BSD-3-Clause
"""The order of streams: a kernel that finishes late, and a reader on another stream."""

from __future__ import annotations

import threading
import time

import dlbridge
from proof.driver import LEGACY, PER_THREAD, Gpu
from proof.exchange import Producer, consume
from proof.late import Reader, late_tensor
from proof.registry import Figures, check, require

AT_ONCE = 0.02  # seconds; a late kernel takes at least 0.07


def hand_over(gpu: Gpu, asked: int | None, reads_on: int) -> tuple[bool, float]:
    """Whether a reader sees the late bytes, and how long the host was in dlbridge.

    The reader requests the tensor on the stream `asked`, and reads on the stream `reads_on`.
    """
    reader = Reader(gpu, reads_on)
    tensor = late_tensor(gpu)
    begin = time.perf_counter()
    taken = consume(tensor, asked)
    took = time.perf_counter() - begin
    result = reader.sees_new(tensor.data_ptr)
    taken.free()
    return result, took


@check("The consumer's stream waits for a late kernel; the host does not")
def order_by_events() -> Figures:
    gpu = Gpu()
    own, blocking = gpu.stream(), gpu.stream(blocking=True)
    streams = {  # what is requested, and where the reader then runs
        "a stream": (own, own),
        "a blocking stream": (blocking, blocking),
        "the legacy default stream": (LEGACY, LEGACY),
        "the per-thread default stream": (PER_THREAD, PER_THREAD),
        "stream=None": (None, LEGACY),
    }
    figures = {}
    for name, (asked, reads_on) in streams.items():
        hand_over(gpu, asked, reads_on)  # creates what the first call needs
        is_new, took = hand_over(gpu, asked, reads_on)
        require(is_new, f"{name}: stale")
        require(took < AT_ONCE, f"{name}: the host waited {took:.3f} s")
        figures[name] = f"{took * 1e6:.0f} µs"
    return {"the host was in `__dlpack__` for": figures}


@check("Without order the reader sees old bytes, so the other checks can fail (control)",
       races=True)  # fmt: skip
def control_without_order() -> Figures:
    gpu = Gpu()
    stale = sum(not hand_over(gpu, -1, gpu.stream())[0] for _ in range(10))
    require(stale >= 9, f"only {stale} of 10 unordered reads were stale")
    return {"stale reads of 10": stale}


@check("An import on a stream makes that stream wait for the producer's late kernel")
def order_of_imports() -> None:
    gpu = Gpu()
    memory, work, reader = gpu.zeros(), gpu.stream(), Reader(gpu)
    producer = Producer(gpu, memory, work)
    gpu.fill(work, memory, 7)
    tensor = dlbridge.from_dlpack(producer, stream=reader.stream)
    require(reader.sees_new(tensor.data_ptr), "stale")


def from_another_thread(gpu: Gpu, asked: int) -> bool:
    """Whether a reader on a stream sees what another thread's per-thread stream writes late."""
    reader = Reader(gpu, asked)
    tensors, has_read = [], threading.Event()

    def produce() -> None:
        gpu.use(gpu.context)
        tensors.append(late_tensor(gpu, PER_THREAD))
        is_ready.set()
        has_read.wait()

    is_ready = threading.Event()
    thread = threading.Thread(target=produce)
    thread.start()
    try:
        require(is_ready.wait(20), "the producer's thread failed")
        consume(tensors[0], asked)
        return reader.sees_new(tensors[0].data_ptr)
    finally:
        has_read.set()
        thread.join()


@check("A Tensor that is ready on one thread's per-thread default stream is ordered on others")
def per_thread_stream_of_another_thread() -> None:
    gpu = Gpu()
    require(from_another_thread(gpu, gpu.stream()), "stale: the stream of the wrong thread")


@check("Two threads that both pass stream=2 are ordered, though the number is the same")
def per_thread_streams_of_two_threads() -> None:
    require(from_another_thread(Gpu(), PER_THREAD), "stale: both streams counted as one")
