"""Producers of ctypes tensors, with which consumers are examined."""

from __future__ import annotations

import struct
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.helpers import device_memory

Nested = Any  # numbers in nested lists
CAPACITY = 256  # float32 numbers in the memory of a tensor,
BEFORE = 64  # so many of them before the first element: wrong strides stay inside the memory
FREED = 0xEE  # written over the memory by the deleter of an OverwritingProducer
VERSION = (1, 0)


def numbers_of(shape: tuple[int, ...], strides: tuple[int, ...], first: float = 0.0) -> Nested:
    """Returns the values of a ctypes tensor: each is its distance from the first element.

    >>> numbers_of((2, 2), (1, 10))
    [[0.0, 10.0], [1.0, 11.0]]
    """
    if not shape:
        return first
    return [numbers_of(shape[1:], strides[1:], first + i * strides[0]) for i in range(shape[0])]


class Producer:
    """A producer of array API 2023.12, except for the fields of its tensors: those of abi.make().

    It exports the requested kind, versioned or legacy, unless `version` sets it: a version, or None
    for legacy. `reported_device` is the result of __dlpack_device__, where it differs from the
    capsule's device. It records the keywords of every request, and every tensor and capsule.
    """

    def __init__(self, *, reported_device: tuple[int, int] | None = None, **fields: Any) -> None:
        self.memory = device_memory.selected() if "device" not in fields else abi.CPU
        self.fields = {"shape": (2, 3), "strides": (3, 1), "device": self.memory, **fields}
        self.reported_device = reported_device or self.fields["device"]
        self.requests: list[dict[str, Any]] = []
        self.tensors: list[abi.CtypesTensor] = []
        self.capsules: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.reported_device

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        return self.export(_version_for(keywords))

    def export(self, version: tuple[int, int] | None) -> Any:
        """Creates a capsule on new memory; `version` is that of the request."""
        fields = {"version": version, **self.fields}
        shift, pointer = fields.pop("shift", 0), fields.pop("pointer", None)
        name = fields.pop("name", None)
        content = struct.pack(f"{CAPACITY}f", *(float(i - BEFORE) for i in range(CAPACITY)))
        block = device_memory.upload(content, self.memory, shift=shift)
        tensor = abi.make(data=block + 4 * BEFORE if pointer is None else pointer, **fields)
        self.tensors.append(tensor)
        self.capsules.append(tensor.capsule(name))
        return self.capsules[-1]

    @property
    def deleter_calls(self) -> int:
        """The number of deleter calls; equal to the number of tensors when each is freed once."""
        return sum(tensor.calls for tensor in self.tensors)

    def write(self, number: float) -> None:
        """Changes the first element, as the owner of the memory may."""
        for tensor in self.tensors:
            device_memory.write(tensor.data, struct.pack("f", number), self.memory)

    def first(self) -> float:
        """The first element in memory."""
        content = device_memory.read(self.tensors[-1].data, 4, self.memory)
        return float(struct.unpack("f", content or bytes(4))[0])


def _version_for(keywords: dict[str, Any]) -> tuple[int, int] | None:
    version = keywords.get("max_version")
    return VERSION if version is not None and version[0] >= 1 else None


class OldProducer(Producer):
    """A producer of array API 2021.12: takes only stream, and exports legacy capsules."""

    def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
        self.requests.append({})
        return self.export(None)


class OverwritingProducer(Producer):
    """Overwrites the memory in its deleter: a consumer that frees too early shows other values."""

    def export(self, version: tuple[int, int] | None) -> Any:
        capsule = super().export(version)
        tensor = self.tensors[-1]

        def overwrite() -> None:
            content = bytes([FREED]) * (4 * (CAPACITY - BEFORE))
            device_memory.write(tensor.data, content, self.memory)

        tensor.on_delete = overwrite
        return capsule


class BareProducer(Producer):
    """Leaves manager_ctx NULL, as the specification allows (spec 1.2)."""

    def export(self, version: tuple[int, int] | None) -> Any:
        capsule = super().export(version)
        self.tensors[-1].struct.manager_ctx = None
        return capsule


class RaisingProducer(Producer):
    """Records the keywords, and raises."""

    def __init__(self, error: BaseException, **fields: Any) -> None:
        super().__init__(**fields)
        self.error = error

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        raise self.error
