# SPDX-License-Identifier: BSD-3-Clause
"""Calls the library's C part and CPython's functions of capsules by ctypes."""

from __future__ import annotations

import collections
import ctypes as C
import os
from pathlib import Path
from typing import Any, ClassVar

from dlbridge.tools import structs

LEGACY, VERSIONED = structs.LEGACY.encode(), structs.VERSIONED.encode()
USED = {name.encode(): used.encode() for name, used in structs.USED.items()}
STRUCTS: dict[bytes, Any] = {name.encode(): struct for name, struct in structs.STRUCTS.items()}

# ctypes releases the GIL for the functions of a CDLL, and holds it for those of a PyDLL.
_path = str(Path(os.environ["DLBRIDGE_TEST_MODULES"]) / "planted_memory.so")
library = C.CDLL(_path)
library.block_new.restype = C.c_void_p
library.block_new.argtypes = [C.c_void_p, C.c_void_p]
library.block_hold.argtypes = library.block_drop.argtypes = [C.c_void_p]
_with_gil = C.PyDLL(_path)
use_capsule = _with_gil.use_capsule
use_capsule.argtypes = [C.py_object, C.c_char_p, C.c_char_p]
exchange_use = _with_gil.exchange_use
exchange_use.argtypes = [C.py_object] * 5
exchange_use.restype = None

_libc = C.CDLL(None)
malloc = C.CFUNCTYPE(C.c_void_p, C.c_size_t)(("malloc", _libc))

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
    """Returns the address of a C function, or of a ctypes callback."""
    return C.cast(function, C.c_void_p).value or 0


FREE = address_of(_libc.free)


class Memory:
    """One holder of a block of memory. The last holder releases the block."""

    def __init__(self, address: int, release: int) -> None:
        """`release` is the address of a function that gets `address`; 0: nothing is released."""
        self._block: int = library.block_new(address, release)

    @classmethod
    def of(cls, content: bytes) -> tuple[Memory, int]:
        """Returns new memory with this content, and its address, aligned to 256 bytes."""
        start = malloc(len(content) + 256)
        address = -(-start // 256) * 256
        C.memmove(address, content, len(content))
        return cls(start, FREE), address

    def hold(self) -> int:
        """Adds a holder, and returns the block, for block_drop."""
        library.block_hold(self._block)
        return self._block

    def release(self) -> None:
        """Ends to be a holder. A second call does nothing."""
        block, self._block = self._block, 0
        if block:
            library.block_drop(block)

    def __del__(self) -> None:
        self.release()


class Waiting(Memory):
    """A holder that ends only when as many others as `most` wait for their end."""

    most = 8
    waiting: ClassVar[collections.deque[int]] = collections.deque()  # their blocks

    def release(self) -> None:
        block, self._block = self._block, 0
        if block:
            self.waiting.append(block)
        if len(self.waiting) > self.most:
            library.block_drop(self.waiting.popleft())
