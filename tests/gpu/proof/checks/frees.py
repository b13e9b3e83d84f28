# SPDX-License-Identifier: BSD-3-Clause
"""Memory that dlbridge allocated: when it is freed, who waits for that, and what remains."""

from __future__ import annotations

import ctypes as C
import gc
import time

import dlbridge
from proof.driver import SIZE, Gpu
from proof.exchange import Producer, consume
from proof.late import NEW, Reader, late_tensor
from proof.registry import Figures, check, require

HOST_FUNCTION = C.CFUNCTYPE(None, C.c_void_p)


def drop_under_queued_readers(record: bool) -> None:
    gpu = Gpu()
    scratch, own = gpu.zeros(), gpu.stream()
    for turn in range(3):
        seen, reads = gpu.zeros(), gpu.stream()
        tensor = dlbridge.as_tensor(bytearray(NEW), device="cuda:0", stream=own)
        taken = consume(tensor, reads)
        gpu.fill(reads, scratch, 1)  # late, and so the copy after it is late
        gpu.copy(reads, seen, tensor.data_ptr)
        if record:
            tensor.record_stream(reads)
        taken.free()
        del tensor
        gc.collect()
        gpu.fill(own, gpu.allocate(), 9, late=False)  # perhaps the same memory
        gpu.synchronize()
        require(gpu.read(seen) == NEW, f"turn {turn}: the reader saw freed memory")


@check("Memory is not freed while a reader on a recorded stream is queued")
def frees_wait_for_a_recorded_reader() -> None:
    drop_under_queued_readers(record=True)


@check("The driver's free waits for readers that were not recorded; CUDA does not promise it",
       simulated=False)  # fmt: skip
def frees_of_the_driver_wait() -> None:
    drop_under_queued_readers(record=False)


@check("A free lets other threads run: a host function of the stream can take the GIL", limit=20)
def frees_release_the_gil() -> None:
    gpu = Gpu("cuLaunchHostFunc")
    stream, ran = gpu.stream(), []
    tensor = dlbridge.as_tensor(bytearray(NEW), device="cuda:0", stream=stream)
    function = HOST_FUNCTION(lambda _: ran.append(1))
    gpu.fill(stream, tensor.data_ptr, 7)
    gpu.call("cuLaunchHostFunc", stream, function, 0)
    tensor.record_stream(stream)
    del tensor
    gpu.synchronize()
    require(ran == [1], f"the host function ran {len(ran)} times")


@check("How long `del` of a moved Tensor takes while another stream is busy")
def time_of_a_free() -> Figures:
    gpu = Gpu()
    memory, busy = gpu.zeros(), gpu.stream()
    tensor = dlbridge.as_tensor(bytearray(64), device="cuda:0")
    gpu.fill(busy, memory, 7)
    begin = time.perf_counter()
    del tensor
    return {"milliseconds": round(1e3 * (time.perf_counter() - begin), 2)}


def free_bytes(gpu: Gpu) -> int:
    """The free device memory; on the simulated driver, less the events that exist."""
    if gpu.simulated:
        count = gpu.library.simulated_counter
        count.restype = C.c_longlong
        return -int(count(b"device_bytes")) - int(count(b"events"))
    free, total = C.c_size_t(), C.c_size_t()
    gpu.call("cuMemGetInfo_v2", C.byref(free), C.byref(total))
    return free.value


@check("Thousands of exchanges and moves leave no device memory allocated", limit=120)
def nothing_leaks() -> Figures:
    gpu = Gpu()
    ours, theirs = gpu.stream(), gpu.stream()
    producer = Producer(gpu, gpu.zeros(), ours)

    def turn() -> None:
        tensor = dlbridge.from_dlpack(producer, stream=ours)
        consume(tensor, theirs).free()
        dlbridge.from_dlpack(tensor, device="cpu")
        dlbridge.as_tensor(bytearray(4096), device="cuda:0")
        dlbridge.as_tensor(bytearray(4096), device="cuda:0", stream=ours)

    for _ in range(50):
        turn()
    gpu.synchronize()
    before, turns = free_bytes(gpu), 200 if gpu.simulated else 3000
    for _ in range(turns):
        turn()
    gpu.synchronize()
    lost = before - free_bytes(gpu)
    require(lost <= (0 if gpu.simulated else 2 << 20), f"{lost:,} bytes are lost")
    require(producer.freed == len(producer.exported), "a producer's tensor was not given back")
    return {"turns": turns, "bytes lost": lost}


@check("A Tensor whose consumer still reads keeps the producer's memory")
def producers_live_until_the_last_consumer() -> None:
    gpu = Gpu()
    producer = Producer(gpu, gpu.zeros(), gpu.stream())
    tensors = [dlbridge.from_dlpack(producer)]
    tensors += [dlbridge.from_dlpack(tensors[0]) for _ in range(3)]
    taken = consume(tensors[-1], None)
    tensors.clear()
    gc.collect()
    require(producer.freed == 0, "freed while a consumer has it")
    require(gpu.read(taken.contents.first, SIZE) == bytes(SIZE), "another content")
    taken.free()
    require(producer.freed == len(producer.exported), f"freed {producer.freed} times")


@check("The source of a move is given back only after the late copy of its bytes")
def sources_live_until_the_copy() -> None:
    gpu = Gpu()
    reader, scratch, source = Reader(gpu), gpu.zeros(), gpu.zeros(kind="pinned")
    C.memset(source, 7, SIZE)

    def reuse() -> None:
        C.memset(source, 9, SIZE)

    producer = Producer(gpu, source, gpu.stream(), kind="pinned", on_free=reuse)
    gpu.fill(reader.stream, scratch, 1)  # late, and so the copy after it is late
    tensor = dlbridge.from_dlpack(producer, device="cuda:0", stream=reader.stream)
    gc.collect()
    require(reader.sees_new(tensor.data_ptr), "the copy read memory that was reused")


@check("A Tensor that is freed while a late kernel writes it leaves the producer's memory intact")
def death_of_a_late_tensor() -> None:
    gpu = Gpu()
    reader, tensor = Reader(gpu), late_tensor(gpu)
    memory = tensor.data_ptr
    consume(tensor, reader.stream).free()
    del tensor
    gc.collect()
    require(reader.sees_new(memory), "stale")
