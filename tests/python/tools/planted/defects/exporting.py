# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the DLTensor of an export: device, shape, strides, element type, address."""

from __future__ import annotations

import ctypes as C
import math
from typing import Any

from planted import producer
from planted.array import Array, row_major
from planted.defects.spoiling import (
    is_empty,
    is_legacy,
    is_of,
    is_versioned,
    is_view,
    reshape,
    restride,
    retype,
    spoil,
)
from planted.native import Memory
from planted.planting import change, defect
from planted.producer import Export

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
def shape_of_the_base() -> None:
    """A view of the same rank is exported with the shape of its base."""

    def write(export: Export, tensor: Any) -> None:
        base = export.array.base
        if base is not None and base.ndim == tensor.ndim:
            producer.write(tensor.shape, base.shape)

    spoil(write)


@defect("P-11", "P-38")
def flat_in_legacy() -> None:
    """A compact array is exported with one dimension in legacy capsules."""
    spoil(
        lambda export, tensor: reshape((export.array.size,), (1,), tensor),
        lambda export: (
            not export.versioned
            and export.array.ndim > 1
            and export.array.strides == row_major(export.array.shape)
        ),
    )


@defect("P-11")
def empty_shape_collapsed() -> None:
    """An array of size 0 is exported with the shape (0,), whatever its rank."""
    spoil(
        lambda export, tensor: reshape((0,), (1,), tensor),
        lambda export: is_empty(export) and export.array.ndim > 1,
    )


@defect("P-11")
def extents_of_1_dropped() -> None:
    """Extents of 1 are left out of the shape."""

    def write(export: Export, tensor: Any) -> None:
        pairs = [p for p in zip(export.array.shape, export.array.strides) if p[0] != 1]
        reshape(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), tensor)

    spoil(write, lambda export: 1 in export.array.shape)


@defect("P-20", "P-11", known=True)
def rank_0_as_vector() -> None:
    """An array without dimensions gets one, of extent 1."""
    _widen_scalars(lambda export: True)


@defect("P-20", "P-11")
def rank_0_as_vector_in_legacy() -> None:
    """An array without dimensions gets one in legacy capsules."""
    _widen_scalars(is_legacy)


def _widen_scalars(where: Any) -> None:
    def allocate(original: Any, export: Export) -> None:
        if export.array.ndim == 0 and where(export):
            source = export.array
            export.array = Array(source.memory, source.data, (1,), (1,), source.kind,
                                 source.readonly)  # fmt: skip
        original(export)

    change(producer, "allocate", allocate)


@defect("P-38", "P-13", "P-20", "P-24", "S-04", "P-40", "P-23", "P-39")
def rank_0_without_data() -> None:
    """The data of an array without dimensions is NULL."""

    def write(export: Export, tensor: Any) -> None:
        tensor.data = None

    spoil(write, lambda export: export.array.ndim == 0)


@defect("P-19", known=True)
def size_0_raises() -> None:
    """An array of size 0 raises ZeroDivisionError."""

    def write(export: Export, tensor: Any) -> None:
        _ = 64 // export.array.size

    spoil(write)


@defect("P-41")
def size_0_with_an_address() -> None:
    """The data of an array of size 0 is 0xdead0000."""

    def write(export: Export, tensor: Any) -> None:
        tensor.data = 0xDEAD0000

    spoil(write, is_empty)


# Strides -----------------------------------------------------------------------------------------


def _no_strides(export: Export, tensor: Any) -> None:
    tensor.strides = None


@defect("P-12", "P-38", known=True)
def null_strides() -> None:
    """The strides of a versioned capsule are NULL."""
    spoil(_no_strides, lambda export: export.versioned and not is_view(export))


@defect("P-12", "P-13", "P-24", "P-38")
def null_strides_of_vectors() -> None:
    """The strides of versioned vectors are NULL."""
    spoil(_no_strides, lambda export: export.versioned and export.array.ndim == 1)


@defect("P-12")
def null_strides_of_empty_arrays() -> None:
    """The strides of versioned arrays of size 0 are NULL."""
    spoil(_no_strides, lambda export: export.versioned and is_empty(export))


@defect("P-12")
def null_strides_of_copies() -> None:
    """The strides of versioned copies are NULL."""
    spoil(_no_strides, lambda export: export.versioned and export.copied)


@defect("P-38", "P-13", "P-24")
def null_strides_of_legacy_views() -> None:
    """The strides of legacy capsules are NULL, also where a view is not compact."""
    spoil(_no_strides, is_legacy)


def _in_bytes(export: Export) -> tuple[int, ...]:
    return tuple(stride * export.array.itemsize for stride in export.array.strides)


@defect("P-13", "P-24", "P-38", "X-03", "X-07", "X-11", "S-04", "P-32", known=True)
def strides_in_bytes() -> None:
    """The strides count bytes."""
    spoil(restride(_in_bytes))


@defect("P-38", "P-13", "P-24", "P-40")
def strides_of_views_in_bytes() -> None:
    """The strides of versioned views count bytes."""
    spoil(restride(_in_bytes), lambda export: is_view(export) and export.versioned)


