"""The probes of consumers, C-08 to C-16: how they interpret the fields of a tensor."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.helpers.consumption import (
    import_tensor,
    negotiates,
    reader_for,
    takes_capsules,
)
from dlbridge.tools.conformance.helpers.expectations import (
    CUDA,
    NOWHERE,
    FixedProducer,
    accepts,
    expected_of,
    must_be_right,
    right_or_refused,
    several,
    short,
    spelled,
    takes_versioned,
)
from dlbridge.tools.conformance.helpers.exports import best, device_of, make
from dlbridge.tools.conformance.helpers.producers import VERSION, Nested, numbers_of
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.registry import Function, probe
from dlbridge.tools.conformance.target import Target
from dlbridge.tools.ctypes_arrays import row_major

# C-08 to C-10: layout --------------------------------------------------------------------------


@probe("C-08", hostile=True)
def null_strides(target: Target) -> None:
    accepts(target, strides=None)


@probe("C-08", hostile=True)
def null_strides_of_a_vector(target: Target) -> None:
    accepts(target, shape=(5,), strides=None)


@probe("C-08", hostile=True)
def null_extents_without_dimensions(target: Target) -> None:
    fields: dict[str, Any] = {"shape": (), "strides": (), "ndim": 0}
    call = import_tensor(target, **{**fields, "shape": None, "strides": None})
    if call.refusal is not None:
        raise Broken(
            f"a tensor without dimensions is refused: {call.error_text}",
            expected="A tensor without dimensions, whose shape and strides are NULL, is accepted.",
            fix="Do not read shape and strides where ndim is 0.",
            severity="W",
        )
    must_be_right(call, fields)


@probe("C-08", hostile=True)
def null_strides_on_its_own_device(target: Target) -> str | None:
    """Consumers often import device memory with other code than host memory."""
    try:
        tensors = make(target)
        device = device_of(tensors)
        export = best(tensors)
    except (Skip, BufferError) as why:
        return f"it creates no array: {why}"
    if device[0] == abi.CPU[0] or takes_capsules(target):
        return None
    managed = abi.STRUCTS[export.contents.name].from_address(export.contents.address)
    managed.tensor.strides = None
    if export.contents.version is not None:
        managed.version.minor = 0  # which allows NULL
    try:
        result = target.consume(FixedProducer(export.capsule, device))
    except Exception as error:
        raise Broken(f"on device {device}: refused: {name_error(error)}") from None
    strides = best(result).contents.strides
    if strides not in (None, export.contents.strides):
        raise Broken(f"on device {device} NULL became strides of {strides}")
    return None


def _offset(**fields: Any) -> Function:
    def byte_offset(target: Target) -> None:
        call = import_tensor(target, **fields)
        if call.refusal is not None:
            raise Broken(f"an offset is refused: {call.error_text}", severity="W")
        must_be_right(call, fields)

    return byte_offset


several(
    "C-09",
    {
        "byte_offset_of_one": _offset(byte_offset=4),
        "byte_offset_of_four": _offset(byte_offset=16),
        "byte_offset_of_a_cache_line": _offset(byte_offset=64),
        "byte_offset_of_a_vector": _offset(byte_offset=16, shape=(3,), strides=(1,)),
        "byte_offset_without_dimensions": _offset(byte_offset=64, shape=(), strides=()),
    },
)


@probe("C-09", hostile=True)
def byte_offset_with_null_strides(target: Target) -> str | None:
    return right_or_refused(target, byte_offset=16, strides=None)


def _layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> Function:
    return lambda target: right_or_refused(target, shape=shape, strides=strides)


several(
    "C-10",
    {
        "backwards": _layout((3,), (-1,)),
        "rows_backwards": _layout((2, 3), (-3, 1)),
        "all_backwards": _layout((2, 3), (-3, -1)),
        "repeated": _layout((3,), (0,)),
        "rows_repeated": _layout((2, 3), (0, 1)),
        "column_major": _layout((2, 3), (1, 2)),
        "every_second": _layout((3,), (2,)),
        "with_gaps": _layout((2, 3), (8, 2)),
        "one_row_of_any_stride": _layout((1, 3), (999, 1)),
        "one_row_of_a_negative_stride": _layout((1, 3), (-5, 1)),
    },
)


# C-11 and C-12: impossible values, unknown dtypes -----------------------------------------------


def _impossible(**fields: Any) -> Function:
    def impossible(target: Target) -> str:
        call = import_tensor(target, **fields)
        if call.refusal is not None:
            return f"refused: {call.error_text}"
        try:
            shape = getattr(call.result, "shape", None)  # some consumers validate lazily
        except SystemError:
            shape = "no clean error"
        except Exception as error:
            return f"refused when its shape is read: {name_error(error)}"
        raise Broken(f"{spelled(fields)} was accepted; the shape of the result: {shape}")

    return impossible


several(
    "C-11",
    {
        "ndim_of_minus_1": _impossible(ndim=-1),
        "least_ndim": _impossible(ndim=-(2**31)),
        "negative_extent": _impossible(shape=(-2,), strides=(1,)),
        "one_negative_extent": _impossible(shape=(2, -3), strides=(3, 1)),
        "too_many_elements": _impossible(shape=(2**62, 2**62), strides=(0, 0)),
        "too_many_bytes": _impossible(shape=(2**61, 4), strides=(4, 1)),
    },
)


def _of_rank(rank: int) -> Function:
    """All extents are 1: valid, but beyond the limit of most libraries."""

    def rank_is_right_or_refused(target: Target) -> str | None:
        call = import_tensor(target, shape=(1,) * rank, strides=(1,) * rank)
        if call.refusal is not None:
            return f"refused: {call.error_text}"
        try:
            values = call.values()
        except Broken as unreadable:
            return unreadable.got
        for _ in range(rank):
            values = (
                values[0]
                if isinstance(values, (list, tuple)) and len(values) == 1
                else "another shape"
            )
        if values != 0.0:
            raise Broken(f"{rank} dimensions of extent 1 hold {short(values)} and not 0.0")
        return None

    return rank_is_right_or_refused


several("C-11", {f"ndim_of_{rank}": _of_rank(rank) for rank in (33, 65, 1000)})


@probe("C-11", hostile=True)
def numbers_at_null(target: Target) -> str:
    call = import_tensor(target, pointer=0)
    if call.refusal is None:
        raise Broken(
            "six numbers at NULL were accepted",
            expected="Data that is NULL in a tensor that is not empty is refused.",
            fix="Test the pointer where the size is not 0, and raise BufferError.",
            severity="W",
        )
    return f"refused: {call.error_text}"


def _preserved_or_refused(dtype: tuple[int, int, int], *right: Nested) -> Function:
    """`right`: the correct values of three elements of this dtype."""

    def dtype_is_preserved_or_refused(target: Target) -> str:
        call = import_tensor(target, dtype=dtype, shape=(3,), strides=(1,))
        if call.refusal is not None:
            return f"refused: {call.error_text}"
        exported_dtype = _triple(call.result)
        if exported_dtype == dtype:
            return f"preserved as {dtype}"
        try:
            values = call.values()
        except Broken as unreadable:
            return f"accepted; {unreadable.got}"
        if values in right:
            return "read correctly"
        raise Broken(f"{dtype} is read as {exported_dtype or 'numbers'}: {short(values)}")

    return dtype_is_preserved_or_refused


def _triple(x: Any) -> tuple[int, int, int] | None:
    """Returns the dtype that a result exports; None where it exports none."""
    with contextlib.suppress(Exception):
        return abi.read(x.__dlpack__()).dtype
    return None


PAIRS = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
several(
    "C-12",
    {
        "unknown_code": _preserved_or_refused((200, 32, 1)),
        "two_lanes": _preserved_or_refused((2, 32, 2), PAIRS),
        "no_bits": _preserved_or_refused((2, 0, 1)),
        "odd_bits": _preserved_or_refused((2, 33, 1)),
        "wide_float4": _preserved_or_refused((17, 8, 1)),
    },
)


@probe("C-12", hostile=True)
def no_lanes(target: Target) -> str:
    try:
        return _preserved_or_refused((2, 32, 0))(target) or ""
    except Broken as broken:
        broken.severity = "W"  # elements without lanes have no bytes, so no memory is at risk
        raise


@probe("C-12")
def booleans(target: Target) -> str | None:
    call = import_tensor(target, dtype=(6, 8, 1))
    if call.refusal is None:
        return None
    if import_tensor(target, dtype=(1, 8, 1)).refusal is not None:
        return f"refused, and so are bytes: {call.error_text}"  # it supports neither
    raise Broken(
        f"bool is refused: {call.error_text}",
        expected="Booleans, (6, 8, 1), are accepted.",
        fix="Accept kDLBool of 8 bits, and not only kDLUInt.",
        severity="W",
    )


# C-13: read-only -------------------------------------------------------------------------------


@probe("C-13")
def read_only_memory_is_not_written(target: Target) -> str:
    takes_versioned(target)
    call = import_tensor(target, flags=abi.READ_ONLY)
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    if call.producer.tensors[-1].name != abi.VERSIONED:
        raise Skip("it requests legacy capsules, which have no read-only flag")
    with contextlib.suppress(Exception):
        call.result[0, 0] = 77.0
    if call.producer.first() == 77.0:
        raise Broken("result[0, 0] = 77 wrote into memory that is marked READ_ONLY")
    call.producer.write(5.0)
    if call.values()[0][0] != 5.0:
        return "the result is a copy"
    flags = _writable_flags(call.result)
    writable = {name: flag for name, flag in flags.items() if flag is not None}
    wrong = [name for name, flag in writable.items() if flag]
    if wrong:
        raise Broken(f"the result is writable, by {' and '.join(wrong)}")
    return f"read-only, by {', '.join(writable)}" if writable else "the result cannot be written"


def _writable_flags(x: Any) -> dict[str, bool | None]:
    return {
        "flags.writeable": _attempt(lambda: bool(x.flags.writeable)),
        "the buffer protocol": _attempt(lambda: not memoryview(x).readonly),
        "__array_interface__": _attempt(lambda: not x.__array_interface__["data"][1]),
        "__dlpack__": _attempt(lambda: _versioned_writable(x)),
    }


def _attempt(question: Any) -> bool | None:
    try:
        return question()  # type: ignore[no-any-return]
    except Exception:
        return None


def _versioned_writable(x: Any) -> bool | None:
    contents = abi.read(x.__dlpack__(max_version=VERSION))
    return None if contents.version is None else not contents.flags & abi.READ_ONLY


# C-14: inaccessible memory ---------------------------------------------------------------------


def _device(device: tuple[int, int], **fields: Any) -> Function:
    """With `pointer` the memory is not readable; without, the CPU's memory is behind it."""

    def device_is_preserved_or_refused(target: Target) -> str:
        call = import_tensor(target, device=device, **fields)
        if call.refusal is not None:
            return f"refused: {call.error_text}"
        with contextlib.suppress(Exception):
            exported_dtype = tuple(int(part) for part in call.result.__dlpack_device__())
            if exported_dtype == device:
                return f"preserved as memory of device {device}"
        if "pointer" in fields:
            silent = not hasattr(call.result, "__dlpack_device__")  # it may record the device
            raise Broken(
                f"memory of device {device} was accepted", severity="W" if silent else None
            )
        if call.values() == expected_of({}):
            raise Broken(f"memory of device {device} was read as host memory")
        return "accepted, and not read"

    return device_is_preserved_or_refused


