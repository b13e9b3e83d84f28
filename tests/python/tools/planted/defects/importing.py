# SPDX-License-Identifier: BSD-3-Clause
"""Defects in how from_dlpack reads a tensor: version, device, element type, layout, address."""

from __future__ import annotations

import ctypes as C
from typing import Any

from dlbridge.tools.structs import IS_COPIED
from planted import consumer, elements
from planted.array import row_major
from planted.native import VERSIONED
from planted.planting import change, defect
from planted.producer import VERSION

# Version and flags -------------------------------------------------------------------------------


def _flags(managed: Any, name: bytes) -> int:
    return int(managed.flags) if name == VERSIONED else 0


def _refuse_flags(refused: int) -> None:
    def read(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
        if _flags(managed, name) & refused:
            raise BufferError(f"unsupported flags in {managed.flags:#x}")
        return original(managed, name, memory)

    change(consumer, "read", read)


@defect("C-04", known=True)
def major_ignored() -> None:
    """Major version 2 is read as 1."""
    change(consumer, "check_version", lambda original, major, minor: None)


@defect("C-04")
def newer_major_accepted() -> None:
    """Major version 0 is refused, and 2 is read as 1."""

    def check_version(original: Any, major: int, minor: int) -> None:
        if major < 1:
            original(major, minor)

    change(consumer, "check_version", check_version)


@defect("C-04")
def fields_read_before_the_version() -> None:
    """The shape is read before the major version is checked."""

    def read(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
        consumer.extents(managed.tensor.shape or 8, max(managed.tensor.ndim, 1))
        return original(managed, name, memory)

    change(consumer, "read", read)


@defect("C-04")
def version_packed_into_one_number() -> None:
    """The version is compared as 100 * major + minor, and 2.0 is accepted up to 2.55."""

    def check_version(original: Any, major: int, minor: int) -> None:
        if not 100 <= 100 * major + minor <= 255:
            raise BufferError(f"expected DLPack 1; got {major}.{minor}")

    change(consumer, "check_version", check_version)


@defect("C-05", known=True)
def minor_refused() -> None:
    """A newer minor version is refused."""

    def check_version(original: Any, major: int, minor: int) -> None:
        original(major, minor)
        if (major, minor) > VERSION:
            raise BufferError(f"expected DLPack {VERSION} at most; got {major}.{minor}")

    change(consumer, "check_version", check_version)


@defect("C-35", known=True)
def unknown_flags_refused() -> None:
    """Unknown flags are refused."""
    _refuse_flags(~7)


@defect("C-05")
def copies_refused() -> None:
    """A tensor that is marked IS_COPIED is refused."""
    _refuse_flags(IS_COPIED)


@defect("C-13", known=True)
def read_only_ignored() -> None:
    """READ_ONLY is ignored, although the library has read-only arrays."""
    change(consumer, "is_read_only", lambda original, managed, is_versioned: False)


@defect("C-13")
def read_only_by_equality() -> None:
    """READ_ONLY is seen only where no other flag is set."""
    change(
        consumer,
        "is_read_only",
        lambda original, managed, is_versioned: is_versioned and managed.flags == 1,
    )


@defect("C-13")
def read_only_of_vectors_only() -> None:
    """READ_ONLY is ignored above rank 1."""
    change(
        consumer,
        "is_read_only",
        lambda original, managed, is_versioned: (
            original(managed, is_versioned) and managed.tensor.ndim < 2
        ),
    )


# Device ------------------------------------------------------------------------------------------


@defect("C-14", known=True)
def device_ignored() -> None:
    """Memory of every device is read."""
    change(consumer, "check_device", lambda original, tensor, is_versioned: None)


@defect("C-14")
def device_ignored_in_legacy() -> None:
    """Memory of every device is read from legacy capsules."""

    def check_device(original: Any, tensor: Any, is_versioned: bool) -> None:
        if is_versioned:
            original(tensor, is_versioned)

    change(consumer, "check_device", check_device)


@defect("C-14")
def only_cuda_is_a_device() -> None:
    """Memory of CUDA is refused, and that of ROCm, Metal and others is read."""

    def check_device(original: Any, tensor: Any, is_versioned: bool) -> None:
        if tensor.device.type == 2:
            original(tensor, is_versioned)

    change(consumer, "check_device", check_device)


@defect("C-14")
def device_type_masked() -> None:
    """The low 4 bits of the device type are compared: 17 counts as CPU."""

    def check_device(original: Any, tensor: Any, is_versioned: bool) -> None:
        if tensor.device.type & 15 != 1:
            original(tensor, is_versioned)

    change(consumer, "check_device", check_device)


@defect("C-34")
def device_is_a_runtime_error() -> None:
    """An unsupported device raises RuntimeError."""
    _device_error(RuntimeError)


@defect("C-34")
def device_is_a_value_error() -> None:
    """An unsupported device raises ValueError."""
    _device_error(ValueError)


def _device_error(error: type[Exception]) -> None:
    def check_device(original: Any, tensor: Any, is_versioned: bool) -> None:
        if tensor.device.type != 1:
            raise error(f"unsupported device type {tensor.device.type}")

    change(consumer, "check_device", check_device)


# Element type ------------------------------------------------------------------------------------


def _read_as(wrong: Any) -> None:
    """Replaces the triple that is looked up: wrong(code, bits, lanes), None: the original."""

    def element_type(original: Any, tensor: Any, is_versioned: bool) -> elements.Type:
        dtype = tensor.dtype
        chosen = wrong(int(dtype.code), int(dtype.bits), int(dtype.lanes))
        if chosen in elements.BY_DLPACK:
            return elements.BY_DLPACK[chosen]
        result: elements.Type = original(tensor, is_versioned)
        return result

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
    _read_as(
        lambda code, bits, lanes: (code, -(-bits // 8) * 8) if lanes == 1 and bits % 8 else None
    )


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
def bfloat16_as_uint16() -> None:
    """bfloat16 is read as uint16."""
    _mistake((4, 16), (1, 16))


@defect("C-12")
def float64_as_float32() -> None:
    """float64 is read as float32."""
    _mistake((2, 64), (2, 32))


@defect("C-12")
def uint8_as_int8() -> None:
    """uint8 is read as int8."""
    _mistake((1, 8), (0, 8))


@defect("C-12")
def uint64_as_int64() -> None:
    """uint64 is read as int64."""
    _mistake((1, 64), (0, 64))


@defect("C-12")
def int16_as_float16() -> None:
    """int16 is read as float16."""
    _mistake((0, 16), (2, 16))


@defect("C-12")
def complex64_as_float64() -> None:
    """complex64 is read as float64."""
    _mistake((5, 64), (2, 64))


@defect("C-12")
def complex128_as_complex64() -> None:
    """complex128 is read as complex64."""
    _mistake((5, 128), (5, 64))


@defect("C-12")
def complex32_as_float32() -> None:
    """complex32, which the library does not have, is read as float32."""
    _mistake((5, 32), (2, 32))


@defect("C-12")
def float8_as_uint8() -> None:
    """Floats of 8 bits are read as uint8."""
    _read_as(lambda code, bits, lanes: (1, 8) if 7 <= code <= 14 and lanes == 1 else None)


@defect("C-12")
def handles_as_numbers() -> None:
    """Opaque handles are read as uint64."""
    _mistake((3, 64), (1, 64))


@defect("C-12")
def bool_as_uint8() -> None:
    """Booleans are read as uint8."""
    _mistake((6, 8), (1, 8))


@defect("C-12")
def int4_as_int8() -> None:
    """Integers of 4 bits are read as bytes."""
    _read_as(lambda code, bits, lanes: (code, 8) if code < 2 and (bits, lanes) == (4, 1) else None)


@defect("C-12")
def element_type_of_legacy() -> None:
    """The bits of legacy tensors are read as bytes: float64 becomes float32."""

    def element_type(original: Any, tensor: Any, is_versioned: bool) -> elements.Type:
        kind: elements.Type = original(tensor, is_versioned)
        return elements.TYPES["float32"] if kind.name == "float64" and not is_versioned else kind

    change(consumer, "element_type", element_type)


@defect("C-12")
def sign_of_zero_lost() -> None:
    """Negative zeros become positive."""

    def read(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
        x = original(managed, name, memory)
        if x.kind.code in (2, 4, 5):
            for index in x.indices():
                if x.get(index) == 0:
                    x.put(index, 0.0)
        return x

    change(consumer, "read", read)


@defect("C-12")
def float32_rounded_to_float16() -> None:
    """float32 is rounded to float16."""

    def read(original: Any, managed: Any, name: bytes, memory: Any) -> Any:
        x = original(managed, name, memory)
        if x.kind.name == "float32":
            half = elements.TYPES["float16"]
            for index in x.indices():
                x.put(index, elements.unpack(half, elements.pack(half, x.get(index))))
        return x

    change(consumer, "read", read)


@defect("C-26")
def bool_refused() -> None:
    """Booleans are refused, and bytes are not."""

    def element_type(original: Any, tensor: Any, is_versioned: bool) -> elements.Type:
        if tensor.dtype.code == 6:
            raise BufferError("expected numbers; got booleans")
        result: elements.Type = original(tensor, is_versioned)
        return result

    change(consumer, "element_type", element_type)


@defect("C-27")
def float4_of_8_bits() -> None:
    """A 4-bit float of 8 bits is read as bytes."""
    _mistake((17, 8), (1, 8))


@defect("C-27")
def float6_of_any_bits() -> None:
    """A 6-bit float is read as bytes, whatever its bits are."""
    _read_as(lambda code, bits, lanes: (1, 8) if code in (15, 16) and bits != 6 else None)


# Shape -------------------------------------------------------------------------------------------


def _unchecked_ndim(tensor: Any) -> tuple[int, ...]:
    count = tensor.ndim % (1 << 32)
    if count and tensor.shape:
        C.c_int64.from_address(tensor.shape + 8 * (count - 1)).value  # noqa: B018
    return consumer.extents(tensor.shape or 8, count) if count < 1 << 16 else ()


@defect("C-11", known=True)
def ndim_unchecked() -> None:
    """ndim is read as an unsigned number and not checked."""
    change(consumer, "read_shape", lambda original, tensor: _unchecked_ndim(tensor))


@defect("C-11", known=True)
def extents_unchecked() -> None:
    """Negative extents are not checked."""
    change(
        consumer,
        "read_shape",
        lambda original, tensor: (
            consumer.extents(tensor.shape, tensor.ndim)
            if 0 < tensor.ndim < 64 and tensor.shape
            else original(tensor)
        ),
    )


@defect("C-11", known=True)
def overflow_unchecked() -> None:
    """The number of elements overflows and is not checked."""

    def check_size(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
        if not tensor.data:
            original(tensor, shape, kind)

    change(consumer, "check_size", check_size)


@defect("C-11")
def null_shape_read() -> None:
    """A shape of NULL is read."""

    def read_shape(original: Any, tensor: Any) -> tuple[int, ...]:
        if 0 < tensor.ndim < 64 and not tensor.shape:
            return consumer.extents(8, tensor.ndim)
        result: tuple[int, ...] = original(tensor)
        return result

    change(consumer, "read_shape", read_shape)


@defect("C-11")
def null_data_read() -> None:
    """Data of NULL is accepted for arrays with elements."""

    def check_size(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
        if tensor.data:
            original(tensor, shape, kind)

    change(consumer, "check_size", check_size)


@defect("C-10")
def eight_dimensions_only() -> None:
    """Of more than 8 dimensions, the first 8 are read."""

    def read_shape(original: Any, tensor: Any) -> tuple[int, ...]:
        return original(tensor)[:8]  # type: ignore[no-any-return]

    change(consumer, "read_shape", read_shape)


@defect("C-25")
def rank_0_needs_strides() -> None:
    """Strides of NULL are refused also where ndim is 0."""

    def read_shape(original: Any, tensor: Any) -> tuple[int, ...]:
        if tensor.ndim == 0 and not tensor.strides:
            raise BufferError("strides is NULL")
        result: tuple[int, ...] = original(tensor)
        return result

    change(consumer, "read_shape", read_shape)


@defect("C-25")
def rank_0_reads_the_shape() -> None:
    """The first extent is read also where ndim is 0, and shape NULL."""

    def read_shape(original: Any, tensor: Any) -> tuple[int, ...]:
        if tensor.ndim == 0:
            consumer.extents(tensor.shape or 8, 1)
        result: tuple[int, ...] = original(tensor)
        return result

    change(consumer, "read_shape", read_shape)


@defect("C-25")
def rank_0_needs_a_shape() -> None:
    """A shape of NULL is refused also where ndim is 0."""

    def read_shape(original: Any, tensor: Any) -> tuple[int, ...]:
        if not tensor.shape:
            raise BufferError("shape is NULL")
        result: tuple[int, ...] = original(tensor)
        return result

    change(consumer, "read_shape", read_shape)


@defect("C-16", known=True)
def empty_null_refused() -> None:
    """An empty tensor whose data is NULL is refused."""

    def check_size(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
        original(tensor, shape, kind)
        if not tensor.data:
            raise BufferError("data is NULL")

    change(consumer, "check_size", check_size)


@defect("C-16")
def empty_tensors_crash() -> None:
    """The first element is read also where the size is 0."""

    def check_size(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
        original(tensor, shape, kind)
        C.string_at(tensor.data or 8, kind.size)

    change(consumer, "check_size", check_size)


@defect("C-16")
def empty_matrices_refused() -> None:
    """An empty tensor above rank 1 whose data is NULL raises ZeroDivisionError."""

    def check_size(original: Any, tensor: Any, shape: tuple[int, ...], kind: Any) -> None:
        original(tensor, shape, kind)
        if len(shape) > 1 and not tensor.data:
            _ = shape[0] // min(shape)

    change(consumer, "check_size", check_size)


# Strides -----------------------------------------------------------------------------------------


def _strides(wrong: Any) -> None:
    """Replaces the strides: wrong(strides, shape, is_versioned)."""

    def read_strides(
        original: Any, tensor: Any, shape: tuple[int, ...], is_versioned: bool
    ) -> tuple[int, ...]:
        return tuple(wrong(original(tensor, shape, is_versioned), shape, is_versioned))

    change(consumer, "read_strides", read_strides)


def _null_strides(wrong: Any) -> None:
    """Replaces what is done with strides of NULL: wrong(shape)."""

    def read_strides(
        original: Any, tensor: Any, shape: tuple[int, ...], is_versioned: bool
    ) -> tuple[int, ...]:
        if shape and not tensor.strides:
            return wrong(shape)  # type: ignore[no-any-return]
        result: tuple[int, ...] = original(tensor, shape, is_versioned)
        return result

    change(consumer, "read_strides", read_strides)


@defect("C-08", "C-09", known=True)
def null_strides_read() -> None:
    """Strides of NULL are read."""
    _null_strides(lambda shape: consumer.extents(8, len(shape)))


@defect("C-08")
def null_strides_column_major() -> None:
    """Strides of NULL count as column-major."""
    _null_strides(lambda shape: row_major(shape[::-1])[::-1])


@defect("C-08")
def null_strides_as_zero() -> None:
    """Strides of NULL count as 0: every element is the first one."""
    _null_strides(lambda shape: (0,) * len(shape))


@defect("C-08")
def null_strides_by_the_first_extent() -> None:
    """Strides of NULL are computed from the wrong extents: right for squares and vectors only."""
    _null_strides(lambda shape: row_major((shape[-1], *shape[:-1])))


@defect("C-23")
def null_strides_refused() -> None:
    """Strides of NULL are refused."""

    def refuse(shape: tuple[int, ...]) -> tuple[int, ...]:
        raise BufferError("strides is NULL")

    _null_strides(refuse)


@defect("C-23")
def null_strides_of_version_1_0_refused() -> None:
    """Strides of NULL are refused in versioned tensors, also of version 1.0."""

    def read_strides(
        original: Any, tensor: Any, shape: tuple[int, ...], is_versioned: bool
    ) -> tuple[int, ...]:
        if shape and is_versioned and not tensor.strides:
            raise BufferError("strides is NULL")
        result: tuple[int, ...] = original(tensor, shape, is_versioned)
        return result

    change(consumer, "read_strides", read_strides)


@defect("C-36", known=True)
def negative_as_positive() -> None:
    """Negative strides count forwards."""
    _strides(lambda strides, shape, is_versioned: map(abs, strides))


@defect("C-36")
def negative_as_positive_in_legacy() -> None:
    """Negative strides count forwards in legacy tensors."""
    _strides(
        lambda strides, shape, is_versioned: strides if is_versioned else tuple(map(abs, strides))
    )


@defect("C-10", known=True)
def zero_as_one() -> None:
    """A stride of 0 counts as 1."""
    _strides(lambda strides, shape, is_versioned: (s or 1 for s in strides))


@defect("C-10")
def zero_as_compact_in_versioned() -> None:
    """Strides of a versioned tensor that has a 0 are replaced by compact ones."""
    _strides(
        lambda strides, shape, is_versioned: (
            row_major(shape) if is_versioned and 0 in strides else strides
        )
    )


@defect("C-10")
def strides_ignored() -> None:
    """Every tensor is read as row-major."""
    _strides(lambda strides, shape, is_versioned: row_major(shape))


@defect("C-10")
def strides_ignored_in_legacy() -> None:
    """Every legacy tensor is read as row-major."""
    _strides(lambda strides, shape, is_versioned: strides if is_versioned else row_major(shape))


@defect("C-10")
def strides_ignored_above_rank_2() -> None:
    """Tensors above rank 2 are read as row-major."""
    _strides(lambda strides, shape, is_versioned: strides if len(shape) < 3 else row_major(shape))


@defect("C-10")
def strides_ignored_at_rank_4() -> None:
    """Tensors of rank 4 are read as row-major."""
    _strides(lambda strides, shape, is_versioned: strides if len(shape) != 4 else row_major(shape))


@defect("C-10")
def column_major_as_row_major() -> None:
    """Column-major tensors are read as row-major, and others right."""
    _strides(
        lambda strides, shape, is_versioned: (
            row_major(shape) if strides == row_major(shape[::-1])[::-1] else strides
        )
    )


@defect("C-10")
def last_stride_as_one() -> None:
    """The last stride counts as 1."""
    _strides(lambda strides, shape, is_versioned: (*strides[:-1], *(1 for _ in strides[-1:])))


@defect("C-10")
def first_stride_computed() -> None:
    """The stride of the first dimension is computed from those of the others, without padding."""
    _strides(
        lambda strides, shape, is_versioned: (
            (strides[1] * shape[1], *strides[1:])
            if len(shape) > 1 and min(strides) > 0
            else strides
        )
    )


@defect("C-10")
def stride_of_vectors_ignored() -> None:
    """Vectors are read as compact."""
    _strides(lambda strides, shape, is_versioned: (1,) if len(shape) == 1 else strides)


@defect("C-10")
def strides_of_column_major_in_bytes() -> None:
    """The strides of column-major matrices are read as bytes."""
    _strides(
        lambda strides, shape, is_versioned: (
            tuple(s // 4 for s in strides) if len(shape) == 2 and strides[0] == 1 else strides
        )
    )


# Address -----------------------------------------------------------------------------------------


def _address(wrong: Any) -> None:
    """Replaces the first element's address: wrong(data, offset, kind, tensor, is_versioned)."""

    def first_element(
        original: Any, tensor: Any, shape: tuple[int, ...], kind: Any, is_versioned: bool
    ) -> int:
        return wrong(  # type: ignore[no-any-return]
            int(tensor.data or 0), int(tensor.byte_offset), kind, tensor, is_versioned
        )

    change(consumer, "first_element", first_element)


@defect("C-09", known=True)
def offset_ignored() -> None:
    """byte_offset is ignored."""
    _address(lambda data, offset, kind, tensor, is_versioned: data)


@defect("C-09")
def offset_ignored_in_legacy() -> None:
    """byte_offset of legacy tensors is ignored."""
    _address(
        lambda data, offset, kind, tensor, is_versioned: data + (offset if is_versioned else 0)
    )


@defect("C-09")
def offset_ignored_in_versioned() -> None:
    """byte_offset of versioned tensors is ignored."""
    _address(
        lambda data, offset, kind, tensor, is_versioned: data + (0 if is_versioned else offset)
    )


@defect("C-09")
def offset_ignored_without_strides() -> None:
    """byte_offset is ignored where strides are NULL."""
    _address(
        lambda data, offset, kind, tensor, is_versioned: data + (offset if tensor.strides else 0)
    )


@defect("C-09")
def offset_ignored_of_vectors() -> None:
    """byte_offset is ignored where there is one dimension."""
    _address(
        lambda data, offset, kind, tensor, is_versioned: data + (offset if tensor.ndim != 1 else 0)
    )


@defect("C-09", known=True)
def offset_in_elements() -> None:
    """byte_offset counts elements."""
    _address(lambda data, offset, kind, tensor, is_versioned: data + offset * kind.size)


@defect("C-09")
def offset_twice() -> None:
    """byte_offset is added twice."""
    _address(lambda data, offset, kind, tensor, is_versioned: data + 2 * offset)


@defect("C-24")
def offset_refused() -> None:
    """A byte_offset is refused."""
    _refuse_offset(lambda offset: offset != 0)


@defect("C-24")
def large_offset_refused() -> None:
    """A byte_offset above 4 is refused."""
    _refuse_offset(lambda offset: offset > 4)


def _refuse_offset(where: Any) -> None:
    def first_element(
        original: Any, tensor: Any, shape: tuple[int, ...], kind: Any, is_versioned: bool
    ) -> int:
        if where(tensor.byte_offset):
            raise BufferError(f"a byte_offset of {tensor.byte_offset} is not supported")
        return original(tensor, shape, kind, is_versioned)  # type: ignore[no-any-return]

    change(consumer, "first_element", first_element)


@defect("C-15", known=True)
def rounded_down_to_16() -> None:
    """The address is rounded down to 16 bytes."""
    _address(lambda data, offset, kind, tensor, is_versioned: (data + offset) // 16 * 16)


@defect("C-15")
def data_rounded_down_to_64() -> None:
    """data is rounded down to 64 bytes before byte_offset is added."""
    _address(lambda data, offset, kind, tensor, is_versioned: data // 64 * 64 + offset)


@defect("C-33", known=True)
def rounded_down_to_the_element() -> None:
    """The address is rounded down to the element's size."""
    _address(
        lambda data, offset, kind, tensor, is_versioned: (data + offset) // kind.size * kind.size
    )