@defect("P-38", "P-13", "S-17", "P-24")
def views_as_compact() -> None:
    """A view is exported with the strides of a compact array."""
    spoil(restride(lambda export: row_major(export.array.shape)), is_view)


@defect("P-38", "P-13", "P-24")
def legacy_views_as_compact() -> None:
    """A view is exported with the strides of a compact array in legacy capsules."""
    spoil(
        restride(lambda export: row_major(export.array.shape)),
        lambda export: is_view(export) and not export.versioned,
    )


@defect("P-38", "P-13", "P-24")
def transposed_by_shape_only() -> None:
    """A transposed array has the new shape, and the strides of its base."""
    spoil(
        restride(lambda export: export.array.strides[::-1]),
        lambda export: (
            export.array.base is not None and export.array.shape == export.array.base.shape[::-1]
        ),
    )


@defect("P-38", "P-13", "P-24")
def steps_ignored() -> None:
    """The last stride is always 1: x[:, ::2] is exported as its first columns."""
    spoil(restride(lambda export: (*export.array.strides[:-1], 1)), is_view)


@defect("P-38", "P-13", "P-24")
def negative_strides_made_positive() -> None:
    """A negative stride is exported as a positive one, from the same first element."""
    spoil(restride(lambda export: tuple(map(abs, export.array.strides))))


@defect("P-38", "P-13", "P-24", "S-04", "X-07")
def column_major_above_rank_2() -> None:
    """The strides of arrays above rank 2 are those of column-major order."""
    spoil(
        restride(lambda export: row_major(export.array.shape[::-1])[::-1]),
        lambda export: export.array.ndim > 2,
    )


@defect("P-38", "P-13", "P-24")
def strides_of_rank_4_by_the_wrong_extent() -> None:
    """The strides of arrays of rank 4 are multiplied up from the first extent."""

    def wrong(export: Export) -> tuple[int, ...]:
        return tuple(math.prod(export.array.shape[:3 - i]) for i in range(4))  # fmt: skip

    spoil(restride(wrong), lambda export: export.array.ndim == 4)


@defect("P-15")
def negative_stride_of_extent_1() -> None:
    """The strides of extents of 1 are -1."""
    spoil(
        restride(
            lambda export: tuple(
                -1 if extent == 1 else stride
                for extent, stride in zip(export.array.shape, export.array.strides)
            )
        )
    )


@defect("P-15")
def huge_strides_of_empty_arrays() -> None:
    """The strides of arrays of size 0 are not initialised."""
    spoil(restride(lambda export: (2**62,) * export.array.ndim), is_empty)


# Element type ------------------------------------------------------------------------------------


@defect("P-16", "P-13", "P-24", "P-38", "S-04", "P-23", "P-39", known=True)
def no_bits() -> None:
    """bits is 0."""
    spoil(lambda export, tensor: retype(tensor.dtype.code, 0)(export, tensor))


