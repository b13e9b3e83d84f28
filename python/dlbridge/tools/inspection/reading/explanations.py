# SPDX-License-Identifier: BSD-3-Clause
"""Explains wrong elements: which repair of the description would give those of the object."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Callable

from ... import dtypes
from ...elements import row_major, same
from ...output import plural
from . import elements
from .description import Description

FARTHEST = 64  # elements by which a data pointer is tried elsewhere
FEWEST = 3  # different values without which an explanation could be chance


def equality_of(dtype: dtypes.Triple) -> Callable[[Any, Any], bool]:
    """Returns whether a list may show a number so.

    It may be rounded to 32 bits, and show more digits than a float of 32 bits has. Other numbers
    are the same only with the same bits: a zero has a sign.
    """
    is_single = dtype in (dtypes.ENCODABLE["float32"][0], dtypes.ENCODABLE["complex64"][0])

    def equal(number: Any, listed: Any) -> bool:
        return (
            same(number, listed)
            or same(_rounded(number), listed)
            or (is_single and same(number, _rounded(listed)))
        )

    return equal


def _rounded(x: Any) -> Any:
    """Returns a number as a float of 32 bits holds it."""
    if isinstance(x, complex):
        return complex(_rounded(x.real), _rounded(x.imag))
    try:
        return struct.unpack("f", struct.pack("f", x))[0] if isinstance(x, float) else x
    except OverflowError:
        return math.copysign(math.inf, x)


def explain(x: Description, expected: Sequence[Any]) -> str:
    """Returns which repair of the description would give the expected elements; "" for none.

    Reads the memory again, so the source must be alive.
    """
    if len({repr(value) for value in expected}) < FEWEST:
        return ""
    for description, repair in _variants(x):
        numbers = replace(description, raw=elements.read(description)).numbers
        equal = equality_of(description.dtype or (0, 0, 0))
        if len(numbers) == len(expected) and all(map(equal, numbers, expected)):
            return repair
    return ""


def _variants(x: Description) -> Iterator[tuple[Description, str]]:
    size, layout = x.element_bytes, x.layout
    if layout is None or x.dtype is None or x.shape is None:
        return
    yield from _other_strides(x, layout.strides)
    if x.byte_offset:
        yield (
            replace(x, byte_offset=0),
            f"data already includes the byte_offset of {x.byte_offset}, which consumers add again",
        )
    for distance in sorted(range(-FARTHEST, FARTHEST + 1), key=abs):
        if distance:
            way = "further on" if distance > 0 else "before"
            yield (
                replace(x, data=x.data + distance * size),
                f"the first element is {plural(abs(distance), 'element')} "
                f"({plural(abs(distance) * size, 'byte')}) {way}: correct data or byte_offset",
            )
    for dtype, _ in dtypes.ENCODABLE.values():
        if dtype != x.dtype:
            yield (
                replace(x, dtype=dtype, byte_strides=None),
                f"the elements are {dtypes.name(dtype)} {dtype}: export that dtype",
            )


def _other_strides(x: Description, strides: tuple[int, ...]) -> Iterator[tuple[Description, str]]:
    assert x.shape is not None
    size = x.element_bytes

    def with_strides(other: tuple[int, ...]) -> Description:
        return replace(x, strides=other, byte_strides=None, strides_is_null=False)

    if size > 1 and all(step % size == 0 for step in strides):
        fewer = tuple(step // size for step in strides)
        yield with_strides(fewer), "the strides count bytes; DLPack counts elements"
    yield with_strides(strides[::-1]), f"the strides are {list(strides[::-1])}, in the other order"
    compact = row_major(x.shape)
    yield with_strides(compact), f"the memory is row-major: export the strides {list(compact)}"
    reverse = row_major(x.shape[::-1])[::-1]
    yield with_strides(reverse), f"the memory is column-major: export the strides {list(reverse)}"
    if len(x.shape) == 1:
        for step in (*range(2, 17), -1, -2):
            yield with_strides((step,)), f"it is a view: export the stride {step}"
