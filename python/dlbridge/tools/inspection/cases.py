"""What a tensor can be that some consumer does not take, and what each consumer then does.

One row for each case: when it holds, how it is said, and a cell for each consumer. All that is said
of consumers comes from these rows, the oddities as well as the verdicts. Every cell was seen, with
the versions that consumers.py names; the tests see those again whose libraries are there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Literal

from dlbridge.tools import abi
from dlbridge.tools.inspection.description import HOST, Description, device_name, dtype_name

Level = Literal["defect", "risk", "note", ""]

# The columns of every row of cells below.
COLUMNS = (
    "numpy torch jax tensorflow mxnet tvm_ffi mpi4py "
    "dpnp paddle mlx pyarrow onnxruntime warp nanobind"
).split()

# What a cell can say, beside "." for nothing: an exception by its initials, ...
EXCEPTIONS = {
    "AIn": "ArrowInvalid",
    "ANI": "ArrowNotImplementedError",
    "ATy": "ArrowTypeError",
    "BE": "BufferError",
    "IAE": "InvalidArgumentError",
    "IE": "IndexError",
    "JRE": "JaxRuntimeError",
    "KE": "KeyError",
    "ME": "MemoryError",
    "MPI": "MPI.Exception",
    "MXE": "MXNetError",
    "NIE": "NotImplementedError",
    "OE": "OverflowError",
    "RE": "RuntimeError",
    "TE": "TypeError",
    "UDE": "UnicodeDecodeError",
    "VE": "ValueError",
}
# ... a signal, which ends the process, ...
SIGNALS = {"ABRT": "SIGABRT", "SEGV": "SIGSEGV"}
# ... or one of these, in words.
WORDS = {
    "copies": "copies",
    "narrows": "copies into a narrower dtype",
    "wrong": "gets wrong values",
    "later": "takes it, and fails or reads garbage later",
    "use!": "takes it, and its first operation ends the process",
    "drop!": "takes it, and ends the process when it lets go",
    "device": "only where it is built for that device",
    "memory": "sends it in the order of memory",
    "writes": "takes it as writable, though it is read-only",
    "sends": "sends it, and does not receive into it (BufferError)",
    "?": "not known",
}


@dataclass(frozen=True)
class Case:
    """One row."""

    name: str
    level: Level  # of the oddity that it is; none where it is only of interest to consumers
    holds: Callable[[Description], bool]
    why: Callable[[Description], str]  # a few words, after a verdict
    cells: str
    says: Callable[[Description], str] | None = None  # a sentence, for the oddity

    def cell(self, consumer: str) -> str:
        return self.cells.split()[COLUMNS.index(consumer)]

    def sentence(self, x: Description) -> str:
        return (self.says or self.why)(x)


def _on(type_: int) -> Callable[[Description], bool]:
    return lambda x: x.device is not None and x.device[0] == type_


def _triple(*triples: tuple[int, int, int]) -> Callable[[Description], bool]:
    return lambda x: x.dtype in triples


def _has_elements(x: Description) -> bool:
    return x.layout is not None and x.layout.size > 0


def _moves(which: str) -> Callable[[Description], bool]:
    """A list of Layout is not empty, for a tensor with elements."""
    return lambda x: _has_elements(x) and bool(getattr(x.layout, which))


def _alone(x: Description) -> list[int]:
    """The dimensions of one index, whose strides lead nowhere."""
    return [i for i, n in enumerate(x.shape or ()) if n == 1] if _has_elements(x) else []


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
        _has_elements(x)
        and layout is not None
        and not (layout.backwards or layout.broadcast or layout.is_compact)
    )


def _is_permuted(x: Description) -> bool:
    layout = x.layout
    return layout is not None and layout.is_compact and not layout.is_row_major()


def _is_column_major(x: Description) -> bool:
    return _is_permuted(x) and x.layout is not None and x.layout.is_column_major()


def _too_big(x: Description) -> bool:
    bits = max(1, x.element_bits)
    return bool(x.shape) and x.is_sound and math.prod(x.shape or ()) * bits // 8 >= 1 << 63


def _known_device(x: Description) -> bool:
    return x.device is None or not device_name(x.device).startswith("unknown")


def _known_dtype(x: Description) -> bool:
    return x.dtype is None or not dtype_name(x.dtype).startswith("unknown")


def _is_sub_byte(x: Description) -> bool:
    return x.dtype is not None and x.dtype[2] == 1 and 0 < x.dtype[1] < 8 and _known_dtype(x)


def _beyond_one(x: Description) -> bool:
    return x.version is not None and x.version >= (1, 2)


NAMED_DEVICES = {1, 2, 3, 8, 10, 11, 13, 14}  # that have a row of their own
BUFFERED = {(6, 8, 1), *((c, b, 1) for c in (0, 1) for b in (8, 16, 32, 64))}

# In the order in which consumers look: shape, device, dtype, memory, strides, the rest.
CASES = [
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
        lambda x: bool(x.shape)
        and x.strides is None
        and x.byte_strides is None
        and not x.strides_is_null,
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
    # Devices
    Case(
        "CPU id",
        "note",
        lambda x: _on(1)(x) and x.device is not None and x.device[1] != 0,
        lambda x: f"the CPU has the number {x.device[1] if x.device else 0}",
        ". . JRE . . . . BE . . . . . .",
        lambda x: f"The device is {x.device_text}; the CPU's number should be 0.",
    ),
    Case("cuda", "", _on(2), lambda x: "on CUDA",
         "RE device device device device . device BE device VE ANI device device ."),
    Case("cuda_host", "", _on(3), lambda x: "pinned by CUDA",
         ". BE RE IAE MXE . . BE . VE ANI RE RE ."),
    Case("metal", "", _on(8), lambda x: "on Metal",
         "RE device TE IAE MXE . ? BE NIE device ANI RE TE ."),
    Case("rocm", "", _on(10), lambda x: "on ROCm",
         "RE device device device ? . device BE ? VE ANI device ? ."),
    Case("rocm_host", "", _on(11), lambda x: "pinned by ROCm",
         ". BE ? ? MXE . . BE ? VE ANI RE RE ."),
    Case("cuda_managed", "", _on(13), lambda x: "managed by CUDA",
         ". BE TE IAE MXE . . BE NIE VE ANI RE IE ."),
    Case("oneapi", "", _on(14), lambda x: "on oneAPI",
         "RE device TE IAE MXE . ? . NIE VE ANI RE TE ."),
    Case(
        "other device",
        "",
        lambda x: x.device is not None and _known_device(x) and x.device[0] not in NAMED_DEVICES,
        lambda x: f"on {x.device_text}",
        "RE ? TE IAE MXE . . BE NIE VE ANI RE TE .",
    ),
    Case(
        "unknown device",
        "defect",
        lambda x: not _known_device(x),
        lambda x: "the device type is unknown",
        "RE BE TE IAE MXE . . BE NIE VE ANI RE TE .",
        lambda x: f"DLPack knows no device of type {x.device[0] if x.device else 0}.",
    ),
    # Dtypes
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
        "? ? ? ? ? ? ? ? ? ? ? ? ? ?",
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
    Case("bool", "", _triple((6, 8, 1)), lambda x: "bool",
         ". . . . MXE . . . . . AIn RE . ."),
    Case("bfloat16", "", _triple((4, 16, 1)), lambda x: "bfloat16",
         "RE . . . . . . BE . . AIn . . ."),
    Case("float8 of PyTorch and Paddle", "", _triple((10, 8, 1), (12, 8, 1)),
         lambda x: x.dtype_text, "RE . . IAE MXE . . BE . VE AIn RE RE ."),
    Case("float8 of PyTorch", "", _triple((14, 8, 1)),
         lambda x: x.dtype_text, "RE . . IAE MXE . . BE NIE VE AIn RE RE ."),
    Case("float8 of JAX", "", _triple((7, 8, 1)),
         lambda x: x.dtype_text, "RE BE . IAE MXE . . BE NIE VE AIn RE RE ."),
    Case("other float8", "", _triple(*((code, 8, 1) for code in (8, 9, 11, 13))),
         lambda x: x.dtype_text, "RE ? . IAE MXE . . BE NIE VE AIn RE RE ."),
    Case("float4 in pairs", "", _triple((17, 4, 2)),
         lambda x: x.dtype_text, "RE . JRE IAE MXE . . BE NIE VE ATy RE RE ."),
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
    Case("complex32", "", _triple((5, 32, 1)), lambda x: "complex32",
         "RE . JRE IAE MXE . KE TE NIE VE AIn RE RE ."),
    Case("complex64", "", _triple((5, 64, 1)), lambda x: "complex64",
         ". . . . MXE . . . . . AIn RE RE ."),
    Case("complex128", "", _triple((5, 128, 1)), lambda x: "complex128",
         ". . narrows . UDE . . . . narrows AIn RE RE ."),
    Case("float64", "", _triple((2, 64, 1)), lambda x: "float64",
         ". . narrows . . . . . . narrows . . . ."),
    Case("int64", "", _triple((0, 64, 1)), lambda x: "int64",
         ". . narrows . . . . . . . . . . ."),
    Case("uint64", "", _triple((1, 64, 1)), lambda x: "uint64",
         ". . narrows . MXE . . . . . . . . ."),
    Case("uint16", "", _triple((1, 16, 1)), lambda x: "uint16",
         ". . . . MXE . . . . . . . . ."),
    Case("integers that MXNet was not asked about", "", _triple((0, 16, 1), (1, 32, 1)),
         lambda x: x.dtype_text, ". . . . ? . . . . . . . . ."),
    Case("float128", "risk", _triple((2, 128, 1)), lambda x: "float128",
         "RE BE JRE IAE UDE . . wrong NIE VE AIn RE RE .",
         lambda x: "float128 is IEEE's; x87's long double has the same name in places."),
    Case("opaque handles", "note", lambda x: x.dtype is not None and x.dtype[0] == 3,
         lambda x: "opaque handles", "RE BE JRE IAE MXE . . BE NIE VE AIn RE VE .",
         lambda x: "Elements are opaque handles: both sides must agree on what they are."),
    # Memory
    Case(
        "data NULL",
        "defect",
        lambda x: x.data == 0 and _has_elements(x),
        lambda x: "data is NULL, and there are elements",
        "wrong later later later SEGV later MPI VE later SEGV wrong later wrong later",
        lambda x: "The data pointer is NULL, and there are elements.",
    ),
    Case(
        "memory unreadable",
        "defect",
        lambda x: x.readable is False and x.data != 0,
        lambda x: "the memory is not there",
        "later later later later later later later later later SEGV later later later later",
        lambda x: "The data pointer leads to memory that is not there, or not for all elements.",
    ),
    Case(
        "empty, NULL",
        "",
        lambda x: x.layout is not None and x.layout.size == 0 and x.data == 0,
        lambda x: "no elements",
        "copies . . . MXE . . copies . copies copies . . .",
    ),
    Case(
        "empty, with a pointer",
        "note",
        lambda x: x.layout is not None and x.layout.size == 0 and x.data != 0,
        lambda x: "no elements",
        ". . . . MXE . . . . copies copies . . .",
        lambda x: "There are no elements, and yet a data pointer; dlpack.h asks for NULL.",
    ),
    Case(
        "empty, with odd strides",
        "",
        lambda x: x.layout is not None
        and x.layout.size == 0
        and not x.layout.is_row_major(strict=True)
        and not x.layout.is_column_major(strict=True),
        lambda x: "no elements, and strides that are not those of compact memory",
        ". . . . . . BE . . . . . . .",
    ),
    Case(
        "rank 0",
        "note",
        lambda x: x.ndim == 0,
        lambda x: "no dimensions",
        ". . . . . . . . . . . . IE .",
        lambda x: "It has no dimensions: one element.",
    ),
    Case(
        "byte offset",
        "risk",
        lambda x: x.byte_offset != 0 and (x.device is None or x.device[0] in HOST),
        lambda x: f"the byte offset of {x.byte_offset}",
        ". . . IAE wrong . . wrong wrong . . wrong wrong .",
        lambda x: f"The first element is {x.byte_offset} bytes after the data pointer.",
    ),
    Case(
        "byte offset on a device",
        "risk",
        lambda x: x.byte_offset != 0 and x.device is not None and x.device[0] not in HOST,
        lambda x: f"the byte offset of {x.byte_offset}",
        ". . . IAE wrong . . . ? . . ? ? .",
        lambda x: f"The first element is {x.byte_offset} bytes after the data pointer.",
    ),
    Case(
        "byte offset in an element",
        "risk",
        lambda x: x.element_bytes > 0 and x.byte_offset % x.element_bytes != 0,
        lambda x: "the byte offset is no whole number of elements",
        ". VE . . . . . . . . . . . .",
        lambda x: f"The byte offset of {x.byte_offset} is no whole number of elements.",
    ),
    Case(
        "alignment",
        "note",
        lambda x: 0 < x.alignment < 64 and x.is_host,
        lambda x: f"aligned to {x.alignment}, asks for 64",
        ". . copies use! . . . . . . . . . .",
        lambda x: f"The first element is aligned to {x.alignment} bytes; some ask for 64.",
    ),
    Case(
        "alignment of elements",
        "risk",
        lambda x: x.is_host
        and _has_elements(x)
        and 0 < x.alignment < min(x.element_bytes, 8)
        and x.element_bytes % x.alignment == 0,
        lambda x: f"aligned to {x.alignment}, and elements have {x.element_bytes} bytes",
        ". . . . . . . . . . . . . .",
        lambda x: f"Elements of {x.element_bytes} bytes are aligned to {x.alignment}: in C that is "
        "undefined, and vector instructions may stop there.",
    ),
    # Strides
    Case(
        "strides NULL",
        "note",
        lambda x: bool(x.shape) and x.strides_is_null and x.format is None and not _beyond_one(x),
        lambda x: "the strides are NULL",
        ". . . . . . . . . . . . . .",
        lambda x: "The strides are a NULL pointer: row-major is meant. DLPack 1.2 and newer "
        "forbid that.",
    ),
    Case(
        "strides NULL against its version",
        "defect",
        lambda x: bool(x.shape) and x.strides_is_null and x.format is None and _beyond_one(x),
        lambda x: "the strides are NULL",
        ". . . . . . . . . . . . . .",
        lambda x: "The strides are a NULL pointer, and the version is "
        f"{x.version[0] if x.version else 0}.{x.version[1] if x.version else 0}: "
        "from 1.2 on that is forbidden.",
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
        lambda x: bool(x.shape) and x.strides_is_null and _on(14)(x),
        lambda x: "the strides are NULL",
        ". . . . . . . SEGV . . . . . .",
    ),
    Case(
        "backwards",
        "risk",
        _moves("backwards"),
        lambda x: "a negative stride",
        ". ABRT JRE IAE MXE . BE . later VE AIn RE . .",
        lambda x: f"It runs backwards: the strides {list(x.layout.strides) if x.layout else []} "
        "have a negative one.",
    ),
    Case(
        "broadcast",
        "risk",
        _moves("broadcast"),
        lambda x: "a stride of 0",
        ". . JRE IAE MXE . BE . . . . RE . .",
        lambda x: "Many elements share one place: a stride is 0 (broadcast). Writing to one "
        "writes to all.",
    ),
    Case(
        "gaps",
        "risk",
        _has_gaps,
        lambda x: "not compact",
        ". . JRE IAE MXE . BE . . . . RE . .",
        lambda x: "Elements overlap."
        if x.layout is not None and x.layout.shares
        else "There are gaps between the elements.",
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
        lambda x: "It is row-major but for the stride of a dimension with one index, which "
        "means nothing; who compares strides word for word takes it for something else.",
    ),
    # The rest
    Case(
        "deleter NULL",
        "risk",
        lambda x: x.deleter_is_null is True,
        lambda x: "the deleter is NULL",
        ". . drop! . . . . drop! . . . drop! . .",
        lambda x: "It has no deleter (NULL). That is allowed.",
    ),
    Case(
        "read-only",
        "note",
        lambda x: x.read_only is True,
        lambda x: "read-only",
        ". writes . . . . sends . writes . . . . TE",
        lambda x: "It is read-only.",
    ),
    Case(
        "padded without need",
        "note",
        lambda x: bool((x.flags or 0) & abi.SUBBYTE_PADDED) and x.element_bits % 8 == 0,
        lambda x: "marked as padded",
        ". . . . . RE . . . . . . . .",
        lambda x: "It is marked as padded, and its elements are whole bytes.",
    ),
    Case(
        "unknown flags",
        "note",
        lambda x: bool((x.flags or 0) & ~7),
        lambda x: "unknown flags",
        ". . . . . . . . . . . . . .",
        lambda x: f"There are flags that nobody knows: {(x.flags or 0) & ~7:#x}.",
    ),
]

# Of a versioned struct of another major version, in which nothing may be read but version and
# deleter (spec 2.1).
OTHER_MAJOR = "BE RE . . . later later BE VE later AIn . . later"
