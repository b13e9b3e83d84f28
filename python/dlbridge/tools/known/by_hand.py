"""DLPack capsules made by hand: any words in them, right or wrong, and the numbers 0, 1, 2, ...

Needs Python alone. Structs and memory are never freed, so that what is read late or freed twice is
seen and not suffered; `freed` counts instead.
"""

from __future__ import annotations

import ctypes as C
import struct
from typing import Any


class Tensor(C.Structure):
    _fields_ = [
        ("data", C.c_void_p),
        ("device", C.c_int32 * 2),  # type, number
        ("ndim", C.c_int32),
        ("code", C.c_uint8),
        ("bits", C.c_uint8),
        ("lanes", C.c_uint16),
        ("shape", C.c_void_p),
        ("strides", C.c_void_p),  # in elements
        ("byte_offset", C.c_uint64),
    ]


class Legacy(C.Structure):
    _fields_ = [("tensor", Tensor), ("context", C.c_void_p), ("deleter", C.c_void_p)]


class Versioned(C.Structure):
    _fields_ = [
        ("version", C.c_uint32 * 2),
        ("context", C.c_void_p),
        ("deleter", C.c_void_p),
        ("flags", C.c_uint64),  # 1: read-only
        ("tensor", Tensor),
    ]


_python = C.pythonapi
_new = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(("PyCapsule_New", _python))
_name = C.PYFUNCTYPE(C.c_char_p, C.c_void_p)(("PyCapsule_GetName", _python))
_pointer = C.PYFUNCTYPE(C.c_void_p, C.c_void_p, C.c_char_p)(("PyCapsule_GetPointer", _python))
_kinds: dict[bytes | None, Any] = {b"dltensor": Legacy, b"dltensor_versioned": Versioned}
_names = {kind: C.c_char_p(name) for name, kind in _kinds.items()}  # capsules keep the pointer
_kept: list[object] = []
C.pythonapi.Py_IncRef(C.py_object(_kept))  # beyond the end of Python
freed: list[int] = []  # the address of a tensor, each time that its deleter is called


_delete = C.CFUNCTYPE(None, C.c_void_p)(freed.append)


def _free_if_fresh(dying: int) -> None:
    """The destructor of a capsule: frees what nobody has taken.

    Being Python, it cannot keep an exception that is on its way: Producer sees to that.
    """
    if _name(dying) in _kinds:
        address = _pointer(dying, _name(dying))
        if _kinds[_name(dying)].from_address(address).deleter:
            _delete(address)


_destroy = C.PYFUNCTYPE(None, C.c_void_p)(_free_if_fresh)


def name(x: object) -> str:
    """The name of a capsule: a consumer changes it when it takes what is inside."""
    return (_name(id(x)) or b"").decode()


def contents(x: object) -> Any:
    """The struct in a capsule that nobody has taken yet; it keeps the capsule."""
    found = _kinds[_name(id(x))].from_address(_pointer(id(x), _name(id(x))))
    found.owner = x
    return found


def capsule(
    shape: tuple[int, ...] = (4,),
    strides: tuple[int, ...] | None = (1,),
    dtype: tuple[int, int, int] = (2, 32, 1),  # code, bits, lanes: float32
    device: tuple[int, int] = (1, 0),  # the CPU
    byte_offset: int = 0,
    *,
    version: tuple[int, int] | None = None,  # None: a legacy capsule
    flags: int = 0,
    ndim: int | None = None,  # another number than the shape has
    shift: int = 0,  # bytes from where memory is aligned to 256
    data: bool = True,  # False: NULL
    deleter: bool = True,  # False: NULL
) -> Any:
    memory = C.create_string_buffer(2048)
    first = -(-C.addressof(memory) // 256) * 256 + shift
    C.memmove(first, struct.pack("<64f", *range(64)), 256)
    managed: Any = Versioned() if version else Legacy()
    if version:
        managed.version[:], managed.flags = version, flags
    managed.deleter = C.cast(_delete, C.c_void_p) if deleter else None
    tensor = managed.tensor
    tensor.data, tensor.byte_offset = first if data else None, byte_offset
    tensor.device[:] = device
    tensor.ndim = len(shape) if ndim is None else ndim
    tensor.code, tensor.bits, tensor.lanes = dtype
    for field, extents in (("shape", shape), ("strides", strides)):
        if extents is not None:
            block = (C.c_int64 * max(1, len(extents)))(*extents)
            setattr(tensor, field, C.addressof(block))
            _kept.append(block)
    _kept.extend((memory, managed))
    return _new(C.addressof(managed), _names[type(managed)], C.cast(_destroy, C.c_void_p))


class Producer:
    """Gives such capsules: versioned ones to those who ask for them, unless legacy=True."""

    def __init__(self, *, legacy: bool = False, **words: Any) -> None:
        self.legacy, self.words = legacy, words

    def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
        version = (1, 0) if max_version and not self.legacy else None
        made = capsule(**{"version": version, **self.words})
        _kept.append(made)  # a consumer that refuses it must not be the one to drop it
        return made

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.words.get("device", (1, 0))
        return device
