"""DLPack's structs by ctypes: the foreign hand with which the tools read and make capsules.

Nothing here goes through dlbridge's own importer or exporter, so that what the tools say of
dlbridge is said by somebody else. Layouts: spec 1.2; a test compares them with dlpack.h.
"""

from __future__ import annotations

import ctypes as C
import errno
import itertools
import os
import sys
from dataclasses import dataclass, field
from typing import Any, Callable

CPU = (1, 0)
LEGACY = "dltensor"
VERSIONED = "dltensor_versioned"
READ_ONLY, IS_COPIED, SUBBYTE_PADDED = 1, 2, 4  # the flags of a versioned tensor
ADDRESSES = 1 << 64  # ctypes would take an address beyond them for a small one
MAX_NDIM = 64  # more is taken for garbage: no library goes beyond it


class Device(C.Structure):
    _fields_ = [("type", C.c_int32), ("id", C.c_int32)]


class DataType(C.Structure):
    _fields_ = [("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16)]


class Tensor(C.Structure):
    _fields_ = [
        ("data", C.c_void_p),
        ("device", Device),
        ("ndim", C.c_int32),
        ("dtype", DataType),
        ("shape", C.c_void_p),
        ("strides", C.c_void_p),
        ("byte_offset", C.c_uint64),
    ]


class Version(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32)]


class Managed(C.Structure):
    _fields_ = [("tensor", Tensor), ("manager_ctx", C.c_void_p), ("deleter", C.c_void_p)]


class ManagedVersioned(C.Structure):
    _fields_ = [
        ("version", Version),
        ("manager_ctx", C.c_void_p),
        ("deleter", C.c_void_p),
        ("flags", C.c_uint64),
        ("tensor", Tensor),
    ]


class ExchangeHeader(C.Structure):
    _fields_ = [("version", Version), ("prev_api", C.c_void_p)]


# The slots of DLPackExchangeAPI, in order (spec 5.2).
EXCHANGE_SLOTS = (
    "managed_tensor_allocator",
    "managed_tensor_from_py_object_no_sync",
    "managed_tensor_to_py_object_no_sync",
    "dltensor_from_py_object_no_sync",
    "current_work_stream",
)


class Exchange(C.Structure):
    _fields_ = [("header", ExchangeHeader), *((name, C.c_void_p) for name in EXCHANGE_SLOTS)]


STRUCTS: dict[str, Any] = {LEGACY: Managed, VERSIONED: ManagedVersioned}
USED = {LEGACY: "used_dltensor", VERSIONED: "used_dltensor_versioned"}


# Memory that may not be there ------------------------------------------------------------------


class _Range(C.Structure):
    _fields_ = [("base", C.c_void_p), ("length", C.c_size_t)]


def _copy_out(address: int, size: int) -> bytes | None:
    """Has the kernel copy: it refuses where a read would crash, also pages that none may read."""
    block = C.create_string_buffer(size)
    to, from_ = _Range(C.addressof(block), size), _Range(address, size)
    ranges = (os.getpid(), C.byref(to), C.c_ulong(1), C.byref(from_), C.c_ulong(1), C.c_ulong(0))
    got = C.CDLL(None, use_errno=True).process_vm_readv(*ranges)
    if got < 0 and C.get_errno() in (errno.ENOSYS, errno.EPERM):
        return _copy_out_of_file(address, size)
    return block.raw if got == size else None


def _copy_out_of_file(address: int, size: int) -> bytes | None:
    """The same where that call is forbidden; this reads pages too that a program may not."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            got = os.pread(memory.fileno(), size, address)
    except (OSError, OverflowError):
        return None
    return got if len(got) == size else None


def read_memory(address: int | None, size: int) -> bytes | None:
    """The bytes at an address of this process, or None where nothing can be read.

    Asks the kernel, on Linux, so that a pointer that leads nowhere costs nothing; elsewhere any
    address but NULL is believed.
    """
    if not address or address + size > ADDRESSES:
        return None
    if not sys.platform.startswith("linux"):
        return C.string_at(address, size)
    return _copy_out(address, size)


def _struct_at(kind: Any, address: int | None) -> Any:
    """A copy of the struct at an address, or None where nothing can be read."""
    found = read_memory(address, C.sizeof(kind))
    return None if found is None else kind.from_buffer_copy(found)


def _extents_at(address: int | None, count: int) -> tuple[int, ...] | None:
    if not 0 < count <= MAX_NDIM:
        return None
    found = _struct_at(C.c_int64 * count, address)
    return None if found is None else tuple(found)


# Capsules --------------------------------------------------------------------------------------

_python = C.pythonapi
_get_name = C.PYFUNCTYPE(C.c_char_p, C.py_object)(("PyCapsule_GetName", _python))
_get_pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(("PyCapsule_GetPointer", _python))
_get_destructor = C.PYFUNCTYPE(C.c_void_p, C.py_object)(("PyCapsule_GetDestructor", _python))
_set_name = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_char_p)(("PyCapsule_SetName", _python))
_new = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(("PyCapsule_New", _python))
# The same two with a plain address, for destructors: the object is dying and must not be held.
_name_at = C.PYFUNCTYPE(C.c_char_p, C.c_void_p)(("PyCapsule_GetName", _python))
_pointer_at = C.PYFUNCTYPE(C.c_void_p, C.c_void_p, C.c_char_p)(("PyCapsule_GetPointer", _python))

Deleter = C.CFUNCTYPE(None, C.c_void_p)  # comes without the GIL, and takes it
_Destructor = C.PYFUNCTYPE(None, C.c_void_p)
_names: dict[str, C.c_char_p] = {}  # a capsule keeps the pointer, not the text


def _lasting(name: str) -> C.c_char_p:
    return _names.setdefault(name, C.c_char_p(name.encode()))


def is_capsule(x: object) -> bool:
    return type(x).__name__ == "PyCapsule" and type(x).__module__ in ("builtins", "types")


def name_of(capsule: Any) -> str | None:
    """The name of a capsule, or None when it has none. Raises TypeError for anything else."""
    if not is_capsule(capsule):
        raise TypeError(f"expected a capsule; got {type(capsule).__name__}")
    name = _get_name(capsule)
    return None if name is None else name.decode(errors="replace")


def pointer_of(capsule: Any) -> int:
    """What a capsule of any name points to."""
    name = name_of(capsule)
    return int(_get_pointer(capsule, None if name is None else name.encode()) or 0)


def destructor_of(capsule: Any) -> int:
    """The address of a capsule's destructor; 0 when it has none."""
    return int(_get_destructor(capsule) or 0)


def rename(capsule: Any, name: str | None) -> None:
    """Gives a capsule another name or none, as a consumer does with what it has taken."""
    _set_name(capsule, None if name is None else _lasting(name))


@dataclass(frozen=True)
class Contents:
    """What a managed tensor says, word for word: no offset is added, no stride made up."""

    name: str  # of the capsule: says which struct it is
    address: int  # of the struct
    version: tuple[int, int] | None  # None in the legacy struct, which has none
    flags: int
    data: int  # 0 for NULL
    byte_offset: int
    device: tuple[int, int]
    dtype: tuple[int, int, int]  # code, bits, lanes
    ndim: int
    shape: tuple[int, ...] | None  # None: NULL, not readable, or ndim is no count of dimensions
    strides: tuple[int, ...] | None  # in elements; None as above
    shape_is_null: bool
    strides_is_null: bool
    deleter: int  # 0 for NULL
    manager_ctx: int

    @property
    def first(self) -> int:
        """The address of the first element (spec 1.6)."""
        return self.data + self.byte_offset


class Unreadable(ValueError):
    """A capsule that cannot be read: its name is not a tensor's, or it points nowhere."""


def read(capsule: Any) -> Contents:
    """Reads a capsule and leaves it as it is: whoever holds it still owns what is in it.

    Raises TypeError for what is no capsule; Unreadable for a capsule that is no fresh tensor, for
    one that points nowhere, and for a major version whose fields nobody knows (spec 2.1).
    """
    name = name_of(capsule)
    if name not in STRUCTS:
        raise Unreadable(f"expected a capsule named {LEGACY!r} or {VERSIONED!r}; it is {name!r}")
    return read_struct(pointer_of(capsule), name)


def read_struct(address: int, name: str) -> Contents:
    """Reads the managed tensor at an address; errors as read()."""
    managed = _struct_at(STRUCTS[name], address)
    if managed is None:
        raise Unreadable(f"{name!r} points to {address:#x}, where nothing can be read")
    version = None
    if name == VERSIONED:
        version = (managed.version.major, managed.version.minor)
        if version[0] != 1:
            raise Unreadable(f"version {version[0]}.{version[1]}: only major version 1 is known")
    tensor: Tensor = managed.tensor
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
        shape=() if tensor.ndim == 0 else _extents_at(tensor.shape, tensor.ndim),
        strides=() if tensor.ndim == 0 else _extents_at(tensor.strides, tensor.ndim),
        shape_is_null=not tensor.shape,
        strides_is_null=not tensor.strides,
        deleter=managed.deleter or 0,
        manager_ctx=managed.manager_ctx or 0,
    )


