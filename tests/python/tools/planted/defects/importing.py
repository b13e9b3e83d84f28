# SPDX-License-Identifier: BSD-3-Clause
"""Defects in how from_dlpack reads a tensor: version, device, element type, layout, address."""

from __future__ import annotations

import ctypes as C
import math
from typing import Any

from dlbridge.tools.structs import IS_COPIED
from planted import consumer, elements
from planted.array import row_major
from planted.native import VERSIONED
from planted.planting import change, defect, instead_of, through
from planted.producer import VERSION

# Version and flags -------------------------------------------------------------------------------


def _refuse_flags(refused: int) -> None:
    def read(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
        if name == VERSIONED and managed.flags & refused:
            raise BufferError(f"unsupported flags in {managed.flags:#x}")
        return original(managed, name, memory)

    change(consumer, "read", read)


@defect("C-04")
@instead_of(consumer, "read")
def fields_read_before_the_version(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
    """The shape is read before the major version is checked."""
    consumer.extents(managed.tensor.shape or 8, max(managed.tensor.ndim, 1))
    return original(managed, name, memory)


@defect("C-04")
@instead_of(consumer, "check_version")
def version_packed_into_one_number(original: Any, major: int, minor: int) -> None:
    """The version is compared as 100 * major + minor, and 2.0 is accepted up to 2.55."""
    if not 100 <= 100 * major + minor <= 255:
        raise BufferError(f"expected DLPack 1; got {major}.{minor}")


@defect("C-05", known=True)
@instead_of(consumer, "check_version")
def minor_refused(original: Any, major: int, minor: int) -> None:
    """A newer minor version is refused."""
    original(major, minor)
    if (major, minor) > VERSION:
        raise BufferError(f"expected DLPack {VERSION} at most; got {major}.{minor}")


@defect("C-35", known=True)
def unknown_flags_refused() -> None:
    """Unknown flags are refused."""
    _refuse_flags(~7)


@defect("C-05")
def copies_refused() -> None:
    """A tensor that is marked IS_COPIED is refused."""
    _refuse_flags(IS_COPIED)


@defect("C-13")
@instead_of(consumer, "is_read_only")
def read_only_by_equality(original: Any, managed: Any, is_versioned: Any) -> Any:
    """READ_ONLY is seen only where no other flag is set."""
    return is_versioned and managed.flags == 1


# Device ------------------------------------------------------------------------------------------


@defect("C-14")
@instead_of(consumer, "check_device")
def device_ignored_in_legacy(original: Any, tensor: Any, is_versioned: bool) -> None:
    """Memory of every device is read from legacy capsules."""
    if is_versioned:
        original(tensor, is_versioned)


@defect("C-14")
@instead_of(consumer, "check_device")
def device_type_masked(original: Any, tensor: Any, is_versioned: bool) -> None:
    """The low 4 bits of the device type are compared: 17 counts as CPU."""
    if tensor.device.type & 15 != 1:
        original(tensor, is_versioned)


@defect("C-34")
@instead_of(consumer, "check_device")
def device_is_a_runtime_error(original: Any, tensor: Any, is_versioned: bool) -> None:
    """An unsupported device raises RuntimeError."""
    if tensor.device.type != 1:
        raise RuntimeError(f"unsupported device type {tensor.device.type}")


# Element type ------------------------------------------------------------------------------------


def _read_as(wrong: Any) -> None:
    """Replaces the triple that is looked up: wrong(code, bits, lanes), None: the original."""

    def element_type(original: Any, tensor: Any, is_versioned: bool) -> Any:
        dtype = tensor.dtype
        chosen = wrong(int(dtype.code), int(dtype.bits), int(dtype.lanes))
        return elements.BY_DLPACK.get(chosen) or original(tensor, is_versioned)

    change(consumer, "element_type", element_type)


def _mistake(right: tuple[int, int], wrong: tuple[int, int]) -> None:
    """Takes one element type for another."""
    _read_as(lambda code, bits, lanes: wrong if (code, bits, lanes) == (*right, 1) else None)


@defect("C-12", known=True)
def lanes_ignored() -> None:
    """lanes are ignored: a vector of four floats is read as one."""
    _read_as(lambda code, bits, lanes: (code, bits))


@defect("C-28", known=True)
def unknown_code_is_float() -> None:
    """A type code that DLPack does not have is read as float32."""
    _read_as(lambda code, bits, lanes: (2, 32) if code > 18 else None)


@defect("C-28")
def no_lanes_is_one() -> None:
    """lanes of 0 count as 1."""
    _read_as(lambda code, bits, lanes: (code, bits) if lanes == 0 else None)


@defect("C-28")
def no_bits_is_32() -> None:
    """bits of 0 count as 32."""
    _read_as(lambda code, bits, lanes: (code, 32) if (bits, lanes) == (0, 1) else None)


@defect("C-28")
def bits_rounded_up() -> None:
    """A float of 31 bits is read as float32."""
    _read_as(lambda code, bits, lanes: (code, (bits + 7) // 8 * 8) if lanes == 1 else None)


@defect("C-12")
def bits_ignored() -> None:
    """bits are ignored: every float is read as float32, every integer as int64."""
    usual = {0: 64, 1: 64, 2: 32, 5: 64}
    _read_as(lambda code, bits, lanes: (code, usual[code]) if code in usual else None)


@defect("C-12")
def bfloat16_as_float16() -> None:
    """bfloat16 is read as float16."""
    _mistake((4, 16), (2, 16))


@defect("C-12")
def uint64_as_int64() -> None:
    """uint64 is read as int64."""
    _mistake((1, 64), (0, 64))


@defect("C-12")
def complex64_as_float64() -> None:
    """complex64 is read as float64."""
    _mistake((5, 64), (2, 64))


@defect("C-12")
def float8_as_uint8() -> None:
    """Floats of 8 bits are read as uint8."""
    _read_as(lambda code, bits, lanes: (1, 8) if 7 <= code <= 14 and lanes == 1 else None)


@defect("C-12")
def bool_as_uint8() -> None:
    """Booleans are read as uint8."""
    _mistake((6, 8), (1, 8))


@defect("C-12")
def int4_as_int8() -> None:
    """Integers of 4 bits are read as bytes."""
    _read_as(lambda code, bits, lanes: (code, 8) if code < 2 and (bits, lanes) == (4, 1) else None)


@defect("C-12")
@instead_of(consumer, "element_type")
def element_type_of_legacy(original: Any, tensor: Any, is_versioned: bool) -> Any:
    """The bits of legacy tensors are read as bytes: float64 becomes float32."""
    kind: elements.Type = original(tensor, is_versioned)
    return elements.TYPES["float32"] if kind.name == "float64" and not is_versioned else kind


@defect("C-12")
@instead_of(consumer, "read")
def sign_of_zero_lost(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
    """Negative zeros become positive."""
    x = original(managed, name, memory)
    if x.kind.code in (2, 4, 5):
        for index in x.indices():
            if x.get(index) == 0:
                x.put(index, 0.0)
    return x


@defect("C-12")
@instead_of(consumer, "read")
def float32_rounded_to_float16(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
    """float32 is rounded to float16."""
    x = original(managed, name, memory)
    if x.kind.name == "float32":
        half = elements.TYPES["float16"]
        for index in x.indices():
            x.put(index, elements.unpack(half, elements.pack(half, x.get(index))))
    return x


@defect("C-26")
@instead_of(consumer, "element_type")
def bool_refused(original: Any, tensor: Any, is_versioned: bool) -> Any:
    """Booleans are refused, and bytes are not."""
    if tensor.dtype.code == 6:
        raise BufferError("expected numbers; got booleans")
    return original(tensor, is_versioned)


@defect("C-27")
def float6_of_any_bits() -> None:
    """A 6-bit float is read as bytes, whatever its bits are."""
    _read_as(lambda code, bits, lanes: (1, 8) if code in (15, 16) and bits != 6 else None)


# Shape -------------------------------------------------------------------------------------------


@defect("C-11", known=True)
@instead_of(consumer, "read_shape")
def ndim_unchecked(original: Any, tensor: Any) -> Any:
    """ndim is read as an unsigned number and not checked."""
    count = tensor.ndim % (1 << 32)
    if count and tensor.shape:
        C.c_int64.from_address(tensor.shape + 8 * (count - 1)).value  # noqa: B018
    return consumer.extents(tensor.shape or 8, count) if count < 1 << 16 else ()


@defect("C-11", known=True)
@instead_of(consumer, "read_shape")
def extents_unchecked(original: Any, tensor: Any) -> Any:
    """Negative extents are not checked."""
    is_wrong = 0 < tensor.ndim < 64 and tensor.shape
    return consumer.extents(tensor.shape, tensor.ndim) if is_wrong else original(tensor)


@defect("C-11", known=True)
@instead_of(consumer, "check_size")
def overflow_unchecked(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
    """The number of elements overflows and is not checked."""
    if not tensor.data:
        original(tensor, shape, kind)


@defect("C-11")
@instead_of(consumer, "read_shape")
def null_shape_read(original: Any, tensor: Any) -> Any:
    """A shape of NULL is read."""
    if 0 < tensor.ndim < 64 and not tensor.shape:
        return consumer.extents(8, tensor.ndim)
    return original(tensor)


@defect("C-11")
@instead_of(consumer, "check_size")
def null_data_read(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
    """Data of NULL is accepted for arrays with elements."""
    if tensor.data:
        original(tensor, shape, kind)


@defect("C-10")
def eight_dimensions_only() -> None:
    """Of more than 8 dimensions, the first 8 are read."""
    change(consumer, "read_shape", lambda original, tensor: original(tensor)[:8])


@defect("C-25")
@instead_of(consumer, "read_shape")
def rank_0_reads_the_shape(original: Any, tensor: Any) -> Any:
    """The first extent is read also where ndim is 0, and shape NULL."""
    if tensor.ndim == 0:
        consumer.extents(tensor.shape or 8, 1)
    return original(tensor)


@defect("C-25")
@instead_of(consumer, "read_shape")
def rank_0_needs_a_shape(original: Any, tensor: Any) -> Any:
    """A shape of NULL is refused also where ndim is 0."""
    if not tensor.shape:
        raise BufferError("shape is NULL")
    return original(tensor)


@defect("C-16", known=True)
@instead_of(consumer, "check_size")
def empty_null_refused(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
    """An empty tensor whose data is NULL is refused."""
    original(tensor, shape, kind)
    if not tensor.data:
        raise BufferError("data is NULL")


@defect("C-16")
@instead_of(consumer, "check_size")
def empty_tensors_crash(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
    """The first element is read also where the size is 0."""
    original(tensor, shape, kind)
    C.string_at(tensor.data or 8, kind.size)


@defect("C-16")
@instead_of(consumer, "check_size")
def empty_matrices_refused(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
    """An empty tensor above rank 1 whose data is NULL raises ZeroDivisionError."""
    original(tensor, shape, kind)
    if len(shape) > 1 and not tensor.data:
        _ = shape[0] // min(shape)


# Strides -----------------------------------------------------------------------------------------


def _strides(wrong: Any) -> None:
    """Replaces the strides: wrong(strides, shape, versioned)."""

    def read_strides(original: Any, tensor: Any, shape: Any, versioned: bool) -> Any:
        return tuple(wrong(original(tensor, shape, versioned), shape, versioned))

    change(consumer, "read_strides", read_strides)


def _as_row_major(where: Any) -> None:
    """Ignores the strides where a condition holds: where(strides, shape, versioned)."""
    _strides(lambda strides, *others: row_major(others[0]) if where(strides, *others) else strides)


def _null_strides(wrong: Any) -> None:
    """Replaces what is done with strides of NULL: wrong(shape)."""

    def read_strides(original: Any, tensor: Any, shape: Any, versioned: bool) -> Any:
        is_null = shape and not tensor.strides
        return wrong(shape) if is_null else original(tensor, shape, versioned)

    change(consumer, "read_strides", read_strides)


@defect("C-08", "C-09", known=True)
def null_strides_read() -> None:
    """Strides of NULL are read."""
    _null_strides(lambda shape: consumer.extents(8, len(shape)))


@defect("C-08")
def null_strides_by_the_first_extent() -> None:
    """Strides of NULL are computed from the wrong extents: right for squares and vectors only."""
    _null_strides(lambda shape: row_major((shape[-1], *shape[:-1])))


@defect("C-23")
@instead_of(consumer, "read_strides")
def null_strides_of_version_1_0_refused(
    original: Any, tensor: Any, shape: Any, versioned: bool
) -> Any:
    """Strides of NULL are refused in versioned tensors, also of version 1.0."""
    if shape and versioned and not tensor.strides:
        raise BufferError("strides is NULL")
    return original(tensor, shape, versioned)


@defect("C-36")
def negative_as_positive_in_legacy() -> None:
    """Negative strides count forwards in legacy tensors."""
    _strides(lambda strides, shape, versioned: strides if versioned else map(abs, strides))


@defect("C-10")
def zero_as_compact_in_versioned() -> None:
    """Strides of a versioned tensor that has a 0 are replaced by compact ones."""
    _as_row_major(lambda strides, shape, versioned: versioned and 0 in strides)


@defect("C-10")
def strides_ignored_in_legacy() -> None:
    """Every legacy tensor is read as row-major."""
    _as_row_major(lambda strides, shape, versioned: not versioned)


@defect("C-10")
def strides_ignored_at_rank_4() -> None:
    """Tensors of rank 4 are read as row-major."""
    _as_row_major(lambda strides, shape, versioned: len(shape) == 4)


@defect("C-10")
def stride_of_vectors_ignored() -> None:
    """Vectors are read as compact."""
    _as_row_major(lambda strides, shape, versioned: len(shape) == 1)


@defect("C-10")
def column_major_as_row_major() -> None:
    """Column-major tensors are read as row-major, and others right."""
    _as_row_major(lambda strides, shape, versioned: strides == row_major(shape[::-1])[::-1])


@defect("C-10")
def large_tensors_as_compact() -> None:
    """A tensor of more than 4096 elements is read as row-major."""
    _as_row_major(lambda strides, shape, versioned: math.prod(shape) > 1 << 12)


@defect("C-10")
def last_stride_as_one() -> None:
    """The last stride counts as 1."""
    _strides(lambda strides, shape, versioned: (*strides[:-1], *(1 for _ in strides[-1:])))


@defect("C-10")
@through(_strides)
def first_stride_computed(strides: Any, shape: Any, versioned: bool) -> Any:
    """The stride of the first dimension is computed from those of the others, without padding."""
    is_wrong = len(shape) > 1 and min(strides) > 0
    return (strides[1] * shape[1], *strides[1:]) if is_wrong else strides


# Address -----------------------------------------------------------------------------------------


def _address(wrong: Any) -> None:
    """Replaces the first element's address: wrong(data, offset, kind, tensor, versioned)."""

    def first_element(original: Any, tensor: Any, shape: Any, kind: Any, versioned: bool) -> Any:
        return wrong(int(tensor.data or 0), int(tensor.byte_offset), kind, tensor, versioned)

    change(consumer, "first_element", first_element)


@defect("C-09")
def offset_ignored_in_legacy() -> None:
    """byte_offset of legacy tensors is ignored."""
    _address(lambda data, offset, kind, tensor, versioned: data + (offset if versioned else 0))


@defect("C-09")
def offset_ignored_in_versioned() -> None:
    """byte_offset of versioned tensors is ignored."""
    _address(lambda data, offset, kind, tensor, versioned: data + (0 if versioned else offset))


@defect("C-09")
def offset_ignored_without_strides() -> None:
    """byte_offset is ignored where strides are NULL."""
    _address(lambda data, offset, kind, tensor, versioned: data + (offset if tensor.strides else 0))


@defect("C-09", known=True)
def offset_in_elements() -> None:
    """byte_offset counts elements."""
    _address(lambda data, offset, kind, tensor, versioned: data + offset * kind.size)


@defect("C-24")
@instead_of(consumer, "first_element")
def large_offset_refused(original: Any, tensor: Any, *others: Any) -> Any:
    """A byte_offset above 4 is refused."""
    if tensor.byte_offset > 4:
        raise BufferError(f"a byte_offset of {tensor.byte_offset} is not supported")
    return original(tensor, *others)


@defect("C-15", known=True)
def rounded_down_to_16() -> None:
    """The address is rounded down to 16 bytes."""
    _address(lambda data, offset, kind, tensor, versioned: (data + offset) // 16 * 16)


@defect("C-15")
def data_rounded_down_to_64() -> None:
    """data is rounded down to 64 bytes before byte_offset is added."""
    _address(lambda data, offset, kind, tensor, versioned: data // 64 * 64 + offset)


@defect("C-33", known=True)
def rounded_down_to_the_element() -> None:
    """The address is rounded down to the element's size."""
    _address(lambda data, offset, kind, tensor, versioned: (data + offset) // kind.size * kind.size)
