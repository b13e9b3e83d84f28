"""The rules: expectation, severity of a violation, source, and how to fix a violation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

# F: a violation of the specification, or a risk for memory. W: a deviation that other libraries
# tolerate. N: for information.
Severity = Literal["F", "W", "N"]


@dataclass(frozen=True)
class Rule:
    id: str
    severity: Severity
    text: str  # the expectation, in one sentence
    source: str  # the specification, or libraries that depend on it; "spec" is docs/protocol.md
    fix: str  # the change that a violating library needs


ROWS = [
    # Producers: __dlpack__ and __dlpack_device__
    Rule(
        "P-01",
        "F",
        "Both __dlpack__ and __dlpack_device__ are methods of the type.",
        "array API, __dlpack__; jax#17285 (spec 4.1)",
        "Define both on the class: consumers look them up there, and several read the device "
        "first.",
    ),
    Rule(
        "P-02",
        "F",
        "__dlpack_device__() returns two integers: a device type of DLPack and an index.",
        "array API, __dlpack__ and __dlpack_device__; mpi4py and array-api-tests check it (spec "
        "4.2)",
        "Return (device_type, device_id), two ints or an IntEnum and an int; 0 for a device "
        "without an index.",
    ),
    Rule(
        "P-03",
        "F",
        "__dlpack__() without arguments returns a capsule.",
        "DLPack Python specification; TensorFlow, JAX, tvm-ffi and ONNX Runtime call it so (spec "
        "4.1)",
        "Give every parameter of __dlpack__ a default, and return a PyCapsule.",
    ),
    Rule(
        "P-04",
        "F",
        "A capsule is named dltensor when max_version is absent or None, and dltensor or "
        "dltensor_versioned when it is (1, x).",
        "DLPack Python specification; array API, __dlpack__ (spec 2.2)",
        "Name the capsule after its struct, and return the versioned struct only for a max_version "
        "of (1, 0) or newer.",
    ),
    Rule(
        "P-05",
        "W",
        "max_version=(1, 0) returns a versioned capsule.",
        "array API, __dlpack__; pyarrow and mpi4py take no other (spec 2.2)",
        "Fill DLManagedTensorVersioned when max_version[0] >= 1; only this struct has the flags "
        "READ_ONLY and IS_COPIED.",
    ),
    Rule(
        "P-06",
        "F",
        "A versioned capsule has major version 1 for every max_version from (1, 0) on; (0, x) "
        "returns a legacy capsule or raises BufferError.",
        "array API, __dlpack__, notes on max_version; dlpack.h (spec 2.2)",
        "Write the version that you implement into the header; below (1, 0) return the legacy "
        "struct, or raise BufferError.",
    ),
    Rule(
        "P-07",
        "F",
        "stream is a keyword: given by position it raises TypeError, or has the same meaning.",
        "array API, __dlpack__, signature (spec 4.1)",
        "Declare def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, "
        "copy=None).",
    ),
    Rule(
        "P-08",
        "W",
        "A keyword that the producer does not define raises TypeError.",
        "array API, versions of __dlpack__: consumers fall back on TypeError; nanobind (spec 2.4)",
        "Do not accept **kwargs: a consumer would assume that its request was honoured.",
    ),
    Rule(
        "P-09",
        "W",
        "max_version of a wrong form, such as (1,), '1.0' or 1, raises TypeError or ValueError.",
        "NumPy, dpctl and nanobind refuse it (spec 2.2)",
        "Check that max_version is a tuple of two integers before reading it.",
    ),
    Rule(
        "P-10",
        "F",
        "The device in the capsule is that of __dlpack_device__().",
        "array API, __dlpack__; DLPack Python specification (spec 4.2)",
        "Fill DLTensor.device and implement __dlpack_device__ from one source.",
    ),
    Rule(
        "P-11",
        "F",
        "ndim is not negative, shape is not NULL when there are dimensions, and no extent is "
        "negative.",
        "dlpack.h (spec 1.7)",
        "Fill ndim and shape from the array, and keep shape alive as long as the managed tensor.",
    ),
    Rule(
        "P-12",
        "F",
        "strides is not NULL in a versioned capsule when there are dimensions.",
        "dlpack.h 1.2 (spec 1.7)",
        "Write explicit strides, also for compact arrays: since 1.2 consumers need not test for "
        "NULL.",
    ),
    Rule(
        "P-13",
        "F",
        "Shape, strides and offset address only memory of the array.",
        "dlpack.h; cupy#10172 (spec 1.7)",
        "Count strides in elements and not in bytes, and byte_offset in bytes.",
    ),
    Rule(
        "P-14",
        "F",
        "byte_offset is a multiple of the element's size; 0 where data is an address.",
        "dlpack.h; TensorFlow refuses an offset, Paddle, ONNX Runtime, Warp and dpnp ignore it "
        "(spec 1.6)",
        "On devices whose memory has addresses add the offset to data, and write 0.",
    ),
    Rule(
        "P-15",
        "W",
        "The strides of extents of 1 and of empty arrays are not negative and not out of range.",
        "MLX, pyarrow and mpi4py compare them; tensorflow#61184 (spec 1.7)",
        "Write for such extents the stride that a compact array would have.",
    ),
    Rule(
        "P-16",
        "F",
        "The dtype is valid: a known code, bits above 0, lanes of at least 1, bits of a complex "
        "number counting both parts.",
        "dlpack.h, DLDataType; dlpack#66 (spec 1.4)",
        "Fill code, bits and lanes from the table in dlpack.h; complex64 is (5, 64, 1).",
    ),
    Rule(
        "P-17",
        "W",
        "Booleans have the dtype (kDLBool, 8, 1).",
        "dlpack.h 0.8; jax#4719, pytorch#67081 (spec 1.4)",
        "Use code 6 with 8 bits: consumers cannot distinguish a bool that is exported as uint8.",
    ),
    Rule(
        "P-18",
        "N",
        "A dtype below a byte is packed, or marked as padded in a capsule of version 1.1 or newer.",
        "dlpack.h 1.1, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (spec 1.5)",
        "Set flag 4 when each element occupies a byte, and version (1, 1) or newer.",
    ),
    Rule(
        "P-19",
        "F",
        "An array of size 0 is exported, with data that is NULL or valid.",
        "DLPack Python specification; dlpack.h (spec 1.7)",
        "Export it as any other array, with NULL for data.",
    ),
    Rule(
        "P-20",
        "F",
        "An array without dimensions is exported with ndim 0 and valid data.",
        "dlpack.h (spec 1.7)",
        "Write ndim 0; shape and strides may be NULL then, data may not.",
    ),
    Rule(
        "P-21",
        "N",
        "The alignment of the first element.",
        "dlpack.h requires 256 bytes; JAX copies and TensorFlow aborts below 64 (spec 1.6)",
        "Allocate at multiples of 64 bytes or more.",
    ),
    Rule(
        "P-22",
        "F",
        "Read-only memory is marked READ_ONLY in a versioned capsule, and is not exported in a "
        "legacy one.",
        "array API, __dlpack__ and dlpack.h, DLPACK_FLAG_BITMASK_READ_ONLY; numpy#20742, "
        "jax#40789 (spec 4.7)",
        "Set flag 1 in the versioned struct; raise BufferError for a request of a legacy one.",
    ),
    Rule(
        "P-23",
        "F",
        "copy=False on the same device exports the memory itself.",
        "array API, __dlpack__, copy (spec 4.3)",
        "Export the same pointer, or raise BufferError where that is impossible.",
    ),
    Rule(
        "P-24",
        "F",
        "copy=True exports other memory, marked IS_COPIED, or raises BufferError.",
        "array API, __dlpack__, copy; dlpack.h, DLPACK_FLAG_BITMASK_IS_COPIED (spec 4.3)",
        "Copy, and set flag 2 in the versioned struct; raise BufferError if you cannot copy.",
    ),
    Rule(
        "P-25",
        "F",
        "copy of another type than bool or None raises an error.",
        "array API, __dlpack__, copy; NumPy refuses text (spec 4.3)",
        "Compare with True, False and None, and raise TypeError or ValueError for other values.",
    ),
    Rule(
        "P-26",
        "F",
        "dl_device equal to the array's device succeeds, an unknown one raises BufferError, and a "
        "value that is no pair raises TypeError or ValueError.",
        "array API, __dlpack__, dl_device (spec 4.3)",
        "Compare dl_device with __dlpack_device__(), raise BufferError for a device that you do "
        "not support, and TypeError or ValueError for a value that is no pair of integers.",
    ),
    Rule(
        "P-27",
        "F",
        "dl_device=(1, 0) on an array of another device returns a capsule in CPU memory, and with "
        "copy=False raises BufferError or ValueError.",
        "array API, __dlpack__, dl_device (spec 4.3)",
        "Copy to the host, wait for the copy, set IS_COPIED, write kDLCPU; with copy=False raise "
        "BufferError.",
    ),
    Rule(
        "P-28",
        "F",
        "stream=None is accepted on every device.",
        "array API, __dlpack__, stream; mpi4py sends -1 (spec 4.4)",
        "Let stream default to None and accept it on every device; accept -1 as well.",
    ),
    Rule(
        "P-29",
        "F",
        "Invalid streams are refused: 0 on CUDA, 1 and 2 on ROCm, below -1 on every device.",
        "array API, __dlpack__, stream (spec 4.4)",
        "Raise ValueError for them before using the stream.",
    ),
    Rule(
        "P-30",
        "F",
        "Content that DLPack cannot describe raises BufferError.",
        "array API, __dlpack__, raises; numpy#20742 (spec 4.5)",
        "Raise BufferError and not TypeError, which consumers interpret as a producer of an older "
        "protocol.",
    ),
    Rule(
        "P-31",
        "W",
        "__dlpack__ works on a thread that has never used the library.",
        "PyTorch refuses on a device that is not current; iree-turbine#1230 (spec 3.3)",
        "Set the current device, and any other state of a thread, inside __dlpack__.",
    ),
    Rule(
        "P-32",
        "F",
        "Every export is a separate capsule, and each may be freed without the others.",
        "DLPack Python specification, ownership (spec 3.2)",
        "Allocate a new managed tensor for each call; each holds its own reference to the memory.",
    ),
    # Lifetime and threads, of both sides
    Rule(
        "X-01",
        "F",
        "Dropping a capsule that was not consumed runs its deleter once.",
        "DLPack Python specification, capsule destructor (spec 3.2)",
        "Give the capsule a destructor that calls the deleter while the capsule has its fresh "
        "name.",
    ),
    Rule(
        "X-02",
        "F",
        "The capsule's destructor preserves a pending exception.",
        "CPython issue 89373; jax#31271, pytorch#84056 (spec 3.4)",
        "Save the pending exception at the beginning of the destructor, and restore it at the end.",
    ),
    Rule(
        "X-03",
        "F",
        "The destructor of a consumed capsule does nothing.",
        "DLPack Python specification, capsule destructor (spec 3.2)",
        "Compare the name in the destructor, and call the deleter only if it is the fresh one.",
    ),
    Rule(
        "X-04",
        "F",
        "The deleter may be called without the GIL, from a thread without a Python thread state.",
        "DLPack Python specification; numpy#22507, pytorch#88082 (spec 3.3)",
        "Acquire the GIL in the deleter (PyGILState_Ensure) before touching Python objects.",
    ),
    Rule(
        "X-05",
        "F",
        "The deleter may be called after the interpreter's end: it neither crashes nor hangs.",
        "DLPack Python specification, reference deleter (spec 3.3)",
        "Return at once when Py_IsInitialized() is false; a leak is correct then.",
    ),
    Rule(
        "X-06",
        "F",
        "A NULL deleter is not called.",
        "dlpack.h (spec 3.2)",
        "Test the deleter for NULL before calling it, in the consumer and in destructors.",
    ),
    Rule(
        "X-07",
        "F",
        "The memory lives until the consumer releases it, also after the source object was freed.",
        "DLPack Python specification, ownership (spec 3.2)",
        "Keep the owner of the memory, and not only the exporting object, in manager_ctx until "
        "the deleter runs.",
    ),
    Rule(
        "X-08",
        "F",
        "Ten thousand exports leak no memory, nor do exports of size 0.",
        "pytorch#117273, Paddle#47171 (spec 3.2)",
        "Free in the deleter everything that __dlpack__ allocated: the struct, the shape, the "
        "reference.",
    ),
    Rule(
        "X-09",
        "F",
        "When several threads consume one capsule, exactly one succeeds.",
        "cpython#145563, numpy#28881 (spec 3.3)",
        "Rename the capsule while holding a lock or the GIL, and read the tensor only after the "
        "renaming succeeded.",
    ),
    Rule(
        "X-10",
        "F",
        "A capsule that is used, or that has another name, is refused with an error.",
        "DLPack Python specification, names; CuPy, PyTorch (spec 3.1)",
        "Check the name with PyCapsule_IsValid before reading the pointer.",
    ),
    Rule(
        "X-11",
        "F",
        "Pickling and copying the array copies it or is refused, and no copy shares a managed "
        "tensor.",
        "Dask and Ray pickle what they send (spec 3.2)",
        "Define __reduce__ to copy the content, or let it raise TypeError; never keep a capsule "
        "in the state.",
    ),
    Rule(
        "X-12",
        "N",
        "The garbage collector can collect a reference cycle through an export.",
        "CPython, tp_traverse",
        "Release the managed tensor in tp_clear, or document that a cycle over a capsule is never "
        "freed.",
    ),
    # Consumers: how they read ctypes tensors
    Rule(
        "C-01",
        "F",
        "Legacy and versioned capsules are both accepted.",
        "DLPack Python specification (spec 2.3)",
        "Read the capsule's name, and then the struct that it identifies.",
    ),
    Rule(
        "C-02",
        "F",
        "The first call passes max_version; only a TypeError leads to a call without it, and "
        "copy=False is never dropped.",
        "array API, __dlpack__, max_version; array API, from_dlpack, copy (spec 2.4)",
        "Call with max_version, retry without the new keywords on TypeError only, and raise where "
        "the producer does not accept the user's copy=False.",
    ),
    Rule(
        "C-03",
        "F",
        "The capsule's name determines the struct, not the request: a legacy capsule for "
        "max_version is accepted.",
        "array API, __dlpack__, max_version; TensorFlow, JAX and MLX return it (spec 2.3)",
        "Branch on the name of the capsule.",
    ),
    Rule(
        "C-04",
        "F",
        "A managed tensor of major version 2 raises BufferError; its deleter runs once and nothing "
        "else is read.",
        "dlpack.h, DLPackVersion; DLPack Python specification (spec 2.1)",
        "Check version.major before any other field; leave the capsule to its destructor and "
        "raise BufferError.",
    ),
    Rule(
        "C-05",
        "F",
        "An unknown minor version and unknown flags are accepted.",
        "dlpack.h, DLPackVersion (spec 2.1)",
        "Compare the major version only, and mask the flags that you implement.",
    ),
    Rule(
        "C-06",
        "F",
        "An object that is no fresh capsule is refused with an error: a used one, one without a "
        "name, one with another name, no capsule.",
        "DLPack Python specification, names; onnxruntime#24095 (spec 3.1)",
        "Use PyCapsule_IsValid with both fresh names, and raise for every other object.",
    ),
    Rule(
        "C-07",
        "F",
        "A consumed capsule is renamed; after a refusal the deleter has run exactly once.",
        "DLPack Python specification, consumers; pytorch#171820 (spec 3.2)",
        "Rename last and leave refused capsules to their destructor, or rename first and call the "
        "deleter on every error path.",
    ),
    Rule(
        "C-08",
        "F",
        "NULL strides mean row-major.",
        "dlpack.h before 1.2; cupy#2095 (spec 1.7)",
        "Compute compact strides where the pointer is NULL.",
    ),
    Rule(
        "C-09",
        "F",
        "byte_offset is added to data.",
        "dlpack.h, DLTensor.byte_offset; cuda-python#2592, pytorch#168177 (spec 1.6)",
        "Use data + byte_offset as the address of the first element, or refuse an offset with "
        "BufferError.",
    ),
    Rule(
        "C-10",
        "F",
        "Negative and zero strides give the right values or a refusal.",
        "NumPy sends them; tensorflow#42660, jax#7657, pytorch#188023 (spec 1.7)",
        "Honour every stride, copy, or raise BufferError.",
    ),
    Rule(
        "C-11",
        "F",
        "The consumer refuses an invalid shape: ndim below 0 or above its limit, a negative "
        "extent, a size that overflows.",
        "mpi4py and nanobind refuse it (spec 1.7)",
        "Check ndim and every extent before using them, and multiply extents with a check for "
        "overflow.",
    ),
    Rule(
        "C-12",
        "F",
        "An unsupported dtype is refused or preserved, and never read as another one.",
        "dlpack.h, DLDataType (spec 1.4)",
        "Compare code, bits and lanes with what you support, and raise BufferError for the rest.",
    ),
    Rule(
        "C-13",
        "F",
        "Read-only memory is never written through the result.",
        "dlpack.h, DLPACK_FLAG_BITMASK_READ_ONLY; array API, __dlpack__ allows ignoring it; "
        "numpy#28599 (spec 4.7)",
        "Mark the result as read-only, copy, or raise; a library without read-only arrays "
        "documents it.",
    ),
    Rule(
        "C-14",
        "F",
        "A device that is not supported is refused, and its pointer never dereferenced.",
        "DLPack Python specification; cupy#7131 (spec 4.5)",
        "Compare the device in the capsule with those you support before reading data, and raise "
        "BufferError.",
    ),
    Rule(
        "C-15",
        "F",
        "Unaligned data is read correctly or refused.",
        "dlpack#99; jax#29810 (spec 1.6)",
        "Test the alignment of the first element, and copy or refuse where your code needs more.",
    ),
    Rule(
        "C-16",
        "F",
        "An empty array whose data is NULL is accepted.",
        "dlpack.h, DLTensor.data; onnxruntime#27450, pytorch#41182 (spec 1.7)",
        "Test the size before testing the pointer.",
    ),
    # Additional rules: the array API's draft, the exchange table, other protocols
    Rule(
        "S-01",
        "W",
        "The stream that a consumer passes is valid for the device: None or nothing for the CPU, "
        "an integer other than 0 for CUDA.",
        "array API, __dlpack__, stream (spec 4.4)",
        "Pass stream only for devices that have streams, and 1 for the legacy default stream of "
        "CUDA.",
    ),
    Rule(
        "S-02",
        "W",
        "A consumer passes stream=-1 only when its user requests it.",
        "array API, __dlpack__, stream: -1 disables the ordering (spec 4.4)",
        "Pass the stream on which you will read.",
    ),
    Rule(
        "S-03",
        "F",
        "The exchange table has the specified name, major version 1, no NULL in a required slot, "
        "and agrees with __dlpack__.",
        "dlpack.h 1.3, DLPackExchangeAPI; array API draft (spec 5.2)",
        "Store a capsule named dlpack_exchange_api on the type, over one static struct, and fill "
        "it from the same code as __dlpack__.",
    ),
    Rule(
        "S-04",
        "F",
        "The buffer protocol and the array interfaces describe the same bytes and the same access "
        "as __dlpack__.",
        "PEP 3118; numba, __cuda_array_interface__",
        "Implement every protocol from one description of the array.",
    ),
    Rule(
        "S-05",
        "W",
        "The result of __cuda_stream__() begins with version 0.",
        "cuda.core, the __cuda_stream__ protocol",
        "Return (0, address of the stream).",
    ),
    Rule(
        "S-06",
        "W",
        "SUBBYTE_PADDED is set on dtypes below a byte only.",
        "dlpack.h 1.1 (spec 1.8)",
        "Set flag 4 only where bits * lanes is no multiple of 8.",
    ),
    Rule(
        "S-07",
        "N",
        "How a 4-bit float is packed: one in each element, or two.",
        "dlpack.h, DLDataType; PyTorch sends (17, 4, 2), JAX (17, 4, 1) (spec 1.5)",
        "Document the form that you export, and accept both.",
    ),
    Rule(
        "S-08",
        "W",
        "Legacy and versioned exports describe the same array.",
        "DLPack Python specification (spec 2.2)",
        "Fill the DLTensor in one function, and put it into either struct.",
    ),
    Rule(
        "S-09",
        "W",
        "A subclass that redefines __dlpack__ is exported by its own method.",
        "array API, __dlpack__; Python's data model",
        "Call type(x).__dlpack__ and not a function cached for the base class.",
    ),
    Rule(
        "S-10",
        "N",
        "Work that the consumer enqueues on its stream after the import reads finished elements.",
        "array API, __dlpack__, stream (spec 4.4)",
        "Let the consumer's stream wait for an event on the producer's.",
    ),
    Rule(
        "S-11",
        "W",
        "from_dlpack has the keywords device and copy.",
        "array API, from_dlpack, 2023.12 (spec 4.6)",
        "Declare def from_dlpack(x, /, *, device=None, copy=None).",
    ),
    Rule(
        "S-12",
        "W",
        "from_dlpack of an object without __dlpack__ raises AttributeError or TypeError.",
        "array API, from_dlpack, raises (spec 4.5)",
        "Pass on the AttributeError of the missing method.",
    ),
    Rule(
        "S-13",
        "W",
        "An exception that the producer raises reaches the caller unchanged.",
        "array API, from_dlpack, raises (spec 4.5)",
        "Do not catch exceptions of __dlpack__, except the TypeError of the fallback.",
    ),
    Rule(
        "S-14",
        "F",
        "from_dlpack(x, copy=True) returns memory that is not x's.",
        "array API, from_dlpack, copy (spec 4.6)",
        "Forward copy=True, or copy; do not rely on alignment to force a copy.",
    ),
    Rule(
        "S-15",
        "W",
        "from_dlpack(x, copy=False) raises BufferError or ValueError where x must be copied.",
        "array API, from_dlpack, copy; array-api#831",
        "Forward copy=False, and pass on the producer's BufferError.",
    ),
    Rule(
        "S-16",
        "F",
        "asarray(x, copy=True) never shares memory with x; copy=False shares it, or raises.",
        "array API, asarray, copy",
        "Honour copy also for your own arrays; raise ValueError where copy=False is impossible.",
    ),
]

RULES: dict[str, Rule] = {row.id: row for row in ROWS}
SIXTY = frozenset(rule for rule in RULES if not rule.startswith("S"))


def table() -> str:
    """Returns the rules as a table in Markdown, which docs/conformance.md contains."""
    lines = ["| Rule | | Expectation | Source |", "|---|---|---|---|"]
    for row in ROWS:
        lines.append(f"| {row.id} | {row.severity} | {_code(row.text)} | {_code(row.source)} |")
    return "\n".join(lines)


def _code(text: str) -> str:
    """Puts the names of methods into backticks.

    >>> _code("__dlpack__() returns a capsule.")
    '`__dlpack__()` returns a capsule.'
    """
    return re.sub(r"__\w+__(\(\))?(\[0\])?", r"`\g<0>`", text)
