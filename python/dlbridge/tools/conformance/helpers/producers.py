# SPDX-License-Identifier: BSD-3-Clause
"""Producers of ctypes tensors, with which consumers are examined."""

from __future__ import annotations

import ctypes
from typing import Any

from ... import abi
from ...elements import row_major
from .. import journal
from . import device_memory, samples

Fields = dict[str, Any]
BEFORE, AFTER = 64, 192  # elements around those of a tensor: wrong strides stay in the memory
# The fields of a plain tensor; select_dtype() sets its dtype.
PLAIN: Fields = {"shape": (2, 3), "strides": (3, 1), "dtype": samples.FLOAT32}
FARTHEST = 1 << 16  # elements: descriptions that reach farther have no memory of their size
FREED = 0xEE  # written over the memory by the deleter, so that a late read is visible
VERSION = (1, 0)

_freed_memory = abi.memory(bytes([FREED]) * (1 << 16))


def _unusual(fields: Fields) -> Fields:
    """Returns the fields that differ from those of a plain tensor."""
    usual = {**PLAIN, "device": abi.CPU}
    return {name: it for name, it in fields.items() if name not in usual or it != usual[name]}


def _trait(name: str, value: Any) -> str:
    """Names what consumers must support, "" for any valid shape; another value is spelled.

    >>> _trait("strides", (-3, -1)), _trait("shape", ()), _trait("shape", (-1,))
    ('negative strides', 'rank 0', 'shape=(-1,)')
    """
    numbers = value if isinstance(value, tuple) else (value,)
    is_valid = value is not None and all(abs(each) < FARTHEST for each in numbers)
    if name == "strides" and is_valid and value:
        return "negative strides" if min(value) < 0 else "other strides"
    if name == "shape" and is_valid and min(value, default=0) >= 0:
        return "rank 0" if not value else "size 0" if 0 in value else ""
    if name in ("start", "precise") or (name, value) == ("version", VERSION):
        return ""
    if name == "byte_offset" and is_valid:
        return "an offset"
    if name == "dtype" and value in samples.READABLE:
        return f"dtype {samples.READABLE[value]}"
    if name == "flags" and value == abi.READ_ONLY:
        return "read-only"
    return f"{name} {value!r}" if name == "device" else f"{name}={value!r}"


def _strides(fields: Fields) -> tuple[int, ...]:
    strides = fields["strides"]
    return row_major(fields["shape"] or ()) if strides is None else tuple(strides)


def offset_of(fields: Fields) -> int:
    """Returns the byte offset in elements."""
    return int(fields.get("byte_offset", 0)) // samples.itemsize(fields["dtype"])


def values_of(fields: Fields) -> Any:
    """Returns the values of a tensor with these fields."""
    first = offset_of(fields) + fields.get("start", 0)
    return samples.nested(
        fields["dtype"],
        fields["shape"] or (),
        _strides(fields),
        first,
        fields.get("precise", False),
    )


def _reach(fields: Fields) -> tuple[int, int]:
    """Returns the distances of the first and the last element in memory from that of `data`."""
    shape = fields["shape"]
    if shape is None or min(shape, default=1) < 0:
        return 0, 6
    ends = [(extent - 1) * step for extent, step in zip(shape, _strides(fields)) if extent]
    lowest = sum(end for end in ends if end < 0)
    highest = sum(end for end in ends if end > 0) + offset_of(fields)
    return max(lowest, -FARTHEST), min(highest, FARTHEST)


def _poison(tensor: abi.CtypesTensor, block: int, length: int, memory: tuple[int, int]) -> None:
    """Overwrites what a deleter frees: the memory, the shape, the strides and the struct."""
    device_memory.write(block, bytes([FREED]) * length, memory)
    described: abi.Tensor = tensor.struct.tensor
    for address, number in ((described.shape, 1), (described.strides, 5)):
        if address and 0 < described.ndim <= abi.MAX_NDIM:
            extents = (ctypes.c_int64 * described.ndim).from_address(address)
            extents[:] = [number] * described.ndim
    if memory == abi.CPU:
        described.data, described.byte_offset = _freed_memory, 0


