# SPDX-License-Identifier: BSD-3-Clause
"""Calls the simulated drivers through ctypes.

    driver = Driver("cuda")
    producer, consumer = driver.stream(), driver.stream()
    memory = driver.buffer(16)
    producer.write(memory, 7)
    consumer.read(memory)
    assert driver.races  # the consumer did not wait

The loader reads LD_LIBRARY_PATH when a process starts, so tests run in a separate process:
run_inside(function) or run_inside(file), or with pytest the fixture of simulated_fixtures.py. An
argument or the environment variable SIMULATED_DRIVERS names the folder with the libraries.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

LIBRARIES = {"cuda": "libcuda.so.1", "hip": "libamdhip64.so.6"}
# The names of equivalent functions in the two drivers.
NAMES = {
    "cuda": {
        "create_stream": "cuStreamCreate",
        "destroy_stream": "cuStreamDestroy_v2",
        "synchronize_stream": "cuStreamSynchronize",
        "synchronize": "cuCtxSynchronize",
        "create_event": "cuEventCreate",
        "destroy_event": "cuEventDestroy_v2",
        "record": "cuEventRecord",
        "wait": "cuStreamWaitEvent",
        "device": "cuMemAlloc_v2",
        "pinned": "cuMemHostAlloc",
        "managed": "cuMemAllocManaged",
        "free_device": "cuMemFree_v2",
        "free_pinned": "cuMemFreeHost",
        "free_managed": "cuMemFree_v2",
    },
    "hip": {
        "create_stream": "hipStreamCreateWithFlags",
        "destroy_stream": "hipStreamDestroy",
        "synchronize_stream": "hipStreamSynchronize",
        "synchronize": "hipDeviceSynchronize",
        "create_event": "hipEventCreateWithFlags",
        "destroy_event": "hipEventDestroy",
        "record": "hipEventRecord",
        "wait": "hipStreamWaitEvent",
        "device": "hipMalloc",
        "pinned": "hipHostMalloc",
        "managed": "hipMallocManaged",
        "free_device": "hipFree",
        "free_pinned": "hipHostFree",
        "free_managed": "hipFree",
    },
}
NON_BLOCKING = 1
WITHOUT_TIMING = 2


class DriverError(RuntimeError):
    """A function of the driver, or a kernel, returned an error code."""

    def __init__(self, function: str, code: int) -> None:
        super().__init__(f"{function} returned {code}")
        self.function = function
        self.code = code


class Driver:
    """A simulated driver, "cuda" or "hip", that this process loads.

    The constructor selects a device. It raises RuntimeError if the loader finds a real driver.
    """

    def __init__(self, kind: str = "cuda", device: int = 0) -> None:
        self.kind = kind
        self.names = NAMES[kind]
        self.library = ctypes.CDLL(LIBRARIES[kind])
        if not hasattr(self.library, "simulated_reset"):
            raise RuntimeError(
                f"{LIBRARIES[kind]} is a real driver; put the folder of the simulated ones into "
                "LD_LIBRARY_PATH before the process starts"
            )
        self.library.simulated_pending_count.restype = ctypes.c_size_t
        self.library.simulated_race_report.restype = ctypes.c_size_t
        self.library.simulated_misuse_report.restype = ctypes.c_size_t
        self.library.simulated_call_count.restype = ctypes.c_long
        self.library.simulated_counter.restype = ctypes.c_longlong
        self.library.simulated_function_name.restype = ctypes.c_char_p
        self.select(device)

    def call(self, function: str, *arguments: Any) -> None:
        """Calls a function of the driver or of the control interface by name.

        Integers are passed as 64 bits, which suits handles, addresses, sizes and smaller types.
        Raises DriverError if the function returns an error code.
        """
        converted = [ctypes.c_size_t(each) if isinstance(each, int) else each for each in arguments]
        code = getattr(self.library, function)(*converted)
        if code != 0:
            raise DriverError(function, code)

    def select(self, device: int) -> None:
        """Makes a device current on the calling thread; with CUDA, its primary context."""
        if self.kind == "hip":
            self.call("hipSetDevice", device)
            return
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def synchronize(self) -> None:
        """Waits for all streams of the current device."""
        self.call(self.names["synchronize"])

    def stream(self, blocking: bool = False) -> Stream:
        """Creates a stream. A blocking stream is ordered with the legacy default stream."""
        flags = 0 if blocking else NON_BLOCKING
        handle = ctypes.c_void_p()
        self.call(self.names["create_stream"], ctypes.byref(handle), flags)
        return Stream(self, handle.value or 0)

    def default_stream(self, handle: int = 1) -> Stream:
        """Returns the legacy default stream, or for handle 2 the per-thread default stream."""
        return Stream(self, handle)

    def buffer(self, size: int, kind: str = "device") -> Buffer:
        """Allocates memory: "device", which the host cannot access, "pinned" or "managed"."""
        address = ctypes.c_void_p()
        flags = {"device": (), "pinned": (0,), "managed": (1,)}[kind]
        self.call(self.names[kind], ctypes.byref(address), size, *flags)
        return Buffer(self, address.value or 0, size, kind)

    # Observations.

    @property
    def races(self) -> list[str]:
        """The race reports, one for each pair of unordered operations on the same bytes."""
        return self._reports("race")

    @property
    def misuses(self) -> list[str]:
        """The reports of calls with the handle of a destroyed stream, event or context."""
        return self._reports("misuse")

    def _reports(self, kind: str) -> list[str]:
        text = ctypes.create_string_buffer(1000)
        report = getattr(self.library, f"simulated_{kind}_report")
        reports = []
        for index in range(self.counter(f"{kind}s")):
            report(ctypes.c_size_t(index), text, ctypes.c_size_t(len(text)))
            reports.append(text.value.decode())
        return reports

    def clear_races(self) -> None:
        """Removes the race reports."""
        self.library.simulated_clear_races()

    @property
    def pending(self) -> int:
        """The number of operations that have not run yet."""
        return int(self.library.simulated_pending_count())

    def counter(self, name: str) -> int:
        """Returns a counter of simulated.h. Raises KeyError for an unknown name."""
        value = int(self.library.simulated_counter(name.encode()))
        if value < 0:
            raise KeyError(name)
        return value

    @property
    def functions(self) -> list[str]:
        """The names of all functions of this driver."""
        names: list[str] = []
        while name := self.library.simulated_function_name(ctypes.c_size_t(len(names))):
            names.append(name.decode())
        return names

    def call_count(self, function: str | None = None) -> int:
        """Returns the number of calls of a function, or of all functions.

        Raises KeyError for an unknown name.
        """
        count = int(self.library.simulated_call_count(function and function.encode()))
        if count < 0:
            raise KeyError(function)
        return count

    # Control.

    def run_pending(self) -> None:
        """Runs all pending operations. This orders nothing after them."""
        self.library.simulated_run_pending()

    def fail_call(self, count: int, code: int) -> None:
        """Makes one call return the code: the next one for count 1."""
        self.library.simulated_fail_call(ctypes.c_long(count), code)

    def fail_function(self, name: str, code: int) -> None:
        """Makes every call of a function return the code, until a call with code 0.

        Raises KeyError for an unknown name.
        """
        if self.library.simulated_fail_function(name.encode(), code) != 0:
            raise KeyError(name)

    def clear_failures(self) -> None:
        """Cancels fail_call and fail_function."""
        self.library.simulated_clear_failures()

    def limit_memory(self, size: int) -> None:
        """Sets the number of bytes of memory on each device; 0 for no limit."""
        self.library.simulated_set_memory_limit(ctypes.c_size_t(size))

    def reset(self, device: int = 0) -> None:
        """Restores the state at the start of a process, and selects a device."""
        self.library.simulated_reset()
        self.select(device)


class Stream:
    """A stream of a driver. Only destroy() destroys it."""

    def __init__(self, driver: Driver, handle: int) -> None:
        self.driver = driver
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def write(self, to: Buffer, value: int) -> None:
        """Enqueues a kernel that fills the buffer."""
        self.driver.call("simulated_write", self.handle, to.address, ctypes.c_ubyte(value), to.size)

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Enqueues a kernel that copies the size of the smaller buffer."""
        size = min(to.size, source.size)
        self.driver.call("simulated_copy", self.handle, to.address, source.address, size)

    def read(self, source: Buffer) -> None:
        """Enqueues a kernel that reads the buffer."""
        self.driver.call("simulated_read", self.handle, source.address, source.size)

    def wait_for(self, other: Stream) -> None:
        """Makes later operations wait for the operations that are on the other stream now."""
        call, names = self.driver.call, self.driver.names
        event = ctypes.c_void_p()
        call(names["create_event"], ctypes.byref(event), WITHOUT_TIMING)
        call(names["record"], event, other.handle)
        call(names["wait"], self.handle, event, 0)
        call(names["destroy_event"], event)

    def synchronize(self) -> None:
        self.driver.call(self.driver.names["synchronize_stream"], self.handle)

    def destroy(self) -> None:
        self.driver.call(self.driver.names["destroy_stream"], self.handle)


