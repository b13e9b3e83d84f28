# SPDX-License-Identifier: BSD-3-Clause
"""Exports an array: checks the request, fills a managed tensor, and puts it into a capsule."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from dlbridge.tools.structs import IS_COPIED, READ_ONLY, DataType, Device, Version
from planted import native
from planted.native import LEGACY, STRUCTS, VERSIONED

if TYPE_CHECKING:
    from planted.array import Array

VERSION = (1, 3)
CPU = (1, 0)


@dataclass
class Export:
    """A managed tensor in the making."""

    array: Array  # the source, or the copy of it
    versioned: bool
    copied: bool
    address: int = 0

    @property
    def name(self) -> bytes:
        return VERSIONED if self.versioned else LEGACY

    @property
    def managed(self) -> Any:
        return STRUCTS[self.name].from_address(self.address)


def dlpack(
    array: Array, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
    copy: Any = None,
) -> Any:  # fmt: skip
    """Array.__dlpack__."""
    check_stream(stream)
    check_device(dl_device)
    check_copy(copy)
    versioned = wants_versioned(max_version)
    check_content(array, versioned, copy is True)
    return enclose(build(array, versioned, copy is True))


# The request -------------------------------------------------------------------------------------


def check_stream(stream: Any) -> None:
    if stream not in (None, -1):
        raise ValueError(f"expected stream None or -1 on the CPU; got {stream!r}")


def pair(value: Any, name: str) -> tuple[int, int]:
    """Returns two integers; an Enum counts as its value."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"expected {name} as a pair of integers; got {value!r}")
    first, second = (each.value if isinstance(each, Enum) else each for each in value)
    if not isinstance(first, int) or not isinstance(second, int):
        raise TypeError(f"expected {name} as a pair of integers; got {value!r}")
    return int(first), int(second)


def check_device(wanted: Any) -> None:
    if wanted is not None and pair(wanted, "dl_device") != CPU:
        raise BufferError(f"expected dl_device {CPU}, as this memory stays; got {wanted}")


def check_copy(copy: Any) -> None:
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"expected copy as True, False or None; got {copy!r}")


def wants_versioned(wanted: Any) -> bool:
    return wanted is not None and pair(wanted, "max_version")[0] >= 1


def check_content(array: Array, versioned: bool, copied: bool) -> None:
    if array.kind.code is None:
        raise BufferError(f"DLPack cannot describe elements of {array.dtype}")
    if array.readonly and not versioned and not copied:
        raise BufferError("a legacy capsule cannot mark read-only memory; pass max_version=(1, 0)")


# The managed tensor ------------------------------------------------------------------------------


def build(array: Array, versioned: bool, copied: bool) -> Export:
    """Returns the managed tensor of an array, or of a copy of it."""
    export = Export(source(array) if copied else array, versioned, copied)
    allocate(export)
    if versioned:
        export.managed.version = Version(*version())
        export.managed.flags = flags(export)
    export.managed.manager_ctx = keep(export)
    export.managed.deleter = deleter(export)
    fill(export)
    return export


def source(array: Array) -> Array:
    """Returns the copy that is exported."""
    return array.copy()


def allocate(export: Export) -> None:
    """Allocates the struct, with room for the shape and the strides behind it."""
    room = C.sizeof(STRUCTS[export.name]) + 16 * export.array.ndim
    export.address = native.malloc(room)
    C.memset(export.address, 0, room)


def version() -> tuple[int, int]:
    return VERSION


def flags(export: Export) -> int:
    if export.copied:
        return IS_COPIED
    return READ_ONLY if export.array.readonly else 0


def keep(export: Export) -> int:
    """Returns the holder of the memory, which the deleter drops."""
    return export.array.memory.hold()


def deleter(export: Export) -> int:
    library = native.library
    return native.address_of(
        library.delete_versioned if export.versioned else library.delete_legacy
    )


def destructor(export: Export) -> int | None:
    return native.address_of(native.library.destroy)


def fill(export: Export) -> None:
    """Describes the array, in the same words for both structs."""
    array, tensor = export.array, export.managed.tensor
    tensor.data = array.data if array.size else None
    tensor.device = Device(*CPU)
    tensor.ndim = array.ndim
    tensor.dtype = DataType(array.kind.code, array.kind.bits, 1)
    tensor.byte_offset = 0
    tensor.shape = export.address + C.sizeof(STRUCTS[export.name])
    tensor.strides = tensor.shape + 8 * array.ndim
    write(tensor.shape, array.shape)
    write(tensor.strides, array.strides)


def write(address: int, extents: tuple[int, ...]) -> None:
    """Writes extents of 64 bits to an address."""
    C.memmove(address, (C.c_int64 * len(extents))(*extents), 8 * len(extents))


def enclose(export: Export) -> Any:
    """Returns the capsule of a managed tensor."""
    return native.new_capsule(export.address, export.name, destructor(export))
