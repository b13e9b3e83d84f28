# SPDX-License-Identifier: BSD-3-Clause
"""Writes values to memory and reads them back with the struct module alone.

abi.py reads the structs of DLPack; this module reads the elements that they point to.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from . import abi, dtypes

Nested = Any  # numbers in nested lists

DTYPES = dtypes.ENCODABLE  # by name: the triple, and the format of an element
NAMES = {triple: name for name, (triple, _) in DTYPES.items()}


def shape_of(values: Nested) -> tuple[int, ...]:
    """Returns the extents of nested lists.

    >>> shape_of([[1, 2, 3], [4, 5, 6]]), shape_of(7), shape_of([[], []])
    ((2, 3), (), (2, 0))
    """
    if not isinstance(values, (list, tuple)):
        return ()
    return (len(values), *(shape_of(values[0]) if values else ()))


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides, in elements, of compact memory in which the last dimension is fastest.

    >>> row_major((2, 3))
    (3, 1)
    """
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def index_at(shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Returns the index of an element by its number in row-major order.

    >>> index_at((2, 3), 4)
    (1, 1)
    """
    index = []
    for extent in reversed(shape):
        number, offset = divmod(number, extent)
        index.append(offset)
    return tuple(reversed(index))


def span(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Returns the lowest and the highest offset of an element, in the unit of the strides.

    >>> span((2, 3), (-3, 1)), span((2, 0), (1, 1))
    ((-3, 2), (0, 0))
    """
    if 0 in shape:
        return 0, 0
    ends = [(extent - 1) * step for extent, step in zip(shape, strides)]
    return sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)


def offsets(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Returns the offset of each element in row-major order, in the unit of the strides.

    >>> offsets((2, 3), (1, 2))
    [0, 2, 4, 1, 3, 5]
    """
    found = [0]
    for extent, step in zip(shape, strides):
        found = [offset + i * step for offset in found for i in range(extent)]
    return found


def flat(values: Nested) -> list[Any]:
    """Returns the numbers in row-major order."""
    if not isinstance(values, list):
        return [values]
    if not any(isinstance(part, list) for part in values):
        return list(values)
    return [x for part in values for x in flat(part)]


def same(one: Any, other: Any) -> bool:
    """Whether two numbers are the same: NaN is NaN, and the two zeros differ.

    >>> same(math.nan, math.nan), same(0.0, -0.0), same(0, 0.0), same(1 + 2**-40, 1.0)
    (True, False, True, False)
    """
    if isinstance(one, complex) or isinstance(other, complex):
        parts = [(getattr(x, "real", x), getattr(x, "imag", 0)) for x in (one, other)]
        return all(map(same, *parts))
    if one != other:
        return bool(one != one and other != other)
    return bool(one != 0 or math.copysign(1, one) == math.copysign(1, other))


def same_nested(values: Nested, expected: Nested) -> bool:
    """Whether nested lists have the same shape and, by same(), the same numbers.

    Some libraries return tuples.

    >>> same_nested(((1.0, 2.0),), [[1.0, 2.0]]), same_nested([], [[]]), same_nested([0.0], [-0.0])
    (True, False, False)
    """
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(values, (list, tuple))
            and len(values) == len(expected)
            and all(map(same_nested, values, expected))
        )
    return not isinstance(values, (list, tuple)) and same(values, expected)


def itemsize(dtype: str) -> int:
    """Returns the bytes of one element. Raises KeyError for an unsupported dtype."""
    return DTYPES[dtype][0][1] // 8


def encode(values: Nested, dtype: str) -> bytes:
    """Returns row-major memory of these values. Raises KeyError for an unsupported dtype."""
    format_ = DTYPES[dtype][1]
    if format_ == dtypes.BFLOAT16:  # the upper half of a float32
        return b"".join(struct.pack("<f", x)[2:] for x in flat(values))
    if len(format_) == 2:
        parts = [part for x in map(complex, flat(values)) for part in (x.real, x.imag)]
        return struct.pack(f"<{len(parts)}{format_[0]}", *parts)
    return struct.pack(f"<{len(flat(values))}{format_}", *flat(values))


def decode(raw: bytes, dtype: str) -> Any:
    """Returns the value of one element. Raises KeyError for an unsupported dtype."""
    format_ = DTYPES[dtype][1]
    if format_ == dtypes.BFLOAT16:
        return struct.unpack("<f", b"\0\0" + raw)[0]
    parts = struct.unpack(f"<{format_}", raw)
    return complex(*parts) if len(parts) == 2 else parts[0]


def read(contents: abi.Contents) -> Nested:
    """Reads the values of a tensor in host memory: compact rows at once, others by element.

    Raises abi.Unreadable where the memory is not readable, KeyError for an unsupported dtype.
    """
    dtype = NAMES[contents.dtype]
    size = itemsize(dtype)
    if contents.shape is None:
        raise abi.Unreadable("the shape is not readable")
    if contents.strides is None and not contents.strides_is_null:
        raise abi.Unreadable("the strides are not readable")
    shape = contents.shape
    strides = row_major(shape) if contents.strides is None else contents.strides

    def compact_row(address: int) -> Nested | None:
        """Returns the values of a row that is readable at once."""
        raw = abi.read_memory(address, shape[-1] * size)
        return raw and [decode(raw[at : at + size], dtype) for at in range(0, len(raw), size)]

    def part(address: int, dimension: int) -> Nested:
        if dimension == len(shape):
            raw = abi.read_memory(address, size)
            if raw is None:
                raise abi.Unreadable(f"the element at {address:#x} is not readable")
            return decode(raw, dtype)
        is_row = dimension == len(shape) - 1 and strides[-1] == 1
        if is_row and (values := compact_row(address)):
            return values
        step = strides[dimension] * size
        return [part(address + i * step, dimension + 1) for i in range(shape[dimension])]

    return part(contents.first, 0)
