# SPDX-License-Identifier: BSD-3-Clause
"""The sentences of the standards that rules and known defects cite, word for word, each once.

" ... " stands for words that are left out. `since` is the first release that has the sentence: for
dlpack.h and its Python specification the first tag of DLPack, from 0.2 and 1.0 on.
"""

from __future__ import annotations

from .model import ARRAY_API, Force, Text

HEADER, PYTHON, CPYTHON = "dlpack.h", "DLPack Python specification", "CPython"

# dlpack.h ----------------------------------------------------------------------------------------

MAJOR = Text(
    HEADER,
    "1.0",
    "DLPackVersion",
    "If an obtained DLPack tensor has a major version that disagrees with the version number "
    "specified in this header file (i.e. major != DLPACK_MAJOR_VERSION), the consumer must call "
    "the deleter (and it is safe to do so). It is not safe to access any other fields as the "
    "memory layout will have changed.",
    "must",
)
MINOR = Text(
    HEADER,
    "1.0",
    "DLPackVersion",
    "In the case of a minor version mismatch, the tensor can be safely used as long as the "
    "consumer knows how to interpret all fields.",
    "may",
)
NULL_CONTEXT = Text(
    HEADER,
    "0.2",
    "DLManagedTensor.manager_ctx",
    "the context of the original host framework of DLManagedTensor in which DLManagedTensor is "
    "used in the framework. It can also be NULL.",
    "may",
)
TABLE_STREAM_FAILURE = Text(
    HEADER,
    "1.3",
    "DLPackCurrentWorkStream",
    "0 on success, -1 on failure with a Python exception set.",
    "must",
)
VERSION = Text(
    HEADER,
    "1.0",
    "DLManagedTensorVersioned.version",
    "The API and ABI version of the current managed Tensor",
    "states",
)
DATA = Text(
    HEADER, "0.7", "DLTensor.data", "The data pointer points to the allocated data.", "states"
)
ALIGNMENT = Text(
    HEADER,
    "0.3",
    "DLTensor.data",
    "This pointer is always aligned to 256 bytes as in CUDA.",
    "states",
)
NO_ALIGNMENT = Text(
    HEADER,
    "0.7",
    "DLTensor.data",
    "at the moment it is recommended to not rely on the data pointer being correctly aligned.",
    "should",
)
OFFSET = Text(
    HEADER,
    "0.7",
    "DLTensor.data",
    "The `byte_offset` field should be used to point to the beginning of the data.",
    "should",
)
BYTE_OFFSET = Text(
    HEADER,
    "0.2",
    "DLTensor.byte_offset",
    "The offset in bytes to the beginning pointer to data",
    "states",
)
EMPTY = Text(
    HEADER,
    "1.0",
    "DLTensor.data",
    "Note that if the tensor is of size zero, then the data pointer should be set to `NULL`.",
    "should",
)
DEVICE = Text(HEADER, "0.4", "DLTensor.device", "The device of the tensor", "states")
HOST_INDEX = Text(
    HEADER,
    "0.6",
    "DLDevice.device_id",
    "For vanilla CPU memory, pinned memory, or managed memory, this is set to 0.",
    "states",
)
NDIM = Text(HEADER, "0.2", "DLTensor.ndim", "Number of dimensions", "states")
SHAPE = Text(HEADER, "0.2", "DLTensor.shape", "The shape of the tensor", "states")
STRIDES = Text(
    HEADER,
    "0.3",
    "DLTensor.strides",
    "strides of the tensor (in number of elements, not bytes)",
    "states",
)
NULL_STRIDES = Text(
    HEADER,
    "0.3",
    "DLTensor.strides",
    "can be NULL, indicating tensor is compact and row-majored.",
    "may",
)
STRIDES_REQUIRED = Text(
    HEADER,
    "1.2",
    "DLTensor.strides",
    "can not be NULL if ndim != 0, must points to an array of ndim elements that specifies the "
    "strides",
    "must",
)
STRIDES_OF_SCALARS = Text(
    HEADER, "1.2", "DLTensor.strides", "When ndim == 0, strides can be set to NULL.", "may"
)
DTYPE_CODE = Text(
    HEADER,
    "0.2",
    "DLDataType.code",
    "We keep it uint8_t instead of DLDataTypeCode for minimal memory footprint, but the value "
    "should be one of DLDataTypeCode enum values.",
    "should",
)
DTYPE_EXAMPLES = Text(
    HEADER,
    "0.5",
    "DLDataType",
    "float: type_code = 2, bits = 32, lanes = 1 ... float4(vectorized 4 float): type_code = 2, "
    "bits = 32, lanes = 4 ... int8: type_code = 0, bits = 8, lanes = 1 ... std::complex<float>: "
    "type_code = 5, bits = 64, lanes = 1",
    "states",
)
BOOLEANS = Text(
    HEADER,
    "0.8",
    "DLDataType",
    "bool: type_code = 6, bits = 8, lanes = 1 (as per common array library convention, the "
    "underlying storage size of bool is 8 bits)",
    "states",
)
ENDIANNESS = Text(
    HEADER,
    "0.7",
    "DLDataType",
    "An explicit error message should be raised when attempting to export an array with "
    "non-native endianness",
    "should",
)
SUBBYTE_BITS = Text(
    HEADER,
    "1.1",
    "DLDataTypeCode",
    "Setting bits != 4 is currently unspecified, and the producer must ensure it is set while the "
    "consumer must stop importing if the value is unexpected.",
    "must",
)
SUBBYTE_BITS_OF_FP6 = Text(
    HEADER,
    "1.1",
    "DLDataTypeCode",
    "Setting bits != 6 is currently unspecified, and the producer must ensure it is set while the "
    "consumer must stop importing if the value is unexpected.",
    "must",
)
PACKED = Text(
    HEADER,
    "1.1",
    "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED",
    "The default for sub-byte types (ex: fp4/fp6) is assumed packed. This flag can be set by the "
    "producer to signal that a tensor of sub-byte type is padded.",
    "states",
)
FLAGS = Text(
    HEADER,
    "1.0",
    "DLManagedTensorVersioned.flags",
    "By default the flags should be set to 0.",
    "should",
)
READ_ONLY = Text(
    HEADER,
    "1.0",
    "DLPACK_FLAG_BITMASK_READ_ONLY",
    "bit mask to indicate that the tensor is read only.",
    "states",
)
SOLELY_OWNED = Text(
    HEADER,
    "1.0",
    "DLPACK_FLAG_BITMASK_IS_COPIED",
    "If set, the tensor is considered solely owned throughout its lifetime by the consumer, until "
    "the producer-provided deleter is invoked.",
    "states",
)
BORROWING = Text(
    HEADER,
    "0.2",
    "DLManagedTensor",
    "When the borrowing framework doesn't need the tensor, it should call the deleter to notify "
    "the host that the resource is no longer needed.",
    "should",
)
DELETES_ITSELF = Text(
    HEADER,
    "1.0",
    "DLManagedTensor.deleter",
    "The destructor deletes the argument self as well.",
    "states",
)
NULL_DELETER = Text(
    HEADER,
    "0.2",
    "DLManagedTensor.deleter",
    "It can be NULL if there is no way for the caller to provide a reasonable destructor.",
    "may",
)
TABLE_NAME = Text(
    HEADER,
    "1.3",
    "DLPackExchangeAPI",
    'This attribute must be set on the type as a Python PyCapsule with name "dlpack_exchange_api".',
    "must",
)
TABLE_SLOTS = Text(HEADER, "1.3", "DLPackExchangeAPI", "This function must be not NULL.", "must")
TABLE_EXPORT = Text(
    HEADER,
    "1.3",
    "DLPackManagedTensorFromPyObjectNoSync",
    "Exports a PyObject* Tensor/NDArray to a DLManagedTensorVersioned.",
    "states",
)
TABLE_IMPORT = Text(
    HEADER,
    "1.3",
    "DLPackManagedTensorToPyObjectNoSync",
    "Convert an owning DLManagedTensorVersioned* to the Python tensor of the producer "
    "(implementer) library with the correct type.",
    "states",
)
TABLE_STREAM = Text(
    HEADER,
    "1.3",
    "DLPackCurrentWorkStream",
    "So CPU only framework can just provide a dummy implementation that always set "
    "out_current_stream[0] to NULL.",
    "states",
)

