"""Cases of the strides: NULL, backwards, broadcast, gaps, permuted, those that mean nothing."""

from __future__ import annotations

import math
from typing import Callable

from dlbridge.tools.inspection.cases.case import Case, has_elements, on
from dlbridge.tools.inspection.description import Description


def _moves(which: str) -> Callable[[Description], bool]:
    """A list of Layout is not empty, for a tensor with elements."""
    return lambda x: has_elements(x) and bool(getattr(x.layout, which))


def _alone(x: Description) -> list[int]:
    """The dimensions of one index, whose strides lead nowhere."""
    return [i for i, n in enumerate(x.shape or ()) if n == 1] if has_elements(x) else []


def _odd_alone(x: Description) -> list[int]:
    """Those of them whose strides differ from those of compact memory."""
    if x.strides is None or x.shape is None or x.layout is None or not x.layout.is_row_major():
        return []
    return [i for i in _alone(x) if x.strides[i] != math.prod(x.shape[i + 1 :])]


def _negative_alone(x: Description) -> list[int]:
    return [i for i in _alone(x) if x.strides is not None and x.strides[i] < 0]


def _has_gaps(x: Description) -> bool:
    layout = x.layout
    return (
        has_elements(x)
        and layout is not None
        and not (layout.backwards or layout.broadcast or layout.is_compact)
    )


def _is_permuted(x: Description) -> bool:
    layout = x.layout
    return layout is not None and layout.is_compact and not layout.is_row_major()


def _is_column_major(x: Description) -> bool:
    return _is_permuted(x) and x.layout is not None and x.layout.is_column_major()


def _beyond_one(x: Description) -> bool:
    return x.version is not None and x.version >= (1, 2)


STRIDES = [
    Case(
        "strides NULL",
        "note",
        lambda x: bool(x.shape) and x.strides_is_null and x.format is None and not _beyond_one(x),
        lambda x: "the strides are NULL",
        ". . . . . . . . . . . . . .",
        lambda x: (
            "The strides are a NULL pointer: row-major is meant. DLPack 1.2 and newer forbid that."
        ),
    ),
    Case(
        "strides NULL against its version",
        "defect",
        lambda x: bool(x.shape) and x.strides_is_null and x.format is None and _beyond_one(x),
        lambda x: "the strides are NULL",
        ". . . . . . . . . . . . . .",
        lambda x: (
            "The strides are a NULL pointer, and the version is "
            f"{x.version[0] if x.version else 0}.{x.version[1] if x.version else 0}: "
            "from 1.2 on that is forbidden."
        ),
    ),
    Case(
        "strides NULL with an offset",
        "",
        lambda x: bool(x.shape) and x.strides_is_null and x.byte_offset != 0,
        lambda x: "a byte offset with strides that are NULL",
        ". VE . . . . . . . . . . . .",
    ),
    Case(
        "strides NULL on oneAPI",
        "",
        lambda x: bool(x.shape) and x.strides_is_null and on(14)(x),
        lambda x: "the strides are NULL",
        ". . . . . . . SEGV . . . . . .",
    ),
    Case(
        "backwards",
        "risk",
        _moves("backwards"),
        lambda x: "a negative stride",
        ". ABRT JRE IAE MXE . BE . later VE AIn RE . .",
        lambda x: (
            f"It runs backwards: the strides {list(x.layout.strides) if x.layout else []} "
            "have a negative one."
        ),
    ),
    Case(
        "broadcast",
        "risk",
        _moves("broadcast"),
        lambda x: "a stride of 0",
        ". . JRE IAE MXE . BE . . . . RE . .",
        lambda x: (
            "Many elements share one place: a stride is 0 (broadcast). Writing to one "
            "writes to all."
        ),
    ),
    Case(
        "gaps",
        "risk",
        _has_gaps,
        lambda x: "not compact",
        ". . JRE IAE MXE . BE . . . . RE . .",
        lambda x: (
            "Elements overlap."
            if x.layout is not None and x.layout.shares
            else "There are gaps between the elements."
        ),
    ),
    Case(
        "column-major",
        "note",
        _is_column_major,
        lambda x: "column-major",
        ". . . IAE MXE . memory . . . . RE . .",
        lambda x: "It is column-major: the first dimension is the fastest.",
    ),
    Case(
        "permuted",
        "note",
        lambda x: _is_permuted(x) and not _is_column_major(x),
        lambda x: "permuted dimensions",
        ". . . IAE MXE . BE . . . . RE . .",
        lambda x: "It is compact, with its dimensions in another order than row-major.",
    ),
    Case(
        "negative stride of one index",
        "risk",
        lambda x: bool(_negative_alone(x)),
        lambda x: "a negative stride, of a dimension with one index",
        ". . . . MXE . BE . . VE AIn . . .",
        lambda x: "A dimension of one index has a negative stride, which leads nowhere.",
    ),
    Case(
        "odd stride of one index",
        "note",
        lambda x: bool(_odd_alone(x)) and not _negative_alone(x),
        lambda x: "an odd stride, of a dimension with one index",
        ". . . . MXE . . . . . . . . .",
        lambda x: (
            "It is row-major but for the stride of a dimension with one index, which "
            "means nothing; who compares strides word for word takes it for something else."
        ),
    ),
]
