# SPDX-License-Identifier: BSD-3-Clause
"""Reads the elements of a description from host memory: all of a small tensor, some of a large one.

The memory may be unreadable, or freed; nothing here dereferences an address itself.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Callable

from ... import abi, dtypes
from ...elements import same
from .description import Description

MOST = 256  # elements that are compared
ENDS = 64  # the first and the last elements of a larger tensor, that are among them
MOST_AT_ONCE = 1 << 20  # bytes that are read by one call

Number = Any  # bool, int, float or complex
Elements = tuple[Number, ...]


def chosen(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Returns the indices that are compared, in logical order.

    >>> chosen((2, 2)), len(chosen((1000, 1000))), chosen((1000, 1000))[-1]
    ([(0, 0), (0, 1), (1, 0), (1, 1)], 256, (999, 999))
    """
    count = math.prod(shape)
    if count <= MOST:
        return [index_at(shape, number) for number in range(count)]
    between = MOST - 2 * ENDS
    step = (count - 2 * ENDS) // between
    numbers = [
        *range(ENDS),
        *(ENDS + i * step for i in range(between)),
        *range(count - ENDS, count),
    ]
    return [index_at(shape, number) for number in numbers]


def index_at(shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Returns the index of an element by its number in logical order.

    >>> index_at((2, 3), 4)
    (1, 1)
    """
    index = []
    for extent in reversed(shape):
        number, offset = divmod(number, extent)
        index.append(offset)
    return tuple(reversed(index))


def is_decodable(dtype: dtypes.Triple | None) -> bool:
    """Whether the struct module can read elements of a dtype."""
    return dtype is not None and dtype[2] == 1 and _format(dtype) is not None


def _format(dtype: dtypes.Triple) -> str | None:
    return dtypes.element_format(dtype[0], dtype[1])


def decode(content: bytes, dtype: dtypes.Triple) -> Number:
    """Returns the number of one element; the dtype is decodable."""
    letters = _format(dtype)
    assert letters is not None
    if letters == dtypes.BFLOAT16:
        return struct.unpack("<f", bytes(2) + content)[0]
    parts = struct.unpack(f"={letters}", content)
    return complex(*parts) if len(parts) == 2 else parts[0]


def read(x: Description) -> Elements | None:
    """Returns the elements at the chosen indices; None where they cannot be read or decoded."""
    steps, memory = x.stride_bytes, x.memory
    if x.shape is None or x.dtype is None or steps is None or memory is None:
        return None
    if not x.is_host or not x.first or not is_decodable(x.dtype):
        return None
    begin, end = memory
    block = (
        abi.read_memory(begin, end - begin) if 0 <= begin < end <= begin + MOST_AT_ONCE else None
    )
    numbers = []
    for index in chosen(x.shape):
        address = x.first + sum(i * step for i, step in zip(index, steps))
        if block is not None:
            content: bytes | None = block[address - begin : address - begin + x.element_bytes]
        else:
            content = abi.read_memory(address, x.element_bytes)
        if content is None:
            return None
        numbers.append(decode(content, x.dtype))
    return tuple(numbers)


def first_difference(
    one: Elements, other: Elements, equal: Callable[[Number, Number], bool] = same
) -> tuple[int, int] | None:
    """Returns the position of the first difference, and how many there are; None without one."""
    unequal = [i for i, (a, b) in enumerate(zip(one, other)) if not equal(a, b)]
    return (unequal[0], len(unequal)) if unequal else None