# The DLPack Python specification ----------------------------------------------------------------

METHODS = Text(
    PYTHON,
    "1.0",
    "Syntax for data interchange",
    "__dlpack__ and __dlpack_device__ methods on the array object, which will be called from "
    "within from_dlpack, to query what device the array is on (may be needed to pass in the "
    "correct stream, e.g. in the case of multiple GPUs) and to access the data.",
    "states",
)
CAPSULE = Text(
    PYTHON,
    "0.7",
    "Implementation",
    'The producer must set the PyCapsule name to "dltensor" so that it can be inspected by name, '
    "and set PyCapsule_Destructor that calls the deleter of the DLManagedTensor when the "
    '"dltensor"-named capsule is no longer needed.',
    "must",
)
ZERO_COPY = Text(
    PYTHON,
    "0.7",
    "Semantics",
    "If possible, this must be zero-copy (i.e. y will be a view on x).",
    "must",
)
VERSIONED_NAMES = Text(
    PYTHON,
    "1.0",
    "Implementation",
    "As far as the capsule name is concerned, when DLManagedTensorVersioned is in use the capsule "
    "names dltensor and used_dltensor will need a _versioned suffix.",
    "must",
)
BOTH_STRUCTS = Text(
    PYTHON,
    "1.0",
    "Implementation",
    "Starting DLPack 1.0, the DLManagedTensorVersioned struct should be used and the existing "
    "DLManagedTensor struct is considered deprecated, though a library should try to support both "
    "during the transition period if possible.",
    "should",
)
PRODUCES_CAPSULE = Text(
    PYTHON,
    "0.7",
    "Implementation",
    "The __dlpack__ method will produce a PyCapsule containing a DLManagedTensor",
    "must",
)
CONSUMED_ONCE = Text(
    PYTHON,
    "0.7",
    "Implementation",
    "The __dlpack__ method will produce a PyCapsule containing a DLManagedTensor, which will be "
    "consumed immediately within from_dlpack - therefore it is consumed exactly once, and it will "
    "not be visible to users of the Python API.",
    "states",
)
RENAMING = Text(
    PYTHON,
    "1.0",
    "Implementation",
    "The consumer must transer ownership of the DLManagedTensor from the capsule to its own "
    'object. It does so by renaming the capsule to "used_dltensor" to ensure that '
    "PyCapsule_Destructor will not get called",
    "must",
)
DELETER_CALLED = Text(
    PYTHON,
    "1.0",
    "Implementation",
    "the deleter of the DLManagedTensor will be called by the destructor of the consumer library "
    "object created to own the DLManagedTensor obtained from the capsule.",
    "states",
)
GIL = Text(
    PYTHON,
    "1.0",
    "Implementation",
    "The DLManagedTensor deleter must ensure that sharing beyond Python boundaries is possible, "
    "this means that the GIL must be acquired explicitly if it uses Python objects or API.",
    "must",
)
AFTER_FINALIZATION = Text(
    PYTHON,
    "1.0",
    "Implementation, example",
    "Leak the Python object if the Python runtime is not available. This can happen if the DLPack "
    "consumer destroys the tensor late after Python runtime finalization",
    "should",
)
COPY_FLAG = Text(
    PYTHON,
    "1.0",
    "Semantics",
    "When a copy is made, the producer must set the DLPACK_FLAG_BITMASK_IS_COPIED bit flag.",
    "must",
)
UNSUPPORTED_DEVICE = Text(
    PYTHON,
    "1.0",
    "Semantics",
    "If an array that is accessed via the interchange protocol lives on a device that the "
    "requesting (consumer) library does not support, it is recommended to raise a BufferError, "
    "unless an explicit copy is requested (see below) and the producer can support the request.",
    "should",
)
STREAM_PASSED = Text(
    PYTHON,
    "0.7",
    "Semantics",
    "The consumer must pass the stream it will use to the producer; the producer must synchronize "
    "or wait on the stream when necessary.",
    "must",
)
EMPTY_OR_ZERO = Text(
    PYTHON,
    "0.7",
    "Implementation",
    "If the array is of size zero, the data pointer in DLTensor should be set to either NULL or 0.",
    "should",
)
SYNONYMS = Text(
    PYTHON,
    "1.0",
    "Implementation",
    "In the rest of this document, DLManagedTensorVersioned and DLManagedTensor are treated as "
    "synonyms, assuming a proper handling of max_version has been done to choose the right struct.",
    "states",
)
NULL_IS_ROW_MAJOR = Text(
    PYTHON,
    "0.7",
    "Implementation",
    "When the strides field in the DLTensor struct is NULL, it indicates a row-major compact "
    "array.",
    "states",
)
STRIDED = Text(
    PYTHON,
    "1.0",
    "Semantics",
    "DLPack describes the memory layout of dense, strided, n-dimensional arrays.",
    "states",
)

