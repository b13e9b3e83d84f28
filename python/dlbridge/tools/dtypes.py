# SPDX-License-Identifier: BSD-3-Clause
"""The dtypes of DLPack: the one table of them in the tools (spec 1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Triple = tuple[int, int, int]  # code, bits, lanes

INT, UINT, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL, FLOAT4 = 0, 1, 2, 3, 4, 5, 6, 17
BFLOAT16 = "bf"  # in place of a format of struct, which has none for bfloat16


@dataclass(frozen=True)
class TypeCode:
    """One DLDataTypeCode."""

    name: str  # of its dtypes; the number of bits follows where has_bits is set
    widths: frozenset[int] | None  # the valid numbers of bits; None: any
    formats: Mapping[int, str] = field(default_factory=dict)  # of struct, by bits; two for complex
    kind: str = ""  # its letter in a typestr of the array interfaces
    has_bits: bool = True


def _small(name: str, bits: int) -> TypeCode:
    return TypeCode(name, frozenset({bits}), has_bits=False)


_INTEGERS = frozenset({1, 2, 4, 8, 16, 32, 64, 128})
_COMPLEX = frozenset({32, 64, 128, 160, 192, 256})
CODES: dict[int, TypeCode] = {
    INT: TypeCode("int", _INTEGERS, {8: "b", 16: "h", 32: "i", 64: "q"}, "i"),
    UINT: TypeCode("uint", _INTEGERS, {8: "B", 16: "H", 32: "I", 64: "Q"}, "u"),
    FLOAT: TypeCode(
        "float", frozenset({16, 32, 64, 80, 96, 128}), {16: "e", 32: "f", 64: "d"}, "f"
    ),
    OPAQUE: TypeCode("opaque", None),
    BFLOAT: TypeCode("bfloat", frozenset({16}), {16: BFLOAT16}),
    COMPLEX: TypeCode("complex", _COMPLEX, {32: "ee", 64: "ff", 128: "dd"}, "c"),
    BOOL: TypeCode("bool", frozenset({8}), {8: "?"}, "b"),
    7: _small("float8_e3m4", 8),
    8: _small("float8_e4m3", 8),
    9: _small("float8_e4m3b11fnuz", 8),
    10: _small("float8_e4m3fn", 8),
    11: _small("float8_e4m3fnuz", 8),
    12: _small("float8_e5m2", 8),
    13: _small("float8_e5m2fnuz", 8),
    14: _small("float8_e8m0fnu", 8),
    15: _small("float6_e2m3fn", 6),
    16: _small("float6_e3m2fn", 6),
    FLOAT4: _small("float4_e2m1fn", 4),
    18: TypeCode("bcomplex", frozenset({32})),
}

SUBBYTE_FLOATS = frozenset(
    code for code, row in CODES.items() if row.name.startswith(("float4", "float6"))
)


def is_known(dtype: Triple) -> bool:
    """Whether the table has a name for a dtype, whether or not it defines the number of bits."""
    code, bits, lanes = dtype
    row = CODES.get(code)
    if row is None or not 0 < bits < 256 or lanes < 1:
        return False
    return row.has_bits or bits in (row.widths or ())


def has_width(dtype: Triple) -> bool:
    """Whether the elements have as many bits as a dtype of this code may have."""
    row = CODES.get(dtype[0])
    return row is None or row.widths is None or dtype[1] in row.widths


def name(dtype: Triple) -> str:
    """Returns the name of a dtype.

    >>> name((2, 32, 1)), name((17, 4, 2)), name((6, 8, 1)), name((200, 8, 1))
    ('float32', 'float4_e2m1fnx2', 'bool', 'unknown dtype (200, 8, 1)')
    """
    if not is_known(dtype):
        return f"unknown dtype {dtype}"
    code, bits, lanes = dtype
    row = CODES[code]
    is_bool = code == BOOL and bits == 8
    text = f"{row.name}{bits}" if row.has_bits and not is_bool else row.name
    return f"{text}x{lanes}" if lanes > 1 else text


def element_format(code: int, bits: int) -> str | None:
    """Returns struct's format of one element, BFLOAT16, or None where there is neither."""
    return CODES[code].formats.get(bits) if code in CODES else None


def code_of_kind(kind: str) -> int | None:
    """Returns the type code of a letter in a typestr, None where there is none."""
    return next((code for code, row in CODES.items() if kind and row.kind == kind), None)


# The dtypes that Python can encode, by name: the triple and the format of an element. complex32
# is left out, as no library creates it from Python's numbers.
ENCODABLE: dict[str, tuple[Triple, str]] = {
    name((code, bits, 1)): ((code, bits, 1), text)
    for code, row in CODES.items()
    for bits, text in row.formats.items()
    if (code, bits) != (COMPLEX, 32)
}
