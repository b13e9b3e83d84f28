"""Cases of ndim, shape and the pointers to shape and strides."""

from __future__ import annotations

import math

from dlbridge.tools import abi
from dlbridge.tools.inspection.cases.case import Case
from dlbridge.tools.inspection.description import Description


def _too_big(x: Description) -> bool:
    bits = max(1, x.element_bits)
    return bool(x.shape) and x.is_sound and math.prod(x.shape or ()) * bits // 8 >= 1 << 63


SHAPES = [
    Case(
        "shape NULL",
        "defect",
        lambda x: x.ndim > 0 and x.shape_is_null,
        lambda x: "the shape is a NULL pointer",
        "SEGV SEGV SEGV SEGV SEGV SEGV ? SEGV SEGV SEGV ? SEGV ? SEGV",
        lambda x: f"The shape is a NULL pointer, and ndim is {x.ndim}.",
    ),
    Case(
        "ndim negative",
        "defect",
        lambda x: x.ndim < 0,
        lambda x: f"ndim is {x.ndim}",
        "VE SEGV JRE ME MXE later BE wrong wrong TE AIn ABRT IE TE",
    ),
    Case(
        "ndim over 64",
        "risk",
        lambda x: x.ndim > abi.MAX_NDIM,
        lambda x: f"ndim is {x.ndim}",
        "RE later later later later later . VE RE . later later RE .",
        lambda x: f"ndim is {x.ndim}: taken for garbage, and its shape was not read.",
    ),
    Case(
        "ndim over 32",
        "risk",
        lambda x: 32 < x.ndim <= abi.MAX_NDIM,
        lambda x: f"{x.ndim} dimensions",
        ". . . . later . . . RE . . . RE .",
    ),
    Case(
        "shape unreadable",
        "defect",
        lambda x: 0 < x.ndim <= abi.MAX_NDIM and x.shape is None and not x.shape_is_null,
        lambda x: "the shape leads nowhere",
        "? ? ? ? ? ? ? ? ? ? ? ? ? ?",
        lambda x: "The pointer to the shape leads to memory that is not there.",
    ),
    Case(
        "strides unreadable",
        "defect",
        lambda x: (
            bool(x.shape) and x.strides is None and x.byte_strides is None and not x.strides_is_null
        ),
        lambda x: "the strides lead nowhere",
        "? ? ? ? ? ? ? ? ? ? ? ? ? ?",
        lambda x: "The pointer to the strides leads to memory that is not there.",
    ),
    Case(
        "extent negative",
        "defect",
        lambda x: x.shape is not None and not x.is_sound,
        lambda x: "a negative extent",
        "VE RE RE ABRT MXE later BE VE later SEGV AIn RE VE later",
        lambda x: f"The shape {list(x.shape or ())} has a negative extent.",
    ),
    Case(
        "too big",
        "defect",
        _too_big,
        lambda x: "more bytes than there are addresses",
        "VE ABRT RE ABRT later later . VE later OE AIn RE VE later",
        lambda x: "The shape has more bytes than there are addresses.",
    ),
]
