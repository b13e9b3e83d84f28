# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's tensors: zero-copy, one free, order with its streams, captures, copies."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import dlbridge
from proof import peers
from proof.checks.copies import VIEWS
from proof.driver import SIZE, Gpu
from proof.registry import Failed, Skipped, check, require

DTYPES = ("float32", "float64", "int64", "uint8", "complex64", "float16", "bfloat16", "bool")


def load() -> Any:
    torch = peers.load("torch")
    if not torch.cuda.is_available():
        raise Skipped("torch finds no GPU")
    return torch


def zeros(torch: Any) -> Any:
    x = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    return x


def reading_stream(torch: Any, x: Any) -> Any:
    """A stream that has read x, so that the next read loads no kernel and allocates no memory. A
    late kernel could end meanwhile."""
    stream = torch.cuda.Stream()
    is_late_value(torch, x, stream)
    torch.cuda.synchronize()
    return stream


def is_late_value(torch: Any, x: Any, stream: Any) -> bool:
    """Whether work of torch that is now enqueued on a stream sees the late bytes."""
    with torch.cuda.stream(stream):
        total = x.sum(dtype=torch.int64)
    stream.synchronize()
    return int(total) == 7 * SIZE


@check("torch: import and export keep the same address, dtype, shape and elements", simulated=False)
def torch_zero_copy() -> None:
    torch = load()
    for dtype in DTYPES:
        x = torch.arange(24, device="cuda").to(getattr(torch, dtype)).reshape(2, 3, 4)[:, ::2, 1:]
        t = dlbridge.from_dlpack(x)
        y = torch.from_dlpack(t)
        require(x.data_ptr() == t.data_ptr == y.data_ptr(), f"{dtype}: copied")
        require((str(t.device), t.shape, t.dtype) == ("cuda:0", tuple(x.shape), dtype), t)
        require(torch.equal(x, y), f"{dtype}: other elements")


@check("torch's memory is freed once the last tensor is gone, and not earlier", simulated=False)
def torch_one_free() -> None:
    torch = load()
    before = torch.cuda.memory_allocated()
    x = torch.ones(1 << 20, device="cuda")
    y = torch.from_dlpack(dlbridge.from_dlpack(x))
    del x
    gc.collect()
    require(torch.cuda.memory_allocated() > before, "freed early")
    require(float(y.sum()) == 1 << 20, "other elements")
    del y
    gc.collect()
    require(torch.cuda.memory_allocated() == before, "not freed")


@check("torch's current stream waits for a Tensor's late kernel", simulated=False)
def torch_as_consumer() -> None:
    torch = load()
    gpu, work, x = Gpu(), torch.cuda.Stream(), zeros(torch)
    reads = reading_stream(torch, x)
    t = dlbridge.from_dlpack(x, stream=work)
    gpu.fill(work.cuda_stream, x.data_ptr(), 7)
    with torch.cuda.stream(reads):
        y = torch.from_dlpack(t)
    require(is_late_value(torch, y, reads), "stale")


@check("Without order torch sees old bytes (control)", simulated=False)
def torch_control() -> None:
    torch = load()
    gpu, work, x = Gpu(), torch.cuda.Stream(), zeros(torch)
    reads = reading_stream(torch, x)
    gpu.fill(work.cuda_stream, x.data_ptr(), 7)
    require(not is_late_value(torch, x, reads), "the reader was ordered by something else")


@check("A stream waits for late work on torch's current stream", simulated=False)
def torch_as_producer() -> None:
    torch = load()
    gpu, work, x = Gpu(), torch.cuda.Stream(), zeros(torch)
    reads = reading_stream(torch, x)
    gpu.fill(work.cuda_stream, x.data_ptr(), 7)
    with torch.cuda.stream(work):
        t = dlbridge.from_dlpack(x, stream=reads)
    require(t.data_ptr == x.data_ptr(), "copied")
    require(is_late_value(torch, x, reads), "stale")


@check("The CPU has the bytes of late work on torch's stream", simulated=False)
def torch_to_the_host() -> None:
    torch = load()
    gpu, work = Gpu(), torch.cuda.Stream()
    x = zeros(torch)
    t = dlbridge.from_dlpack(x, stream=work)
    gpu.fill(work.cuda_stream, x.data_ptr(), 7)
    require((np.from_dlpack(t, device="cpu") == 7).all(), "stale")


@check("torch's current device and stream are the same after exchanges", simulated=False)
def torch_keeps_its_current_stream() -> None:
    torch = load()
    before = torch.cuda.current_device(), torch.cuda.current_stream().cuda_stream
    t = dlbridge.from_dlpack(torch.ones(4, device="cuda"), stream=torch.cuda.Stream())
    t.__dlpack__(stream=torch.cuda.Stream().cuda_stream)
    dlbridge.from_dlpack(t, device="cpu")
    after = torch.cuda.current_device(), torch.cuda.current_stream().cuda_stream
    require(after == before, f"{before} became {after}")


@check("torch.cuda.graph captures an exchange, and the graph runs", simulated=False)
def torch_capture() -> None:
    torch = load()
    x, graph = torch.ones(16, device="cuda"), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        t = dlbridge.from_dlpack(x, stream=torch.cuda.current_stream())
        y = torch.from_dlpack(t)
        y += 1
        try:
            dlbridge.from_dlpack(t, device="cpu")
        except RuntimeError as error:
            require("captur" in str(error), error)
        else:
            raise Failed("a read by the host was not refused")
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    require(x.tolist() == [3.0] * 16, x.tolist())


@check("torch reads what dlbridge moved, and dlbridge copies torch's strides", simulated=False)
def torch_copies() -> None:
    torch = load()
    for name, view in VIEWS.items():
        y = torch.from_dlpack(dlbridge.from_dlpack(view, device="cuda:0"))
        require(np.array_equal(y.cpu().numpy(), view), f"{name}: to the device")
    x = torch.from_numpy(VIEWS["whole"]).cuda()[::2, 1:, ::3]
    back = np.asarray(dlbridge.from_dlpack(x, device="cpu"))
    require(np.array_equal(back, x.cpu().numpy()), "a strided tensor to the host")


@check("torch's pinned memory is not copied for the CPU, and moves to the device", simulated=False)
def torch_pinned() -> None:
    torch = load()
    x = torch.arange(16, dtype=torch.float32).pin_memory()
    require(dlbridge.from_dlpack(x, device="cpu").data_ptr == x.data_ptr(), "copied")
    there = torch.from_dlpack(dlbridge.from_dlpack(x, device="cuda:0"))
    require(there.tolist() == x.tolist(), there)
