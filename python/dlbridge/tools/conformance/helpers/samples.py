# SPDX-License-Identifier: BSD-3-Clause
"""Elements of each dtype, with values that differ where one dtype is taken for another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from ... import elements
from ...dtypes import CODES, Triple, name

FLOAT32: Triple = (2, 32, 1)


@dataclass(frozen=True)
class SmallFloat:
    """A float of 8 bits, which Python's struct module cannot encode."""

    exponent: int  # bits
    mantissa: int  # bits
    bias: int
    special: str  # "ieee": infinities and NaN; "fn": one NaN; "uz": NaN for -0; "e8m0"

    def value(self, pattern: int) -> float:
        """Returns the number that these bits encode."""
        if self.special == "e8m0":
            return math.nan if pattern == 0xFF else math.ldexp(1.0, pattern - self.bias)
        sign = -1.0 if pattern >> (self.exponent + self.mantissa) else 1.0
        high = (pattern >> self.mantissa) & ((1 << self.exponent) - 1)
        low = pattern & ((1 << self.mantissa) - 1)
        if self.special == "uz" and pattern == 0x80:
            return math.nan
        if high == (1 << self.exponent) - 1:
            if self.special == "ieee":
                return math.nan if low else sign * math.inf
            if self.special == "fn" and low == (1 << self.mantissa) - 1:
                return math.nan
        if high == 0:
            return sign * math.ldexp(low, 1 - self.bias - self.mantissa)
        return sign * math.ldexp(low + (1 << self.mantissa), high - self.bias - self.mantissa)


SMALL_FLOATS = {  # by type code
    7: SmallFloat(3, 4, 3, "ieee"),
    8: SmallFloat(4, 3, 7, "ieee"),
    9: SmallFloat(4, 3, 11, "uz"),
    10: SmallFloat(4, 3, 7, "fn"),
    11: SmallFloat(4, 3, 8, "uz"),
    12: SmallFloat(5, 2, 15, "ieee"),
    13: SmallFloat(5, 2, 16, "uz"),
    14: SmallFloat(8, 0, 127, "e8m0"),
}

# Dtypes of DLPack whose elements have a value here.
READABLE: dict[Triple, str] = {
    **elements.NAMES,
    **{(code, 8, 1): CODES[code].name for code in SMALL_FLOATS},
}
# Their names, and those of the dtypes without values: what a library may report.
KNOWN_NAMES = frozenset(
    name((code, bits, 1)) for code, row in CODES.items() for bits in row.widths or ()
)


@cache
def _patterns(code: int) -> tuple[int, ...]:
    """Returns the bits of every number that is equal to itself."""
    return tuple(bits for bits in range(256) if not math.isnan(SMALL_FLOATS[code].value(bits)))


def _pattern(code: int, index: int) -> int:
    patterns = _patterns(code)
    return patterns[(37 * index + 11) % len(patterns)]


def itemsize(dtype: Triple) -> int:
    """Returns the bytes of one element, rounded up."""
    _, bits, lanes = dtype
    return max(1, (bits * lanes + 7) // 8)


def value(dtype: Triple, index: int, precise: bool = False) -> Any:
    """Returns the value of the element at a distance from the first one.

    Neighbours differ, and so do the signed and the unsigned reading, and wider and narrower ones.
    `precise`: a float of half the bits cannot represent it; the first float is a negative zero.
    """
    code, bits, _ = dtype
    if code in SMALL_FLOATS:
        return SMALL_FLOATS[code].value(_pattern(code, index))
    kind = READABLE[dtype].rstrip("0123456789")
    if kind in ("int", "uint"):
        # Twice as many bits as the next narrower integer has, and the top bit of about half.
        number = (index * (2 ** (bits // 2) + 37) + 2 ** (bits - 1) + 3) % 2**bits
        return number - 2**bits if kind == "int" and number >= 2 ** (bits - 1) else number
    if kind == "bool":
        return (index * index + index // 3) % 2 == 1
    if kind == "complex":
        parts = (index, -3 * index - 1)
        return complex(*(_real(bits // 2, part, precise) for part in parts))
    if kind == "bfloat":
        return -0.0 if precise and index == 0 else float((index + 128) % 256 - 128)
    return _real(bits, index, precise)


def _real(bits: int, index: int, precise: bool) -> float:
    if precise and index == 0:
        return -0.0
    if bits == 16:
        return (index + 512) % 1024 - 512 + 0.5
    return index + (2.0 ** (-40 if bits == 64 else -18) if precise else 0.25)


@lru_cache(maxsize=1000)
def encode(dtype: Triple, first: int, end: int, precise: bool = False) -> bytes:
    """Returns the elements from one distance to another.

    A dtype without values gets bytes that all differ from their neighbours.
    """
    indices = range(first, end)
    if dtype[0] in SMALL_FLOATS and dtype in READABLE:
        return bytes(_pattern(dtype[0], i) for i in indices)
    if dtype in READABLE:
        return elements.encode([value(dtype, i, precise) for i in indices], READABLE[dtype])
    return bytes((37 * i + 11) % 251 for i in range((end - first) * itemsize(dtype)))


def decode(content: bytes, dtype: Triple) -> Any:
    """Returns the value of one element. Raises KeyError for a dtype without values."""
    if dtype[0] in SMALL_FLOATS and dtype in READABLE:
        return SMALL_FLOATS[dtype[0]].value(content[0])
    return elements.decode(content, READABLE[dtype])


def nested(
    dtype: Triple,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    first: int = 0,
    precise: bool = False,
) -> Any:
    """Returns the values of a tensor whose first element is at this distance.

    >>> nested((2, 32, 1), (2, 2), (1, 10))
    [[0.25, 10.25], [1.25, 11.25]]
    """
    if not shape:
        return value(dtype, first, precise)
    rest = shape[1:], strides[1:]
    return [nested(dtype, *rest, first + i * strides[0], precise) for i in range(shape[0])]
