# SPDX-License-Identifier: BSD-3-Clause
"""Examines memory that may not be readable: whether it is code, and its first values."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

from ... import abi, dtypes
from ...conformance.helpers.readings import decode
from ...elements import index_at
from . import elements
from .description import Description

MOST_VALUES = 6  # in a sample


_code: set[int] = set()  # found to be executable: the list of mappings is long


def is_code(address: int) -> bool:
    """Whether an address is in executable memory; functions elsewhere are never called.

    On other systems than Linux every address except NULL is accepted.
    """
    if not address or not sys.platform.startswith("linux"):
        return bool(address)
    if address in _code:
        return True
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                where, rights, *_ = line.split()
                if "x" in rights:
                    begin, end = (int(part, 16) for part in where.split("-"))
                    if begin <= address < end:
                        _code.add(address)
                        return True
    except (OSError, ValueError):
        return True  # the mappings are not available
    return False


def value_text(content: bytes, dtype: tuple[int, int, int]) -> str:
    """Formats one element; one of a dtype that struct does not support as hexadecimal bytes."""
    numbers = decode(content, dtype)
    if numbers is None:
        return content.hex()
    (x,) = numbers
    if dtype[0] == dtypes.BOOL and content[0] > 1:
        return f"{content[0]} as bool"
    if isinstance(x, complex):
        return f"{x.real:g}{x.imag:+g}j"
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def value_at(x: Description, offset: int) -> str:
    """Formats the element at an offset in elements; "" where it cannot be read.

    Where Python has no such dtype, as floats of 4 bits, it shows the bits.
    """
    if not x.is_host or x.dtype is None or not x.first or not x.readable:
        return ""
    code, bits, lanes = x.dtype
    skipped = offset * x.element_bits % 8 if x.is_packed else 0
    begin = offset * x.element_bits // 8 if x.is_packed else offset * x.element_bytes
    content = abi.read_memory(x.first + begin, -(-(skipped + x.element_bits) // 8))
    if content is None or bits >= 8 or lanes != 1:
        return "" if content is None else value_text(content, x.dtype)
    number = int.from_bytes(content, "little") >> skipped & ~(-1 << bits)
    if code == dtypes.INT:
        return str(number - (number >> bits - 1 << bits))
    return str(number) if code == dtypes.UINT else f"{number:0{bits}b}"


def _sample(x: Description, begin: int) -> tuple[str, ...]:
    assert x.dtype is not None and x.shape is not None
    values = []
    for number in range(min(math.prod(x.shape), MOST_VALUES)):
        index = index_at(x.shape, number)
        offset = sum(i * step for i, step in zip(index, x.stride_bytes or ()))
        content = abi.read_memory(begin + offset, x.element_bytes)
        if content is None:
            return ()
        values.append(value_text(content, x.dtype))
    return tuple(values)


def with_memory(x: Description) -> Description:
    """Adds whether the memory is readable, and its first values: for host memory only."""
    if not x.is_host or x.memory is None or not x.first:
        return x
    begin, end = x.memory
    is_readable = 0 <= begin < end and all(
        abi.read_memory(address, 1) is not None for address in (begin, end - 1)
    )
    if not is_readable or x.stride_bytes is None or x.dtype is None:
        return replace(x, readable=is_readable)
    return replace(
        x,
        readable=True,
        raw=elements.read(x),
        sample=_sample(x, x.first),
        sample_at_data=_sample(x, x.data) if x.byte_offset else (),
    )
