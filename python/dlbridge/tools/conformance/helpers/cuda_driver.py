# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA driver by ctypes: memory, streams, order between them, and work that finishes late.

A driver that simulates CUDA, in place of libcuda.so.1, runs its own late work.
"""

from __future__ import annotations

import ctypes as C
import os
import sys
import time
from functools import cache, cached_property
from typing import Any

from ..outcomes import Skip

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
LEGACY, PER_THREAD = 1, 2  # the handles of the default streams
NON_BLOCKING, WITHOUT_TIMING = 1, 2  # flags: not ordered with the legacy default stream
MEMORY_TYPE, HOST_MEMORY = 2, 1  # an attribute of pointers, and one of its values
ATTACH_GLOBAL = 1  # a flag of managed memory: every stream may use it
LATE_CYCLES = 150_000_000  # 76 ms at 1980 MHz

# Spins for some cycles of the clock, then fills n bytes at p with a value.
PTX = b"""
.version 7.8
.target sm_75
.address_size 64
.visible .entry fill_late(.param .u64 p, .param .u64 n, .param .u32 v, .param .u64 cycles)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [p];
  ld.param.u64 %d2, [n];
  ld.param.u32 %r1, [v];
  ld.param.u64 %d3, [cycles];
  cvta.to.global.u64 %d1, %d1;
  mov.u64 %d4, %clock64;
SPIN:
  mov.u64 %d5, %clock64;
  sub.u64 %d6, %d5, %d4;
  setp.lt.u64 %p1, %d6, %d3;
  @%p1 bra SPIN;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  cvt.u64.u32 %d7, %r5;
  mov.u32 %r6, %nctaid.x;
  mul.lo.u32 %r7, %r6, %r3;
  cvt.u64.u32 %d8, %r7;
LOOP:
  setp.ge.u64 %p2, %d7, %d2;
  @%p2 bra DONE;
  add.u64 %d9, %d1, %d7;
  st.global.u8 [%d9], %r1;
  add.u64 %d7, %d7, %d8;
  bra LOOP;
