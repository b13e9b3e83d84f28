# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges without a copy, and where memory is."""

from __future__ import annotations

import gc
import threading

import dlbridge
from proof.driver import Gpu
from proof.exchange import CUDA, Producer, consume
from proof.late import Reader, late_tensor
from proof.registry import check, require


class Interface:
    """An object with __cuda_array_interface__ only, which does not name the kind of memory."""

    def __init__(self, memory: int, size: int = 64) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (memory, False),
            "version": 3,
        }


@check("An exchange keeps the address, and calls the producer's deleter once, after the last user")
def one_free() -> None:
    gpu = Gpu()
    memory = gpu.zeros()
    producer = Producer(gpu, memory, gpu.stream())
    tensor = dlbridge.from_dlpack(producer)
    require(tensor.data_ptr == memory and tensor.__dlpack_device__() == CUDA, "another address")
    taken = consume(tensor, None)
    require(taken.contents.first == memory, "another address on the way out")
    del tensor
    gc.collect()
    require(producer.freed == 0, "freed while the consumer has it")
    taken.free()
    require(producer.freed == 1, f"freed {producer.freed} times")


@check("`__cuda_array_interface__` keeps the address, and orders its stream after a late kernel")
def array_interface() -> None:
    gpu = Gpu()
    reader, work = Reader(gpu), gpu.stream()
    tensor = late_tensor(gpu, work)
    fields = tensor.__cuda_array_interface__
    require(fields["data"][0] == tensor.data_ptr and fields["stream"] == work, fields)
    other = Interface(tensor.data_ptr)
    other.__cuda_array_interface__ = fields
    again = dlbridge.as_tensor(other, stream=reader.stream)
    require(again.data_ptr == tensor.data_ptr and str(again.device) == "cuda:0", again)
    require(reader.sees_new(again.data_ptr), "stale")


KINDS = {"device": "cuda:0", "managed": "cuda_managed:0", "pinned": "cuda_host:0"}


@check("dlbridge finds out whether memory is of the device, managed, or pinned")
def kinds_of_memory() -> None:
    gpu = Gpu()
    found = {kind: str(dlbridge.as_tensor(Interface(gpu.allocate(64, kind))).device)
             for kind in KINDS}  # fmt: skip
    require(found == KINDS, found)


@check("It also finds this out on a thread without a current context")
def kinds_of_memory_without_a_context() -> None:
    gpu = Gpu()
    arrays = {kind: Interface(gpu.allocate(64, kind)) for kind in KINDS}
    found: dict[str, str] = {}

    def look() -> None:
        for kind, array in arrays.items():
            found[kind] = str(dlbridge.as_tensor(array).device)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    require(found == KINDS, found)
