# SPDX-License-Identifier: BSD-3-Clause
"""The element types of the library: how each is written, read, and named by the protocols."""

from __future__ import annotations

import ctypes as C
import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Type:
    """One element type."""

    name: str
    code: int | None  # of DLPack; None: DLPack cannot describe it
    form: str  # of struct: one number, or the two parts of a complex one
    typestr: str  # of __array_interface__, without the byte order; "" where it has none

    @property
    def size(self) -> int:
        return struct.calcsize("=" + self.form)

    @property
    def bits(self) -> int:
        return 8 * self.size


TYPES = {
    row.name: row
    for row in (
        Type("bool", 6, "?", "b1"),
        Type("int8", 0, "b", "i1"),
        Type("int16", 0, "h", "i2"),
        Type("int32", 0, "i", "i4"),
        Type("int64", 0, "q", "i8"),
        Type("uint8", 1, "B", "u1"),
        Type("uint16", 1, "H", "u2"),
        Type("uint32", 1, "I", "u4"),
        Type("uint64", 1, "Q", "u8"),
        Type("float16", 2, "e", "f2"),
        Type("bfloat16", 4, "H", ""),
        Type("float32", 2, "f", "f4"),
        Type("float64", 2, "d", "f8"),
        Type("complex64", 5, "ff", "c8"),
        Type("complex128", 5, "dd", "c16"),
        Type(">f4", None, "f", ""),  # stored in the other byte order
        Type("object", None, "Q", ""),  # stored as an id
    )
}
BY_DLPACK = {(row.code, row.bits): row for row in TYPES.values() if row.code is not None}


def number(kind: Type, i: int) -> Any:
    """Returns i as an element; integers wrap around."""
    if kind.name == "bool":
        return bool(i)
    if kind.code in (0, 1):
        bound = 1 << kind.bits
        return (i + bound // 2) % bound - bound // 2 if kind.code == 0 else i % bound
    return i


def pack(kind: Type, value: Any) -> bytes:
    """Returns the bytes of one element."""
    if kind.name == "bfloat16":
        return struct.pack("<f", value)[2:]
    if kind.name == "object":
        return struct.pack("=Q", id(value))
    if kind.name == ">f4":
        return struct.pack(">f", value)
    parts = (complex(value).real, complex(value).imag) if len(kind.form) == 2 else (value,)
    return struct.pack("=" + kind.form, *parts)


def unpack(kind: Type, content: bytes) -> Any:
    """Returns the value of one element."""
    (value,) = unpack_all(kind, content)
    return value


def unpack_all(kind: Type, content: bytes) -> list[Any]:
    """Returns the values of elements that lie one after another."""
    if kind.name == "bfloat16":
        content = b"".join(b"\0\0" + content[i : i + 2] for i in range(0, len(content), 2))
        return [value for (value,) in struct.iter_unpack("<f", content)]
    order = ">" if kind.name == ">f4" else "="
    parts = struct.iter_unpack(order + kind.form, content)
    if kind.name == "object":  # small integers, which live for ever
        return [C.cast(address, C.py_object).value for (address,) in parts]
    if len(kind.form) == 2:
        return [complex(*pair) for pair in parts]
    return [value for (value,) in parts]