class Producer:
    """A producer of array API 2023.12, except for the fields of its tensors: those of abi.make().

    It exports the requested struct, versioned or legacy, unless `version` sets it: a version, or
    None for legacy. `shift` moves the memory from an aligned address; `pointer` replaces it.
    `start` is the distance of the first element in samples, `precise` a parameter of them.
    `reported_device` is the result of __dlpack_device__, where it differs from the capsule's
    device. It records the keywords of every request, and every tensor and capsule. The deleter
    overwrites everything that it would free.
    """

    overwrites = True

    def __init__(self, *, reported_device: tuple[int, int] | None = None, **fields: Any) -> None:
        self.memory = device_memory.behind(fields.get("device"))
        self.fields: Fields = {
            **PLAIN,
            "device": device_memory.selected(),
            **fields,
        }
        self.reported_device = reported_device or self.fields["device"]
        self.requests: list[dict[str, Any]] = []
        self.tensors: list[abi.CtypesTensor] = []
        self.capsules: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.reported_device

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        return self.export(version_for(keywords))

    def export(self, version: tuple[int, int] | None) -> Any:
        """Creates a capsule on new memory; `version` is that of the request."""
        fields = {"version": version, **self.fields}
        shift, pointer = fields.pop("shift", 0), fields.pop("pointer", None)
        start, precise = fields.pop("start", 0), fields.pop("precise", False)
        name = fields.pop("name", None)
        if pointer is not None:
            tensor = abi.make(data=pointer, **fields)
        else:
            first, last = _reach(self.fields)
            here = start + first - BEFORE, start + last + AFTER
            content = samples.encode(fields["dtype"], *here, precise)
            block = device_memory.upload(content, self.memory, shift=shift)
            before = (BEFORE - first) * samples.itemsize(fields["dtype"])
            tensor = abi.make(data=block + before, **fields)
            if self.overwrites:
                poisoned = tensor, block, len(content), self.memory  # not self: tensors live on
                tensor.on_delete = lambda: _poison(*poisoned)
        self.tensors.append(tensor)
        self.capsules.append(tensor.capsule(name))
        return self.capsules[-1]

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={it!r}" for name, it in _unusual(self.fields).items())
        return f"{type(self).__name__}({own})"

    @property
    def traits(self) -> tuple[str, ...]:
        """By what its tensors differ from a plain one, for the journal."""
        fields = _unusual(self.fields)
        if fields.get("strides") == row_major(self.fields["shape"] or ()):
            del fields["strides"]
        return (*_struct_of(self), *filter(None, (_trait(*it) for it in fields.items())))

    @property
    def values(self) -> Any:
        """The values of its tensors."""
        return values_of(self.fields)

    @property
    def deleter_calls(self) -> int:
        """The number of deleter calls; equal to the number of tensors when each is freed once."""
        return sum(tensor.calls for tensor in self.tensors)

    @property
    def address(self) -> int:
        """The address of the first element of the last tensor."""
        return self.addresses[-1]

    @property
    def addresses(self) -> list[int]:
        """The address of the first element of each tensor: of a consumer that asks twice, two."""
        return [tensor.data + int(self.fields.get("byte_offset", 0)) for tensor in self.tensors]

    def write(self) -> None:
        """Changes the first element of each tensor, as the owner of the memory may.

        The element gets the value of one of the three before it, the nearest whose bytes differ.
        """
        here, dtype = offset_of(self.fields), self.fields["dtype"]
        here += self.fields.get("start", 0)
        first, *others = (samples.encode(dtype, here - i, here - i + 1) for i in range(4))
        content = max(others, key=first.__ne__)
        for place in self.addresses:
            device_memory.write(place, content, self.memory)

    def read(self, size: int) -> bytes:
        """Returns bytes from the first element of the last tensor on."""
        return device_memory.read(self.address, size, self.memory) or b""


def version_for(keywords: dict[str, Any]) -> tuple[int, int] | None:
    """Returns the version that a request asks for; None: a legacy capsule."""
    version = keywords.get("max_version")
    return VERSION if version is not None and version[0] >= 1 else None


class OldProducer(Producer):
    """A producer of array API 2021.12: takes only stream, and exports legacy capsules."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        self.requests.append({} if stream is None else {"stream": stream})
        return self.export(None)


class LegacyProducer(Producer):
    """Accepts every keyword and exports legacy capsules, as TensorFlow, JAX and MLX do."""

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        return self.export(None)


class BareProducer(Producer):
    """Leaves manager_ctx NULL, as the specification allows (spec 1.2)."""

    def export(self, version: tuple[int, int] | None) -> Any:
        capsule = super().export(version)
        self.tensors[-1].struct.manager_ctx = None
        return capsule


def _struct_of(producer: Producer) -> tuple[str, ...]:
    kind = type(producer)
    own = () if kind is Producer else (kind.__name__,)
    is_legacy = issubclass(kind, (OldProducer, LegacyProducer))
    if is_legacy or producer.fields.get("version", VERSION) is None:
        return (journal.LEGACY, *own)
    return (journal.VERSIONED, *own)


class RaisingProducer(Producer):
    """Records the keywords, and raises."""

    def __init__(self, error: BaseException, **fields: Any) -> None:
        super().__init__(**fields)
        self.error = error

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        raise self.error


class CopyingProducer(Producer):
    """Cannot share its memory: it exports marked copies, and refuses copy=False."""

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        if keywords.get("copy") is False:
            raise BufferError("this memory cannot be shared")
        self.fields["flags"] = abi.IS_COPIED
        return self.export(version_for(keywords))


class FixedProducer:
    """Returns the same object from every call."""

    traits = ()

    def __init__(self, result: Any, device: tuple[int, int] = abi.CPU) -> None:
        self.result, self.device = result, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.result
