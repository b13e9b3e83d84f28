# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA driver by ctypes: contexts, streams, memory, and kernels that finish late.

The simulated driver has kernels of its own, which take the place of those in PTX.
"""

from __future__ import annotations

import ctypes as C
import os
from typing import Any

from proof.kernels import NAMES, PTX
from proof.registry import Failed, Skipped

LIBRARY = "libcuda.so.1"
LEGACY, PER_THREAD = 1, 2  # the handles of the default streams
WITHOUT_TIMING = 2  # a flag of events
NON_BLOCKING = 1  # a flag of streams: not ordered with the legacy default stream
LATE_CYCLES = 150_000_000  # 76 ms at 1980 MHz, 0.4 s at 345 MHz
CYCLES = "DLBRIDGE_PROOF_CYCLES"  # an environment variable with another number
SIZE = 1 << 16  # bytes of the memory that most checks use
LOG, LOG_SIZE = 5, 6  # options of cuModuleLoadDataEx: the compiler's messages


def load() -> C.CDLL | None:
    """Loads the driver; None where there is none."""
    try:
        return C.CDLL(LIBRARY)
    except OSError:
        return None


def is_simulated(library: C.CDLL) -> bool:
    return hasattr(library, "simulated_reset")


def races() -> list[str]:
    """The accesses without order that the simulated driver has seen; none with a real driver."""
    library = load()
    if library is None or not is_simulated(library):
        return []
    library.simulated_race_count.restype = C.c_size_t
    text, found = C.create_string_buffer(1000), []
    for index in range(library.simulated_race_count()):
        library.simulated_race_report(C.c_size_t(index), text, C.c_size_t(len(text)))
        found.append(text.value.decode())
    return found


class Gpu:
    """Device 0, whose primary context becomes current on this thread."""

    def __init__(self, *functions: str) -> None:
        """Raises Skipped if the driver lacks one of the functions."""
        library = load()
        if library is None:
            raise Skipped(f"{LIBRARY} cannot be loaded")
        self.library = library
        self.simulated = is_simulated(library)
        kind = "the simulated driver" if self.simulated else "this driver"
        for name in functions:
            if not hasattr(library, name):
                raise Skipped(f"{kind} has no {name}")
        self.context = C.c_void_p()
        self.kernels: dict[str, C.c_void_p] = {}
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", C.byref(self.context), 0)
        self.use(self.context)
        if not self.simulated:
            self._load_kernels()

    def _load_kernels(self) -> None:
        module, log = C.c_void_p(), C.create_string_buffer(8192)
        keys, values = (C.c_int * 2)(LOG, LOG_SIZE), (C.c_void_p * 2)(C.addressof(log), 8192)
        code = self.library.cuModuleLoadDataEx(C.byref(module), PTX, 2, keys, values)
        if code != 0:
            raise Failed(f"cuModuleLoadDataEx returned {code}: {log.value.decode()}")
        for name in NAMES:
            kernel = self.kernels[name] = C.c_void_p()
            self.call("cuModuleGetFunction", C.byref(kernel), module, name.encode())
        # The driver may load a kernel when it first runs, and wait for the device then.
        memory, stream = self.allocate(16), self.stream()
        self.fill(stream, memory, 0, 16, late=False)
        self.copy(stream, memory, memory, 16)
        self._launch("store_one", stream, C.c_uint64(memory))
        self.synchronize()

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function. Integers are passed as 64 bits, which suits all parameters."""
        converted = [C.c_size_t(each) if isinstance(each, int) else each for each in arguments]
        code = getattr(self.library, name)(*converted)
        if code != 0:
            raise Failed(f"{name} returned {code}")

    def _new(self, name: str, *arguments: Any) -> int:
        result = C.c_void_p()
        self.call(name, C.byref(result), *arguments)
        return result.value or 0

    # Contexts, streams, events.

    def use(self, context: C.c_void_p | None) -> None:
        """Makes a context current on this thread."""
        self.call("cuCtxSetCurrent", context)

    def current(self) -> int:
        return self._new("cuCtxGetCurrent")

    def stream(self, *, blocking: bool = False) -> int:
        return self._new("cuStreamCreate", 0 if blocking else NON_BLOCKING)

    def order(self, later: int, after: int) -> None:
        """Makes later work of a stream wait for the present work of another one."""
        event = C.c_void_p(self._new("cuEventCreate", WITHOUT_TIMING))
        self.call("cuEventRecord", event, after)
        self.call("cuStreamWaitEvent", later, event, 0)
        self.call("cuEventDestroy_v2", event)

    def synchronize(self, stream: int | None = None) -> None:
        """Waits for a stream, or for everything in the current context."""
        if stream is None:
            self.call("cuCtxSynchronize")
        else:
            self.call("cuStreamSynchronize", stream)

    # Memory.

    def allocate(self, size: int = SIZE, kind: str = "device") -> int:
        """Allocates "device", "managed" or "pinned" memory."""
        if kind == "device":
            return self._new("cuMemAlloc_v2", size)
        if kind == "managed":
            return self._new("cuMemAllocManaged", size, 1)
        return self._new("cuMemHostAlloc", size, 0)

    def zeros(self, size: int = SIZE, kind: str = "device") -> int:
        """Allocates memory, and waits until it is zero."""
        memory = self.allocate(size, kind)
        self.fill(self.stream(), memory, 0, size, late=False)
        self.synchronize()
        return memory

    def read(self, memory: int, size: int = SIZE) -> bytes:
        """Waits for everything, and returns the bytes."""
        self.synchronize()
        content, stream = C.create_string_buffer(size), self.stream()
        self.call("cuMemcpyDtoHAsync_v2", content, memory, size, stream)
        self.synchronize(stream)
        self.call("cuStreamDestroy_v2", stream)
        return content.raw

    # Kernels.

    def _launch(self, name: str, stream: int, *values: Any, threads: int = 256) -> None:
        pointers = (C.c_void_p * len(values))(*map(C.addressof, values))
        grid, no_shared_memory = (1, 1, 1, threads, 1, 1), 0
        self.call("cuLaunchKernel", self.kernels[name], *grid, no_shared_memory, stream, pointers,
                  None)  # fmt: skip

    def fill(
        self, stream: int, memory: int, value: int, size: int = SIZE, *, late: bool = True
    ) -> None:
        """Enqueues a kernel that fills memory, by default after it has spun for LATE_CYCLES."""
        if self.simulated:  # it always runs as late as possible
            self.call("simulated_write", stream, memory, C.c_ubyte(value), size)
            return
        cycles = int(os.environ.get(CYCLES, LATE_CYCLES)) if late else 0
        self._launch("fill_late", stream, C.c_uint64(memory), C.c_uint64(size), C.c_uint32(value),
                     C.c_uint64(cycles))  # fmt: skip

    def copy(self, stream: int, to: int, source: int, size: int = SIZE) -> None:
        """Enqueues a kernel that copies."""
        if self.simulated:
            self.call("simulated_copy", stream, to, source, size)
            return
        self._launch("copy_bytes", stream, C.c_uint64(to), C.c_uint64(source), C.c_uint64(size))

    def store(self, stream: int, address: int) -> None:
        """Enqueues a kernel that stores to an address, which may be invalid."""
        self._launch("store_one", stream, C.c_uint64(address), threads=1)
