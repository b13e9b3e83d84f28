# SPDX-License-Identifier: BSD-3-Clause
"""Cases of ndim, shape and the pointers to shape and strides."""

from __future__ import annotations

import math

from ... import abi
from ..reading.description import Description
from .case import (
    FAILS_LATER,
    NO_EFFECT,
    OF_NUMPY,
    UNKNOWN,
    WRONG,
    Case,
    Changed,
    reactions,
)


def _too_big(x: Description) -> bool:
    bits = max(1, x.element_bits)
    return bool(x.shape) and x.is_sound and math.prod(x.shape or ()) * bits // 8 >= 1 << 63


SHAPES = [
    Case(
        "shape NULL",
        "defect",
        lambda x: x.ndim > 0 and x.shape_is_null,
        lambda x: "the shape is a NULL pointer",
        reactions("SIGSEGV", mpi4py=UNKNOWN, pyarrow=UNKNOWN, warp=UNKNOWN),
        lambda x: f"The shape is a NULL pointer, and ndim is {x.ndim}.",
        rule="P-11",
    ),
    Case(
        "ndim negative",
        "defect",
        lambda x: x.ndim < 0,
        lambda x: f"ndim is {x.ndim}",
        reactions(
            numpy="ValueError",
            torch="SIGSEGV",
            jax="JaxRuntimeError",
            tensorflow="MemoryError",
            mxnet="MXNetError",
            tvm_ffi=FAILS_LATER,
            mpi4py="BufferError",
            dpnp=WRONG,
            paddle=WRONG,
            mlx="TypeError",
            pyarrow="ArrowInvalid",
            onnxruntime="SIGABRT",
            warp="IndexError",
            nanobind="TypeError",
        ),
        rule="P-11",
    ),
    Case(
        "ndim over 64",
        "risk",
        lambda x: x.ndim > abi.MAX_NDIM and x.shape_is_readable,
        lambda x: f"ndim is {x.ndim}",
        reactions(
            numpy=OF_NUMPY,
            torch=FAILS_LATER,
            jax=FAILS_LATER,
            tensorflow=FAILS_LATER,
            mxnet=FAILS_LATER,
            tvm_ffi=FAILS_LATER,
            dpnp="ValueError",
            paddle="RuntimeError",
            pyarrow=FAILS_LATER,
            onnxruntime=FAILS_LATER,
            warp="RuntimeError",
        ),
        lambda x: f"ndim is {x.ndim}, out of range; the shape was not read.",
        rule="P-11",
    ),
    Case(
        "ndim over 32",
        "risk",
        lambda x: 32 < x.ndim <= abi.MAX_NDIM,
        lambda x: f"{x.ndim} dimensions",
        reactions(
            numpy=Changed("RuntimeError", "2.0.0", NO_EFFECT),
            mxnet=FAILS_LATER,
            paddle="RuntimeError",
            warp="RuntimeError",
        ),
    ),
    Case(
        "shape unreadable",
        "defect",
        lambda x: x.ndim > 0 and not x.shape_is_null and not x.shape_is_readable,
        lambda x: "the shape is not readable",
        reactions(UNKNOWN),
        lambda x: f"The memory of the shape, {x.ndim} extents, is not readable.",
        rule="P-11",
    ),
    Case(
        "strides unreadable",
        "defect",
        lambda x: (
            bool(x.shape) and x.strides is None and x.byte_strides is None and not x.strides_is_null
        ),
        lambda x: "the strides are not readable",
        reactions(UNKNOWN),
        lambda x: "The pointer to the strides refers to memory that is not readable.",
        rule="P-13",
    ),
    Case(
        "extent negative",
        "defect",
        lambda x: x.shape is not None and not x.is_sound,
        lambda x: "a negative extent",
        reactions(
            numpy="ValueError",
            torch="RuntimeError",
            jax="RuntimeError",
            tensorflow="SIGABRT",
            mxnet="MXNetError",
            tvm_ffi=FAILS_LATER,
            mpi4py="BufferError",
            dpnp="ValueError",
            paddle=FAILS_LATER,
            mlx="SIGSEGV",
            pyarrow="ArrowInvalid",
            onnxruntime="RuntimeError",
            warp="ValueError",
            nanobind=FAILS_LATER,
        ),
        lambda x: f"The shape {list(x.shape or ())} has a negative extent.",
        rule="P-11",
    ),
    Case(
        "too big",
        "defect",
        _too_big,
        lambda x: "more bytes than the address space",
        reactions(
            numpy="ValueError",
            torch=Changed("SIGABRT", "2.14.0", "RuntimeError"),
            jax="RuntimeError",
            tensorflow="SIGABRT",
            mxnet=FAILS_LATER,
            tvm_ffi=FAILS_LATER,
            dpnp="ValueError",
            paddle=FAILS_LATER,
            mlx="OverflowError",
            pyarrow="ArrowInvalid",
            onnxruntime="RuntimeError",
            warp="ValueError",
            nanobind=FAILS_LATER,
        ),
        lambda x: "The shape has more bytes than the address space.",
        rule="P-11",
    ),
]
