# SPDX-License-Identifier: BSD-3-Clause
"""The variants of producers: what differs, and the sentence of the standard that permits it.

Where no sentence does, the row says that none forbids it.
"""

from __future__ import annotations

import ctypes as C
from enum import Enum, IntEnum
from typing import Any

from planted import array as arrays
from planted import consumer, elements, exchange, library, native, producer
from planted.array import Array, row_major
from planted.defects.endings import crashes
from planted.native import STRUCTS, Memory, address_of, malloc
from planted.planting import change, instead_of, through, variant
from planted.producer import Export
from planted.spoiling import has_rank, is_filled, is_legacy, restride, spoil

# Requests -----------------------------------------------------------------------------


@variant(
    "array API 2025.12, __dlpack__: from March 2025 onwards (but ideally as late as possible), "
    "it's okay to raise BufferError here",
)
@instead_of(producer, "wants_versioned")
def bare_call_refused(original: Any, wanted: Any) -> Any:
    """A call without max_version raises BufferError."""
    if wanted is None:
        raise BufferError("expected max_version (1, 0) or newer")
    return original(wanted)


@variant(
    "array API 2025.12, __dlpack__: the producer should raise a BufferError here to tell users "
    "that the consumer's max_version is too old"
)
@instead_of(producer, "wants_versioned")
def version_0_refused(original: Any, wanted: Any) -> Any:
    """max_version=(0, 8) raises BufferError."""
    is_versioned = original(wanted)
    if wanted is not None and not is_versioned:
        raise BufferError(f"max_version {wanted} is too old")
    return is_versioned


@variant(
    "array API 2025.12, __dlpack__, max_version: This method may return a capsule of version "
    "max_version (recommended if it does support that), or of a different version.",
    "P-05",
)
def legacy_only() -> None:
    """Every capsule is a legacy one, and read-only memory is not exported."""
    change(producer, "wants_versioned", lambda original, wanted: original(wanted) and False)


@variant("array API 2022.12, __dlpack__: stream: Optional[Union[int, Any]] = None", "P-05")
def library_of_2022() -> None:
    """The library claims 2022.12: no keyword but stream, and from_dlpack without keywords."""
    whole, take = Array.__dlpack__, library.from_dlpack

    def of_2022(self: Array, *, stream: Any = None) -> Any:
        return whole(self, stream=stream)

    def from_dlpack(x: Any, /) -> Array:
        return take(x)

    Array.__dlpack__ = of_2022  # type: ignore[method-assign, assignment]
    library.from_dlpack = from_dlpack  # type: ignore[assignment]
    library.__array_api_version__ = "2022.12"
    consumer.keywords = lambda device, copy: {}


@variant(
    "DLPack Python specification: a library should try to support both during the transition "
    "period if possible.",
    "P-05",
    "P-35",
    "S-11",
)
def legacy_without_a_claim() -> None:
    """The library claims no array API, and exports legacy capsules by __dlpack__(stream=None)."""
    library_of_2022()
    del library.__array_api_version__, library.asarray
    del Array.__array_namespace__


@variant("array API 2025.12, __dlpack_device__, returns: Tuple[Enum, int]")
def device_type_is_an_enum() -> None:
    """The device type is a member of a plain Enum."""

    class Device(Enum):
        CPU = 1

    change(Array, "__dlpack_device__", lambda original, self: (Device.CPU, 0))


@variant("array API 2025.12, __dlpack_device__, returns: Tuple[Enum, int]")
def device_type_is_an_int_enum() -> None:
    """The device type is a member of an IntEnum."""

    class Device(IntEnum):
        CPU = 1

    change(Array, "__dlpack_device__", lambda original, self: (Device.CPU, 0))


@variant(
    "array API 2025.12, __dlpack__, stream: On CPU and other device types without streams, only "
    "None is accepted."
)
@instead_of(producer, "check_stream")
def every_stream_refused(original: Any, stream: Any) -> None:
    """stream=-1 raises ValueError on the CPU."""
    if stream is not None:
        raise ValueError(f"expected stream None on the CPU; got {stream!r}")


