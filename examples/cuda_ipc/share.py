# SPDX-License-Identifier: BSD-3-Clause
"""Shares the memory of a CUDA tensor with another process, without a copy.

    python share.py

The first process allocates memory and sends a handle of it; the second one opens the handle, reads
the memory through a Tensor, and writes to it. Both use `__cuda_array_interface__` to give memory of
the driver to dlbridge.

Memory that is shared comes from cuMemAlloc: CUDA gives no IPC handle for stream-ordered memory. The
allocating process keeps the memory until every other process has closed its handle.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import sys
import weakref
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import dlbridge

LAZY_PEER_ACCESS = 1  # the flag of cuIpcOpenMemHandle


class MemoryHandle(ctypes.Structure):
    """CUipcMemHandle of cuda.h, which is passed by value."""

    _fields_ = [("reserved", ctypes.c_char * 64)]


class Driver:
    """The functions of the CUDA driver that the example needs, on device 0."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} returned {code}")

    def allocate(self, size: int) -> int:
        address = ctypes.c_void_p()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value or 0

    def handle_of(self, address: int) -> bytes:
        handle = MemoryHandle()
        self.call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_void_p(address))
        return bytes(handle)

    def open(self, handle: bytes) -> int:
        address = ctypes.c_void_p()
        self.call(
            "cuIpcOpenMemHandle_v2",
            ctypes.byref(address),
            MemoryHandle.from_buffer_copy(handle),
            ctypes.c_uint(LAZY_PEER_ACCESS),
        )
        return address.value or 0


class Memory:
    """Describes float32 memory to consumers; release(address) is called with the last of them."""

    def __init__(self, address: int, count: int, release: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<f4",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }
        weakref.finalize(self, release, ctypes.c_void_p(address))


def read(connection: Connection) -> None:
    """The second process: adds one to every element."""
    driver = Driver()
    handle, count = connection.recv()
    address = driver.open(handle)
    t = dlbridge.as_tensor(
        Memory(address, count, lambda each: driver.call("cuIpcCloseMemHandle", each))
    )
    values = np.array(np.from_dlpack(dlbridge.from_dlpack(t, device="cpu")))
    moved = dlbridge.from_dlpack(values + 1, device="cuda:0")
    driver.call(
        "cuMemcpyDtoD_v2",
        ctypes.c_void_p(t.data_ptr),
        ctypes.c_void_p(moved.data_ptr),
        ctypes.c_size_t(t.nbytes),
    )
    driver.call("cuCtxSynchronize")  # the other process knows nothing of this one's streams
    del t  # closes the handle, as nothing else uses the memory
    connection.send(values.sum())


def main() -> int:
    driver = Driver()
    given = np.arange(1000, dtype=np.float32)
    address = driver.allocate(given.nbytes)
    driver.call("cuMemcpyHtoD_v2", ctypes.c_void_p(address), given.ctypes,
                ctypes.c_size_t(given.nbytes))  # fmt: skip
    context = multiprocessing.get_context("spawn")  # a forked process cannot use CUDA
    ours, theirs = context.Pipe()
    process = context.Process(target=read, args=(theirs,))
    process.start()
    theirs.close()  # so that recv ends if the other process does
    ours.send((driver.handle_of(address), given.size))
    seen = ours.recv()  # raises EOFError if the other process failed
    process.join()
    t = dlbridge.as_tensor(
        Memory(address, given.size, lambda each: driver.call("cuMemFree_v2", each))
    )
    changed = np.from_dlpack(dlbridge.from_dlpack(t, device="cpu"))
    assert seen == given.sum()
    assert np.array_equal(changed, given + 1)
    print(f"{given.size} elements were read and written by another process")
    return 0


if __name__ == "__main__":
    sys.exit(main())
