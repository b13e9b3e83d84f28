# SPDX-License-Identifier: BSD-3-Clause
"""Reads, takes and creates DLPack capsules with ctypes.

Nothing here calls dlbridge's importer or exporter, so the tools examine dlbridge as an independent
implementation would.
"""

from __future__ import annotations

import ctypes as C
import errno
import functools
import itertools
import os
import sys
from dataclasses import dataclass, field
from typing import Any, Callable

from .structs import EXCHANGE_SLOTS as EXCHANGE_SLOTS
from .structs import IS_COPIED as IS_COPIED
from .structs import LEGACY as LEGACY
from .structs import READ_ONLY as READ_ONLY
from .structs import STRUCTS as STRUCTS
from .structs import SUBBYTE_PADDED as SUBBYTE_PADDED
from .structs import USED as USED
from .structs import VERSIONED as VERSIONED
from .structs import DataType as DataType
from .structs import Device as Device
from .structs import Exchange as Exchange
from .structs import ExchangeHeader as ExchangeHeader
from .structs import Managed as Managed
from .structs import ManagedVersioned as ManagedVersioned
from .structs import Tensor as Tensor
from .structs import Version as Version

CPU = (1, 0)
ADDRESSES = 1 << 64  # ctypes would truncate an address beyond them
MAX_NDIM = 64  # a larger ndim counts as invalid: no library supports it


# Memory that may not be readable ------------------------------------------------------------------


class _Range(C.Structure):
    _fields_ = [("base", C.c_void_p), ("length", C.c_size_t)]


@functools.cache
def _process_vm_readv() -> Callable[..., int]:
    """The function of the C library; looked up once, as tensors are read element by element."""
    function = C.CDLL(None, use_errno=True).process_vm_readv
    function.restype = C.c_ssize_t
    return function


def _copy_out(address: int, size: int) -> bytes | None:
    """Lets the kernel copy the bytes: it returns an error where a direct read would crash."""
    block = C.create_string_buffer(size)
    to, from_ = _Range(C.addressof(block), size), _Range(address, size)
    ranges = (os.getpid(), C.byref(to), C.c_ulong(1), C.byref(from_), C.c_ulong(1), C.c_ulong(0))
    count = _process_vm_readv()(*ranges)
    if count < 0 and C.get_errno() in (errno.ENOSYS, errno.EPERM):
        return _copy_out_of_file(address, size)
    return block.raw if count == size else None


def _copy_out_of_file(address: int, size: int) -> bytes | None:
    """As _copy_out(), where that call is forbidden; also reads pages without read permission."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            count = os.pread(memory.fileno(), size, address)
    except (OSError, OverflowError):
        return None
    return count if len(count) == size else None


def read_memory(address: int | None, size: int) -> bytes | None:
    """Returns the bytes at an address of this process, or None where the address is not readable.

    On Linux the kernel checks the address, so an invalid pointer does no harm. On other systems
    every address except NULL is assumed to be readable.
    """
    if not address or address + size > ADDRESSES:
        return None
    if not sys.platform.startswith("linux"):
        return C.string_at(address, size)
    return _copy_out(address, size)


def _struct_at(kind: Any, address: int | None) -> Any:
    """Returns a copy of the struct at an address, or None where the address is not readable."""
    content = read_memory(address, C.sizeof(kind))
    return None if content is None else kind.from_buffer_copy(content)


def _extents_at(address: int | None, count: int) -> tuple[int, ...] | None:
    if not 0 < count <= MAX_NDIM:
        return None
    content = _struct_at(C.c_int64 * count, address)
    return None if content is None else tuple(content)


def _can_be_read(address: int | None, count: int) -> bool:
    """Whether the first and the last of some extents can be read; assumed outside Linux."""
    ends = (0, 8 * (count - 1)) if sys.platform.startswith("linux") else ()
    return all(read_memory((address or 0) + end, 8) is not None for end in ends)


# Capsules --------------------------------------------------------------------------------------

_python = C.pythonapi
_get_name = C.PYFUNCTYPE(C.c_char_p, C.py_object)(("PyCapsule_GetName", _python))
_get_pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(("PyCapsule_GetPointer", _python))
_get_destructor = C.PYFUNCTYPE(C.c_void_p, C.py_object)(("PyCapsule_GetDestructor", _python))
_set_name = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_char_p)(("PyCapsule_SetName", _python))
_new = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(("PyCapsule_New", _python))
# The same two functions with a plain address, for destructors: a capsule that is being destroyed
# must not be referenced.
_name_at = C.PYFUNCTYPE(C.c_char_p, C.c_void_p)(("PyCapsule_GetName", _python))
_pointer_at = C.PYFUNCTYPE(C.c_void_p, C.c_void_p, C.c_char_p)(("PyCapsule_GetPointer", _python))

Deleter = C.CFUNCTYPE(None, C.c_void_p)  # called without the GIL; ctypes acquires it
_Destructor = C.PYFUNCTYPE(None, C.c_void_p)
_names: dict[str, C.c_char_p] = {}  # a capsule stores the pointer, not the text


_CAPSULE = type(_new(1, None, None))  # no attribute of a type is read: a metaclass may raise


def _permanent(name: str) -> C.c_char_p:
    return _names.setdefault(name, C.c_char_p(name.encode()))


def is_capsule(x: object) -> bool:
    return type(x) is _CAPSULE


def name_of(capsule: Any) -> str | None:
    """Returns the name of a capsule, None where it has none. Raises TypeError for other objects."""
    if not is_capsule(capsule):
        raise TypeError(f"expected a capsule; got {type(capsule).__name__}")
    name = _get_name(capsule)
    return None if name is None else name.decode(errors="replace")


def pointer_of(capsule: Any) -> int:
    """Returns the pointer of a capsule of any name."""
    name = name_of(capsule)
    return int(_get_pointer(capsule, None if name is None else name.encode()) or 0)


def destructor_of(capsule: Any) -> int:
    """Returns the address of a capsule's destructor; 0 when it has none."""
    return int(_get_destructor(capsule) or 0)


