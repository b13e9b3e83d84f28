# SPDX-License-Identifier: BSD-3-Clause
"""The expected result of every exchange, in one table.

By default an exchange shares the memory without a copy, keeps dtype and values, is writable, and
frees the memory once, after both sides have dropped it. Where a release of a library changed a
result, the key of a further row names the first version that the row is valid for, as
"jax from 0.12.0" does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from dlbridge.tools.versions import reaches
from rows import LIBRARIES


@dataclass(frozen=True)
class Expected:
    """The expected result of one exchange, and the text of an exception."""

    outcome: Literal["zero-copy", "copied", "refused", "misread", "impossible", "crashes"]
    text: str = ""  # part of "ValueError: message"
    dtype: str = ""  # of the imported array, if it differs
    read_only: bool = False


# What == of an array of the library and a Tensor does. "elements": it compares them. "own error":
# the library raises TypeError. "refused": the Tensor does, in both orders. "unasked": the library
# answers that they are unequal, and Python asks the Tensor only where that stands first.
COMPARISONS = {
    "array_api_strict": "own error",
    "cuda.core": "refused",
    "dask": "elements",
    "jax": "refused",
    "mlx": "elements",
    "mxnet": "own error",
    "onnxruntime": "refused",
    "paddle": "unasked",
    "pyarrow": "refused",
    "tensorflow": "elements",
    "torch": "refused",
    "tvm_ffi": "unasked",
    "warp": "refused",
}

ZERO_COPY = Expected("zero-copy")
READ_ONLY = Expected("zero-copy", read_only=True)
COPIED = Expected("copied")


def refused(text: str) -> Expected:
    return Expected("refused", text)


def misread(text: str) -> Expected:
    """The import succeeds, but the library reads wrong values, or fails to read them."""
    return Expected("misread", text)


def narrowed(dtype: str, values: str) -> Expected:
    """The library imports another dtype without an error, in which values are others."""
    return Expected("misread", f"the values are {values}", dtype=dtype)


def impossible(text: str) -> Expected:
    """The library has no such array. Remove the row when it has one."""
    return Expected("impossible", text)


def crashes(text: str) -> Expected:
    """The exchange aborts the process, so it runs in a child process."""
    return Expected("crashes", text)


@dataclass(frozen=True)
class Row:
    """By "method: case", then "method: *", then "case", then "*".

    Without an entry in `returns`, the result of returning an array is that of importing it.
    """

    gives: Mapping[str, Expected] = field(default_factory=dict)
    takes: Mapping[str, Expected] = field(default_factory=dict)
    returns: Mapping[str, Expected] = field(default_factory=dict)
    immutable: bool = False  # its arrays never change, so what is no copy of one is read-only


def row_of(library: str) -> Row:
    """The row of the installed version: the last one whose first version it reaches."""
    version = (LIBRARIES[library].version or "") if library in LIBRARIES else ""
    rows = [row for key, row in EXPECTED.items() if is_for(key, library, version)]
    return rows[-1]


def is_for(key: str, library: str, version: str) -> bool:
    """Whether a key of the table names this version of a library, or an older one."""
    name, _, first = key.partition(" from ")
    return name == library and (not first or reaches(version, first))


def expected_of(library: str, direction: str, method: str, case: str) -> Expected:
    """The expected result of one exchange."""
    row = row_of(library)
    if direction == "returns":
        expected = _listed(row.returns, method, case) or expected_of(library, "takes", "take", case)
    else:
        default = COPIED if method == "copy=True" else ZERO_COPY
        expected = _listed(getattr(row, direction), method, case) or default
    is_of_library = direction == "returns" or (
        direction == "gives" and method not in ("copy=True", "capsule")
    )
    if row.immutable and is_of_library and expected.outcome in ("zero-copy", "copied"):
        return replace(expected, read_only=True)
    return expected


def is_result_of(row: Expected, result: Expected) -> bool:
    """Whether expected_of returned this row, perhaps with the mark of an immutable array."""
    return row in (result, replace(result, read_only=False))


def _listed(rows: Mapping[str, Expected], method: str, case: str) -> Expected | None:
    keys = (f"{method}: {case}", f"{method}: *", case, "*")
    return next((rows[key] for key in keys if key in rows), None)


# A legacy capsule cannot mark memory as read-only: consumers without max_version are refused.
NO_READ_ONLY_FLAG = refused("expected writable memory, as a legacy tensor has no read-only flag")
NO_COPY_KEYWORD = refused("expected a producer that understands copy=False")
NO_BFLOAT16 = impossible("has no attribute 'bfloat16'")
NO_T = impossible("has no attribute 'T'")
NO_INDEX = impossible("is not subscriptable")
VIEWS_BY_INDEX = dict.fromkeys(("offset", "unaligned", "stepped", "backwards"), NO_INDEX)
NUMPY_REFUSES = (
    "BufferError" if reaches(LIBRARIES["numpy"].version or "", "2.5.0") else "RuntimeError"
)
NUMPY_HAS_NO_DTYPE = refused(f"{NUMPY_REFUSES}: Unsupported dtype in DLTensor.")

OF_NUMPY = Row(  # also for libraries whose arrays are NumPy's
    gives={"broadcast": READ_ONLY, "read-only": READ_ONLY, "bfloat16": NO_BFLOAT16,
           "copy=True: read-only": COPIED},
    takes={"bfloat16": NUMPY_HAS_NO_DTYPE},
    returns={"broadcast": ZERO_COPY, "read-only": READ_ONLY},
)  # fmt: skip
NUMPY_1_KEYWORDS = refused("takes no keyword arguments")
OLD_NUMPY = Row(  # accepts stream only; dlbridge reads what it does not export
    gives={"broadcast": READ_ONLY, "read-only": READ_ONLY, "bfloat16": NO_BFLOAT16,
           "copy=True: read-only": COPIED},
    takes={"read-only": NO_READ_ONLY_FLAG, "bfloat16": NUMPY_HAS_NO_DTYPE,
           "copy=True: *": NUMPY_1_KEYWORDS, "copy=False: *": NUMPY_1_KEYWORDS,
           "device=cpu: *": NUMPY_1_KEYWORDS},
    # It imports all memory as read-only, as it cannot read the mark.
    returns={"*": READ_ONLY, "size 0": ZERO_COPY, "read-only": NO_READ_ONLY_FLAG,
             "bfloat16": NUMPY_HAS_NO_DTYPE},
)  # fmt: skip
TF_STRIDES = refused("InvalidArgumentError: Invalid strides array from DLPack")
MXNET_STRIDES = refused("MXNet only support compact tensor now")
JAX_STRIDES = refused("Only DLPack tensors with trivial (compact) striding are supported")
NARROWED = {  # by JAX, unless jax_enable_x64 is set
    "int64": narrowed("int32", "[0, 1, 1]"),
    "uint64": narrowed("uint32", "[1, 1, 4294967295]"),
    "float64": narrowed("float32", "[-0.0, 1.0, inf, 0.0, nan, -inf]"),
    "complex128": narrowed("complex64", "[(-0+1j), (nan-infj), 3j]"),
}
JAX_GIVES = {
    **NARROWED,
    "int64": impossible("out of bounds for int32"),
    "uint64": impossible("out of bounds for uint32"),
}
JAX_TAKES = {
    **NARROWED,
    "offset": COPIED,
    "unaligned": COPIED,
    "stepped": JAX_STRIDES,
    "backwards": JAX_STRIDES,
    "broadcast": JAX_STRIDES,
    "copy=True: *": ZERO_COPY,  # does not copy
    "copy=True: transposed": COPIED,
    "copy=True: offset": COPIED,
    "copy=False: offset": refused("not aligned to 64 bytes"),
    "device=cpu: *": refused("`jax.device_put` only accepts"),
}
TORCH_GIVES = {"backwards": impossible("step must be greater than zero")}
TORCH_STRIDES = refused("RuntimeError: Storage size calculation overflowed")
ORT_STRIDES = refused("ORT only supports contiguous tensor for now")
ARROW_ARRAYS = ("vector", "unaligned", "stepped", "backwards", "int8", "int32", "int64", "uint8",
                "uint64", "float16", "float64")  # fmt: skip
NB_WRITES = refused("TypeError: take(): incompatible function arguments")
SYCL = Row(
    gives={"bfloat16": impossible("data type 'bfloat16' not understood"),
           "device=cpu: *": COPIED},
    takes={"bfloat16": refused("Can not import DLPack tensor with type code 4"),
           "device=cpu: *": COPIED, "device=cpu: read-only": NO_READ_ONLY_FLAG,
           "device=cpu: transposed": refused("the last axis must be contiguous")},
    returns={"read-only": READ_ONLY},
)  # fmt: skip

EXPECTED: dict[str, Row] = {
    "numpy": Row(  # 1.23, which has no bool
        gives=OLD_NUMPY.gives,
        takes={**OLD_NUMPY.takes, "bool": NUMPY_HAS_NO_DTYPE},
        returns={**OLD_NUMPY.returns, "bool": NUMPY_HAS_NO_DTYPE},
    ),
    "numpy from 1.24": OLD_NUMPY,
    "numpy from 2.1": OF_NUMPY,
    "array_api_compat": OF_NUMPY,
    "array_api_strict": Row(
        gives={
            "broadcast": READ_ONLY,
            "bfloat16": NO_BFLOAT16,
            "float16": impossible("has no attribute 'float16'"),
        },
        takes={
            "bfloat16": NUMPY_HAS_NO_DTYPE,
            "float16": refused("does not support the dtype"),
            "device=cpu: *": refused("Unsupported device 'cpu'"),
        },  # it expects its own class of devices
        returns={"broadcast": ZERO_COPY, "read-only": READ_ONLY},
    ),
    "torch": Row(
        gives=TORCH_GIVES,
        takes={"backwards": crashes("SIGABRT"), "capsule: read-only": NO_READ_ONLY_FLAG},
        returns={"backwards": crashes("SIGABRT")},
    ),
    "torch from 2.14.0": Row(
        gives=TORCH_GIVES,
        takes={"backwards": TORCH_STRIDES, "capsule: read-only": NO_READ_ONLY_FLAG},
    ),
    "jax": Row(
        gives=JAX_GIVES,
        takes={
            **JAX_TAKES,
            "read-only": NO_READ_ONLY_FLAG,
            "copy=True: read-only": NO_READ_ONLY_FLAG,
            "device=cpu: read-only": NO_READ_ONLY_FLAG,
        },
        immutable=True,
    ),
    "jax from 0.12.0": Row(gives=JAX_GIVES, takes=JAX_TAKES, immutable=True),  # versioned capsules
    "tensorflow": Row(
        takes={
            "transposed": TF_STRIDES,
            "stepped": TF_STRIDES,
            "backwards": TF_STRIDES,
            "broadcast": TF_STRIDES,
            "read-only": NO_READ_ONLY_FLAG,
            "versioned capsule: *": refused('must be a capsule with name "dltensor"'),
        },
        immutable=True,
    ),
    "mxnet": Row(
        gives={
            "bool": misread("KeyError: (1, 1, 1)"),  # writes bytes in the field bits
            "bfloat16": impossible("source_array must be array like object"),
            "complex64": impossible("KeyError"),
            "complex128": impossible("KeyError"),
            "uint64": impossible("KeyError"),
        },
        takes={
            "transposed": MXNET_STRIDES,
            "stepped": MXNET_STRIDES,
            "backwards": MXNET_STRIDES,
            "broadcast": MXNET_STRIDES,
            "read-only": NO_READ_ONLY_FLAG,
            "bool": refused("Unknown DLDataType"),
            "complex64": refused("Unknown DLDataType"),
            "complex128": refused("UnicodeDecodeError"),
            "uint64": refused("MXNetError"),
            "versioned capsule: *": refused("Invalid DLPack Tensor"),
        },
    ),
    "tvm_ffi": Row(takes={"capsule: read-only": NO_READ_ONLY_FLAG}),
    "paddle": Row(
        gives={"uint64": impossible("incompatible array data type")},
        takes={"backwards": misread("MemoryError"), "capsule: read-only": NO_READ_ONLY_FLAG},
        returns={"backwards": ZERO_COPY},
    ),
    "mlx": Row(
        gives={
            "uint64": impossible("std::bad_cast"),
            "complex128": impossible("has no attribute 'complex128'"),
        },
        takes={
            "*": COPIED,
            "backwards": refused("ValueError: Cannot convert DLPack arrays with"),
            "size 0": ZERO_COPY,
            **{case: NARROWED[case] for case in ("float64", "complex128")},
            "capsule: read-only": NO_READ_ONLY_FLAG,
        },
    ),
    "pyarrow": Row(
        gives={
            **dict.fromkeys(ARROW_ARRAYS, READ_ONLY),
            "transposed": NO_T,
            "offset": NO_INDEX,
            "bfloat16": NO_BFLOAT16,
            "complex64": impossible("has no attribute 'complex64'"),
            "complex128": impossible("has no attribute 'complex128'"),
            "as_tensor: bool": refused(
                "BufferError: expected an Arrow array of integers or floats"
            ),
            "bool": refused("ArrowTypeError: Bit-packed boolean data type"),
        },
        takes={
            "backwards": refused("ArrowInvalid: negative strides not supported"),
            "bool": refused("ArrowInvalid: unsupported DLPack type 6"),
            "bfloat16": refused("ArrowInvalid: unsupported DLPack type 4"),
            "complex64": refused("ArrowInvalid: unsupported DLPack type 5"),
            "complex128": refused("ArrowInvalid: unsupported DLPack type 5"),
            "device=cpu: *": refused("expected dl_device to be a pair"),
        },  # it passes "cpu"
        returns={"read-only": READ_ONLY, "size 0": READ_ONLY},  # its own memory for size 0
    ),
    "onnxruntime": Row(
        gives={
            "transposed": NO_T,
            **VIEWS_BY_INDEX,
            "bool": Expected("zero-copy", dtype="uint8"),
            "bfloat16": NO_BFLOAT16,
            "complex64": impossible("can't be converted to MLDataType"),
            "complex128": impossible("can't be converted to MLDataType"),
            "copy=False: *": NO_COPY_KEYWORD,
        },
        takes={
            "transposed": ORT_STRIDES,
            "stepped": ORT_STRIDES,
            "backwards": ORT_STRIDES,
            "broadcast": ORT_STRIDES,
            "read-only": NO_READ_ONLY_FLAG,
            "bool": refused("Unsupported code 6"),
            "complex64": refused("Unsupported code 5"),
            "complex128": refused("Unsupported code 5"),
            "bfloat16": misread("No corresponding Numpy type"),
        },
        returns={"bfloat16": ZERO_COPY},
    ),
    "warp": Row(
        gives={
            "backwards": impossible("Array shapes must be non-negative"),
            "rank 0": impossible("Data must be a sequence or array"),
            "complex64": impossible("has no attribute 'complex64'"),
            "complex128": impossible("has no attribute 'complex128'"),
            "copy=False: *": NO_COPY_KEYWORD,
        },
        takes={
            "rank 0": refused("IndexError: list assignment index out of range"),
            "read-only": NO_READ_ONLY_FLAG,
            "complex64": refused("Warp does not support complex types"),
            "complex128": refused("Warp does not support complex types"),
            "versioned capsule: *": refused("Expected a valid DLPack capsule"),
        },
    ),
    "cuda.core": Row(
        gives={"read-only": READ_ONLY, "bfloat16": NO_BFLOAT16, "copy=True: read-only": COPIED},
        takes={"bfloat16": misread("Unsupported dtype for DLPack export: bfloat16")},
        returns={
            "read-only": READ_ONLY,
            "bfloat16": refused("Unsupported dtype for DLPack export: bfloat16"),
        },
    ),
    "dask": Row(
        gives={"broadcast": READ_ONLY, "bfloat16": NO_BFLOAT16},
        takes={"*": COPIED, "size 0": ZERO_COPY, "bfloat16": NUMPY_HAS_NO_DTYPE},
    ),
    "nanobind": Row(
        gives={"transposed": NO_T, **VIEWS_BY_INDEX},
        takes={
            "capsule: read-only": NO_READ_ONLY_FLAG,  # a parameter without nb::ro is writable
            "take: read-only": NB_WRITES,
            "versioned capsule: read-only": NB_WRITES,
        },
        returns={"read-only": NB_WRITES},
    ),
    "dpctl": SYCL,
    "dpnp": Row(
        gives={**SYCL.gives, "rank 0": READ_ONLY},  # although it is writable
        takes=SYCL.takes,
        returns=SYCL.returns,
    ),
}