@defect("P-16", "P-38", "S-04", "P-24", known=True)
def half_complex() -> None:
    """bits of a complex number are those of one part."""
    spoil(
        lambda export, tensor: retype(5, tensor.dtype.bits // 2)(export, tensor),
        is_of("complex64", "complex128"),
    )


@defect("P-16", "P-38")
def complex_as_two_lanes() -> None:
    """complex64 is exported as float32 of two lanes."""
    spoil(retype(2, 32, 2), is_of("complex64"))


@defect("P-16", "P-38", "P-24")
def complex64_as_float64() -> None:
    """complex64 is exported as float64."""
    spoil(retype(2, 64), is_of("complex64"))


@defect("P-16", "P-38", "P-24")
def bfloat16_as_float16() -> None:
    """bfloat16 is exported as float16."""
    spoil(retype(2, 16), is_of("bfloat16"))


@defect("P-16", "P-38", "P-24")
def bfloat16_as_uint16() -> None:
    """bfloat16 is exported as its storage, uint16."""
    spoil(retype(1, 16), is_of("bfloat16"))


@defect("P-16", "P-38", "P-24")
def float64_as_float32() -> None:
    """float64 is exported with 32 bits."""
    spoil(retype(2, 32), is_of("float64"))


@defect("P-16")
def uint8_as_int8() -> None:
    """uint8 is exported as int8."""
    spoil(retype(0, 8), is_of("uint8"))


@defect("P-16")
def uint64_as_int64_in_legacy() -> None:
    """uint64 is exported as int64 in legacy capsules."""
    spoil(retype(0, 64), lambda export: is_legacy(export) and export.array.dtype == "uint64")


@defect("P-16", "P-38", "P-24")
def float16_as_int16_in_versioned() -> None:
    """float16 is exported as int16 in versioned capsules."""
    spoil(retype(0, 16), lambda export: is_versioned(export) and export.array.dtype == "float16")


@defect("P-16", "P-23")
def no_lanes_in_legacy() -> None:
    """lanes is 0 in legacy capsules."""
    spoil(
        lambda export, tensor: retype(tensor.dtype.code, tensor.dtype.bits, 0)(export, tensor),
        is_legacy,
    )


@defect("P-16")
def element_type_of_empty_arrays() -> None:
    """Arrays of size 0 are exported as float64, whatever their type is."""
    spoil(retype(2, 64), is_empty)


@defect("P-17", "P-16", "P-38", known=True)
def bool_as_uint8() -> None:
    """bool is exported as an unsigned integer of 8 bits."""
    spoil(retype(1, 8), is_of("bool"))


@defect("P-17", "P-16", "P-38")
def bool_of_1_bit() -> None:
    """bool is exported as an unsigned integer of 1 bit."""
    spoil(retype(1, 1), is_of("bool"))


@defect("P-17", "P-16", "P-38")
def bool_as_uint8_in_legacy() -> None:
    """bool is exported as an unsigned integer in legacy capsules."""
    spoil(retype(1, 8), lambda export: is_legacy(export) and export.array.dtype == "bool")


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
def odd_addresses() -> None:
    """Elements are at odd addresses."""

    def of(original: Any, content: bytes) -> tuple[Memory, int]:
        memory, address = original(content + b"\0")
        C.memmove(address + 1, content, len(content))
        return memory, address + 1

    change(Memory, "of", of)


@defect("P-38", "P-24", "P-13", "S-04", "X-07", "X-11", "P-39", "P-23", "P-32")
def one_element_off() -> None:
    """data points to the second element."""
    spoil(_at(lambda export: export.array.data + export.array.itemsize))


@defect("P-38", "P-24", "P-13", "X-07", "P-32", "P-23")
def one_element_off_in_legacy() -> None:
    """data points to the second element in legacy capsules."""
    spoil(_at(lambda export: export.array.data + export.array.itemsize), is_legacy)


@defect("P-38", "S-17", "P-24", "P-13", "P-39", "P-23")
def views_start_at_the_base() -> None:
    """A view is exported with the address of its base."""
    spoil(_at(_base_address))


@defect("P-38", "P-13", "P-23", "P-24")
def legacy_views_start_at_the_base() -> None:
    """A view is exported with the address of its base in legacy capsules."""
    spoil(_at(_base_address), is_legacy)


@defect("P-38", "P-13", "P-24")
def read_only_views_start_at_the_base() -> None:
    """A view of read-only memory is exported with the address of its base."""
    spoil(_at(_base_address), lambda export: export.array.readonly)


def _at(address: Any) -> Any:
    def write(export: Export, tensor: Any) -> None:
        if export.array.size:
            tensor.data = address(export)

    return write


def _base_address(export: Export) -> int:
    base = export.array.base
    return export.array.data if base is None else base.data


def _offset(export: Export) -> int:
    return export.array.data - _base_address(export)


@defect("P-38", "P-13", "P-39", "P-23", "P-24")
def offset_twice() -> None:
    """The offset of a view is in its address and in byte_offset."""

    def write(export: Export, tensor: Any) -> None:
        tensor.byte_offset = max(_offset(export), 0)

    spoil(write)


@defect("P-38", "P-13", "P-39", "P-23", "P-24")
def offset_in_elements() -> None:
    """byte_offset of a view counts elements."""

    def write(export: Export, tensor: Any) -> None:
        if export.array.size:
            tensor.data = _base_address(export)
            tensor.byte_offset = _offset(export) // export.array.itemsize

    spoil(write)


@defect("P-38", "P-13", "P-23", "P-24")
def offset_forgotten_in_legacy() -> None:
    """A view has its base's address and a byte_offset, which legacy capsules lack."""

    def write(export: Export, tensor: Any) -> None:
        if export.array.size:
            tensor.data = _base_address(export)
            tensor.byte_offset = _offset(export) if export.versioned else 0

    spoil(write)


@defect("S-08", "P-11", "P-38")
def legacy_of_the_first_export() -> None:
    """Legacy capsules describe the array as it was at its first export, before it was reshaped."""
    spoil(
        lambda export, tensor: reshape(
            export.array.shape[::-1], row_major(export.array.shape[::-1]), tensor
        ),
        lambda export: is_legacy(export) and export.array.base is None,
    )


@defect("S-04", "P-13")
def interface_without_strides() -> None:
    """__array_interface__ describes views as compact."""
    _interface(lambda array, interface: {**interface, "strides": None})


@defect("S-04")
def interface_always_writable() -> None:
    """__array_interface__ says that read-only memory may be written."""
    _interface(lambda array, interface: {**interface, "data": (interface["data"][0], False)})


@defect("S-04", "P-13", "P-23", "P-39")
def interface_of_the_base() -> None:
    """__array_interface__ of a view has the address of its base."""

    def at_base(array: Array, interface: dict[str, Any]) -> dict[str, Any]:
        base = array if array.base is None else array.base
        return {**interface, "data": (base.data, array.readonly)}

    _interface(at_base)


def _interface(wrong: Any) -> None:
    right = Array.__array_interface__.fget  # type: ignore[attr-defined]
    Array.__array_interface__ = property(  # type: ignore[assignment, method-assign]
        lambda self: wrong(self, right(self))
    )
