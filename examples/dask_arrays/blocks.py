# SPDX-License-Identifier: BSD-3-Clause
"""Two workers, and the functions that run on them: blocks of a Dask array are Tensors."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import numpy as np
from distributed import Client, get_worker
from distributed.protocol import dask_deserialize, dask_serialize
from probe import Probe

import dlbridge

TIMEOUT = 60  # seconds


@contextmanager
def two_workers() -> Iterator[Client]:
    """Two worker processes on this machine, with a probe each."""
    # The memory manager removes duplicates of a block, which would cause moves that are not part of
    # the program.
    settings = {"distributed.scheduler.active-memory-manager.start": False}
    sizes = {"n_workers": 2, "threads_per_worker": 1}
    with (
        dask.config.set(settings),
        Client(**sizes, dashboard_address=":0", timeout=TIMEOUT) as client,
    ):
        client.register_plugin(Probe())
        yield client


# [blocks]
def make(block_info: Any = None) -> dlbridge.Tensor:
    """A block, made by any library; block_info has its position."""
    (rows, columns) = block_info[None]["array-location"]
    i, j = np.ogrid[slice(*rows), slice(*columns)]
    return dlbridge.from_dlpack(1000.0 * i + j)


def halved(block: dlbridge.Tensor) -> dlbridge.Tensor:
    """Another block; the intermediate NumPy array is on the memory of the first."""
    return dlbridge.from_dlpack(np.from_dlpack(block) / 2)


# [/blocks]
def ones(nbytes: int) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(np.ones(nbytes // 8))


def report(block: dlbridge.Tensor) -> dict[str, Any]:
    """The block on this worker, and what the worker's probe recorded of its memory."""
    probe = get_worker().plugins["probe"]
    return {
        "type": type(block).__name__,
        "aligned": block.data_ptr % block.itemsize == 0,
        "sum": float(np.from_dlpack(block).sum()),
        "written": probe.has_written(block.data_ptr, block.nbytes),
        "read": probe.has_read_into(block.data_ptr, block.nbytes),
    }


# [register]
def register() -> None:
    """Gives each received Tensor its own block of memory.

    Without this Dask pickles, also without a copy. But it reads the first buffer of a message
    together with its header, at an address that may be unaligned for float64. Here the first
    buffer is one byte.
    """

    @dask_serialize.register(dlbridge.Tensor)
    def serialize(t: dlbridge.Tensor) -> tuple[dict[str, Any], list[Any]]:
        buffers: list[Any] = [bytearray(1)]
        pickled = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
        return {"pickled": pickled}, buffers

    @dask_deserialize.register(dlbridge.Tensor)
    def deserialize(header: dict[str, Any], frames: list[Any]) -> dlbridge.Tensor:
        return pickle.loads(header["pickled"], buffers=frames[1:])


# [/register]
