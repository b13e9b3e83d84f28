# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the strides: NULL, negative, broadcast, gaps, permuted, strides of extents of 1."""

from __future__ import annotations

import math
from typing import Callable

from ... import devices
from ..reading.description import Description
from .case import (
    FAILS_LATER,
    MEMORY_ORDER,
    NO_EFFECT,
    Case,
    Changed,
    has_elements,
    on,
    reactions,
)


def _moves(which: str) -> Callable[[Description], bool]:
    """Whether a list of Layout is not empty, for a tensor with elements."""
    return lambda x: has_elements(x) and bool(getattr(x.layout, which))


def _alone(x: Description) -> list[int]:
    """Returns the dimensions of extent 1, whose strides are never used."""
    return [i for i, n in enumerate(x.shape or ()) if n == 1] if has_elements(x) else []


def _odd_alone(x: Description) -> list[int]:
    """Returns the dimensions of extent 1 whose strides differ from those of compact memory."""
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


# Those of the consumers that take compact memory only.
COMPACT = reactions(
    jax="JaxRuntimeError",
    tensorflow="InvalidArgumentError",
    mxnet="MXNetError",
    mpi4py="BufferError",
    onnxruntime="RuntimeError",
)

STRIDES = [
    Case(
        "strides NULL",
        "note",
        lambda x: bool(x.shape) and x.strides_is_null and x.format is None and not _beyond_one(x),
        lambda x: "the strides are NULL",
        reactions(),
        lambda x: (
            "The strides are a NULL pointer, which means row-major. DLPack 1.2 and newer forbid it."
        ),
    ),
    Case(
        "strides NULL against its version",
        "defect",
        lambda x: bool(x.shape) and x.strides_is_null and x.format is None and _beyond_one(x),
        lambda x: "the strides are NULL",
        reactions(),
        lambda x: (
            "The strides are a NULL pointer, and the version is "
            f"{x.version[0] if x.version else 0}.{x.version[1] if x.version else 0}: "
            "from 1.2 on that is forbidden."
        ),
        rule="P-12",
    ),
    Case(
        "strides NULL with an offset",
        "",
        lambda x: bool(x.shape) and x.strides_is_null and x.byte_offset != 0,
        lambda x: "a byte offset with strides that are NULL",
        reactions(torch="ValueError"),
    ),
    Case(
        "strides NULL on oneAPI",
        "",
        lambda x: bool(x.shape) and x.strides_is_null and on(devices.ONEAPI)(x),
        lambda x: "the strides are NULL",
        reactions(dpnp="SIGSEGV"),
    ),
    Case(
        "backwards",
        "risk",
        _moves("backwards"),
        lambda x: "a negative stride",
        reactions(
            COMPACT,
            torch=Changed("SIGABRT", "2.14.0", "RuntimeError"),
            paddle=FAILS_LATER,
            mlx="ValueError",
            pyarrow="ArrowInvalid",
        ),
        lambda x: (
            f"A stride is negative: {list(x.layout.strides) if x.layout else []}; it runs "
            "backwards."
        ),
        repair="pass a copy: dlbridge.from_dlpack(x, copy=True)",
    ),
    Case(
        "broadcast",
        "risk",
        _moves("broadcast"),
        lambda x: "a stride of 0",
        reactions(COMPACT),
        lambda x: (
            "A stride is 0 (broadcast): many elements share one address. Writing to one writes to "
            "all."
        ),
    ),
    Case(
        "gaps",
        "risk",
        _has_gaps,
        lambda x: "not compact",
        reactions(COMPACT),
        lambda x: (
            "Elements overlap."
            if x.layout is not None and x.layout.shares
            else "There are gaps between elements."
        ),
    ),
    Case(
        "column-major",
        "note",
        _is_column_major,
        lambda x: "column-major",
        reactions(
            tensorflow="InvalidArgumentError",
            mxnet="MXNetError",
            mpi4py=MEMORY_ORDER,
            onnxruntime="RuntimeError",
        ),
        lambda x: "It is column-major: the first dimension is the fastest.",
    ),
    Case(
        "permuted",
        "note",
        lambda x: _is_permuted(x) and not _is_column_major(x),
        lambda x: "permuted dimensions",
        reactions(COMPACT, jax=NO_EFFECT),
        lambda x: "It is compact, but its dimensions are in another order than row-major.",
    ),
    Case(
        "negative stride of one index",
        "risk",
        lambda x: bool(_negative_alone(x)),
        lambda x: "a negative stride of a dimension of extent 1",
        reactions(
            mxnet="MXNetError", mpi4py="BufferError", mlx="ValueError", pyarrow="ArrowInvalid"
        ),
        lambda x: "A dimension of extent 1 has a negative stride, which is never used.",
    ),
    Case(
        "odd stride of one index",
        "note",
        lambda x: bool(_odd_alone(x)) and not _negative_alone(x),
        lambda x: "an odd stride of a dimension of extent 1",
        reactions(mxnet="MXNetError"),
        lambda x: (
            "It is row-major except for the unused stride of a dimension of extent 1; a consumer "
            "that compares strides literally does not recognise it."
        ),
    ),
]
