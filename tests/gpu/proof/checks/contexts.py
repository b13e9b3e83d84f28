# SPDX-License-Identifier: BSD-3-Clause
"""Contexts: of threads without one, of other contexts, and of green contexts."""

from __future__ import annotations

import ctypes as C
import threading

from proof.driver import LEGACY, SIZE, Gpu
from proof.exchange import consume
from proof.late import NEW, Reader, late_tensor
from proof.registry import check, require


@check("A thread without a current context exports a Tensor in order, and has none afterwards")
def thread_without_a_context() -> None:
    gpu = Gpu()
    reader, tensor = Reader(gpu), late_tensor(gpu)
    seen: list[object] = []

    def work() -> None:
        try:
            for stream in (reader.stream, LEGACY):
                consume(tensor, stream)
            seen.append(gpu.current())
        except Exception as error:
            seen.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    require(seen == [0], f"expected no context and no error; got {seen[0]!r}")
    require(reader.sees_new(tensor.data_ptr), "stale")


@check("A stream of another context than the primary one waits; the current context stays")
def stream_of_another_context() -> None:
    gpu = Gpu()
    other, popped = C.c_void_p(), C.c_void_p()
    gpu.call("cuCtxCreate_v2", C.byref(other), 0, 0)
    seen, theirs = gpu.allocate(), gpu.stream()  # the kernels are of the primary context
    gpu.call("cuCtxPopCurrent_v2", C.byref(popped))
    gpu.use(gpu.context)
    tensor = late_tensor(gpu)
    consume(tensor, theirs)
    require(gpu.current() == gpu.context.value, "another context is current afterwards")
    gpu.use(other)
    gpu.call("cuMemcpyDtoDAsync_v2", seen, tensor.data_ptr, SIZE, theirs)
    gpu.synchronize(theirs)
    require(gpu.read(seen) == NEW, "stale")


@check("A stream of a green context waits for a late kernel")
def stream_of_a_green_context() -> None:
    gpu = Gpu("cuGreenCtxCreate", "cuGreenCtxStreamCreate", "cuDeviceGetDevResource",
              "cuDevResourceGenerateDesc")  # fmt: skip
    resource, description = C.create_string_buffer(512), C.c_void_p()
    green, stream = C.c_void_p(), C.c_void_p()
    gpu.call("cuDeviceGetDevResource", 0, resource, 1)  # 1: multiprocessors
    gpu.call("cuDevResourceGenerateDesc", C.byref(description), resource, 1)
    gpu.call("cuGreenCtxCreate", C.byref(green), description, 0, 1)
    gpu.call("cuGreenCtxStreamCreate", C.byref(stream), green, 1, 0)
    seen, tensor = gpu.zeros(), late_tensor(gpu)
    consume(tensor, stream.value)
    gpu.call("cuMemcpyDtoDAsync_v2", seen, tensor.data_ptr, SIZE, stream)
    gpu.call("cuStreamSynchronize", stream)
    require(gpu.read(seen) == NEW, "stale")
