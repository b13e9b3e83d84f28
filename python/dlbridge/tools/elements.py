"""Values to memory and back, by struct alone: what a tensor holds, in words that nobody disputes.

The second half of the foreign hand: abi.py reads the structs, this reads what they point to.
"""

from __future__ import annotations

import struct
from typing import Any

from dlbridge.tools import abi

Nested = Any  # numbers in lists in lists

# By name: the triple of DLPack, and struct's format of one element, of a part of a complex one.
DTYPES: dict[str, tuple[tuple[int, int, int], str]] = {
    "bool": ((6, 8, 1), "?"),
    "int8": ((0, 8, 1), "b"),
    "int16": ((0, 16, 1), "h"),
    "int32": ((0, 32, 1), "i"),
    "int64": ((0, 64, 1), "q"),
    "uint8": ((1, 8, 1), "B"),
    "uint16": ((1, 16, 1), "H"),
    "uint32": ((1, 32, 1), "I"),
    "uint64": ((1, 64, 1), "Q"),
    "float16": ((2, 16, 1), "e"),
    "bfloat16": ((4, 16, 1), "bf"),
    "float32": ((2, 32, 1), "f"),
    "float64": ((2, 64, 1), "d"),
    "complex64": ((5, 64, 1), "ff"),
    "complex128": ((5, 128, 1), "dd"),
}
NAMES = {triple: name for name, (triple, _) in DTYPES.items()}


def shape_of(values: Nested) -> tuple[int, ...]:
    """The extents of lists in lists.

    >>> shape_of([[1, 2, 3], [4, 5, 6]]), shape_of(7), shape_of([[], []])
    ((2, 3), (), (2, 0))
    """
    if not isinstance(values, list):
        return ()
    return (len(values), *(shape_of(values[0]) if values else ()))


def flat(values: Nested) -> list[Any]:
    """The numbers, row by row."""
    return [one for part in values for one in flat(part)] if isinstance(values, list) else [values]


def itemsize(dtype: str) -> int:
    """The bytes of one element. Raises KeyError for a dtype that has no row."""
    return DTYPES[dtype][0][1] // 8


def encode(values: Nested, dtype: str) -> bytes:
    """Row-major memory of these values. Raises KeyError for a dtype that has no row."""
    format_ = DTYPES[dtype][1]
    if format_ == "bf":  # the upper half of a float32
        return b"".join(struct.pack("<f", one)[2:] for one in flat(values))
    if len(format_) == 2:
        parts = [part for one in map(complex, flat(values)) for part in (one.real, one.imag)]
        return struct.pack(f"<{len(parts)}{format_[0]}", *parts)
    return struct.pack(f"<{len(flat(values))}{format_}", *flat(values))


def _decode(raw: bytes, dtype: str) -> Any:
    format_ = DTYPES[dtype][1]
    if format_ == "bf":
        return struct.unpack("<f", b"\0\0" + raw)[0]
    found = struct.unpack(f"<{format_}", raw)
    return complex(*found) if len(found) == 2 else found[0]


def read(contents: abi.Contents) -> Nested:
    """The values of a tensor in memory that the CPU can read, element by element.

    Raises abi.Unreadable where there is no such memory, KeyError for a dtype that has no row.
    """
    dtype = NAMES[contents.dtype]
    size = itemsize(dtype)
    if contents.shape is None:
        raise abi.Unreadable("the shape cannot be read")
    strides = contents.strides
    if strides is None:
        if not contents.strides_is_null:
            raise abi.Unreadable("the strides cannot be read")
        row_major = [1]
        for extent in reversed(contents.shape[1:]):
            row_major.append(row_major[-1] * extent)
        strides = tuple(reversed(row_major))

    def part(address: int, dimension: int) -> Nested:
        if dimension == len(contents.shape or ()):
            raw = abi.read_memory(address, size)
            if raw is None:
                raise abi.Unreadable(f"there is nothing to read at {address:#x}")
            return _decode(raw, dtype)
        assert contents.shape is not None and strides is not None
        return [
            part(address + i * strides[dimension] * size, dimension + 1)
            for i in range(contents.shape[dimension])
        ]

    return part(contents.first, 0)
