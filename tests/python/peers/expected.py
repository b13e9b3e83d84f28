"""What must come of every exchange: one table, in which the libraries differ by data alone.

Whatever is not named is shared without a copy, with its dtype and values, writable; and freed once
when the last of both has dropped it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rows import LIBRARIES


@dataclass(frozen=True)
class Expected:
    """What must come of one exchange, and in which words it is refused."""

    outcome: Literal["zero-copy", "copied", "refused", "misread", "impossible", "crashes"]
    says: str = ""  # part of "ValueError: what it says"
    dtype: str = ""  # of what arrives, where it is another one
    read_only: bool = False


ZERO_COPY = Expected("zero-copy")
READ_ONLY = Expected("zero-copy", read_only=True)
COPIED = Expected("copied")


def refused(says: str) -> Expected:
    return Expected("refused", says)


def misread(says: str) -> Expected:
    """It arrives, and the library itself reads it wrongly, or not at all."""
    return Expected("misread", says)


def impossible(says: str) -> Expected:
    """The library has no such array; when it has, the row is to go."""
    return Expected("impossible", says)


def crashes(says: str) -> Expected:
    """It ends the process: done in a child, and noticed when it no longer does."""
    return Expected("crashes", says)


@dataclass(frozen=True)
class Row:
    """By "road: case", then "road: *", then "case", then "*".

    What a library takes it gives back as it took it, unless `returns` says otherwise.
    """

    gives: Mapping[str, Expected] = field(default_factory=dict)
    takes: Mapping[str, Expected] = field(default_factory=dict)
    returns: Mapping[str, Expected] = field(default_factory=dict)


def row_of(library: str) -> Row:
    """That of the installed version, as "numpy 1.23", where it has one of its own."""
    key = f"{library} {LIBRARIES[library].version or ''}" if library in LIBRARIES else library
    while key != library:
        if key in EXPECTED:
            return EXPECTED[key]
        key = key[: max(key.rfind("."), key.rfind(" "), len(library))]
    return EXPECTED[library]


def expected_of(library: str, direction: str, road: str, case: str) -> Expected:
    """What must come of one exchange."""
    rows: Mapping[str, Expected] = getattr(row_of(library), direction)
    for key in (f"{road}: {case}", f"{road}: *", case, "*"):
        if key in rows:
            return rows[key]
    if direction == "returns":
        return expected_of(library, "takes", "take", case)
    return COPIED if road == "copy=True" else ZERO_COPY


# A consumer that asks for no version cannot be told that memory is read-only, so it gets none.
NO_MARK = refused("expected writable memory for a legacy tensor, which has no mark for it")
NO_COPY_KEYWORD = refused("expected a producer that understands copy=False")
NO_BFLOAT16 = impossible("has no attribute 'bfloat16'")
NO_T = impossible("has no attribute 'T'")
NO_INDEX = impossible("is not subscriptable")
VIEWS_BY_INDEX = dict.fromkeys(("offset", "unaligned", "stepped", "backwards"), NO_INDEX)
NUMPY_KNOWS_NO_SUCH = refused("RuntimeError: Unsupported dtype in DLTensor.")

OF_NUMPY = Row(  # and of those whose arrays are NumPy's
    gives={"broadcast": READ_ONLY, "read-only": READ_ONLY, "bfloat16": NO_BFLOAT16,
           "copy=True: read-only": COPIED},
    takes={"bfloat16": NUMPY_KNOWS_NO_SUCH},
    returns={"broadcast": ZERO_COPY, "read-only": READ_ONLY},
)  # fmt: skip
NUMPY_1_READS = refused("Cannot export readonly array since signalling readonly is unsupported")
NUMPY_1_KEYWORDS = refused("takes no keyword arguments")
OLD_NUMPY = Row(  # stream and nothing else
    gives={"broadcast": NUMPY_1_READS, "read-only": NUMPY_1_READS, "bfloat16": NO_BFLOAT16,
           "as_tensor: broadcast": READ_ONLY, "as_tensor: read-only": READ_ONLY,  # as a buffer
           "copy=True: read-only": NUMPY_1_READS, "copy=False: *": NO_COPY_KEYWORD},
    takes={"read-only": NO_MARK, "bfloat16": NUMPY_KNOWS_NO_SUCH,
           "copy=True: *": NUMPY_1_KEYWORDS, "copy=False: *": NUMPY_1_KEYWORDS,
           "device=cpu: *": NUMPY_1_KEYWORDS},
    # Whatever it takes is read-only, since there might have been a mark.
    returns={"*": READ_ONLY, "size 0": ZERO_COPY, "read-only": NO_MARK,
             "bfloat16": NUMPY_KNOWS_NO_SUCH},
)  # fmt: skip
NUMPY_1_23_READS = refused("TypeError: NumPy currently only supports dlpack for writeable arrays")
TF_STRIDES = refused("InvalidArgumentError: Invalid strides array from DLPack")
MXNET_STRIDES = refused("MXNet only support compact tensor now")
JAX_STRIDES = refused("Only DLPack tensors with trivial (compact) striding are supported")
ORT_STRIDES = refused("ORT only supports contiguous tensor for now")
ARROW_ARRAYS = ("vector", "unaligned", "stepped", "backwards", "int8", "int32", "int64", "uint8",
                "float16", "float64")  # fmt: skip
NB_WRITES = refused("TypeError: take(): incompatible function arguments")
SYCL = Row(
    gives={"bfloat16": impossible("data type 'bfloat16' not understood"),
           "device=cpu: *": COPIED},
    takes={"bfloat16": refused("Can not import DLPack tensor with type code 4"),
           "device=cpu: *": COPIED, "device=cpu: read-only": NO_MARK,
           "device=cpu: transposed": refused("the last axis must be contiguous")},
    returns={"read-only": READ_ONLY},
)  # fmt: skip

EXPECTED: dict[str, Row] = {
    "numpy": OF_NUMPY,
    "numpy 1": OLD_NUMPY,
    "numpy 1.23": Row(  # without bool
        gives={
            **OLD_NUMPY.gives,
            "broadcast": NUMPY_1_23_READS,
            "read-only": NUMPY_1_23_READS,
            "copy=True: read-only": NUMPY_1_23_READS,
            "as_tensor: bool": ZERO_COPY,
            "bool": refused("TypeError: DLPack only supports"),
        },
        takes={**OLD_NUMPY.takes, "bool": NUMPY_KNOWS_NO_SUCH},
        returns={**OLD_NUMPY.returns, "bool": NUMPY_KNOWS_NO_SUCH},
    ),
    "array_api_compat": OF_NUMPY,
    "array_api_strict": Row(
        gives={
            "broadcast": READ_ONLY,
            "bfloat16": NO_BFLOAT16,
            "float16": impossible("has no attribute 'float16'"),
        },
        takes={
            "bfloat16": NUMPY_KNOWS_NO_SUCH,
            "float16": refused("does not support the dtype"),
            "device=cpu: *": refused("Unsupported device 'cpu'"),
        },  # it has a class for them
        returns={"broadcast": ZERO_COPY, "read-only": READ_ONLY},
    ),
    "torch": Row(
        gives={"backwards": impossible("step must be greater than zero")},
        takes={"backwards": crashes("SIGABRT"), "capsule: read-only": NO_MARK},
        returns={"backwards": crashes("SIGABRT")},
    ),
    "jax": Row(
        gives={
            "int64": Expected("zero-copy", dtype="int32"),  # unless it is told not to narrow
            "float64": Expected("zero-copy", dtype="float32"),
        },
        takes={
            "offset": COPIED,
            "unaligned": COPIED,
            "read-only": NO_MARK,
            "stepped": JAX_STRIDES,
            "backwards": JAX_STRIDES,
            "broadcast": JAX_STRIDES,
            "int64": Expected("copied", dtype="int32"),
            "float64": Expected("copied", dtype="float32"),
            "copy=True: *": ZERO_COPY,  # it promises a copy, and makes none
            "copy=True: transposed": COPIED,
            "copy=True: offset": COPIED,
            "copy=True: read-only": NO_MARK,
            "copy=False: offset": refused("not aligned to 64 bytes"),
            "device=cpu: *": refused("`jax.device_put` only accepts"),
            "device=cpu: read-only": NO_MARK,
        },
    ),
    "tensorflow": Row(
        takes={
            "transposed": TF_STRIDES,
            "stepped": TF_STRIDES,
            "backwards": TF_STRIDES,
            "broadcast": TF_STRIDES,
            "read-only": NO_MARK,
            "versioned capsule: *": refused('must be a capsule with name "dltensor"'),
        },
    ),
    "mxnet": Row(
        gives={
            "bool": misread("KeyError: (1, 1, 1)"),  # says bits, and means bytes
            "bfloat16": impossible("source_array must be array like object"),
            "complex64": impossible("KeyError"),
        },
        takes={
            "transposed": MXNET_STRIDES,
            "stepped": MXNET_STRIDES,
            "backwards": MXNET_STRIDES,
            "broadcast": MXNET_STRIDES,
            "read-only": NO_MARK,
            "bool": refused("Unknown DLDataType"),
            "complex64": refused("Unknown DLDataType"),
            "versioned capsule: *": refused("Invalid DLPack Tensor"),
        },
    ),
    "tvm_ffi": Row(takes={"capsule: read-only": NO_MARK}),
    "paddle": Row(
        takes={"backwards": misread("MemoryError"), "capsule: read-only": NO_MARK},
        returns={"backwards": ZERO_COPY},
    ),
    "mlx": Row(
        takes={
            "*": COPIED,
            "backwards": refused("ValueError: Cannot convert DLPack arrays with"),
            "size 0": ZERO_COPY,
            "float64": Expected("copied", dtype="float32"),
            "capsule: read-only": NO_MARK,
        },
    ),
    "pyarrow": Row(
        gives={
            **dict.fromkeys(ARROW_ARRAYS, READ_ONLY),
            "transposed": NO_T,
            "offset": NO_INDEX,
            "bfloat16": NO_BFLOAT16,
            "complex64": impossible("has no attribute 'complex64'"),
            "bool": refused("ArrowTypeError: Bit-packed boolean data type"),
        },
        takes={
            "backwards": refused("ArrowInvalid: negative strides not supported"),
            "bool": refused("ArrowInvalid: unsupported DLPack type 6"),
            "bfloat16": refused("ArrowInvalid: unsupported DLPack type 4"),
            "complex64": refused("ArrowInvalid: unsupported DLPack type 5"),
            "device=cpu: *": refused("expected dl_device to be a pair"),
        },  # it sends "cpu"
        returns={"read-only": READ_ONLY, "size 0": READ_ONLY},  # it has memory of its own for none
    ),
    "onnxruntime": Row(
        gives={
            "transposed": NO_T,
            **VIEWS_BY_INDEX,
            "bool": Expected("zero-copy", dtype="uint8"),
            "bfloat16": NO_BFLOAT16,
            "complex64": impossible("can't be converted to MLDataType"),
            "copy=False: *": NO_COPY_KEYWORD,
        },
        takes={
            "transposed": ORT_STRIDES,
            "stepped": ORT_STRIDES,
            "backwards": ORT_STRIDES,
            "broadcast": ORT_STRIDES,
            "read-only": NO_MARK,
            "bool": refused("Unsupported code 6"),
            "complex64": refused("Unsupported code 5"),
            "bfloat16": misread("No corresponding Numpy type"),
        },
        returns={"bfloat16": ZERO_COPY},
    ),
    "warp": Row(
        gives={
            "backwards": impossible("Array shapes must be non-negative"),
            "rank 0": impossible("Data must be a sequence or array"),
            "complex64": impossible("has no attribute 'complex64'"),
            "copy=False: *": NO_COPY_KEYWORD,
        },
        takes={
            "rank 0": refused("IndexError: list assignment index out of range"),
            "read-only": NO_MARK,
            "complex64": refused("Warp does not support complex types"),
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
        takes={"*": COPIED, "size 0": ZERO_COPY, "bfloat16": NUMPY_KNOWS_NO_SUCH},
    ),
    "nanobind": Row(
        gives={"transposed": NO_T, **VIEWS_BY_INDEX},
        takes={
            "capsule: read-only": NO_MARK,  # a parameter that does not say nb::ro is for writing
            "take: read-only": NB_WRITES,
            "versioned capsule: read-only": NB_WRITES,
        },
        returns={"read-only": NB_WRITES},
    ),
    "dpctl": SYCL,
    "dpnp": Row(
        gives={**SYCL.gives, "rank 0": READ_ONLY},  # which it is not
        takes=SYCL.takes,
        returns=SYCL.returns,
    ),
}