class Buffer:
    """Memory of a driver. Only free() frees it."""

    def __init__(self, driver: Driver, address: int, size: int, kind: str) -> None:
        self.driver = driver
        self.address = address
        self.size = size
        self.kind = kind

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.driver.kind != "cuda":
            raise AttributeError("__cuda_array_interface__")
        return {
            "shape": (self.size,),
            "typestr": "|u1",
            "data": (self.address, False),
            "strides": None,
            "version": 3,
        }

    def peek(self) -> bytes:
        """Returns the present bytes, whatever operations are pending."""
        content = ctypes.create_string_buffer(self.size)
        self.driver.call("simulated_peek", self.address, content, self.size)
        return content.raw

    def poke(self, data: bytes) -> None:
        """Overwrites the first bytes immediately."""
        self.driver.call("simulated_poke", self.address, data, len(data))

    def free(self) -> None:
        self.driver.call(self.driver.names["free_" + self.kind], self.address)


def run_inside(
    test: Callable[[], object] | str | os.PathLike[str],
    *,
    drivers: str | os.PathLike[str] | None = None,
    devices: int = 2,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a test in a process whose loader finds the simulated drivers.

    The test is a function at the top level of a file, without parameters, or a file that pytest
    runs. Returns the completed process with its output.
    """
    folder = str(Path(drivers or os.environ["SIMULATED_DRIVERS"]).resolve())
    if callable(test):
        command = [sys.executable, __file__, test.__code__.co_filename, test.__name__]
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    search_path = [folder, os.environ.get("LD_LIBRARY_PATH", "")]
    variables = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, search_path)),
        "SIMULATED_DEVICES": str(devices),
        **(environment or {}),
    }
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def main(file: str, function: str) -> None:
    """Calls a function of a file, in the process that run_inside starts."""
    sys.path.insert(0, str(Path(file).parent))
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None and spec.loader is not None, file
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    getattr(module, function)()


if __name__ == "__main__":
    main(*sys.argv[1:])