def rename(capsule: Any, name: str | None) -> None:
    """Sets or removes the name of a capsule, as a consumer does once it owns the tensor."""
    _set_name(capsule, None if name is None else _permanent(name))


@dataclass(frozen=True)
class Contents:
    """The fields of a managed tensor as stored: no offset is added and no stride is computed."""

    name: str  # of the capsule; it identifies the struct
    address: int  # of the struct
    version: tuple[int, int] | None  # None in the legacy struct, which has none
    flags: int
    data: int  # 0 for NULL
    byte_offset: int
    device: tuple[int, int]
    dtype: tuple[int, int, int]  # code, bits, lanes
    ndim: int
    shape: tuple[int, ...] | None  # None: NULL, not readable, or ndim is out of range
    strides: tuple[int, ...] | None  # in elements; None as above
    shape_is_null: bool
    strides_is_null: bool
    shape_is_readable: bool  # also where ndim is out of range
    deleter: int  # 0 for NULL
    manager_ctx: int

    @property
    def first(self) -> int:
        """The address of the first element (spec 1.6)."""
        return self.data + self.byte_offset


class Unreadable(ValueError):
    """A capsule that cannot be read: it holds no fresh tensor, or its pointer is not readable."""


def read(capsule: Any) -> Contents:
    """Reads a capsule without consuming it: ownership of the tensor does not change.

    Raises TypeError for an object that is no capsule; Unreadable for a capsule that holds no fresh
    tensor, for a pointer that is not readable, and for an unknown major version (spec 2.1).
    """
    name = name_of(capsule)
    if name not in STRUCTS:
        raise Unreadable(f"expected a capsule named {LEGACY!r} or {VERSIONED!r}; it is {name!r}")
    return read_struct(pointer_of(capsule), name)