# The array API -----------------------------------------------------------------------------------


def _api(since: str, place: str, sentence: str, force: Force) -> Text:
    return Text(ARRAY_API, since, place, sentence, force)


BOTH_METHODS = _api(
    "2023.12",
    "Data interchange mechanisms",
    "In case an implementation is never able to export its array data via DLPack, it may omit "
    "`__dlpack__` and `__dlpack_device__` completely",
    "may",
)
DEVICE_PAIR = _api(
    "2021.12",
    "__dlpack_device__, returns",
    "a tuple (device_type, device_id) in DLPack format.",
    "must",
)
RETURNS_CAPSULE = _api("2021.12", "__dlpack__, returns", "a DLPack capsule for the array.", "must")
SIGNATURE = _api(
    "2023.12",
    "__dlpack__",
    "max_version: Optional[tuple[int, int]] = None, dl_device: Optional[tuple[Enum, int]] = None, "
    "copy: Optional[bool] = None",
    "must",
)
ANY_VERSION = _api(
    "2023.12",
    "__dlpack__, max_version",
    "This method may return a capsule of version max_version (recommended if it does support "
    "that), or of a different version.",
    "may",
)
VERIFY_VERSION = _api(
    "2023.12",
    "__dlpack__, max_version",
    "This means the consumer must verify the version even when max_version is passed.",
    "must",
)
MAX_VERSION = _api(
    "2023.12",
    "__dlpack__, max_version",
    "the maximum DLPack version that the consumer (i.e., the caller of __dlpack__) supports, in "
    "the form of a 2-tuple (major, minor).",
    "must",
)
PRODUCER_LOGIC = _api(
    "2023.12",
    "__dlpack__, notes",
    "It is recommended for the producer to use this logic in the implementation of __dlpack__: "
    "... if max_version is None: ... Keep and use the DLPack 0.X implementation",
    "should",
)
TOO_OLD = _api(
    "2023.12",
    "__dlpack__, notes",
    "Else, the producer should raise a BufferError here to tell users that the consumer's "
    "max_version is too old to allow the data exchange to happen.",
    "should",
)
CONSUMER_LOGIC = _api(
    "2023.12",
    "__dlpack__, notes",
    "And this logic for the consumer in from_dlpack: ... x.__dlpack__(max_version=(1, 0) ... "
    "except TypeError: x.__dlpack__(",
    "should",
)
NOT_YET = _api(
    "2023.12",
    "__dlpack__, notes",
    "This keyword may not be used by consumers until a later time after introduction, because "
    "producers may implement the support at a different point in time.",
    "may",
)
SAME_DEVICE = _api(
    "2023.12",
    "__dlpack__, dl_device",
    "Default is None, meaning the exported capsule should be on the same device as self is.",
    "should",
)
DEVICE_FORMAT = _api(
    "2023.12",
    "__dlpack__, dl_device",
    "When specified, the format must be a 2-tuple, following that of the return value of "
    "array.__dlpack_device__.",
    "must",
)
DEVICE_ENUM = _api(
    "2023.12", "__dlpack__, dl_device", "dl_device: Optional[tuple[enum.Enum, int]]", "must"
)
DEVICE_REFUSED = _api(
    "2023.12",
    "__dlpack__, dl_device",
    "If the device type cannot be handled by the producer, this function must raise BufferError.",
    "must",
)
TO_THE_CPU = _api(
    "2023.12",
    "__dlpack__, dl_device",
    "a compliant library should offer a way for __dlpack__ to return a capsule referencing an "
    "array whose underlying memory is accessible to the Python interpreter (represented by the "
    "kDLCPU enumerator in DLPack).",
    "should",
)
TO_THE_CPU_UNCOPIED = _api(
    "2023.12",
    "__dlpack__, dl_device",
    "If a copy must be made to enable this support but copy is set to False, the function must "
    "raise BufferError.",
    "must",
)
COPY_TRUE = _api(
    "2023.12",
    "__dlpack__, copy",
    "If True, the function must always copy (performed by the producer",
    "must",
)
COPY_FALSE = _api(
    "2023.12",
    "__dlpack__, copy",
    "If False, the function must never copy, and raise a BufferError in case a copy is deemed "
    "necessary",
    "must",
)
EXPORT_REFUSED = _api(
    "2022.12",
    "__dlpack__, raises",
    "Implementations should raise BufferError when the data cannot be exported as DLPack (e.g., "
    "incompatible dtype or strides).",
    "should",
)
READ_ONLY_IGNORED = _api(
    "2023.12",
    "__dlpack__, notes",
    "A consumer that does not support read-only arrays should ignore this flag (this is preferred "
    "over raising an exception; the user is then responsible for ensuring the memory isn't "
    "modified).",
    "should",
)
STREAM_NONE = _api(
    "2021.12",
    "__dlpack__, stream",
    "On CPU and other device types without streams, only None is accepted.",
    "must",
)
STREAM_OPTIONAL = _api(
    "2021.12",
    "__dlpack__, stream",
    "Support for a stream value other than None is optional and implementation-dependent.",
    "may",
)
STREAM_ZERO = _api(
    "2021.12",
    "__dlpack__, stream",
    "0 is disallowed due to its ambiguity: 0 could mean either None, 1, or 2.",
    "must",
)
STREAM_UNORDERED = _api(
    "2021.12",
    "__dlpack__, stream",
    'If stream is -1, the value may be used by the consumer to signal "producer must not perform '
    'any synchronization".',
    "may",
)
STREAM_SAFE = _api(
    "2021.12",
    "__dlpack__, stream",
    "stream is provided by the consumer to the producer to instruct the producer to ensure that "
    "operations can safely be performed on the array",
    "must",
)
SYNCHRONIZED = _api(
    "2023.12",
    "__dlpack__, stream",
    "In particular, when kDLCPU is in use, stream must be None and a synchronization must be "
    "performed to ensure data safety.",
    "must",
)
FROM_DLPACK = _api(
    "2023.12",
    "from_dlpack",
    "from_dlpack(x: object, /, *, device: Optional[device] = None, copy: Optional[bool] = None) "
    "-> array",
    "must",
)
FROM_COPY_TRUE = _api(
    "2023.12", "from_dlpack, copy", "If True, the function must always copy.", "must"
)
FROM_COPY_FALSE = _api(
    "2023.12",
    "from_dlpack, copy",
    "If False, the function must never copy, and raise BufferError in case a copy is deemed "
    "necessary",
    "must",
)
FROM_COPY_NONE = _api(
    "2023.12",
    "from_dlpack, copy",
    "If None, the function must reuse the existing memory buffer if possible and copy otherwise.",
    "must",
)
FROM_PROPAGATES = _api(
    "2023.12", "from_dlpack, raises", "from_dlpack must propagate such exceptions.", "must"
)
FROM_MISSING = _api(
    "2023.12",
    "from_dlpack, raises",
    "If the __dlpack__ and __dlpack_device__ methods are not present on the input array.",
    "should",
)
FROM_DATA = _api("2021.12", "from_dlpack, returns", "an array containing the data in x.", "must")
FROM_ANY_OBJECT = _api(
    "2021.12",
    "from_dlpack",
    "Returns a new array containing the data from another (array) object with a __dlpack__ method.",
    "must",
)
AS_ARRAY_COPY = _api(
    "2021.12",
    "asarray, copy",
    "If True, the function must always copy. If False, the function must never copy for input "
    "which supports the buffer protocol and must raise a ValueError in case a copy would be "
    "necessary.",
    "must",
)

