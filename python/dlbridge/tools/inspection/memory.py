"""Looks at memory that may not be there: is it code, what values are in it."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace

from dlbridge.tools import abi
from dlbridge.tools.inspection.description import Description
from dlbridge.tools.inspection.layout import first_indices

MOST_VALUES = 6  # of a sample
# By code and bits: how struct names it.
_FORMATS = {
    **{(0, bits): letter for bits, letter in zip((8, 16, 32, 64), "bhiq")},
    **{(1, bits): letter for bits, letter in zip((8, 16, 32, 64), "BHIQ")},
    **{(2, bits): letter for bits, letter in zip((16, 32, 64), "efd")},
    **{(5, bits): letter for bits, letter in zip((32, 64, 128), ("ee", "ff", "dd"))},
    (6, 8): "B",
}


def is_code(address: int) -> bool:
    """Whether a function may be at an address: nothing is called that is not in executable memory.

    Elsewhere than on Linux any address but NULL is believed.
    """
    if not address or not sys.platform.startswith("linux"):
        return bool(address)
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                where, rights, *_ = line.split()
                if "x" in rights:
                    begin, end = (int(part, 16) for part in where.split("-"))
                    if begin <= address < end:
                        return True
    except (OSError, ValueError):
        return True  # nobody can tell
    return False


def value_text(content: bytes, dtype: tuple[int, int, int]) -> str:
    """One element in words; of a dtype that Python has not, its bytes."""
    code, bits, lanes = dtype
    if lanes == 1 and (code, bits) == (4, 16):
        return f"{struct.unpack('<f', bytes(2) + content)[0]:g}"
    if lanes != 1 or (code, bits) not in _FORMATS:
        return content.hex()
    parts = struct.unpack(f"={_FORMATS[code, bits]}", content)
    if code == 5:
        return f"{parts[0]:g}{parts[1]:+g}j"
    if code == 6:
        return {0: "False", 1: "True"}.get(parts[0], f"{parts[0]} as bool")
    return f"{parts[0]:.6g}" if code == 2 else str(parts[0])


def _sample(x: Description, begin: int) -> tuple[str, ...]:
    assert x.dtype is not None and x.shape is not None
    values = []
    for index in first_indices(x.shape, MOST_VALUES):
        place = sum(i * step for i, step in zip(index, x.stride_bytes or ()))
        content = abi.read_memory(begin + place, x.element_bytes)
        if content is None:
            return ()
        values.append(value_text(content, x.dtype))
    return tuple(values)


def looked_at(x: Description) -> Description:
    """The same, with whether its memory is there and its first values: host memory only."""
    if not x.is_host or x.memory is None or not x.first:
        return x
    begin, end = x.memory
    there = 0 <= begin < end and all(
        abi.read_memory(address, 1) is not None for address in (begin, end - 1)
    )
    if not there or x.stride_bytes is None or x.dtype is None:
        return replace(x, readable=there)
    return replace(
        x,
        readable=True,
        sample=_sample(x, x.first),
        sample_at_data=_sample(x, x.data) if x.byte_offset else (),
    )