several(
    "C-14",
    {
        "unknown_device": _device((99, 0), pointer=NOWHERE),
        "device_of_the_simulator": _device((9, 0), pointer=NOWHERE),
        "cuda_without_memory": _device(CUDA, pointer=NOWHERE),
        "cuda_behind_the_back": _device(CUDA, reported_device=abi.CPU),
        "unknown_behind_the_back": _device((99, 0), reported_device=abi.CPU),
    },
)


@probe("C-14", hostile=True)
def reports_cuda_and_exports_from_the_cpu(target: Target) -> str | None:
    negotiates(target)
    call = import_tensor(target, reported_device=CUDA)
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    must_be_right(call, {})
    return "the capsule's device is used"


# C-15 and C-16: alignment, and empty tensors ---------------------------------------------------


def _shifted(by: int) -> Function:
    return lambda target: right_or_refused(target, shift=by)


several("C-15", {f"data_at_{by}": _shifted(by) for by in (1, 2, 4, 8, 16, 32)})


def _sum_of(target: Target, by: int) -> str | None:
    """Vector instructions of arithmetic may need more alignment than reading."""
    shape = (32,)
    call = import_tensor(target, shape=shape, strides=(1,), shift=by)
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    try:
        call.result = call.result + call.result
        values = call.values()
    except Exception as error:
        return f"x + x fails: {name_error(error)}"
    expected = [2 * number for number in numbers_of(shape, (1,))]
    if values != expected:
        raise Broken(f"x + x is {short(values)}; expected {short(expected)}")
    return None


several("C-15", {f"sum_of_data_at_{by}": partial(_sum_of, by=by) for by in (1, 4, 16, 32)})


def _empty(shape: tuple[int, ...], pointer: int | None) -> Function:
    def empty(target: Target) -> None:
        reader_for(target)
        call = import_tensor(target, shape=shape, strides=row_major(shape), pointer=pointer)
        if call.refusal is not None:
            raise Broken(f"the shape {shape} is refused: {call.error_text}")
        values = call.values()
        if list(values) != numbers_of(shape, row_major(shape)):
            raise Broken(f"the shape {shape} arrived as {short(values)}")

    return empty


several(
    "C-16",
    {
        "empty_at_null": _empty((0,), 0),
        "empty_rows_at_null": _empty((2, 0), 0),
        "empty_blocks_at_null": _empty((2, 0, 4), 0),
        "empty_at_a_live_address": _empty((0,), None),
    },
)
