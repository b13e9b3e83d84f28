# SPDX-License-Identifier: BSD-3-Clause
"""Captures of streams into graphs."""

from __future__ import annotations

import ctypes as C
import gc
from typing import Callable

import dlbridge
from proof.driver import LEGACY, SIZE, WITHOUT_TIMING, Gpu
from proof.exchange import Producer, consume
from proof.late import NEW
from proof.registry import Failed, check, require


class Capture:
    """A capture of one stream, which a second stream has joined."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.first, self.second = gpu, gpu.stream(), gpu.stream()
        self._event = C.c_void_p()
        gpu.call("cuEventCreate", C.byref(self._event), WITHOUT_TIMING)

    def begin(self) -> None:
        self.gpu.call("cuStreamBeginCapture_v2", self.first, 0)
        self._join(self.second, self.first)

    def _join(self, later: int, after: int) -> None:
        self.gpu.call("cuEventRecord", self._event, after)
        self.gpu.call("cuStreamWaitEvent", later, self._event, 0)

    def end(self) -> C.c_void_p:
        self._join(self.first, self.second)
        graph = C.c_void_p()
        self.gpu.call("cuStreamEndCapture", self.first, C.byref(graph))
        require(graph.value, "the capture is invalid")
        return graph


def require_refusal(name: str, call: Callable[[], object]) -> None:
    try:
        call()
    except RuntimeError as error:
        require("captur" in str(error), f"{name}: {error}")
    else:
        raise Failed(f"{name} was not refused")


def captured(gpu: Gpu, memory: int, seen: int) -> tuple[int, C.c_void_p]:
    """A graph that writes memory late on one stream and, after dlbridge's order, copies it on
    another. Returns the first stream and the graph."""
    capture, uncaptured = Capture(gpu), gpu.stream()
    tensor = dlbridge.from_dlpack(Producer(gpu, memory, capture.first), stream=capture.first)
    other = dlbridge.from_dlpack(Producer(gpu, gpu.zeros(), uncaptured), stream=uncaptured)
    capture.begin()
    gpu.fill(capture.first, memory, 7)
    consume(tensor, capture.second)
    gpu.copy(capture.second, seen, memory)
    require_refusal("a read by the host", lambda: dlbridge.from_dlpack(tensor, device="cpu"))
    require_refusal("the default stream", lambda: tensor.__dlpack__(stream=LEGACY))
    require_refusal("an uncaptured consumer", lambda: tensor.__dlpack__(stream=uncaptured))
    require_refusal("an uncaptured producer", lambda: other.__dlpack__(stream=capture.second))
    return capture.first, capture.end()


@check("An exchange inside a capture is recorded; what the capture forbids is refused")
def capture_stays_valid() -> None:
    gpu = Gpu()
    captured(gpu, gpu.zeros(), gpu.zeros())


@check("The graph, launched twice, has the exchange as an edge")
def captures_launched() -> None:
    gpu = Gpu("cuGraphInstantiateWithFlags", "cuGraphLaunch")
    memory, seen, executable = gpu.zeros(), gpu.zeros(), C.c_void_p()
    stream, graph = captured(gpu, memory, seen)
    gpu.call("cuGraphInstantiateWithFlags", C.byref(executable), graph, 0)
    require(gpu.read(seen) == bytes(SIZE), "it ran during the capture")
    for turn in range(2):
        gpu.call("cuGraphLaunch", executable, stream)
        gpu.synchronize(stream)
        require(gpu.read(seen) == NEW, f"launch {turn}: stale")
        for each in (memory, seen):  # so that the next launch shows its own order
            gpu.fill(stream, each, 0, late=False)
        gpu.synchronize()


@check("A Tensor that dlbridge moved may be freed while a stream is being captured")
def death_in_a_capture() -> None:
    gpu = Gpu()
    for on_the_stream in (False, True):
        capture = Capture(gpu)
        stream = capture.first if on_the_stream else None
        tensor = dlbridge.as_tensor(bytearray(64), device="cuda:0", stream=stream)
        gpu.synchronize()
        capture.begin()
        del tensor
        gc.collect()
        capture.end()
