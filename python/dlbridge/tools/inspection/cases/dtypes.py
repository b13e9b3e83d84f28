"""Cases of the dtype: those that DLPack does not know, and those that some library does not."""

from __future__ import annotations

from typing import Callable

from dlbridge.tools.inspection.cases.case import Case
from dlbridge.tools.inspection.description import Description, dtype_name

Triple = tuple[int, int, int]

# Nothing is odd in these; not everybody has them. A name, the triples of which it is, the cells.
PLAIN: list[tuple[str, list[Triple], str]] = [
    ("bool", [(6, 8, 1)], ". . . . MXE . . . . . AIn RE . ."),
    ("bfloat16", [(4, 16, 1)], "RE . . . . . . BE . . AIn . . ."),
    ("float8 of PyTorch and Paddle", [(10, 8, 1), (12, 8, 1)],
     "RE . . IAE MXE . . BE . VE AIn RE RE ."),
    ("float8 of PyTorch", [(14, 8, 1)], "RE . . IAE MXE . . BE NIE VE AIn RE RE ."),
    ("float8 of JAX", [(7, 8, 1)], "RE BE . IAE MXE . . BE NIE VE AIn RE RE ."),
    ("other float8", [(8, 8, 1), (9, 8, 1), (11, 8, 1), (13, 8, 1)],
     "RE ? . IAE MXE . . BE NIE VE AIn RE RE ."),
    ("float4 in pairs", [(17, 4, 2)], "RE . JRE IAE MXE . . BE NIE VE ATy RE RE ."),
    ("complex32", [(5, 32, 1)], "RE . JRE IAE MXE . KE TE NIE VE AIn RE RE ."),
    ("complex64", [(5, 64, 1)], ". . . . MXE . . . . . AIn RE RE ."),
    ("complex128", [(5, 128, 1)], ". . narrows . UDE . . . . narrows AIn RE RE ."),
    ("float64", [(2, 64, 1)], ". . narrows . . . . . . narrows . . . ."),
    ("int64", [(0, 64, 1)], ". . narrows . . . . . . . . . . ."),
    ("uint64", [(1, 64, 1)], ". . narrows . MXE . . . . . . . . ."),
    ("uint16", [(1, 16, 1)], ". . . . MXE . . . . . . . . ."),
    ("integers that MXNet was not asked about", [(0, 16, 1), (1, 32, 1)],
     ". . . . ? . . . . . . . . ."),
]  # fmt: skip


def _triple(*triples: Triple) -> Callable[[Description], bool]:
    return lambda x: x.dtype in triples


def _known_dtype(x: Description) -> bool:
    return x.dtype is None or not dtype_name(x.dtype).startswith("unknown")


def _is_sub_byte(x: Description) -> bool:
    return x.dtype is not None and x.dtype[2] == 1 and 0 < x.dtype[1] < 8 and _known_dtype(x)


ODD = [
    Case(
        "bits 0",
        "defect",
        lambda x: x.dtype is not None and x.dtype[1] == 0,
        lambda x: "elements of no bits",
        "RE BE JRE IAE MXE later . TE NIE VE AIn RE RE .",
        lambda x: f"The dtype {x.dtype} has elements of no bits.",
    ),
    Case(
        "lanes 0",
        "defect",
        lambda x: x.dtype is not None and x.dtype[1] != 0 and x.dtype[2] == 0,
        lambda x: "elements of no lanes",
        "RE BE JRE . MXE later . BE . VE ATy RE . .",
        lambda x: f"The dtype {x.dtype} has elements of no lanes.",
    ),
    Case(
        "unknown dtype",
        "defect",
        lambda x: not _known_dtype(x) and x.element_bits > 0,
        lambda x: "the dtype is unknown",
        "RE BE JRE IAE UDE later . BE NIE VE AIn RE RE .",
        lambda x: f"DLPack knows no dtype {x.dtype} (code, bits, lanes).",
    ),
    Case(
        "lanes",
        "risk",
        lambda x: x.dtype is not None and x.dtype[2] > 1 and x.dtype[0] != 17,
        lambda x: f"vectors of {x.dtype[2] if x.dtype else 0} lanes",
        "RE BE JRE wrong MXE . . BE NIE VE ATy RE wrong .",
        lambda x: f"Elements are vectors: {x.dtype_text} has {x.dtype[2] if x.dtype else 0} lanes.",
    ),
    Case(
        "bool in one bit",
        "risk",
        _triple((1, 1, 1), (6, 1, 1)),
        lambda x: "elements of one bit",
        "RE BE JRE IAE ? . . TE NIE VE AIn RE RE .",
        lambda x: f"Elements have one bit ({x.dtype}): MXNet's way of saying bool.",
    ),
    Case(
        "no dtype",
        "note",
        lambda x: x.dtype is None,
        lambda x: x.dtype_text,
        "? ? ? ? ? ? ? ? ? ? ? ? ? TE",
        lambda x: f"The elements, {x.dtype_text}, are none that DLPack has a dtype for.",
    ),
    Case(
        "format =",
        "risk",
        lambda x: (x.format or "").startswith("="),
        lambda x: f"the format {x.format!r} of its buffer",
        ". . . . . . KE . . . . . . .",
        lambda x: f"The format of its buffer is {x.format!r}, with an order of bytes before it.",
    ),
    Case(
        "other sub-byte floats",
        "risk",
        lambda x: _is_sub_byte(x) and x.dtype is not None and x.dtype[0] > 6,
        lambda x: x.dtype_text,
        "RE BE JRE IAE MXE . . BE NIE VE AIn RE RE .",
        lambda x: f"{x.dtype_text}: elements share bytes, and strides count no whole ones.",
    ),
    Case(
        "sub-byte integers",
        "risk",
        lambda x: _is_sub_byte(x) and x.dtype is not None and x.dtype[0] <= 1 and x.dtype[1] > 1,
        lambda x: x.dtype_text,
        "RE BE JRE IAE MXE . . TE NIE VE AIn RE RE .",
        lambda x: f"{x.dtype_text}: elements share bytes, and strides count no whole ones.",
    ),
    Case(
        "float128",
        "risk",
        _triple((2, 128, 1)),
        lambda x: "float128",
        "RE BE JRE IAE UDE . . wrong NIE VE AIn RE RE .",
        lambda x: "float128 is IEEE's; x87's long double has the same name in places.",
    ),
    Case(
        "opaque handles",
        "note",
        lambda x: x.dtype is not None and x.dtype[0] == 3,
        lambda x: "opaque handles",
        "RE BE JRE IAE MXE . . BE NIE VE AIn RE VE .",
        lambda x: "Elements are opaque handles: both sides must agree on what they are.",
    ),
]

DTYPES = [
    *ODD,
    *(Case(name, "", _triple(*of), lambda x: x.dtype_text, cells) for name, of, cells in PLAIN),
]
