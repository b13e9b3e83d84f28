# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the DLTensor of an export: device, shape, strides, element type, address."""

from __future__ import annotations

import ctypes as C
import math
from typing import Any

from planted import producer
from planted.array import Array, row_major
from planted.native import Memory
from planted.planting import change, defect, instead_of, through
from planted.producer import Export
from planted.spoiling import (
    compact,
    has_rank,
    is_copy,
    is_empty,
    is_filled,
    is_large,
    is_legacy,
    is_of,
    is_versioned,
    is_view,
    request,
    reshape,
    restride,
    retype,
    spoil,
)

# Device ------------------------------------------------------------------------------------------


def _device_type(number: int) -> Any:
    def write(export: Export, tensor: Any) -> None:
        tensor.device.type = number

    return write


@defect("P-10", known=True)
def other_device() -> None:
    """The capsules say CUDA, and __dlpack_device__() says CPU."""
    spoil(_device_type(2))


@defect("P-10")
def no_device_in_legacy() -> None:
    """The device type of legacy capsules is 0."""
    spoil(_device_type(0), is_legacy)


@defect("P-37")
def other_device_of_views() -> None:
    """The device type of views is 13."""
    spoil(_device_type(13), is_view)


# Shape -------------------------------------------------------------------------------------------


@defect("P-11", "P-13", "P-38", "S-04", "P-24", "X-07", "P-44", "P-40", known=True)
def shape_freed_early() -> None:
    """The shape points to memory that was freed, and overwritten, when the export returned."""
    spoil(lambda export, tensor: producer.write(tensor.shape, (-0x2222222222222223,) * tensor.ndim))


@defect("P-11", "P-13", "P-38", "P-24")
@through(spoil)
def shape_of_the_base(export: Export, tensor: Any) -> None:
    """A view of the same rank is exported with the shape of its base."""
    base = export.array.base
    if base is not None and base.ndim == tensor.ndim:
        producer.write(tensor.shape, base.shape)


@defect("P-11", "P-38")
@through(spoil, is_legacy)
def flat_in_legacy(export: Export, tensor: Any) -> None:
    """A compact array is exported with one dimension in legacy capsules."""
    array = export.array
    if array.ndim > 1 and array.strides == row_major(array.shape):
        reshape((array.size,), (1,), tensor)


@defect("P-11")
@through(spoil, is_empty)
def empty_shape_collapsed(export: Export, tensor: Any) -> None:
    """An array of size 0 is exported with the shape (0,), whatever its rank."""
    reshape((0,), (1,), tensor)


@defect("P-11")
@through(spoil, lambda export: 1 in export.array.shape)
def extents_of_1_dropped(export: Export, tensor: Any) -> None:
    """Extents of 1 are left out of the shape."""
    pairs = [p for p in zip(export.array.shape, export.array.strides) if p[0] != 1]
    reshape(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), tensor)


@defect("P-20", "P-11")
@instead_of(producer, "allocate")
def rank_0_as_vector_in_legacy(original: Any, export: Export) -> None:
    """An array without dimensions gets one in legacy capsules."""
    x = export.array
    if x.ndim == 0 and is_legacy(export):
        export.array = Array(x.memory, x.data, (1,), (1,), x.kind, x.readonly)
    original(export)


@defect("P-38", "P-13", "P-20", "P-24", "S-04", "P-40", "P-23", "P-39")
@through(spoil, has_rank(0))
def rank_0_without_data(export: Export, tensor: Any) -> None:
    """The data of an array without dimensions is NULL."""
    tensor.data = None


@defect("P-19", known=True)
@through(spoil)
def size_0_raises(export: Export, tensor: Any) -> None:
    """An array of size 0 raises ZeroDivisionError."""
    _ = 64 // export.array.size


@defect("P-41")
@through(spoil, is_empty)
def size_0_with_an_address(export: Export, tensor: Any) -> None:
    """The data of an array of size 0 is 0xdead0000."""
    tensor.data = 0xDEAD0000


# Strides -----------------------------------------------------------------------------------------


def _no_strides(export: Export, tensor: Any) -> None:
    tensor.strides = None


@defect("P-12", "P-38", known=True)
def null_strides() -> None:
    """The strides of a versioned capsule are NULL."""
    spoil(_no_strides, is_versioned, lambda export: not is_view(export))


@defect("P-12")
def null_strides_of_empty_arrays() -> None:
    """The strides of versioned arrays of size 0 are NULL."""
    spoil(_no_strides, is_versioned, is_empty)


@defect("P-12")
def null_strides_of_copies() -> None:
    """The strides of versioned copies are NULL."""
    spoil(_no_strides, is_versioned, is_copy)


