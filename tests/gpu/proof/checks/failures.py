# SPDX-License-Identifier: BSD-3-Clause
"""Errors of kernels, destroyed objects, a reset, and a fork."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys

import dlbridge
from proof.driver import SIZE, Gpu
from proof.exchange import Producer, consume
from proof.late import Reader, late_tensor
from proof.registry import Failed, Figures, check, require


def error_of(call: object) -> str:
    """The message of the RuntimeError that a call raises."""
    try:
        call()  # type: ignore[operator]
    except RuntimeError as error:
        return str(error)
    raise Failed("no error")


@check("The error of a kernel is raised by the next copy to the CPU", simulated=False)
def error_of_a_kernel() -> Figures:
    gpu = Gpu()
    stream = gpu.stream()
    tensor = dlbridge.from_dlpack(Producer(gpu, gpu.zeros(), stream), stream=stream)
    gpu.store(stream, 0x10)
    message = error_of(lambda: dlbridge.from_dlpack(tensor, device="cpu"))
    require("700" in message or "ILLEGAL_ADDRESS" in message.upper(), message)
    return {"message": message}


@check("After a reset of the primary context new tensors are ordered, and old ones can be dropped",
       limit=40)  # fmt: skip
def reset_of_the_primary_context() -> Figures:
    gpu = Gpu("cuDevicePrimaryCtxReset_v2")
    old = gpu.context.value
    for _ in range(5):  # a call with a destroyed handle crashes at times
        moved = [
            dlbridge.as_tensor(bytearray(SIZE), device=device, stream=stream)
            for device in ("cuda:0", "cuda_host:0", "cuda_managed:0")
            for stream in (None, gpu.stream())
        ]
        for stream in (gpu.stream(), gpu.stream()):
            consume(late_tensor(gpu), stream).free()
            moved[0].record_stream(stream)
        gpu.synchronize()
        gpu.call("cuDevicePrimaryCtxReset_v2", 0)
        gpu = Gpu()
        others = [gpu.zeros(kind=kind) for kind in ("device", "pinned", "managed")]
        moved.clear()
        gc.collect()
        reader, tensor = Reader(gpu), late_tensor(gpu)
        consume(tensor, reader.stream)
        require(reader.sees_new(tensor.data_ptr), "stale")
        back = dlbridge.from_dlpack(tensor, device="cpu")
        require(bytes(memoryview(back))[:1] == b"\7", "a stale copy")
        for memory in others:
            require(gpu.read(memory) == bytes(SIZE), "memory of other code was freed or written")
            gpu.call("cuMemFreeHost" if memory == others[1] else "cuMemFree_v2", memory)
    return {"the new context has the same handle": old == gpu.context.value}


@check("A forked child receives a RuntimeError instead of a hang", simulated=False, limit=40)
def forked_child() -> Figures:
    gpu = Gpu()
    tensor = late_tensor(gpu)
    gpu.synchronize()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            dlbridge.from_dlpack(tensor, device="cpu")
            text = "no error"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writes, text.encode()[:400])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    os.close(writes)
    text = os.read(reads, 400).decode()
    require(status == 0 and text.startswith("RuntimeError"), f"status {status}: {text}")
    back = dlbridge.from_dlpack(tensor, device="cpu")
    require(bytes(memoryview(back))[:1] == b"\7", "the parent's tensor is damaged")
    return {"message": text}


OF_A_DESTROYED_STREAM = """
from proof.driver import Gpu
from proof.late import late_tensor

gpu = Gpu()
tensor, stream = late_tensor(gpu), gpu.stream()
gpu.call("cuStreamDestroy_v2", stream)
try:
    tensor.__dlpack__(stream=stream)
except RuntimeError as error:
    print(f"RuntimeError: {error}")
"""


@check("What the driver makes of a destroyed stream, which CUDA leaves undefined", limit=60)
def destroyed_stream() -> Figures:
    """Each call is in a process of its own, as the driver may read freed memory."""
    simulated, seen = Gpu().simulated, []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", OF_A_DESTROYED_STREAM], capture_output=True,
                              text=True, timeout=20)  # fmt: skip
        crashed = done.returncode < 0
        require(done.returncode == 0 or crashed, done.stderr[-300:])
        seen.append(signal.Signals(-done.returncode).name if crashed else done.stdout.strip())
    require(not simulated or all(each.startswith("RuntimeError") for each in seen), seen)
    return {f"call {number}": each or "no error" for number, each in enumerate(seen, 1)}
