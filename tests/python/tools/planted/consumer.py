# SPDX-License-Identifier: BSD-3-Clause
"""from_dlpack: asks a producer for a capsule, takes the tensor over, and makes an array of it."""

from __future__ import annotations

import ctypes as C
from typing import Any

from dlbridge.tools.structs import READ_ONLY
from planted import elements, native
from planted.array import Array, row_major
from planted.native import STRUCTS, USED, VERSIONED, Memory
from planted.producer import CPU, VERSION

MOST_DIMENSIONS = 64
MOST_BYTES = 2**63 - 1


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """Returns an array over the memory of any producer on the CPU.

    Raises BufferError for a tensor that cannot be read, and what the producer raises.
    """
    if device not in (None, "cpu"):
        raise ValueError(f"expected device 'cpu' or None; got {device!r}")
    capsule, is_answered = request(x, keywords(device, copy))
    array = take(capsule)
    return array if is_answered or not copy else array.copy()


# The request -------------------------------------------------------------------------------------


def keywords(device: str | None, copy: bool | None) -> dict[str, Any]:
    words: dict[str, Any] = {"max_version": VERSION}
    if device is not None:
        words["dl_device"] = CPU
    if copy is not None:
        words["copy"] = copy
    return words


def request(x: Any, words: dict[str, Any]) -> tuple[Any, bool]:
    """Returns the capsule of x, and whether x knows the keywords."""
    try:
        return call(x, words), True
    except TypeError:  # a producer of an older protocol
        return call(x, {}), False


def call(x: Any, words: dict[str, Any]) -> Any:
    return x.__dlpack__(**words)


# The capsule -------------------------------------------------------------------------------------


def take(capsule: Any) -> Array:
    """Takes the tensor of a fresh capsule over. Frees it once, also where it cannot be read."""
    name = struct_name(capsule)
    if not use(capsule, name):
        raise BufferError("the capsule was consumed by another thread")
    address: int = native.capsule_pointer(capsule, USED[name])
    return adopt(address, name)


def struct_name(capsule: Any) -> bytes:
    if not isinstance(capsule, native.capsule_type):
        raise TypeError(f"expected a capsule from __dlpack__; got {type(capsule).__name__}")
    name: bytes = native.capsule_name(capsule)
    if name not in STRUCTS:
        raise BufferError(f"expected a fresh capsule of a tensor; its name is {name!r}")
    return name


def use(capsule: Any, name: bytes) -> bool:
    return bool(native.use_capsule(capsule, name, USED[name]))


def adopt(address: int, name: bytes) -> Array:
    managed = STRUCTS[name].from_address(address)
    memory = own(managed, address)
    try:
        return read(managed, name, memory)
    except BaseException:
        refuse(managed, memory)
        raise


def own(managed: Any, address: int) -> Memory:
    """Returns the owner of a managed tensor, whose last holder calls the deleter."""
    return Memory(address, managed.deleter or 0)


def refuse(managed: Any, memory: Memory) -> None:
    memory.release()


# The tensor --------------------------------------------------------------------------------------


def read(managed: Any, name: bytes, memory: Memory) -> Array:
    """Returns an array of a managed tensor. Raises BufferError for one that is not supported."""
    if name == VERSIONED:
        check_version(managed.version.major, managed.version.minor)
    tensor, is_versioned = managed.tensor, name == VERSIONED
    check_device(tensor, is_versioned)
    kind = element_type(tensor, is_versioned)
    shape = read_shape(tensor)
    strides = read_strides(tensor, shape, is_versioned)
    check_size(tensor, shape, kind)
    data = first_element(tensor, shape, kind, is_versioned)
    return Array(memory, data, shape, strides, kind, is_read_only(managed, is_versioned))


def check_version(major: int, minor: int) -> None:
    if major != VERSION[0]:
        raise BufferError(f"expected DLPack 1; got {major}.{minor}")


def is_read_only(managed: Any, is_versioned: bool) -> bool:
    return is_versioned and bool(managed.flags & READ_ONLY)


def check_device(tensor: Any, is_versioned: bool) -> None:
    if tensor.device.type != CPU[0]:
        raise BufferError(f"expected memory of the CPU; got device type {tensor.device.type}")


def element_type(tensor: Any, is_versioned: bool) -> elements.Type:
    triple = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
    if triple[2] != 1 or triple[:2] not in elements.BY_DLPACK:
        raise BufferError(f"no element type has the code, bits and lanes {triple}")
    return elements.BY_DLPACK[triple[:2]]


def extents(address: int, count: int) -> tuple[int, ...]:
    """Reads extents of 64 bits."""
    return tuple((C.c_int64 * count).from_address(address)) if count else ()


def read_shape(tensor: Any) -> tuple[int, ...]:
    count = tensor.ndim
    if not 0 <= count <= MOST_DIMENSIONS:
        raise BufferError(f"expected 0 to {MOST_DIMENSIONS} dimensions; got {count}")
    if count and not tensor.shape:
        raise BufferError(f"{count} dimensions, but shape is NULL")
    shape = extents(tensor.shape, count)
    if min(shape, default=0) < 0:
        raise BufferError(f"a negative extent in {shape}")
    return shape


def read_strides(tensor: Any, shape: tuple[int, ...], is_versioned: bool) -> tuple[int, ...]:
    return extents(tensor.strides, len(shape)) if tensor.strides else row_major(shape)


def check_size(tensor: Any, shape: tuple[int, ...], kind: elements.Type) -> None:
    size = 1
    for extent in shape:
        size *= extent
    if size * kind.size > MOST_BYTES:
        raise BufferError(f"the shape {shape} has too many elements")
    if size and not tensor.data:
        raise BufferError("the data is NULL")


def first_element(
    tensor: Any, shape: tuple[int, ...], kind: elements.Type, is_versioned: bool
) -> int:
    return int(tensor.data or 0) + int(tensor.byte_offset)