@dataclass
class Taken:
    """What was taken out of a capsule, by the letter of the protocol; free() gives it back."""

    contents: Contents

    def free(self) -> None:
        """Calls the deleter, as a consumer in plain C does: without the GIL."""
        if self.contents.deleter:
            Deleter(self.contents.deleter)(self.contents.address)


def take(capsule: Any) -> Taken:
    """Takes ownership (spec 3.2): the capsule is renamed, and its destructor does nothing now."""
    contents = read(capsule)
    rename(capsule, USED[contents.name])
    return Taken(contents)


# Tensors made by hand --------------------------------------------------------------------------

_kept: list[object] = []  # never freed, so that reading late or freeing twice is seen, not suffered
_made: dict[int, Made] = {}  # by the address of the struct


@dataclass
class Made:
    """A tensor made by hand. Its struct and memory live as long as the process."""

    struct: Any
    name: str
    data: int
    calls: int = 0  # of the deleter
    on_delete: Callable[[], None] | None = field(default=None, repr=False)

    @property
    def address(self) -> int:
        return C.addressof(self.struct)

    def capsule(self, name: str | None = None) -> Any:
        """A fresh capsule on it, whose destructor does what the protocol asks of one."""
        return _new(self.address, _lasting(name or self.name), C.cast(_destroy, C.c_void_p))


