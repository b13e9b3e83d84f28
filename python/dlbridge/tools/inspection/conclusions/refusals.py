# SPDX-License-Identifier: BSD-3-Clause
"""Arrays whose own __dlpack__ refuses their dtype or their strides: the reason, and what helps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ... import dtypes
from ...versions import reaches
from ..reading.observation import Observation
from ..reading.protocols import DLPACK, SHARING
from .oddity import Oddity

WHO = "consumers of DLPack refuse it"
REGISTERS = "2.5.0"  # the first NumPy with numpy.dtypes.register_dlpack_dtype

NAMED = {  # NumPy's float128 and complex256 are long doubles
    dtypes.name((code, bits, 1)): (code, bits)
    for code, row in dtypes.CODES.items()
    for bits in row.widths or ()
    if not (code in (dtypes.FLOAT, dtypes.COMPLEX) and bits > 64 * (1 + (code == dtypes.COMPLEX)))
}

# What NumPy's dtypes lack, by the text of the dtype: the sentence, and an expression that helps.
# Each expression is evaluated by a test on an array of this dtype.
HELPS: tuple[tuple[str, str, str], ...] = (
    (
        r"[<>|=]?[USTa]\d*$|StringDType",
        "Its elements are text. DLPack has no dtype for it.",
        "",
    ),
    (
        r">",
        "Its elements are in the other byte order. DLPack has the native order only.",
        'x.astype(x.dtype.newbyteorder("="))',
    ),
    (
        r"datetime64|timedelta64",
        "Its elements are dates or times. DLPack has no dtype for them.",
        'x.view("i8")',
    ),
    (
        r"float(80|96|128)|longdouble",
        "Its elements are long doubles, whose format DLPack does not define.",
        'x.astype("f8")',
    ),
    (
        r"complex(160|192|256)|clongdouble",
        "Its elements are pairs of long doubles, whose format DLPack does not define.",
        'x.astype("c16")',
    ),
    (
        r"object",
        "Its elements are references to Python objects. DLPack has no dtype for them.",
        'x.astype("f8")',
    ),
    (
        r"[\[{(]|\|?[V]",
        "Its elements are records. DLPack has no dtype for them.",
        "x[x.dtype.names[0]].copy()",
    ),
)


def refused_array(x: Observation) -> Iterator[Oddity]:
    """The object describes an array by another protocol, and no way of DLPack exports it."""
    if x.tensor is None or x.described(SHARING):
        return
    refused = tuple(e.name for e in x.responses if e.outcome == "raised" and e.name in DLPACK)
    if x.subject.own_dtype in NAMED and x.tensor.dtype is None:
        yield _known(x, NAMED[x.subject.own_dtype], refused)
    elif x.tensor.dtype is None:
        yield _unknown(x.subject.own_dtype, x.tensor.dtype_text, refused)
    elif any(step % x.tensor.element_bytes for step in x.tensor.byte_strides or ()):
        yield Oddity(
            "risk",
            f"A stride is no multiple of an element of {x.tensor.element_bytes} bytes, as of a "
            f"field of packed records: {list(x.tensor.byte_strides or ())} bytes. DLPack counts "
            "elements.",
            WHO,
            refused,
            "pass a copy: x.copy()",
        )


def _known(x: Observation, dtype: tuple[int, int], refused: tuple[str, ...]) -> Oddity:
    """The dtype is one of DLPack's, as those of ml_dtypes are, but its __dlpack__ refuses it."""
    name = x.subject.own_dtype
    ways = []
    if x.subject.by_dlbridge in ("writable", "read-only"):
        ways.append(f"dlbridge.from_dlpack(x) reads it, and exports {name}")
    if reaches(x.installed.get("numpy", ""), REGISTERS):
        ways.append(f"numpy.dtypes.register_dlpack_dtype({dtype}, x.dtype) lets NumPy export it")
    repair = "; ".join(ways) or 'pass other numbers: x.astype("f4")'
    what = f"Its dtype is {name}, which DLPack has, but its own __dlpack__ refuses it."
    return Oddity("risk", what, WHO, refused, repair)


def _unknown(own_dtype: str, text: str, refused: tuple[str, ...]) -> Oddity:
    for pattern, sentence, help_ in HELPS:
        if own_dtype and re.match(pattern, own_dtype):
            repair = f"pass numbers: {help_}" if help_ else "pass numbers"
            return Oddity("risk", sentence, WHO, refused, repair)
    return Oddity("note", f"The elements, {text}, have no dtype in DLPack.", protocols=refused)
