"""The probes of consumers, C-08 to C-16: what they make of the words in a tensor."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.exports import best, device_of, make
from dlbridge.tools.conformance.handmade import (
    VERSION,
    Nested,
    feed,
    negotiates,
    numbers_of,
    road_for,
    row_major,
    takes_capsules,
)
from dlbridge.tools.conformance.judging import (
    CUDA,
    NOWHERE,
    Gives,
    accepts,
    expected_of,
    must_be_right,
    right_or_refused,
    several,
    short,
    spelled,
    takes_versioned,
)
from dlbridge.tools.conformance.probes import Broken, Function, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

# C-08 to C-10: layout --------------------------------------------------------------------------


@probe("C-08", hostile=True)
def null_strides(target: Target) -> None:
    accepts(target, strides=None)


@probe("C-08", hostile=True)
def null_strides_of_a_vector(target: Target) -> None:
    accepts(target, shape=(5,), strides=None)


@probe("C-08", hostile=True)
def null_extents_without_dimensions(target: Target) -> None:
    words: dict[str, Any] = {"shape": (), "strides": (), "ndim": 0}
    fed = feed(target, **{**words, "shape": None, "strides": None})
    if fed.refusal is not None:
        raise Broken(
            f"a tensor without dimensions is refused: {fed.said}",
            expected="A tensor without dimensions, whose shape and strides are NULL, is accepted.",
            fix="Do not read shape and strides where ndim is 0.",
            severity="W",
        )
    must_be_right(fed, words)


@probe("C-08", hostile=True)
def null_strides_on_its_own_device(target: Target) -> str | None:
    """Memory of a device is often imported by other code than memory of the CPU."""
    try:
        made = make(target)
        device = device_of(made)
        export = best(made)
    except (Skip, BufferError) as why:
        return f"it has no array to begin with: {why}"
    if device[0] == abi.CPU[0] or takes_capsules(target):
        return None
    managed = abi.STRUCTS[export.contents.name].from_address(export.contents.address)
    managed.tensor.strides = None
    if export.contents.version is not None:
        managed.version.minor = 0  # which allows it
    try:
        result = target.consume(Gives(export.capsule, device))
    except Exception as raised:
        raise Broken(f"on device {device}: refused: {name_error(raised)}") from None
    strides = best(result).contents.strides
    if strides not in (None, export.contents.strides):
        raise Broken(f"on device {device} NULL became strides of {strides}")
    return None


def _offset(**words: Any) -> Function:
    def byte_offset(target: Target) -> None:
        fed = feed(target, **words)
        if fed.refusal is not None:
            raise Broken(f"an offset is refused: {fed.said}", severity="W")
        must_be_right(fed, words)

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


# C-11 and C-12: what is impossible, or not understood ------------------------------------------


def _impossible(**words: Any) -> Function:
    def impossible(target: Target) -> str:
        fed = feed(target, **words)
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        try:
            shape = getattr(fed.result, "shape", None)  # some look at nothing before they are asked
        except SystemError:
            shape = "no clean error"
        except Exception as raised:
            return f"refused when it is asked for its shape: {name_error(raised)}"
        raise Broken(f"{spelled(words)} was accepted; the shape of the result: {shape}")

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
    """All extents are 1: possible, and beyond what most arrays can be."""

    def rank_is_right_or_refused(target: Target) -> str | None:
        fed = feed(target, shape=(1,) * rank, strides=(1,) * rank)
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        try:
            got = fed.values()
        except Broken as unreadable:
            return unreadable.got
        for _ in range(rank):
            got = got[0] if isinstance(got, (list, tuple)) and len(got) == 1 else "another shape"
        if got != 0.0:
            raise Broken(f"{rank} dimensions of extent 1 hold {short(got)} and not 0.0")
        return None

    return rank_is_right_or_refused


several("C-11", {f"ndim_of_{rank}": _of_rank(rank) for rank in (33, 65, 1000)})


@probe("C-11", hostile=True)
def numbers_at_null(target: Target) -> str:
    fed = feed(target, pointer=0)
    if fed.refusal is None:
        raise Broken(
            "six numbers at NULL were accepted",
            expected="Data that is NULL in a tensor that is not empty is refused.",
            fix="Test the pointer where the size is not 0, and raise BufferError.",
            severity="W",
        )
    return f"refused: {fed.said}"


def _kept_or_refused(dtype: tuple[int, int, int], *right: Nested) -> Function:
    """`right`: values that are a true reading of three elements of this dtype."""

    def dtype_is_kept_or_refused(target: Target) -> str:
        fed = feed(target, dtype=dtype, shape=(3,), strides=(1,))
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        again = _triple(fed.result)
        if again == dtype:
            return f"kept as {dtype}"
        try:
            got = fed.values()
        except Broken as unreadable:
            return f"accepted; {unreadable.got}"
        if got in right:
            return "read right"
        raise Broken(f"{dtype} is read as {again or 'numbers'}: {short(got)}")

    return dtype_is_kept_or_refused


def _triple(x: Any) -> tuple[int, int, int] | None:
    """The dtype that a result says when it is exported; None where it says none."""
    with contextlib.suppress(Exception):
        return abi.read(x.__dlpack__()).dtype
    return None


PAIRS = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
several(
    "C-12",
    {
        "unknown_code": _kept_or_refused((200, 32, 1)),
        "two_lanes": _kept_or_refused((2, 32, 2), PAIRS),
        "no_bits": _kept_or_refused((2, 0, 1)),
        "odd_bits": _kept_or_refused((2, 33, 1)),
        "wide_float4": _kept_or_refused((17, 8, 1)),
    },
)


@probe("C-12", hostile=True)
def no_lanes(target: Target) -> str:
    try:
        return _kept_or_refused((2, 32, 0))(target) or ""
    except Broken as broken:
        broken.severity = "W"  # no memory is in danger: elements without lanes have no bytes
        raise


@probe("C-12")
def booleans(target: Target) -> str | None:
    fed = feed(target, dtype=(6, 8, 1))
    if fed.refusal is None:
        return None
    if feed(target, dtype=(1, 8, 1)).refusal is not None:
        return f"refused, and so are bytes: {fed.said}"  # it has neither
    raise Broken(
        f"bool is refused: {fed.said}",
        expected="Booleans, (6, 8, 1), are accepted.",
        fix="Accept kDLBool of 8 bits, and not only kDLUInt.",
        severity="W",
    )


# C-13: read-only -------------------------------------------------------------------------------


@probe("C-13")
def read_only_memory_is_not_written(target: Target) -> str:
    takes_versioned(target)
    fed = feed(target, flags=abi.READ_ONLY)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    if fed.producer.made[-1].name != abi.VERSIONED:
        raise Skip("it asks for legacy capsules, which cannot say that memory is read-only")
    with contextlib.suppress(Exception):
        fed.result[0, 0] = 77.0
    if fed.producer.first() == 77.0:
        raise Broken("result[0, 0] = 77 wrote into memory that is marked READ_ONLY")
    fed.producer.write(5.0)
    if fed.values()[0][0] != 5.0:
        return "the result is a copy"
    said = {name: told for name, told in _says_writable(fed.result).items() if told is not None}
    wrong = [name for name, told in said.items() if told]
    if wrong:
        raise Broken(f"the result says it is writable, by {' and '.join(wrong)}")
    return f"read-only, by {', '.join(said)}" if said else "nothing can be written"


def _says_writable(x: Any) -> dict[str, bool | None]:
    return {
        "flags.writeable": _ask(lambda: bool(x.flags.writeable)),
        "the buffer protocol": _ask(lambda: not memoryview(x).readonly),
        "__array_interface__": _ask(lambda: not x.__array_interface__["data"][1]),
        "__dlpack__": _ask(lambda: _versioned_writable(x)),
    }


def _ask(question: Any) -> bool | None:
    try:
        return question()  # type: ignore[no-any-return]
    except Exception:
        return None


def _versioned_writable(x: Any) -> bool | None:
    said = abi.read(x.__dlpack__(max_version=VERSION))
    return None if said.version is None else not said.flags & abi.READ_ONLY


# C-14: memory that cannot be reached -----------------------------------------------------------


def _device(device: tuple[int, int], **words: Any) -> Function:
    """With `pointer`, nothing can be read; without, the memory of the CPU is behind it."""

    def device_is_kept_or_refused(target: Target) -> str:
        fed = feed(target, device=device, **words)
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        with contextlib.suppress(Exception):
            again = tuple(int(part) for part in fed.result.__dlpack_device__())
            if again == device:
                return f"kept as memory of device {device}"
        if "pointer" in words:
            silent = not hasattr(fed.result, "__dlpack_device__")  # it may well have kept it
            raise Broken(
                f"memory of device {device} was accepted", severity="W" if silent else None
            )
        if fed.values() == expected_of({}):
            raise Broken(f"memory of device {device} was read as memory of the CPU")
        return "accepted, and not read"

    return device_is_kept_or_refused


several(
    "C-14",
    {
        "device_that_nobody_knows": _device((99, 0), pointer=NOWHERE),
        "device_of_the_simulator": _device((9, 0), pointer=NOWHERE),
        "cuda_without_memory": _device(CUDA, pointer=NOWHERE),
        "cuda_behind_the_back": _device(CUDA, says=abi.CPU),
        "unknown_behind_the_back": _device((99, 0), says=abi.CPU),
    },
)


@probe("C-14", hostile=True)
def says_cuda_and_gives_the_cpu(target: Target) -> str | None:
    negotiates(target)
    fed = feed(target, says=CUDA)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    must_be_right(fed, {})
    return "the capsule's device counts"


# C-15 and C-16: alignment, and nothing at all --------------------------------------------------


def _shifted(by: int) -> Function:
    return lambda target: right_or_refused(target, shift=by)


several("C-15", {f"data_at_{by}": _shifted(by) for by in (1, 2, 4, 8, 16, 32)})


def _sum_of(target: Target, by: int) -> str | None:
    """Reading needs less alignment than the vector instructions of arithmetic."""
    shape = (32,)
    fed = feed(target, shape=shape, strides=(1,), shift=by)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    try:
        fed.result = fed.result + fed.result
        got = fed.values()
    except Exception as raised:
        return f"it cannot be added to itself: {name_error(raised)}"
    expected = [2 * number for number in numbers_of(shape, (1,))]
    if got != expected:
        raise Broken(f"x + x gave {short(got)}; expected {short(expected)}")
    return None


several("C-15", {f"sum_of_data_at_{by}": partial(_sum_of, by=by) for by in (1, 4, 16, 32)})


def _empty(shape: tuple[int, ...], pointer: int | None) -> Function:
    def empty(target: Target) -> None:
        road_for(target)
        fed = feed(target, shape=shape, strides=row_major(shape), pointer=pointer)
        if fed.refusal is not None:
            raise Broken(f"the shape {shape} is refused: {fed.said}")
        got = fed.values()
        if list(got) != numbers_of(shape, row_major(shape)):
            raise Broken(f"the shape {shape} arrived as {short(got)}")

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
