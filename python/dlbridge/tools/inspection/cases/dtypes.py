# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the dtype: those that DLPack does not define, and those that some libraries lack."""

from __future__ import annotations

from typing import Callable

from ... import dtypes
from ..reading.description import Description
from .case import (
    FAILS_LATER,
    NARROWS,
    NO_EFFECT,
    OF_NUMPY,
    UNKNOWN,
    WRONG,
    Case,
    Changed,
    Reactions,
    reactions,
)

# Those of the consumers that lack a dtype; the others take every dtype.
LACKED = reactions(
    numpy=OF_NUMPY,
    torch="BufferError",
    jax="JaxRuntimeError",
    tensorflow="InvalidArgumentError",
    mxnet="MXNetError",
    dpnp="BufferError",
    paddle="NotImplementedError",
    mlx="ValueError",
    pyarrow="ArrowInvalid",
    onnxruntime="RuntimeError",
    warp="RuntimeError",
)
# Valid dtypes that some libraries lack: a name, the triples, the reactions.
PLAIN: list[tuple[str, list[dtypes.Triple], Reactions]] = [
    (
        "bool",
        [(6, 8, 1)],
        reactions(
            numpy=Changed("RuntimeError", "1.25.0", NO_EFFECT),
            mxnet="MXNetError",
            pyarrow="ArrowInvalid",
            onnxruntime="RuntimeError",
        ),
    ),
    (
        "bfloat16",
        [(4, 16, 1)],
        reactions(numpy=OF_NUMPY, dpnp="BufferError", pyarrow="ArrowInvalid"),
    ),
    (
        "float8 of PyTorch and Paddle",
        [(10, 8, 1), (12, 8, 1)],
        reactions(LACKED, torch=NO_EFFECT, jax=NO_EFFECT, paddle=NO_EFFECT),
    ),
    (
        "float8 of PyTorch",
        [(14, 8, 1)],
        reactions(LACKED, torch=NO_EFFECT, jax=NO_EFFECT),
    ),
    (
        "float8 of JAX",
        [(7, 8, 1)],
        reactions(LACKED, jax=NO_EFFECT),
    ),
    (
        "other float8",
        [(8, 8, 1), (9, 8, 1), (11, 8, 1), (13, 8, 1)],
        reactions(LACKED, torch=UNKNOWN, jax=NO_EFFECT),
    ),
    (
        "float4 in pairs",
        [(17, 4, 2)],
        reactions(LACKED, torch=NO_EFFECT, pyarrow="ArrowTypeError"),
    ),
    (
        "complex32",
        [(5, 32, 1)],
        reactions(LACKED, torch=NO_EFFECT, mpi4py="KeyError", dpnp="TypeError"),
    ),
    (
        "complex64",
        [(5, 64, 1)],
        reactions(
            mxnet="MXNetError",
            pyarrow="ArrowInvalid",
            onnxruntime="RuntimeError",
            warp="RuntimeError",
        ),
    ),
    (
        "complex128",
        [(5, 128, 1)],
        reactions(
            jax=NARROWS,
            mxnet="UnicodeDecodeError",
            mlx=NARROWS,
            pyarrow="ArrowInvalid",
            onnxruntime="RuntimeError",
            warp="RuntimeError",
        ),
    ),
    ("float64", [(2, 64, 1)], reactions(jax=NARROWS, mlx=NARROWS)),
    ("int64", [(0, 64, 1)], reactions(jax=NARROWS)),
    ("uint64", [(1, 64, 1)], reactions(jax=NARROWS, mxnet="MXNetError")),
    ("uint16", [(1, 16, 1)], reactions(mxnet="MXNetError")),
    ("integers not tried with MXNet", [(0, 16, 1), (1, 32, 1)], reactions(mxnet=UNKNOWN)),
]


def _triple(*triples: dtypes.Triple) -> Callable[[Description], bool]:
    return lambda x: x.dtype in triples


def _known_dtype(x: Description) -> bool:
    return x.dtype is None or dtypes.is_known(x.dtype)


def _is_sub_byte(x: Description) -> bool:
    return x.dtype is not None and x.dtype[2] == 1 and 0 < x.dtype[1] < 8 and _known_dtype(x)


def _sub_byte_elements(x: Description) -> str:
    where = (
        "elements share bytes, and strides are not whole bytes"
        if x.is_packed
        else "each element has a byte of its own"
    )
    return f"{x.dtype_text}: {where}."


