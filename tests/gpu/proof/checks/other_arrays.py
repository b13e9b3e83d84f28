# SPDX-License-Identifier: BSD-3-Clause
"""JAX, numba-cuda and cuda-core: zero-copy, and order where the library lets the user choose."""

from __future__ import annotations

from typing import Any

import numpy as np

import dlbridge
from proof import peers
from proof.driver import SIZE, Gpu
from proof.exchange import Producer, consume
from proof.late import Reader, late_tensor
from proof.registry import Skipped, check, require


@check("JAX: import and export keep the same address and elements", simulated=False, limit=90)
def jax_zero_copy() -> None:
    jax = peers.load("jax")
    if jax.default_backend() != "gpu":
        raise Skipped("jax finds no GPU")
    x = jax.numpy.arange(24.0).reshape(2, 3, 4)
    t = dlbridge.from_dlpack(x)
    y = jax.numpy.from_dlpack(t)
    require(x.unsafe_buffer_pointer() == t.data_ptr == y.unsafe_buffer_pointer(), "copied")
    require(str(t.device) == "cuda:0", t.device)
    require(y.tolist() == x.tolist(), "other elements")


@check("numba: import and export by `__cuda_array_interface__`, in the order of its stream",
       simulated=False)  # fmt: skip
def numba_zero_copy() -> None:
    cuda = peers.load("numba.cuda")
    if not cuda.is_available():
        raise Skipped("numba finds no GPU")
    gpu = Gpu()
    x, stream = cuda.to_device(np.zeros(SIZE, np.uint8)), cuda.stream()
    address = x.__cuda_array_interface__["data"][0]
    reader = Reader(gpu)
    t = dlbridge.as_tensor(x, stream=stream)
    y = cuda.as_cuda_array(t)
    require(t.data_ptr == address == y.__cuda_array_interface__["data"][0], "copied")
    gpu.fill(int(getattr(stream.handle, "value", stream.handle)), address, 7)
    consume(t, reader.stream)
    require(reader.sees_new(address), "stale")


@check("cuda-core's streams are accepted as objects, and its buffers are not copied",
       simulated=False)  # fmt: skip
def cuda_core_streams() -> None:
    core = peers.load("cuda.core")
    if not hasattr(core, "Device"):
        core = peers.load("cuda.core.experimental")
    device = core.Device(0)
    device.set_current()
    work, reads = device.create_stream(), device.create_stream()
    gpu = Gpu()
    reader = Reader(gpu, int(reads.handle))
    tensor: Any = dlbridge.from_dlpack(Producer(gpu, gpu.zeros(), gpu.stream()), stream=work)
    require(tensor.__cuda_array_interface__["stream"] == int(work.handle), "another stream")
    gpu.fill(int(work.handle), tensor.data_ptr, 7)
    tensor.__dlpack__(stream=reads)
    require(reader.sees_new(tensor.data_ptr), "stale")
    buffer = device.allocate(SIZE, stream=work)
    require(dlbridge.from_dlpack(buffer).data_ptr == int(buffer.handle), "copied")
    buffer.close(work)


@check("cuda-core views a Tensor on its stream without a copy", simulated=False)
def cuda_core_views() -> None:
    utilities = peers.load("cuda.core.utils")
    gpu = Gpu()
    reader, tensor = Reader(gpu), late_tensor(gpu)
    view = utilities.StridedMemoryView.from_dlpack(tensor, stream_ptr=reader.stream)
    require(view.ptr == tensor.data_ptr and view.device_id == 0, view)
    require(reader.sees_new(view.ptr), "stale")