@defect("P-38", "P-13", "P-24")
def null_strides_of_legacy_views() -> None:
    """The strides of legacy capsules are NULL, also where a view is not compact."""
    spoil(_no_strides, is_legacy)


def _in_bytes(array: Array) -> tuple[int, ...]:
    return tuple(stride * array.itemsize for stride in array.strides)


@defect("P-13", "P-24", "P-38", "X-03", "X-07", "X-11", "S-04", "P-32", known=True)
def strides_in_bytes() -> None:
    """The strides count bytes."""
    restride(_in_bytes)


@defect("P-38", "P-13")
def strides_of_rank_2_swapped() -> None:
    """The strides of an array of two dimensions are in reverse order."""
    restride(lambda array: array.strides[::-1], has_rank(2))


@defect("P-38", "P-13", "P-24", "P-40")
def strides_of_views_in_bytes() -> None:
    """The strides of versioned views count bytes."""
    restride(_in_bytes, is_view, is_versioned)


@defect("P-38", "P-13", "P-24")
def legacy_views_as_compact() -> None:
    """A view is exported with the strides of a compact array in legacy capsules."""
    restride(compact, is_view, is_legacy)


@defect("P-38", "P-13")
def views_as_compact_on_its_device() -> None:
    """A view is exported with the strides of a compact array where dl_device is passed."""
    words = request()
    restride(compact, is_view, lambda export: words.get("dl_device") is not None)


@defect("P-38", "P-24")
def strides_of_large_views_as_compact() -> None:
    """A view of more than 4096 elements has the strides of a compact array."""
    restride(compact, is_view, is_large)


@defect("P-38", "P-13", "P-24")
@through(restride, is_view)
def transposed_by_shape_only(array: Array) -> Any:
    """A transposed array has the new shape, and the strides of its base."""
    is_wrong = array.base is not None and array.shape == array.base.shape[::-1]
    return array.strides[::-1] if is_wrong else array.strides


@defect("P-38", "P-13", "P-24")
def steps_ignored() -> None:
    """The last stride is always 1: x[:, ::2] is exported as its first columns."""
    restride(lambda array: (*array.strides[:-1], 1), is_view)


@defect("P-38", "P-13", "P-24")
def negative_strides_made_positive() -> None:
    """A negative stride is exported as a positive one, from the same first element."""
    restride(lambda array: tuple(map(abs, array.strides)))


@defect("P-38", "P-13", "P-24")
def strides_of_rank_4_by_the_wrong_extent() -> None:
    """The strides of arrays of rank 4 are multiplied up from the first extent."""
    restride(lambda array: tuple(math.prod(array.shape[: 3 - i]) for i in range(4)), has_rank(4))


@defect("P-15")
def negative_stride_of_extent_1() -> None:
    """The strides of extents of 1 are -1."""
    restride(lambda array: tuple(-1 if e == 1 else s for e, s in zip(array.shape, array.strides)))


@defect("P-15")
def huge_strides_of_empty_arrays() -> None:
    """The strides of arrays of size 0 are not initialised."""
    restride(lambda array: (2**62,) * array.ndim, is_empty)


# Element type ------------------------------------------------------------------------------------


@defect("P-16", "P-13", "P-24", "P-38", "S-04", "P-23", "P-39", known=True)
@through(spoil)
def no_bits(export: Export, tensor: Any) -> None:
    """bits is 0."""
    tensor.dtype.bits = 0


@defect("P-16", "P-38")
def complex_as_two_lanes() -> None:
    """complex64 is exported as float32 of two lanes."""
    spoil(retype(2, 32, 2), is_of("complex64"))


@defect("P-16")
def uint64_as_int64_in_legacy() -> None:
    """uint64 is exported as int64 in legacy capsules."""
    spoil(retype(0, 64), is_legacy, is_of("uint64"))


@defect("P-16", "P-38", "P-24")
def float16_as_int16_in_versioned() -> None:
    """float16 is exported as int16 in versioned capsules."""
    spoil(retype(0, 16), is_versioned, is_of("float16"))


@defect("P-16", "P-23")
@through(spoil, is_legacy)
def no_lanes_in_legacy(export: Export, tensor: Any) -> None:
    """lanes is 0 in legacy capsules."""
    tensor.dtype.lanes = 0


@defect("P-16")
def element_type_of_empty_arrays() -> None:
    """Arrays of size 0 are exported as float64, whatever their type is."""
    spoil(retype(2, 64), is_empty)


@defect("P-17", "P-16", "P-38")
def bool_of_1_bit() -> None:
    """bool is exported as an unsigned integer of 1 bit."""
    spoil(retype(1, 1), is_of("bool"))