@variant(
    "array API 2025.12, __dlpack__, stream: If stream is -1, the value may be used by the consumer "
    'to signal "producer must not perform any synchronization".'
)
@instead_of(producer, "check_stream")
def every_stream_accepted(original: Any, stream: Any) -> None:
    """Any integer from -1 on is accepted as stream, as there is nothing to order."""
    if stream is not None and (not isinstance(stream, int) or stream < -1):
        raise ValueError(f"expected stream None or an integer; got {stream!r}")


@variant(
    "array API 2025.12, __dlpack__, raises: Implementations should raise BufferError when the data "
    "cannot be exported as DLPack"
)
@instead_of(producer, "check_copy")
def copies_refused(original: Any, copy: Any) -> None:
    """copy=True raises BufferError."""
    original(copy)
    if copy:
        raise BufferError("__dlpack__ makes no copies")


@variant(
    "array API 2025.12, __dlpack__, copy: If False, the function must never copy, and raise a "
    "BufferError in case a copy is deemed necessary"
)
def always_copies() -> None:
    """Every export is a copy and marked as one, and copy=False raises BufferError."""

    def check_copy(original: Any, copy: Any) -> None:
        original(copy)
        if copy is False:
            raise BufferError("this memory cannot be shared")

    def of_a_copy(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        return original(array, versioned, True)

    change(producer, "check_copy", check_copy)
    change(producer, "build", of_a_copy)
    change(producer, "check_content", of_a_copy)


# Structs ------------------------------------------------------------------------------


@variant(
    "dlpack.h, DLPackVersion: In the case of a minor version mismatch, the tensor can be safely "
    "used as long as the consumer knows how to interpret all fields."
)
def version_1_0() -> None:
    """The structs, the table and the request have version 1.0."""
    producer.VERSION = (1, 0)


def _no_strides(export: Export, tensor: Any) -> None:
    if export.array.strides == row_major(export.array.shape):
        tensor.strides = None


@variant(
    "dlpack.h 1.1, DLTensor.strides: can be NULL, indicating tensor is compact and row-majored."
)
def null_strides_in_version_1_1() -> None:
    """Compact arrays have strides of NULL, in versioned capsules of version 1.1."""
    producer.VERSION = (1, 1)
    spoil(_no_strides)


@variant(
    "dlpack.h 1.3, DLTensor.strides: Before DLPack v1.2, strides can be NULL to indicate "
    "contiguous data."
)
def null_strides_in_legacy() -> None:
    """Compact arrays have strides of NULL in legacy capsules."""
    spoil(_no_strides, is_legacy)


@variant("dlpack.h 1.3, DLTensor.shape: When ndim == 0, shape can be set to NULL.")
@through(spoil, has_rank(0))
def null_extents_of_scalars(export: Export, tensor: Any) -> None:
    """Arrays without dimensions have a shape and strides of NULL."""
    tensor.shape = tensor.strides = None


@variant(
    "dlpack.h, DLTensor.data: The `byte_offset` field should be used to point to the beginning of "
    "the data."
)
@through(spoil, is_filled)
def offset_from_the_base(export: Export, tensor: Any) -> None:
    """A view has its base's address in data, and a byte_offset."""
    array, base = export.array, export.array.base
    if base is not None and array.data >= base.data:
        tensor.data, tensor.byte_offset = base.data, array.data - base.data


@variant(
    "dlpack.h, DLTensor.data: multiple libraries (CuPy, PyTorch, TensorFlow, TVM, perhaps others) "
    "do not adhere to this 256 byte alignment requirement"
)
@through(spoil, is_filled)
def unaligned_base_and_offset(export: Export, tensor: Any) -> None:
    """data points 3 bytes before the first element, which is aligned, and byte_offset is 3."""
    tensor.data, tensor.byte_offset = export.array.data - 3, 3


@variant(
    "dlpack.h, DLTensor.data: at the moment it is recommended to not rely on the data pointer "
    "being correctly aligned."
)
@instead_of(Memory, "of")
def aligned_to_16_bytes(original: Any, content: bytes) -> Any:
    """Elements are aligned to 16 bytes, and not to more."""
    memory, address = original(bytes(16) + content)
    return memory, address + 16


@variant("No sentence forbids it: the stride of an extent of 1 addresses nothing")
def odd_strides_of_extents_of_1() -> None:
    """The strides of extents of 1 are 7, as those of a view that had more elements there."""
    restride(lambda array: tuple(7 if e == 1 else s for e, s in zip(array.shape, array.strides)))


_STRIDED = (
    "DLPack Python specification: DLPack describes the memory layout of dense, strided, "
    "n-dimensional arrays."
)


@variant(_STRIDED)
def rows_are_padded() -> None:
    """Arrays have two elements of padding behind each row."""
    change(library, "make", lambda original, *a, **k: _padded(original(*a, **k)))


@variant(_STRIDED)
@instead_of(library, "make")
def column_major(original: Any, *arguments: Any, **keywords: Any) -> Any:
    """New arrays are column-major."""
    array: Array = original(*arguments, **keywords)
    return _laid_out(array, row_major(array.shape[::-1])[::-1], array.size)


def _padded(array: Array) -> Array:
    if array.ndim < 2 or not array.size:
        return array
    strides = row_major((*array.shape[:-1], array.shape[-1] + 2))
    return _laid_out(array, strides, array.shape[0] * strides[0])


def _laid_out(array: Array, strides: tuple[int, ...], size: int) -> Array:
    """Returns the same elements in memory with other strides."""
    memory, data = Memory.of(bytes(size * array.itemsize))
    result = Array(memory, data, array.shape, strides, array.kind)
    for index in array.indices():
        result.put(index, array.get(index))
    result.readonly = array.readonly
    return result


@variant(
    "dlpack.h, deleter: It can be NULL if there is no way for the caller to provide a reasonable "
    "destructor."
)
def empty_arrays_are_static() -> None:
    """Empty arrays share one static managed tensor for each shape, without deleter and context."""
    static: dict[Any, Export] = {}

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if array.size:
            return original(array, versioned, copied)
        key = (array.shape, array.strides, array.dtype, array.readonly, versioned, copied)
        if key not in static:
            export = static[key] = original(array, versioned, copied)
            native.library.block_drop(export.managed.manager_ctx)
            export.managed.manager_ctx = export.managed.deleter = None
        return static[key]

    change(producer, "build", build)


@variant("dlpack.h, manager_ctx: It can also be NULL.")
def no_context() -> None:
    """manager_ctx is NULL, and the deleter finds the memory elsewhere."""

    def allocate(original: Any, export: Export) -> None:
        room = C.sizeof(STRUCTS[export.name]) + 16 * export.array.ndim
        export.address = malloc(16 + room) + 16
        C.memset(export.address, 0, room)

    def keep(original: Any, export: Export) -> None:
        C.c_void_p.from_address(export.address - 16).value = original(export)

    change(producer, "allocate", allocate)
    change(producer, "keep", keep)
    change(producer, "deleter", lambda original, export: address_of(native.library.delete_hidden))


@variant(
    "dlpack.h, DLManagedTensor: it should call the deleter to notify the host that the resource is "
    "no longer needed."
)
@instead_of(producer, "deleter")
def freed_on_another_thread(original: Any, export: Export) -> int:
    """The deleter leaves the release of the memory to a thread of its own."""
    if export.versioned:
        return address_of(native.library.delete_versioned_elsewhere)
    return address_of(native.library.delete_legacy_elsewhere)


# Elements ------------------------------------------------------------------------------


@variant("No sentence forbids it: none says which bytes other than 0 are True")
def true_is_255() -> None:
    """True is stored as 255, and as 1 in copies."""

    def pack(original: Any, kind: Any, value: Any) -> bytes:
        return b"\xff" if kind.name == "bool" and value else bytes(original(kind, value))

    def copy(original: Any, self: Array) -> Array:
        result: Array = original(self)
        if self.dtype == "bool":
            content = C.string_at(result.data, result.nbytes)
            C.memmove(result.data, bytes(map(bool, content)), result.nbytes)
        return result

    change(elements, "pack", pack)
    change(Array, "copy", copy)


@variant("No sentence forbids it: tolist() is no part of a standard")
@instead_of(Array, "tolist")
def tolist_is_flat(original: Any, self: Array) -> Any:
    """tolist() lists the elements of columns one after another."""
    return [self.get(index[::-1]) for index in self.T.indices()] if self.ndim else self.get(())


# Objects ------------------------------------------------------------------------------


class Slotted:
    """An array without weak references, attributes and views."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        unknown = keywords.keys() - {"stream", "max_version", "dl_device", "copy"}
        if unknown:
            raise TypeError(f"unexpected keywords {unknown}")
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __reduce__(self) -> Any:
        raise TypeError("the object cannot be pickled")


@variant("No sentence forbids it: none demands weak references, attributes or views of an object")
def objects_with_slots() -> None:
    """The objects have slots, and accept neither weak references nor new attributes."""
    change(library, "make", lambda original, *a, **k: Slotted(original(*a, **k)))


@variant("array API 2025.12, __eq__: an array containing the element-wise results.")
def comparison_by_element() -> None:
    """x == y returns an array, and so arrays have no hash."""

    def equal(self: Array, other: Any) -> Any:
        if not isinstance(other, Array) or other.shape != self.shape:
            return NotImplemented
        flat = [self.get(index) == other.get(index) for index in self.indices()]
        return arrays.of_elements(flat, self.shape, "bool")

    Array.__eq__ = equal  # type: ignore[method-assign, assignment]
    Array.__hash__ = None  # type: ignore[assignment]


@variant(
    "No sentence forbids it: a factory is the tool's own idea, with parameters for what it can vary"
)
def factory_without_parameters() -> None:
    """The factory has no parameters."""
    whole = library.make

    def make() -> Array:
        return whole((2, 3))

    library.make = make  # type: ignore[assignment]


@variant("dlpack.h, dltensor_from_py_object_no_sync: This function can be NULL")
def table_does_not_lend() -> None:
    """The function that lends a DLTensor is NULL in the exchange table."""
    exchange.TABLE.dltensor_from_py_object_no_sync = None


_REFUSED = (
    "array API 2025.12, __dlpack__, raises: Implementations should raise BufferError when the "
    "data cannot be exported as DLPack (e.g., incompatible dtype or strides)."
)


@variant(_REFUSED)
@instead_of(producer, "check_content")
def rank_0_refused(original: Any, array: Array, versioned: bool, copied: bool) -> None:
    """An array without dimensions raises BufferError."""
    original(array, versioned, copied)
    if array.ndim == 0:
        raise BufferError("an array without dimensions cannot be exported")


@variant(_REFUSED)
@instead_of(producer, "check_content")
def size_0_refused_in_legacy(original: Any, array: Array, versioned: bool, copied: bool) -> None:
    """An array of size 0 raises BufferError where a legacy capsule was requested."""
    original(array, versioned, copied)
    if array.size == 0 and not versioned:
        raise BufferError("an array of size 0 cannot be exported")


# What is no part of DLPack ------------------------------------------------------------------------


@variant("no sentence of the standards speaks of x.T")
def transpose_crashes() -> None:
    """x.T ends the process, and x.tolist() with it."""
    for name, end in {"T": property(crashes), "tolist": crashes}.items():
        setattr(Array, name, end)


@variant("no sentence of the standards speaks of slices, or of copy.deepcopy", "P-22")
def items_crash() -> None:
    """x[1:] and copy.deepcopy(x) end the process."""
    for name in ("__getitem__", "__deepcopy__"):
        setattr(Array, name, crashes)
