"""The simulated drivers from Python, with nothing but ctypes.

    driver = Driver("cuda")
    producer, consumer = driver.stream(), driver.stream()
    memory = driver.buffer(16)
    producer.write(memory, 7)
    consumer.read(memory)
    assert driver.races  # nothing made the consumer wait

The loader reads LD_LIBRARY_PATH when a process begins, so tests run in a process of their own:
run_inside(function) or run_inside(file), and for pytest the fixture of simulated_fixtures.py. The
folder with the libraries is an argument, or the environment variable SIMULATED_DRIVERS.
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
# What the two drivers call the same thing.
NAMES = {
    "cuda": {
        "make_stream": "cuStreamCreate",
        "destroy_stream": "cuStreamDestroy_v2",
        "synchronize_stream": "cuStreamSynchronize",
        "synchronize": "cuCtxSynchronize",
        "make_event": "cuEventCreate",
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
        "make_stream": "hipStreamCreateWithFlags",
        "destroy_stream": "hipStreamDestroy",
        "synchronize_stream": "hipStreamSynchronize",
        "synchronize": "hipDeviceSynchronize",
        "make_event": "hipEventCreateWithFlags",
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
    """A function of the driver, or a kernel, that gave another code than 0."""

    def __init__(self, function: str, code: int) -> None:
        super().__init__(f"{function} gave {code}")
        self.function = function
        self.code = code


class Driver:
    """One simulated driver of this process, "cuda" or "hip"; with CUDA it makes the primary
    context of a device current."""

    def __init__(self, kind: str = "cuda", device: int = 0) -> None:
        self.kind = kind
        self.names = NAMES[kind]
        self.library = ctypes.CDLL(LIBRARIES[kind])
        if not hasattr(self.library, "simulated_reset"):
            raise RuntimeError(f"{LIBRARIES[kind]} is a real driver: LD_LIBRARY_PATH decides")
        self.library.simulated_pending.restype = ctypes.c_size_t
        self.library.simulated_race_count.restype = ctypes.c_size_t
        self.library.simulated_race.restype = ctypes.c_size_t
        self.library.simulated_calls.restype = ctypes.c_long
        self.library.simulated_counter.restype = ctypes.c_longlong
        self.library.simulated_function_name.restype = ctypes.c_char_p
        self.select(device)

    def call(self, function: str, *arguments: Any) -> None:
        """Calls a function of the driver, or of the control interface, by its name. Integers are
        passed as 64 bits, which is right for handles, addresses, sizes and smaller ones too."""
        passed = [ctypes.c_size_t(one) if isinstance(one, int) else one for one in arguments]
        code = getattr(self.library, function)(*passed)
        if code != 0:
            raise DriverError(function, code)

    def select(self, device: int) -> None:
        """Makes a device current for the calling thread."""
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
        """A new stream; a blocking one is in order with the legacy default stream."""
        made = ctypes.c_void_p()
        self.call(self.names["make_stream"], ctypes.byref(made), 0 if blocking else NON_BLOCKING)
        return Stream(self, made.value or 0)

    def default_stream(self, handle: int = 1) -> Stream:
        """The legacy default stream, or with 2 that of the calling thread."""
        return Stream(self, handle)

    def buffer(self, size: int, kind: str = "device") -> Buffer:
        """New memory: "device", which the host cannot touch, "pinned" or "managed"."""
        made = ctypes.c_void_p()
        flags = {"device": (), "pinned": (0,), "managed": (1,)}[kind]
        self.call(self.names[kind], ctypes.byref(made), size, *flags)
        return Buffer(self, made.value or 0, size, kind)

    # What happened.

    @property
    def races(self) -> list[str]:
        """One sentence for each two works that touch the same bytes in no order."""
        text = ctypes.create_string_buffer(1000)
        found = []
        for index in range(self.library.simulated_race_count()):
            self.library.simulated_race(ctypes.c_size_t(index), text, ctypes.c_size_t(len(text)))
            found.append(text.value.decode())
        return found

    def forget_races(self) -> None:
        self.library.simulated_forget_races()

    @property
    def pending(self) -> int:
        """How many works have not run yet."""
        return int(self.library.simulated_pending())

    def counter(self, name: str) -> int:
        """One of the counters that simulated.h names."""
        found = int(self.library.simulated_counter(name.encode()))
        if found < 0:
            raise KeyError(name)
        return found

    @property
    def functions(self) -> list[str]:
        """The names of all functions that this driver has."""
        found: list[str] = []
        while name := self.library.simulated_function_name(ctypes.c_size_t(len(found))):
            found.append(name.decode())
        return found

    def calls(self, function: str | None = None) -> int:
        """How often a function was called; all together without a name."""
        found = int(self.library.simulated_calls(function and function.encode()))
        if found < 0:
            raise KeyError(function)
        return found

    # What shall happen.

    def drain(self) -> None:
        """Runs all that is pending; nobody is ordered after it by that."""
        self.library.simulated_drain()

    def fail_call(self, count: int, code: int) -> None:
        """The count-th call from now gives the code; 1 is the next one."""
        self.library.simulated_fail_call(ctypes.c_long(count), code)

    def fail_function(self, name: str, code: int) -> None:
        """Every call of the function gives the code, until it is 0."""
        if self.library.simulated_fail_function(name.encode(), code) != 0:
            raise KeyError(name)

    def stop_failing(self) -> None:
        self.library.simulated_stop_failing()

    def limit_memory(self, size: int) -> None:
        """Bytes on each device; 0 for no limit."""
        self.library.simulated_set_memory_limit(ctypes.c_size_t(size))

    def reset(self, device: int = 0) -> None:
        """As if the process had just begun."""
        self.library.simulated_reset()
        self.select(device)


class Stream:
    """A stream by its handle. It is destroyed by destroy() alone."""

    def __init__(self, driver: Driver, handle: int) -> None:
        self.driver = driver
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def write(self, to: Buffer, value: int) -> None:
        """A kernel that fills the buffer, late."""
        self.driver.call("simulated_write", self.handle, to.address, ctypes.c_ubyte(value), to.size)

    def copy(self, to: Buffer, start: Buffer) -> None:
        """A kernel that copies as much as both have, late."""
        size = min(to.size, start.size)
        self.driver.call("simulated_copy", self.handle, to.address, start.address, size)

    def read(self, start: Buffer) -> None:
        """A kernel that reads the buffer, late."""
        self.driver.call("simulated_read", self.handle, start.address, start.size)

    def wait_for(self, other: Stream) -> None:
        """Comes after what is on the other one by now."""
        call, names = self.driver.call, self.driver.names
        mark = ctypes.c_void_p()
        call(names["make_event"], ctypes.byref(mark), WITHOUT_TIMING)
        call(names["record"], mark, other.handle)
        call(names["wait"], self.handle, mark, 0)
        call(names["destroy_event"], mark)

    def synchronize(self) -> None:
        self.driver.call(self.driver.names["synchronize_stream"], self.handle)

    def destroy(self) -> None:
        self.driver.call(self.driver.names["destroy_stream"], self.handle)


class Buffer:
    """Memory of the driver by its address. It is freed by free() alone."""

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
        """What is in it now, whatever is still to run."""
        found = ctypes.create_string_buffer(self.size)
        self.driver.call("simulated_peek", self.address, found, self.size)
        return found.raw

    def poke(self, data: bytes) -> None:
        """Overwrites its first bytes now."""
        self.driver.call("simulated_poke", self.address, data, len(data))

    def free(self) -> None:
        self.driver.call(self.driver.names["free_" + self.kind], self.address)


def run_inside(
    what: Callable[[], object] | str | os.PathLike[str],
    *,
    drivers: str | os.PathLike[str] | None = None,
    devices: int = 2,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a test in a process that finds the simulated drivers: a function without arguments of
    some file's top level, or a file, by pytest. Gives how the process ended, and what it said."""
    folder = str(Path(drivers or os.environ["SIMULATED_DRIVERS"]).resolve())
    if callable(what):
        command = [sys.executable, __file__, what.__code__.co_filename, what.__name__]
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(what)]
    searched = [folder, os.environ.get("LD_LIBRARY_PATH", "")]
    inside = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, searched)),
        "SIMULATED_DEVICES": str(devices),
        **(environment or {}),
    }
    return subprocess.run(command, env=inside, capture_output=True, text=True, check=False)


def main(file: str, function: str) -> None:
    """The inner end of run_inside."""
    sys.path.insert(0, str(Path(file).parent))
    found = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert found is not None and found.loader is not None, file
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    getattr(module, function)()


if __name__ == "__main__":
    main(*sys.argv[1:])
