"""Arrays on simulated devices, as a library that minds its streams would hand them out."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import foreign
from simulated import Buffer, Driver, Stream

TYPES = {"cuda": 2, "hip": 10}
NAMES = {"cuda": "cuda", "hip": "rocm"}
DEFAULTS = {"cuda": 1, "hip": 0}  # what stream=None stands for


class DeviceArray:
    """By the book of 2023.12: makes the consumer's stream wait for its own, moves nothing."""

    def __init__(self, buffer: Buffer, stream: Stream, device: int = 0, **fields: Any) -> None:
        self.buffer = buffer
        self.stream = stream
        self.device = device
        self.fields = {"shape": (buffer.size,), "dtype": (1, 8, 1), **fields}
        self.handles: list[foreign.Handle] = []
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        kind = self.buffer.driver.kind
        types = {"device": TYPES[kind], "managed": 13, "pinned": 3 if kind == "cuda" else 11}
        return (types[self.buffer.kind], self.device)

    def __dlpack__(self, **keywords: Any) -> object:
        self.asked.append(keywords)
        if keywords.get("dl_device") not in (None, self.__dlpack_device__()):
            raise BufferError("this library moves nothing")
        stream = keywords.get("stream")
        if stream != -1:
            default = DEFAULTS[self.buffer.driver.kind]
            Stream(self.buffer.driver, default if stream is None else stream).wait_for(self.stream)
        here = {"data": self.buffer.address, "device": self.__dlpack_device__()}
        self.handles.append(foreign.tensor(**{**here, **self.fields}))
        return self.handles[-1].capsule("max_version" in keywords)

    @property
    def is_settled(self) -> bool:
        """Whether every tensor that was handed out was freed once."""
        return all(each.calls == each.handed_out for each in self.handles)


def current(driver: Driver) -> int:
    """What is current on this thread: a context of CUDA, a device of HIP."""
    found = ctypes.c_void_p()
    driver.call("cuCtxGetCurrent" if driver.kind == "cuda" else "hipGetDevice", ctypes.byref(found))
    return found.value or 0


def alive(driver: Driver) -> dict[str, int]:
    """What a driver has handed out and not got back. Events may be kept for the next time."""
    names = ["streams", "allocations", "device_bytes", "managed_bytes", "pinned_bytes", "graphs"]
    return {name: driver.counter(name) for name in names}


@contextmanager
def nothing_lost(driver: Driver) -> Iterator[None]:
    """Nothing is left on the device, and what was current still is."""
    before = alive(driver), current(driver)
    yield
    assert (alive(driver), current(driver)) == before