ODD = [
    Case(
        "bits 0",
        "defect",
        lambda x: x.dtype is not None and x.dtype[1] == 0,
        lambda x: "elements of no bits",
        reactions(LACKED, tvm_ffi=FAILS_LATER, dpnp="TypeError"),
        lambda x: f"The dtype {x.dtype} has elements of no bits.",
        rule="P-16",
    ),
    Case(
        "lanes 0",
        "defect",
        lambda x: x.dtype is not None and x.dtype[1] != 0 and x.dtype[2] == 0,
        lambda x: "elements of no lanes",
        reactions(
            LACKED,
            tensorflow=NO_EFFECT,
            tvm_ffi=FAILS_LATER,
            paddle=NO_EFFECT,
            pyarrow="ArrowTypeError",
            warp=NO_EFFECT,
        ),
        lambda x: f"The dtype {x.dtype} has elements of no lanes.",
        rule="P-16",
    ),
    Case(
        "unknown dtype",
        "defect",
        lambda x: not _known_dtype(x) and x.element_bits > 0,
        lambda x: "the dtype is unknown",
        reactions(LACKED, mxnet="UnicodeDecodeError", tvm_ffi=FAILS_LATER),
        lambda x: f"DLPack defines no dtype {x.dtype} (code, bits, lanes).",
        rule="P-55",
    ),
    Case(
        "lanes",
        "risk",
        lambda x: x.dtype is not None and x.dtype[2] > 1 and x.dtype[0] != dtypes.FLOAT4,
        lambda x: f"vectors of {x.dtype[2] if x.dtype else 0} lanes",
        reactions(LACKED, tensorflow=WRONG, pyarrow="ArrowTypeError", warp=WRONG),
        lambda x: f"Elements are vectors: {x.dtype_text} has {x.dtype[2] if x.dtype else 0} lanes.",
    ),
    Case(
        "bool in one bit",
        "risk",
        _triple((1, 1, 1), (6, 1, 1)),
        lambda x: "elements of one bit",
        reactions(LACKED, mxnet=UNKNOWN, dpnp="TypeError"),
        lambda x: f"Elements have one bit ({x.dtype}), as MXNet exports bool.",
    ),
    Case(
        "no dtype",
        "",
        lambda x: x.dtype is None,
        lambda x: x.dtype_text,
        reactions(UNKNOWN, nanobind="TypeError"),
    ),
    Case(
        "format =",
        "risk",
        lambda x: (x.format or "").startswith("="),
        lambda x: f"the format {x.format!r} of its buffer",
        reactions(mpi4py="KeyError"),
        lambda x: f"The format of its buffer is {x.format!r}, with an explicit byte order.",
    ),
    Case(
        "other sub-byte floats",
        "risk",
        lambda x: _is_sub_byte(x) and x.dtype is not None and x.dtype[0] > dtypes.BOOL,
        lambda x: x.dtype_text,
        reactions(LACKED),
        _sub_byte_elements,
        rule="P-53",
    ),
    Case(
        "sub-byte integers",
        "risk",
        lambda x: _is_sub_byte(x) and x.dtype is not None and x.dtype[0] <= 1 and x.dtype[1] > 1,
        lambda x: x.dtype_text,
        reactions(LACKED, dpnp="TypeError"),
        _sub_byte_elements,
    ),
    Case(
        "float128",
        "risk",
        _triple((2, 128, 1)),
        lambda x: "float128",
        reactions(LACKED, mxnet="UnicodeDecodeError", dpnp=WRONG),
        lambda x: "float128 is IEEE's; some libraries use the name for x87's long double.",
    ),
    Case(
        "opaque handles",
        "note",
        lambda x: x.dtype is not None and x.dtype[0] == dtypes.OPAQUE,
        lambda x: "opaque handles",
        reactions(LACKED, warp="ValueError"),
        lambda x: "Elements are opaque handles, whose meaning DLPack does not define.",
    ),
]

# Valid dtypes that no library lacks.
COMMON: list[dtypes.Triple] = [(0, 8, 1), (0, 32, 1), (1, 8, 1), (2, 16, 1), (2, 32, 1)]
OBSERVED = frozenset([*COMMON, *(triple for _, triples, _ in PLAIN for triple in triples)])


def _is_other(x: Description) -> bool:
    """Whether DLPack defines the dtype, and the consumers were not observed with it."""
    is_valid = x.dtype is not None and _known_dtype(x)
    return is_valid and x.dtype not in OBSERVED and not any(case.holds(x) for case in ODD)


DTYPES = [
    *ODD,
    *(Case(name, "", _triple(*of), lambda x: x.dtype_text, row) for name, of, row in PLAIN),
    Case("other dtype", "", _is_other, lambda x: x.dtype_text, reactions(UNKNOWN)),
]