DONE:
  ret;
}
"""
THREADS = 256  # in the one block that runs it

_int, _uint, _size, _address, _pointer = C.c_int, C.c_uint, C.c_size_t, C.c_uint64, C.c_void_p
PARAMETERS: dict[str, tuple[Any, ...]] = {
    "cuInit": (_uint,),
    "cuDeviceGet": (_pointer, _int),
    "cuDevicePrimaryCtxRetain": (_pointer, _int),
    "cuCtxPushCurrent_v2": (_pointer,),
    "cuCtxPopCurrent_v2": (_pointer,),
    "cuCtxSynchronize": (),
    "cuMemAlloc_v2": (_pointer, _size),
    "cuMemHostAlloc": (_pointer, _size, _uint),
    "cuMemAllocManaged": (_pointer, _size, _uint),
    "cuMemcpyHtoDAsync_v2": (_address, _pointer, _size, _pointer),
    "cuMemcpyDtoHAsync_v2": (_pointer, _address, _size, _pointer),
    "cuMemcpyDtoDAsync_v2": (_address, _address, _size, _pointer),
    "cuPointerGetAttribute": (_pointer, _int, _address),
    "cuStreamCreate": (_pointer, _uint),
    "cuStreamSynchronize": (_pointer,),
    "cuStreamWaitEvent": (_pointer, _pointer, _uint),
    "cuEventCreate": (_pointer, _uint),
    "cuEventRecord": (_pointer, _pointer),
    "cuEventDestroy_v2": (_pointer,),
    "cuModuleLoadData": (_pointer, C.c_char_p),
    "cuModuleGetFunction": (_pointer, _pointer, C.c_char_p),
    "cuLaunchKernel": (_pointer, *7 * (_uint,), _pointer, _pointer, _pointer),
    "simulated_write": (_pointer, _pointer, C.c_ubyte, _size),
}


class DriverError(RuntimeError):
    """A function of the driver returned an error code."""


@cache
def driver(device: int = 0) -> Driver:
    """Returns the driver of a device. Raises Skip where there is none."""
    try:
        library = C.CDLL(LIBRARY)
    except OSError:
        raise Skip(f"there is no CUDA driver: {LIBRARY} cannot be loaded") from None
    try:
        return Driver(library, device)
    except DriverError as error:
        raise Skip(f"there is no CUDA device {device}: {error}") from None


def is_loaded() -> bool:
    """Whether this process has already loaded the driver, by whichever library."""
    try:
        C.CDLL(LIBRARY, mode=getattr(os, "RTLD_NOLOAD", C.DEFAULT_MODE))
    except OSError:
        return False
    return True


class Driver:
    """One device, through its primary context. Streams and memory live as long as the process.

    Each call leaves the current context of the thread as it was.
    """

    def __init__(self, library: C.CDLL, device: int) -> None:
        self._library = library
        self._context = C.c_void_p()
        self._kernel: C.c_void_p | None = None
        self._scratch: dict[int, int] = {}  # by size: memory for seen_from()
        ordinal = C.c_int()
        self._without_context("cuInit", 0)
        self._without_context("cuDeviceGet", C.byref(ordinal), device)
        self._without_context("cuDevicePrimaryCtxRetain", C.byref(self._context), ordinal)

    def _without_context(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, name)
        function.argtypes = PARAMETERS[name]
        code = function(*arguments)
        if code != 0:
            raise DriverError(f"{name} returned {code}")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function in the primary context. Raises DriverError for an error code."""
        self._without_context("cuCtxPushCurrent_v2", self._context)
        try:
            self._without_context(name, *arguments)
        finally:
            self._without_context("cuCtxPopCurrent_v2", C.byref(C.c_void_p()))

    def _new(self, name: str, argument: int) -> int:
        result = C.c_void_p()
        self.call(name, C.byref(result), argument)
        return result.value or 0

    def stream(self) -> int:
        """Creates a stream that is ordered with no other one."""
        return self._new("cuStreamCreate", NON_BLOCKING)

    def allocate(self, size: int) -> int:
        return self._new("cuMemAlloc_v2", size)

    def allocate_pinned(self, size: int) -> int:
        result = C.c_void_p()
        self.call("cuMemHostAlloc", C.byref(result), size, 0)
        return result.value or 0

    def allocate_managed(self, size: int) -> int:
        result = C.c_void_p()
        self.call("cuMemAllocManaged", C.byref(result), size, ATTACH_GLOBAL)
        return result.value or 0

    def synchronize(self) -> None:
        """Waits for all work on the device."""
        self.call("cuCtxSynchronize")

    def order(self, *, after: int, later: int) -> None:
        """Makes later work of the stream `later` wait for the present work of `after`."""
        event = C.c_void_p(self._new("cuEventCreate", WITHOUT_TIMING))
        self.call("cuEventRecord", event, after)
        self.call("cuStreamWaitEvent", later, event, 0)
        self.call("cuEventDestroy_v2", event)

    def upload(self, address: int, content: bytes) -> None:
        """Copies bytes to the device, and waits for the copy."""
        self.call("cuMemcpyHtoDAsync_v2", address, content, len(content), LEGACY)
        self.call("cuStreamSynchronize", LEGACY)

    def download(self, address: int, size: int, stream: int = LEGACY) -> bytes:
        """Copies bytes to the host, as work of a stream, and waits for the copy."""
        block = C.create_string_buffer(size)
        self.call("cuMemcpyDtoHAsync_v2", block, address, size, stream)
        self.call("cuStreamSynchronize", stream)
        return block.raw

    def seen_from(self, stream: int, address: int, size: int) -> bytes:
        """Returns what work that is now enqueued on a stream finds at an address.

        It copies inside the device: a copy to the host could wait for more than its stream. So
        could an allocation, which the first call for a size makes.
        """
        if size not in self._scratch:
            self._scratch[size] = self.allocate(size)
        scratch = self._scratch[size]
        self.call("cuMemcpyDtoDAsync_v2", scratch, address, size, stream)
        return self.download(scratch, size, stream)

    def is_host_memory(self, address: int) -> bool:
        """Whether the driver allocated the memory at an address for the host."""
        type_ = C.c_uint()
        try:
            self.call("cuPointerGetAttribute", C.byref(type_), MEMORY_TYPE, address)
        except DriverError:  # the driver does not know the address
            return False
        return type_.value == HOST_MEMORY

    # Late work -----------------------------------------------------------------------------------

    @property
    def _is_simulated(self) -> bool:
        return hasattr(self._library, "simulated_write")

    def fill_late(self, stream: int, address: int, value: int, size: int) -> None:
        """Enqueues a kernel on a stream that fills memory, after late_seconds."""
        self._fill(stream, address, value, size, LATE_CYCLES)

    @cached_property
    def late_seconds(self) -> float:
        """How long late work takes. That of a simulated driver runs when a thread waits for it."""
        if self._is_simulated:
            return float("inf")
        stream, address = self.stream(), self.allocate(1)
        self._fill(stream, address, 0, 1, 0)  # the driver may load a kernel when it first runs
        self.synchronize()
        begin = time.perf_counter()
        self.fill_late(stream, address, 0, 1)
        self.synchronize()
        return time.perf_counter() - begin

    def _fill(self, stream: int, address: int, value: int, size: int, cycles: int) -> None:
        if self._is_simulated:
            self.call("simulated_write", stream, address, value, size)
            return
        values = (
            *(C.c_uint64(address), C.c_uint64(size)),
            *(C.c_uint32(value), C.c_uint64(cycles)),
        )
        pointers = (C.c_void_p * len(values))(*map(C.addressof, values))
        grid, no_shared_memory = (1, 1, 1, THREADS, 1, 1), 0
        self.call("cuLaunchKernel", self._loaded(), *grid, no_shared_memory, stream, pointers, None)

    def _loaded(self) -> C.c_void_p:
        if self._kernel is None:
            module, kernel = C.c_void_p(), C.c_void_p()
            try:
                self.call("cuModuleLoadData", C.byref(module), PTX)
                self.call("cuModuleGetFunction", C.byref(kernel), module, b"fill_late")
            except DriverError as error:  # a device before sm_75, or a driver before CUDA 11.8
                raise Skip(f"late work cannot run on this device: {error}") from None
            self._kernel = kernel
        return self._kernel