def read_struct(address: int, name: str) -> Contents:
    """Reads the managed tensor at an address; errors as read()."""
    managed = _struct_at(STRUCTS[name], address)
    if managed is None:
        raise Unreadable(f"{name!r} points to {address:#x}, which is not readable")
    version = None
    if name == VERSIONED:
        version = (managed.version.major, managed.version.minor)
        if version[0] != 1:
            raise Unreadable(f"version {version[0]}.{version[1]}: only major version 1 is known")
    tensor: Tensor = managed.tensor
    shape = () if tensor.ndim == 0 else _extents_at(tensor.shape, tensor.ndim)
    return Contents(
        name=name,
        address=address,
        version=version,
        flags=managed.flags if name == VERSIONED else 0,
        data=tensor.data or 0,
        byte_offset=tensor.byte_offset,
        device=(tensor.device.type, tensor.device.id),
        dtype=(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        ndim=tensor.ndim,
        shape=shape,
        strides=() if tensor.ndim == 0 else _extents_at(tensor.strides, tensor.ndim),
        shape_is_null=not tensor.shape,
        strides_is_null=not tensor.strides,
        shape_is_readable=shape is not None
        or (tensor.ndim > MAX_NDIM and _can_be_read(tensor.shape, tensor.ndim)),
        deleter=managed.deleter or 0,
        manager_ctx=managed.manager_ctx or 0,
    )


@dataclass
class OwnedTensor:
    """A tensor taken out of its capsule, as the protocol defines it; free() calls its deleter."""

    contents: Contents

    def free(self) -> None:
        """Calls the deleter without the GIL, as a consumer in C does."""
        if self.contents.deleter:
            Deleter(self.contents.deleter)(self.contents.address)


def take(capsule: Any) -> OwnedTensor:
    """Takes ownership (spec 3.2): renames the capsule, whose destructor then does nothing."""
    contents = read(capsule)
    rename(capsule, USED[contents.name])
    return OwnedTensor(contents)


# Tensors created with ctypes -------------------------------------------------------------------

_permanent_objects: list[object] = []  # never freed, so that a late read or double free is visible
_tensors: dict[int, CtypesTensor] = {}  # by the address of the struct


@dataclass
class CtypesTensor:
    """A tensor created with ctypes. Its struct lives as long as the process, or until forget()."""

    struct: Any
    name: str
    data: int
    extents: list[Any] = field(repr=False)  # the memory of shape and strides
    calls: int = 0  # how often the deleter was called
    on_delete: Callable[[], None] | None = field(default=None, repr=False)

    @property
    def address(self) -> int:
        return C.addressof(self.struct)

    def capsule(self, name: str | None = None) -> Any:
        """Creates a fresh capsule on the tensor, with the destructor that the protocol requires."""
        return _new(self.address, _permanent(name or self.name), C.cast(_destroy, C.c_void_p))


def _count_call(address: int) -> None:
    tensor = _tensors[address]
    tensor.calls += 1
    if tensor.on_delete is not None:
        tensor.on_delete()


def _destroy_capsule(capsule: int) -> None:
    name = _name_at(capsule)
    if name is None or name.decode() not in STRUCTS:
        return
    managed = STRUCTS[name.decode()].from_address(_pointer_at(capsule, name))
    if managed.deleter:
        Deleter(managed.deleter)(C.addressof(managed))


_count = Deleter(_count_call)
_destroy = _Destructor(_destroy_capsule)


def memory(content: bytes, *, alignment: int = 256, shift: int = 0) -> int:
    """Copies bytes to memory that lives as long as the process, aligned and then shifted."""
    block, address = block_of(content, alignment=alignment, shift=shift)
    _permanent_objects.append(block)
    return address


def block_of(content: bytes, *, alignment: int = 256, shift: int = 0) -> tuple[Any, int]:
    """As memory(), but returns also the object that owns the memory."""
    block = C.create_string_buffer(len(content) + 2 * alignment + shift)
    address = -(-C.addressof(block) // alignment) * alignment + shift
    C.memmove(address, content, len(content))
    return block, address


def make(
    *,
    data: int,
    shape: tuple[int, ...] | None,
    strides: tuple[int, ...] | None,
    dtype: tuple[int, int, int] = (2, 32, 1),
    device: tuple[int, int] = CPU,
    byte_offset: int = 0,
    ndim: int | None = None,
    version: tuple[int, int] | None = (1, 0),
    flags: int = 0,
    deleter: bool = True,
) -> CtypesTensor:
    """Creates a managed tensor with exactly these fields, valid or not; strides count elements.

    With version None the struct is the legacy one. The deleter counts its calls, from any thread.
    """
    name = LEGACY if version is None else VERSIONED
    struct = STRUCTS[name]()
    tensor: Tensor = struct.tensor
    tensor.data, tensor.byte_offset, tensor.device = data or None, byte_offset, Device(*device)
    tensor.dtype = DataType(*dtype)
    tensor.ndim = len(shape or ()) if ndim is None else ndim
    blocks: list[Any] = []
    for field_name, extents in (("shape", shape), ("strides", strides)):
        if extents is not None:
            block = (C.c_int64 * max(1, len(extents)))(*extents)
            blocks.append(block)
            setattr(tensor, field_name, C.addressof(block))
    if version is not None:
        struct.version, struct.flags = Version(*version), flags
    if deleter:
        struct.deleter = C.cast(_count, C.c_void_p)
    struct.manager_ctx = next(_numbers)
    result = CtypesTensor(struct, name, data, blocks)
    _tensors[result.address] = result
    return result


def forget(tensor: CtypesTensor) -> None:
    """Frees the struct of a tensor that nothing uses any more."""
    _tensors.pop(tensor.address, None)
    tensor.on_delete = None


_numbers = itertools.count(1)


def reserved(flags: int, version: tuple[int, int]) -> int:
    """Returns the flags that a version of DLPack does not define."""
    return flags & ~(READ_ONLY | IS_COPIED | (SUBBYTE_PADDED if version >= (1, 1) else 0))


# The exchange table ----------------------------------------------------------------------------

EXCHANGE_ATTRIBUTE = "__dlpack_c_exchange_api__"
EXCHANGE_NAME = "dlpack_exchange_api"


def exchange_table(type_: type) -> Exchange | None:
    """Returns a copy of the exchange table of a type, None where it has none (spec 5.2).

    Raises Unreadable for an attribute that does not refer to a table of major version 1.
    """
    attribute = getattr(type_, EXCHANGE_ATTRIBUTE, None)
    if attribute is None:
        return None
    if is_capsule(attribute):
        if name_of(attribute) != EXCHANGE_NAME:
            raise Unreadable(
                f"expected a capsule named {EXCHANGE_NAME!r}; it is {name_of(attribute)!r}"
            )
        address = pointer_of(attribute)
    elif isinstance(attribute, int):
        address = attribute
    else:
        raise Unreadable(f"expected a capsule or an integer; got {type(attribute).__name__}")
    header = _struct_at(ExchangeHeader, address)
    if header is None:
        raise Unreadable(f"the exchange table is at {address:#x}, which is not readable")
    if header.version.major != 1:
        raise Unreadable(f"the exchange table has major version {header.version.major}")
    table = _struct_at(Exchange, address)
    if table is None:
        raise Unreadable(f"the exchange table at {address:#x} is not readable to its end")
    return table  # type: ignore[no-any-return]
