# SPDX-License-Identifier: BSD-3-Clause
"""CuPy's arrays: zero-copy, one free, order with its streams, managed memory."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import dlbridge
from dlbridge.tools import abi
from proof import peers
from proof.driver import SIZE, Gpu
from proof.registry import Failed, Figures, Skipped, check, require

DTYPES = ("float32", "float64", "int64", "uint8", "complex64", "float16", "bool")


def load() -> Any:
    cupy = peers.load("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Skipped(f"cupy finds no GPU: {error}") from None
    return cupy


def zeros(cupy: Any) -> Any:
    x = cupy.zeros(SIZE, dtype="uint8")
    cupy.cuda.Device().synchronize()
    return x


def stream(cupy: Any) -> Any:
    return cupy.cuda.Stream(non_blocking=True)


def reading_stream(cupy: Any, x: Any) -> Any:
    """A stream that has read x, so that the next read compiles no kernel and allocates no memory. A
    late kernel could end meanwhile."""
    reads = stream(cupy)
    is_late_value(cupy, x, reads)
    cupy.cuda.Device().synchronize()
    return reads


def is_late_value(cupy: Any, x: Any, reads: Any) -> bool:
    """Whether work of CuPy that is now enqueued on a stream sees the late bytes."""
    with reads:
        total = x.sum(dtype="int64")
    reads.synchronize()
    return int(total) == 7 * SIZE


@check("CuPy: import and export keep the same address, dtype, shape and elements", simulated=False)
def cupy_zero_copy() -> None:
    cupy = load()
    for dtype in DTYPES:
        x = cupy.arange(24).astype(dtype).reshape(2, 3, 4)[:, ::2, 1:]
        t = dlbridge.from_dlpack(x)
        y = cupy.from_dlpack(t)
        require(x.data.ptr == t.data_ptr == y.data.ptr, f"{dtype}: copied")
        require((str(t.device), t.shape, t.dtype) == ("cuda:0", x.shape, dtype), t)
        require(y.get().tolist() == x.get().tolist(), f"{dtype}: other elements")


@check("CuPy's memory is freed once the last array is gone, and not earlier", simulated=False)
def cupy_one_free() -> None:
    cupy = load()
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    x = cupy.ones(1 << 20)
    y = cupy.from_dlpack(dlbridge.from_dlpack(x))
    del x
    gc.collect()
    require(pool.used_bytes() > before, "freed early")
    del y
    gc.collect()
    require(pool.used_bytes() == before, "not freed")


@check("CuPy's current stream waits for a Tensor's late kernel", simulated=False)
def cupy_as_consumer() -> None:
    cupy = load()
    gpu, work, x = Gpu(), stream(cupy), zeros(cupy)
    reads = reading_stream(cupy, x)
    t = dlbridge.from_dlpack(x, stream=work)
    gpu.fill(work.ptr, x.data.ptr, 7)
    with reads:
        y = cupy.from_dlpack(t)
    require(y.data.ptr == x.data.ptr, "copied")
    require(is_late_value(cupy, y, reads), "stale")


@check("Without order CuPy sees old bytes (control)", simulated=False)
def cupy_control() -> None:
    cupy = load()
    gpu, work, x = Gpu(), stream(cupy), zeros(cupy)
    reads = reading_stream(cupy, x)
    gpu.fill(work.ptr, x.data.ptr, 7)
    require(not is_late_value(cupy, x, reads), "the reader was ordered by something else")


@check("A stream waits for late work on CuPy's current stream", simulated=False)
def cupy_as_producer() -> None:
    cupy = load()
    gpu, work, x = Gpu(), stream(cupy), zeros(cupy)
    reads = reading_stream(cupy, x)
    gpu.fill(work.ptr, x.data.ptr, 7)
    with work:
        dlbridge.from_dlpack(x, stream=reads)
    require(is_late_value(cupy, x, reads), "stale")


@check("The host waits for late work on CuPy's managed memory", simulated=False)
def cupy_managed() -> None:
    cupy = load()
    gpu, work = Gpu(), stream(cupy)
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        x = zeros(cupy)
    t = dlbridge.from_dlpack(x, stream=work)
    gpu.fill(work.ptr, x.data.ptr, 7)
    require((np.asarray(dlbridge.from_dlpack(t, device="cpu")) == 7).all(), "stale")


@check("CuPy's views with negative strides are right, or refused while CuPy exports other strides",
       simulated=False)  # fmt: skip
def cupy_backwards() -> Figures:
    cupy = load()
    x = cupy.arange(6, dtype="float32")[::-1]
    (stride,) = abi.read(x.__dlpack__(max_version=(1, 0))).strides or (1,)  # none: contiguous
    if stride == -1:
        require(dlbridge.from_dlpack(x).strides == (-1,), "other strides")
    else:  # CuPy 14.2 divides the negative number of bytes by an unsigned one
        try:
            dlbridge.from_dlpack(x)
        except BufferError as error:
            require("size overflows" in str(error), error)
        else:
            raise Failed(f"the stride {stride} was accepted")
    back = np.asarray(dlbridge.from_dlpack(x.copy(), device="cpu"))
    require(back.tolist() == [5, 4, 3, 2, 1, 0], back)
    return {"the stride that CuPy exports for -1": stride}


@check("From torch's stream to CuPy's stream, with a late kernel on the first", simulated=False)
def torch_to_cupy() -> None:
    from proof.checks import torch_arrays

    torch, cupy = torch_arrays.load(), load()
    gpu, work, x = Gpu(), torch.cuda.Stream(), torch_arrays.zeros(torch)
    reads = reading_stream(cupy, cupy.from_dlpack(x))
    gpu.fill(work.cuda_stream, x.data_ptr(), 7)
    with torch.cuda.stream(work):
        t = dlbridge.from_dlpack(x, stream=work)
    with reads:
        y = cupy.from_dlpack(t)
    require(y.data.ptr == x.data_ptr(), "copied")
    require(is_late_value(cupy, y, reads), "stale")
