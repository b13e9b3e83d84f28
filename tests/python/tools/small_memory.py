"""Capsules and counted memory for the small library of the mutation test.

The structs are those of dlbridge.tools.structs, which test_abi.py compares with dlpack.h. Nothing
else is dlbridge's, so that the tools do not examine their own code.
"""

from __future__ import annotations

import ctypes as C
import os
from pathlib import Path
from typing import Any

from dlbridge.tools import structs

LEGACY, VERSIONED = structs.LEGACY.encode(), structs.VERSIONED.encode()
USED = {name.encode(): used.encode() for name, used in structs.USED.items()}
STRUCTS: dict[bytes, Any] = {name.encode(): struct for name, struct in structs.STRUCTS.items()}

# ctypes releases the GIL for the functions of a CDLL, and holds it for those of CPython.
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
    """A reference to counted memory; dropping the object releases the reference."""

    def __init__(self, address: int, release: int) -> None:
        self.counted = int(native.counted_new(address, release))

    @classmethod
    def of(cls, content: bytes) -> tuple[Memory, int]:
        """Returns new memory with this content, and its address, aligned to 64 bytes."""
        block = malloc(len(content) + 64)
        address = -(-block // 64) * 64
        C.memmove(address, content, len(content))
        return cls(block, free_address), address

    def share(self) -> int:
        """Adds a reference, which counted_drop releases."""
        native.counted_share(self.counted)
        return self.counted

    def __del__(self) -> None:
        native.counted_drop(self.counted)
