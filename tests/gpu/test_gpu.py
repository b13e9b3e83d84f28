"""CuPy, PyTorch and JAX on a real GPU: zero-copy, stream order, captures, kinds of memory."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dlbridge

needs_cupy = pytest.mark.needs("cupy")
needs_torch = pytest.mark.needs("torch")
needs_jax = pytest.mark.needs("jax")

COUNT = 1 << 24  # number of elements, so that kernels run for a measurable time


def cupy() -> Any:
    return importlib.import_module("cupy")


def torch() -> Any:
    return importlib.import_module("torch")


def jax() -> Any:
    return importlib.import_module("jax")


def slow(stream: Any, x: Any, value: float) -> None:
    """Enqueues a long kernel on a stream of torch, and then a fill of x."""
    with torch().cuda.stream(stream):
        torch().cuda._sleep(200_000_000)
        x.fill_(value)


# Zero-copy, in both directions.


@needs_cupy
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "complex64", "float16"])
def test_cupy_there_and_back(dtype: str) -> None:
    x = cupy().arange(24).astype(dtype).reshape(2, 3, 4)[:, ::2, 1:]
    t = dlbridge.from_dlpack(x)
    y = cupy().from_dlpack(t)
    assert (t.data_ptr, y.data.ptr) == (x.data.ptr, x.data.ptr)
    assert (str(t.device), t.shape, t.dtype) == ("cuda:0", x.shape, dtype)
    assert y.get().tolist() == x.get().tolist()


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "complex64", "bfloat16"])
def test_torch_there_and_back(dtype: str) -> None:
    x = torch().arange(24, device="cuda").to(getattr(torch(), dtype)).reshape(2, 3, 4)[:, ::2, 1:]
    t = dlbridge.from_dlpack(x)
    y = torch().from_dlpack(t)
    assert t.data_ptr == x.data_ptr() == y.data_ptr()
    assert (str(t.device), t.shape, t.dtype) == ("cuda:0", tuple(x.shape), dtype)
    assert torch().equal(x, y)


@needs_jax
def test_jax_there_and_back() -> None:
    x = jax().numpy.arange(24.0).reshape(2, 3, 4)
    t = dlbridge.from_dlpack(x)
    y = jax().numpy.from_dlpack(t)
    assert t.data_ptr == x.unsafe_buffer_pointer() == y.unsafe_buffer_pointer()
    assert y.tolist() == x.tolist()


# Order: a long kernel runs before the exchange, on streams without any other order.


@needs_torch
def test_the_consumers_stream_waits() -> None:
    ours, theirs = torch().cuda.Stream(), torch().cuda.Stream()
    x = torch().zeros(COUNT, device="cuda")
    torch().cuda.synchronize()
    t = dlbridge.from_dlpack(x, stream=ours)
    slow(ours, x, 7)
    capsule = t.__dlpack__(stream=theirs.cuda_stream)
    with torch().cuda.stream(theirs):
        total = torch().utils.dlpack.from_dlpack(capsule).sum()
    theirs.synchronize()
    assert float(total) == 7 * COUNT


@needs_torch
def test_without_a_wait_the_sum_is_wrong() -> None:
    """The control: with stream=-1 nothing waits, so the sum runs before the fill."""
    ours, theirs = torch().cuda.Stream(), torch().cuda.Stream()
    x = torch().zeros(COUNT, device="cuda")
    torch().cuda.synchronize()
    t = dlbridge.from_dlpack(x, stream=ours)
    slow(ours, x, 7)
    capsule = t.__dlpack__(stream=-1)
    with torch().cuda.stream(theirs):
        total = torch().utils.dlpack.from_dlpack(capsule).sum()
    theirs.synchronize()
    assert float(total) != 7 * COUNT
    torch().cuda.synchronize()


@needs_torch
@needs_cupy
def test_from_torch_to_cupy_on_their_own_streams() -> None:
    ours, theirs = torch().cuda.Stream(), cupy().cuda.Stream(non_blocking=True)
    x = torch().zeros(COUNT, device="cuda")
    torch().cuda.synchronize()
    slow(ours, x, 3)
    with torch().cuda.stream(ours):
        t = dlbridge.from_dlpack(x, stream=ours)
    with theirs:
        y = cupy().from_dlpack(t)
        total = y.sum()
    theirs.synchronize()
    assert (y.data.ptr, float(total)) == (x.data_ptr(), 3 * COUNT)


@needs_torch
def test_data_for_the_cpu_is_ready_on_return() -> None:
    ours = torch().cuda.Stream()
    x = torch().zeros(COUNT, device="cuda")
    torch().cuda.synchronize()
    t = dlbridge.from_dlpack(x, stream=ours)
    slow(ours, x, 7)
    assert (np.from_dlpack(t, device="cpu") == 7).all()


@needs_torch
def test_the_current_device_and_stream_are_unchanged() -> None:
    before = torch().cuda.current_device(), torch().cuda.current_stream().cuda_stream
    t = dlbridge.from_dlpack(torch().ones(4, device="cuda"), stream=torch().cuda.Stream())
    t.__dlpack__(stream=torch().cuda.Stream().cuda_stream)
    dlbridge.from_dlpack(t, device="cpu")
    assert (torch().cuda.current_device(), torch().cuda.current_stream().cuda_stream) == before


# Captures.


@needs_torch
def test_a_capture_stays_valid() -> None:
    x = torch().ones(16, device="cuda")
    graph = torch().cuda.CUDAGraph()
    with torch().cuda.graph(graph):
        inside = torch().cuda.current_stream()
        t = dlbridge.from_dlpack(x, stream=inside)
        y = torch().from_dlpack(t)
        y += 1
        with pytest.raises(RuntimeError, match="captur"):
            dlbridge.from_dlpack(t, device="cpu")
    graph.replay()
    torch().cuda.synchronize()
    assert x.tolist() == [2.0] * 16


# Copies of every kind of memory, in both directions.

BASE = np.random.default_rng(5).standard_normal((33, 17, 29)).astype(np.float32)
VIEWS = {
    "whole": BASE,
    "column-major": np.asfortranarray(BASE),
    "slice": BASE[1:30, 3:15, 2:27],
    "steps": BASE[::2, ::3, ::-2],
}


@needs_torch
@pytest.mark.parametrize("which", VIEWS)
def test_copied_there_and_back(which: str) -> None:
    x = VIEWS[which]
    t = dlbridge.from_dlpack(x, device="cuda:0")
    assert torch().from_dlpack(t).cpu().numpy().tobytes() == np.ascontiguousarray(x).tobytes()
    back = np.asarray(dlbridge.from_dlpack(t, device="cpu"))
    assert np.array_equal(back, x)


@needs_torch
def test_a_strided_tensor_of_the_device() -> None:
    x = torch().from_numpy(BASE).cuda()[::2, 1:, ::3]
    assert np.array_equal(np.asarray(dlbridge.from_dlpack(x, device="cpu")), x.cpu().numpy())


@needs_torch
def test_pinned_memory() -> None:
    x = torch().arange(16, dtype=torch().float32).pin_memory()
    t = dlbridge.from_dlpack(x, device="cpu")
    assert t.data_ptr == x.data_ptr()
    there = dlbridge.from_dlpack(x, device="cuda:0")
    assert torch().from_dlpack(there).tolist() == x.tolist()


@needs_cupy
def test_managed_memory() -> None:
    with cupy().cuda.using_allocator(cupy().cuda.malloc_managed):
        x = cupy().arange(16, dtype="float32")
    cupy().cuda.get_current_stream().synchronize()
    t = dlbridge.from_dlpack(x, device="cpu")
    assert np.asarray(t).tolist() == list(range(16))
