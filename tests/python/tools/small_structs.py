"""The structs of dlpack.h and counted memory, as the small library of the mutation test sees them.

Written from dlpack.h alone, and nothing of dlbridge: who examines must not examine himself.
"""

from __future__ import annotations

import ctypes as C
import os
from pathlib import Path
from typing import Any

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {LEGACY: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
READ_ONLY, IS_COPIED = 1, 2


class DLTensor(C.Structure):
    _fields_ = [
        ("data", C.c_void_p),
        ("device_type", C.c_int32),
        ("device_id", C.c_int32),
        ("ndim", C.c_int32),
        ("code", C.c_uint8),
        ("bits", C.c_uint8),
        ("lanes", C.c_uint16),
        ("shape", C.c_void_p),
        ("strides", C.c_void_p),
        ("byte_offset", C.c_uint64),
    ]


class Managed(C.Structure):
    _fields_ = [("tensor", DLTensor), ("manager_ctx", C.c_void_p), ("deleter", C.c_void_p)]


class ManagedVersioned(C.Structure):
    _fields_ = [
        ("major", C.c_uint32),
        ("minor", C.c_uint32),
        ("manager_ctx", C.c_void_p),
        ("deleter", C.c_void_p),
        ("flags", C.c_uint64),
        ("tensor", DLTensor),
    ]


STRUCTS: dict[bytes, Any] = {LEGACY: Managed, VERSIONED: ManagedVersioned}

# ctypes lets go of the GIL for the functions of a CDLL, and keeps it for those of CPython.
_library = str(Path(os.environ["DLBRIDGE_TEST_MODULES"]) / "counted_memory.so")
native = C.CDLL(_library)
use_capsule = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_char_p, C.c_char_p)(
    ("use_capsule", C.PyDLL(_library))
)
native.counted_new.restype = C.c_void_p
native.counted_new.argtypes = [C.c_void_p, C.c_void_p]
native.counted_share.argtypes = native.counted_drop.argtypes = [C.c_void_p]

_libc = C.CDLL(None)
malloc = C.CFUNCTYPE(C.c_void_p, C.c_size_t)(("malloc", _libc))
free_address = C.cast(_libc.free, C.c_void_p).value or 0

_python = C.pythonapi
capsule_name = C.PYFUNCTYPE(C.c_char_p, C.py_object)(("PyCapsule_GetName", _python))
capsule_pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(
    ("PyCapsule_GetPointer", _python)
)
rename_capsule = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_char_p)(("PyCapsule_SetName", _python))
new_capsule = C.PYFUNCTYPE(C.py_object, C.c_void_p, C.c_char_p, C.c_void_p)(
    ("PyCapsule_New", _python)
)
capsule_type: type = type(new_capsule(1, LEGACY, None))

Deleter = C.CFUNCTYPE(None, C.c_void_p)


def address_of(function: Any) -> int:
    return C.cast(function, C.c_void_p).value or 0


class Memory:
    """One use of counted memory; dropping the object gives the use back."""

    def __init__(self, address: int, release: int) -> None:
        self.counted = int(native.counted_new(address, release))

    @classmethod
    def of(cls, content: bytes) -> tuple[Memory, int]:
        """New memory with this content, and its address: aligned to 64 bytes."""
        block = malloc(len(content) + 64)
        address = -(-block // 64) * 64
        C.memmove(address, content, len(content))
        return cls(block, free_address), address

    def share(self) -> int:
        """One more use, for whoever calls counted_drop."""
        native.counted_share(self.counted)
        return self.counted

    def __del__(self) -> None:
        native.counted_drop(self.counted)
