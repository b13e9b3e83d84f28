# SPDX-License-Identifier: BSD-3-Clause
"""Reads the elements of a description from host memory: all of a small tensor, some of a large one.

The memory may be unreadable, or freed; nothing here dereferences an address itself.
"""

from __future__ import annotations

import math

from ... import abi
from ...conformance.helpers.readings import decode
from ...dtypes import Triple
from ...elements import index_at
from .description import Description

MOST = 256  # elements that are compared
ENDS = 64  # the first and the last elements of a larger tensor, that are among them
MOST_AT_ONCE = 1 << 20  # bytes that are read by one call


def chosen(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the numbers, in row-major order, of the elements that are compared.

    >>> chosen((2, 2)), len(chosen((1000, 1000))), chosen((1000, 1000))[-1]
    ((0, 1, 2, 3), 256, 999999)
    """
    count = math.prod(shape)
    if count <= MOST:
        return tuple(range(count))
    between = MOST - 2 * ENDS
    step = (count - 2 * ENDS) // between
    return (
        *range(ENDS),
        *(ENDS + i * step for i in range(between)),
        *range(count - ENDS, count),
    )


def is_decodable(dtype: Triple) -> bool:
    """Whether Python can read elements of a dtype."""
    return decode(b"", dtype) is not None


def read(x: Description) -> bytes | None:
    """Returns the bytes of the chosen elements; None where they cannot be read or decoded."""
    steps, memory = x.stride_bytes, x.memory
    if x.shape is None or x.dtype is None or steps is None or memory is None:
        return None
    if not x.is_host or not x.first or not is_decodable(x.dtype):
        return None
    begin, end = memory
    block = (
        abi.read_memory(begin, end - begin) if 0 <= begin < end <= begin + MOST_AT_ONCE else None
    )
    parts = []
    for number in chosen(x.shape):
        index = index_at(x.shape, number)
        address = x.first + sum(i * step for i, step in zip(index, steps))
        if block is not None:
            content: bytes | None = block[address - begin : address - begin + x.element_bytes]
        else:
            content = abi.read_memory(address, x.element_bytes)
        if content is None:
            return None
        parts.append(content)
    return b"".join(parts)
