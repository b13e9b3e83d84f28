# SPDX-License-Identifier: BSD-3-Clause
"""Reads by the host, which must wait for the stream of the memory."""

from __future__ import annotations

import ctypes as C
import pickle
from typing import Any, Callable

import numpy as np

import dlbridge
from proof.driver import SIZE, Gpu
from proof.exchange import MANAGED, PINNED, consume
from proof.late import NEW, late_tensor
from proof.registry import check, require

Reads = dict[str, Callable[[Any], bytes]]
FOR_THE_CPU: Reads = {  # what requests the tensor for the CPU
    "numpy.from_dlpack": lambda tensor: np.from_dlpack(tensor, device="cpu").tobytes(),
    "from_dlpack": lambda tensor: bytes(memoryview(dlbridge.from_dlpack(tensor, device="cpu"))),
}
IN_PLACE: Reads = {  # what reads the memory of the tensor
    "memoryview": lambda tensor: bytes(memoryview(tensor)),
    "numpy.asarray": lambda tensor: np.asarray(tensor).tobytes(),
    "pickle": lambda tensor: bytes(memoryview(pickle.loads(pickle.dumps(tensor, 5)))),
}


def require_that_reads_wait(kind: str, reads: Reads) -> None:
    gpu = Gpu()
    stale = []
    for name, read in reads.items():
        got = read(late_tensor(gpu, kind=kind))
        gpu.synchronize()
        stale += [] if got == NEW else [name]
    require(not stale, f"stale by {', '.join(stale)}")


@check("A copy to the CPU has the bytes of a late kernel")
def device_memory_for_the_cpu() -> None:
    require_that_reads_wait("device", FOR_THE_CPU)


@check("A copy to pinned memory is complete when the call returns")
def device_memory_to_pinned_memory() -> None:
    gpu = Gpu()
    there = late_tensor(gpu)
    here = dlbridge.from_dlpack(there, device="cuda_host:0")
    got = C.string_at(here.data_ptr, SIZE)
    gpu.synchronize()
    require(got == NEW, "stale")


@check("A request of managed memory for the CPU waits for its stream")
def managed_memory_for_the_cpu() -> None:
    require_that_reads_wait("managed", FOR_THE_CPU)


@check("A request of pinned memory for the CPU waits for its stream")
def pinned_memory_for_the_cpu() -> None:
    require_that_reads_wait("pinned", FOR_THE_CPU)


@check("A read of managed memory in its place waits for its stream")
def managed_memory_in_its_place() -> None:
    require_that_reads_wait("managed", IN_PLACE)


@check("A read of pinned memory in its place waits for its stream")
def pinned_memory_in_its_place() -> None:
    require_that_reads_wait("pinned", IN_PLACE)


@check("A request of the CPU does not copy managed and pinned memory")
def memory_that_the_host_can_read_is_not_copied() -> None:
    gpu = Gpu()
    for kind in ("managed", "pinned"):
        tensor = late_tensor(gpu, kind=kind)
        here = dlbridge.from_dlpack(tensor, device="cpu")
        require(here.data_ptr == tensor.data_ptr, f"{kind} memory was copied")


@check("copy=True of managed and pinned memory keeps the kind of memory, in the stream's order")
def copies_keep_the_kind_of_memory() -> None:
    gpu = Gpu()
    for kind, device in (("managed", MANAGED), ("pinned", PINNED)):
        stream = gpu.stream()
        tensor = late_tensor(gpu, stream, kind)
        copied = dlbridge.from_dlpack(tensor, copy=True, stream=stream)
        require(copied.__dlpack_device__() == device, f"{kind} memory became {copied.device}")
        taken = consume(copied, stream)
        require(taken.contents.first != tensor.data_ptr, f"{kind}: no copy")
        gpu.synchronize(stream)
        require(gpu.read(taken.contents.first) == NEW, f"stale copy of {kind} memory")
        taken.free()
