# SPDX-License-Identifier: BSD-3-Clause
"""DLPack capsules created with ctypes: any fields, valid or not, and the values 0, 1, 2, ...

Structs and memory are never freed, so that a late read or a double free is harmless; `freed`
records the calls of the deleter.
"""

from __future__ import annotations

import ctypes as C
import struct
from typing import Any

from ..structs import LEGACY, STRUCTS, VERSIONED, DataType, Device, Tensor, Version

_python = C.pythonapi
_new = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(("PyCapsule_New", _python))
_name = C.PYFUNCTYPE(C.c_char_p, C.c_void_p)(("PyCapsule_GetName", _python))
_pointer = C.PYFUNCTYPE(C.c_void_p, C.c_void_p, C.c_char_p)(("PyCapsule_GetPointer", _python))
_names = {text: C.c_char_p(text.encode()) for text in STRUCTS}  # capsules store the pointer
_permanent: list[object] = []
C.pythonapi.Py_IncRef(C.py_object(_permanent))  # also after the interpreter's end
freed: list[int] = []  # the address of a tensor, for each call of its deleter


_delete = C.CFUNCTYPE(None, C.c_void_p)(freed.append)


def _name_at(address: int) -> str:
    return (_name(address) or b"").decode()


def _destroy_capsule(address: int) -> None:
    """The destructor of a capsule: frees a tensor that was not consumed.

    A destructor written in Python clears a pending exception, so Producer keeps its capsules.
    """
    text = _name_at(address)
    if text in STRUCTS:
        managed = _pointer(address, text.encode())
        if STRUCTS[text].from_address(managed).deleter:
            _delete(managed)


_destroy = C.PYFUNCTYPE(None, C.c_void_p)(_destroy_capsule)


def name(capsule: object) -> str:
    """Returns the name of a capsule, which a consumer changes."""
    return _name_at(id(capsule))


def contents(capsule: object) -> Any:
    """Returns the struct in a capsule that was not consumed, and keeps the capsule alive."""
    text = name(capsule)
    managed = STRUCTS[text].from_address(_pointer(id(capsule), text.encode()))
    managed.owner = capsule
    return managed


def capsule(
    shape: tuple[int, ...] = (4,),
    strides: tuple[int, ...] | None = (1,),
    dtype: tuple[int, int, int] = (2, 32, 1),  # code, bits, lanes: float32
    device: tuple[int, int] = (1, 0),  # the CPU
    byte_offset: int = 0,
    *,
    version: tuple[int, int] | None = None,  # None: a legacy capsule
    flags: int = 0,
    ndim: int | None = None,  # None: the length of the shape
    shift: int = 0,  # bytes from an address that is aligned to 256
    data: bool = True,  # False: NULL
    deleter: bool = True,  # False: NULL
) -> Any:
    memory = C.create_string_buffer(2048)
    first = -(-C.addressof(memory) // 256) * 256 + shift
    C.memmove(first, struct.pack("<64f", *range(64)), 256)
    text = VERSIONED if version else LEGACY
    managed = STRUCTS[text]()
    if version:
        managed.version, managed.flags = Version(*version), flags
    managed.deleter = C.cast(_delete, C.c_void_p) if deleter else None
    tensor: Tensor = managed.tensor
    tensor.data, tensor.byte_offset = first if data else None, byte_offset
    tensor.device, tensor.dtype = Device(*device), DataType(*dtype)
    tensor.ndim = len(shape) if ndim is None else ndim
    for field, extents in (("shape", shape), ("strides", strides)):
        if extents is not None:
            block = (C.c_int64 * max(1, len(extents)))(*extents)
            setattr(tensor, field, C.addressof(block))
            _permanent.append(block)
    _permanent.extend((memory, managed))
    return _new(C.addressof(managed), _names[text], C.cast(_destroy, C.c_void_p))


class Producer:
    """Exports such capsules: versioned ones on request, unless legacy=True."""

    def __init__(self, *, legacy: bool = False, **fields: Any) -> None:
        self.legacy, self.fields = legacy, fields

    def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
        version = (1, 0) if max_version and not self.legacy else None
        exported = capsule(**{"version": version, **self.fields})
        _permanent.append(exported)  # so that a consumer that refuses it does not destroy it
        return exported

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.fields.get("device", (1, 0))
        return device