def _count_call(address: int) -> None:
    made = _made[address]
    made.calls += 1
    if made.on_delete is not None:
        made.on_delete()


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
    """The address of bytes that live as long as the process: aligned, then shifted by some."""
    block = C.create_string_buffer(len(content) + 2 * alignment + shift)
    _kept.append(block)
    address = -(-C.addressof(block) // alignment) * alignment + shift
    C.memmove(address, content, len(content))
    return address


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
) -> Made:
    """A managed tensor with just these words in it, right or wrong; strides count elements.

    version None makes the legacy struct. The deleter counts its calls, from any thread.
    """
    name = LEGACY if version is None else VERSIONED
    struct = STRUCTS[name]()
    tensor: Tensor = struct.tensor
    tensor.data, tensor.byte_offset, tensor.device = data or None, byte_offset, Device(*device)
    tensor.dtype = DataType(*dtype)
    tensor.ndim = len(shape or ()) if ndim is None else ndim
    for field_name, extents in (("shape", shape), ("strides", strides)):
        if extents is not None:
            block = (C.c_int64 * max(1, len(extents)))(*extents)
            _kept.append(block)
            setattr(tensor, field_name, C.addressof(block))
    if version is not None:
        struct.version, struct.flags = Version(*version), flags
    if deleter:
        struct.deleter = C.cast(_count, C.c_void_p)
    struct.manager_ctx = next(_numbers)
    made = Made(struct, name, data)
    _made[made.address] = made
    return made


_numbers = itertools.count(1)


# The exchange table ----------------------------------------------------------------------------

EXCHANGE_ATTRIBUTE = "__dlpack_c_exchange_api__"
EXCHANGE_NAME = "dlpack_exchange_api"


def exchange_table(type_: type) -> Exchange | None:
    """A copy of the exchange table of a type, None where it has none (spec 5.2).

    Raises Unreadable for an attribute that leads to no table of major version 1.
    """
    found = getattr(type_, EXCHANGE_ATTRIBUTE, None)
    if found is None:
        return None
    if is_capsule(found):
        if name_of(found) != EXCHANGE_NAME:
            raise Unreadable(
                f"expected a capsule named {EXCHANGE_NAME!r}; it is {name_of(found)!r}"
            )
        address = pointer_of(found)
    elif isinstance(found, int):
        address = found
    else:
        raise Unreadable(f"expected a capsule or an integer; got {type(found).__name__}")
    header = _struct_at(ExchangeHeader, address)
    if header is None:
        raise Unreadable(f"the exchange table is at {address:#x}, where nothing can be read")
    if header.version.major != 1:
        raise Unreadable(f"the exchange table has major version {header.version.major}")
    table = _struct_at(Exchange, address)
    if table is None:
        raise Unreadable(f"the exchange table at {address:#x} ends too early")
    return table  # type: ignore[no-any-return]