@defect("P-17", "P-16", "P-38")
def bool_as_uint8_in_legacy() -> None:
    """bool is exported as an unsigned integer in legacy capsules."""
    spoil(retype(1, 8), is_legacy, is_of("bool"))


@defect("P-46")
def foreign_byte_order_exported() -> None:
    """Elements of the other byte order are exported as float32."""
    _export_as(">f4", 2)


@defect("P-46")
def objects_exported() -> None:
    """Python objects are exported as integers of 64 bits."""
    _export_as("object", 0)


def _export_as(dtype: str, code: int) -> None:
    def check_content(original: Any, array: Array, versioned: bool, copied: bool) -> None:
        if array.dtype != dtype:
            original(array, versioned, copied)

    def fill(original: Any, export: Export) -> None:
        kind = export.array.kind
        if kind.name == dtype:
            object.__setattr__(kind, "code", code)
        original(export)

    change(producer, "check_content", check_content)
    change(producer, "fill", fill)


# Address -----------------------------------------------------------------------------------------


@defect("P-14", known=True)
@instead_of(Memory, "of")
def odd_addresses(original: Any, content: bytes) -> Any:
    """Elements are at odd addresses."""
    memory, address = original(content + b"\0")
    C.memmove(address + 1, content, len(content))
    return memory, address + 1


def _base_address(array: Array) -> int:
    return array.data if array.base is None else array.base.data


def _offset(array: Array) -> int:
    return array.data - _base_address(array)


def _begin_late(export: Export, tensor: Any) -> None:
    tensor.data += export.array.itemsize


def _begin_at_the_base(export: Export, tensor: Any) -> None:
    tensor.data = _base_address(export.array)


@defect("P-38", "P-24", "P-13", "X-07", "P-32", "P-23")
def one_element_off_in_legacy() -> None:
    """data points to the second element in legacy capsules."""
    spoil(_begin_late, is_legacy, is_filled)


@defect("P-38", "P-24")
def large_arrays_begin_one_element_late() -> None:
    """data of an array of more than 65535 elements points to its second element."""
    spoil(_begin_late, lambda export: export.array.size > (1 << 16) - 1)


@defect("P-38", "P-13", "P-23", "P-24")
def legacy_views_start_at_the_base() -> None:
    """A view is exported with the address of its base in legacy capsules."""
    spoil(_begin_at_the_base, is_legacy, is_filled)


@defect("P-38", "P-13", "P-24")
def read_only_views_start_at_the_base() -> None:
    """A view of read-only memory is exported with the address of its base."""
    spoil(_begin_at_the_base, is_filled, lambda export: export.array.readonly)


@defect("P-38", "P-13", "P-39", "P-23", "P-24")
@through(spoil, is_filled)
def offset_in_elements(export: Export, tensor: Any) -> None:
    """byte_offset of a view counts elements."""
    tensor.data = _base_address(export.array)
    tensor.byte_offset = _offset(export.array) // export.array.itemsize


@defect("P-38", "P-13", "P-23", "P-24")
@through(spoil, is_filled)
def offset_forgotten_in_legacy(export: Export, tensor: Any) -> None:
    """A view has its base's address and a byte_offset, which legacy capsules lack."""
    tensor.data = _base_address(export.array)
    tensor.byte_offset = _offset(export.array) if export.versioned else 0


@defect("P-38")
@through(spoil, is_versioned, is_filled)
def offsets_of_16_bits(export: Export, tensor: Any) -> None:
    """The offset of a versioned view from its base is computed in 16 bits."""
    tensor.data = _base_address(export.array) + _offset(export.array) % (1 << 16)


@defect("S-08", "P-11", "P-38")
@through(spoil, is_legacy, lambda export: not is_view(export))
def legacy_of_the_first_export(export: Export, tensor: Any) -> None:
    """Legacy capsules describe the array as it was at its first export, before it was reshaped."""
    shape = export.array.shape[::-1]
    reshape(shape, row_major(shape), tensor)


# __array_interface__ -----------------------------------------------------------------------------


def _interface(wrong: Any) -> None:
    right = Array.__array_interface__.fget  # type: ignore[attr-defined]
    Array.__array_interface__ = property(  # type: ignore[assignment, method-assign]
        lambda self: {**right(self), **wrong(self)}
    )


@defect("S-04", "P-13")
def interface_without_strides() -> None:
    """__array_interface__ describes views as compact."""
    _interface(lambda array: {"strides": None})


@defect("S-04")
def interface_always_writable() -> None:
    """__array_interface__ says that read-only memory may be written."""
    _interface(lambda array: {"data": (array.data, False)})


@defect("S-04", "P-13", "P-23", "P-39")
def interface_of_the_base() -> None:
    """__array_interface__ of a view has the address of its base."""
    _interface(lambda array: {"data": (_base_address(array), array.readonly)})