ARRAY_OBJECT = _api(
    "2021.12",
    "array object",
    "A conforming implementation of the array API standard must provide and support an array "
    "object having the following attributes and methods",
    "must",
)
NOT_MATERIALIZED = _api(
    "2023.12",
    "Data interchange mechanisms",
    "In such cases, the implementation may raise a `BufferError` in the `__dlpack__` or "
    "`__dlpack_device__` method.",
    "may",
)
OWN_VERSION = _api(
    "2023.12",
    "__dlpack__, notes",
    "our_own_dlpack_version is the max version that the producer supports and fills in the "
    "DLManagedTensorVersioned::version field",
    "should",
)
COPY_FLAG_API = _api(
    "2023.12",
    "__dlpack__, copy",
    "When a copy happens, the DLPACK_FLAG_BITMASK_IS_COPIED flag must be set.",
    "must",
)
COPY_NONE = _api(
    "2023.12",
    "__dlpack__, copy",
    "If None, the function must reuse the existing memory buffer if possible and copy otherwise.",
    "must",
)
COPY_IN_PLACE = _api(
    "2024.12",
    "copy keyword argument behavior",
    "Conversely, consumers of this standard should expect that, if they set copy=True, they are "
    "free to use in-place operations on a returned array.",
    "should",
)
STREAM_ROCM = _api(
    "2021.12",
    "__dlpack__, stream",
    "Using 1 and 2 is not supported.",
    "must",
)

# Why the array API is a recommendation, and no must, for a library that does not claim it.
ONLY_DLPACK = _api(
    "2021.12",
    "Data interchange mechanisms",
    "Python libraries that want to implement only DLPack support are recommended to do so using "
    "the same syntax and semantics as outlined below.",
    "should",
)

# Other standards ---------------------------------------------------------------------------------

PENDING_ERROR = Text(
    CPYTHON,
    "3.12",
    "PyTypeObject.tp_dealloc",
    "If you may call functions that may set the error indicator, you must use "
    "PyErr_GetRaisedException() and PyErr_SetRaisedException() to ensure you don't clobber a "
    "preexisting error indicator (the deallocation could have occurred while processing a "
    "different error)",
    "should",
)
