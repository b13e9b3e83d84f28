# SPDX-License-Identifier: BSD-3-Clause
"""Producers of arrays on simulated devices that order streams as the protocol requires."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import foreign
from simulated import Buffer, Driver, Stream

TYPES = {"cuda": 2, "hip": 10}
NAMES = {"cuda": "cuda", "hip": "rocm"}
DEFAULTS = {"cuda": 1, "hip": 0}  # the stream that stream=None means


class DeviceArray:
    """A producer of the 2023.12 protocol. It orders the consumer's stream, and makes no copies."""

    def __init__(self, buffer: Buffer, stream: Stream, device: int = 0, **fields: Any) -> None:
        self.buffer = buffer
        self.stream = stream
        self.device = device
        self.fields = {"shape": (buffer.size,), "dtype": (1, 8, 1), **fields}
        self.handles: list[foreign.Handle] = []
        self.requests: list[dict[str, Any]] = []  # the keywords of each __dlpack__ call

    def __dlpack_device__(self) -> tuple[int, int]:
        kind = self.buffer.driver.kind
        types = {"device": TYPES[kind], "managed": 13, "pinned": 3 if kind == "cuda" else 11}
        return (types[self.buffer.kind], self.device)

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        if keywords.get("dl_device") not in (None, self.__dlpack_device__()):
            raise BufferError("this library makes no copies")
        stream = keywords.get("stream")
        if stream != -1:
            default = DEFAULTS[self.buffer.driver.kind]
            Stream(self.buffer.driver, default if stream is None else stream).wait_for(self.stream)
        location = {"data": self.buffer.address, "device": self.__dlpack_device__()}
        self.handles.append(foreign.tensor(**{**location, **self.fields}))
        return self.handles[-1].capsule("max_version" in keywords)

    @property
    def is_released(self) -> bool:
        """Whether the deleter of every exported tensor was called once."""
        return all(each.calls == each.handed_out for each in self.handles)


def current(driver: Driver) -> int:
    """Returns the current context (CUDA) or device (HIP) of this thread."""
    value = ctypes.c_void_p()
    driver.call("cuCtxGetCurrent" if driver.kind == "cuda" else "hipGetDevice", ctypes.byref(value))
    return value.value or 0


def objects(driver: Driver) -> dict[str, int]:
    """Counts the objects of a driver that exist, except events, which dlbridge reuses."""
    names = ["streams", "allocations", "device_bytes", "managed_bytes", "pinned_bytes", "graphs"]
    return {name: driver.counter(name) for name in names}


@contextmanager
def no_leaks(driver: Driver) -> Iterator[None]:
    """Checks that the block leaks no object and keeps the current context."""
    before = objects(driver), current(driver)
    yield
    assert (objects(driver), current(driver)) == before
