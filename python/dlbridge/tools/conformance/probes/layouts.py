# SPDX-License-Identifier: BSD-3-Clause
"""The probes of layouts: how consumers read offsets, strides, shapes and addresses."""

from __future__ import annotations

import operator
from typing import Any

from ... import abi
from ...dtypes import Triple
from ...elements import row_major
from ..helpers import device_memory, samples
from ..helpers.consumption import (
    LEGACY,
    Cases,
    ConsumerCall,
    each_import,
    import_as,
    kinds,
    short,
    summed_up,
    takes_capsules,
)
from ..helpers.expectations import (
    ROW_MAJOR,
    accepted,
    note,
    refused,
    right_or_refused,
    same,
    wrong_values,
)
from ..helpers.exports import best, device_of, make
from ..helpers.producers import PLAIN, VERSION, FixedProducer, Producer
from ..helpers.results import CannotRead, readers, values_of
from ..helpers.trials import survivors
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import NO_CONSUMER, Target

# One dtype of each size: consumers move elements by their size.
SIZES: dict[str, Triple] = {
    "uint8": (1, 8, 1),
    "int16": (0, 16, 1),
    "float32": (2, 32, 1),
    "float64": (2, 64, 1),
    "complex128": (5, 128, 1),
}


def in_sizes(cases: Cases, sizes: dict[str, Triple] = SIZES) -> Cases:
    """Gives every case each dtype; `byte_offset` and `shift` count elements until then."""
    result: Cases = {}
    for name, fields in cases.items():
        for dtype_name, dtype in sizes.items():
            scaled = {
                key: it * samples.itemsize(dtype) if key in ("byte_offset", "shift") else it
                for key, it in fields.items()
            }
            result[f"{name} of {dtype_name}"] = {**scaled, "dtype": dtype}
    return result


def layouts(*rows: tuple[tuple[int, ...], tuple[int, ...] | None], **others: Any) -> Cases:
    """Returns cases with these shapes and strides, named by them."""
    return {
        f"shape {shape}, {'NULL strides' if strides is None else f'strides {strides}'}"
        + "".join(f", {key} {it}" for key, it in others.items()): {
            "shape": shape,
            "strides": strides,
            **others,
        }
        for shape, strides in rows
    }


# C-08 and C-23: NULL strides ---------------------------------------------------------------------

_WITHOUT_STRIDES = [(5,), (2, 3), (1, 4), (4, 1), (2, 3, 4), (2, 1, 3, 2), (2, 2, 1, 2, 3), (40, 7)]
NULL_STRIDES: Cases = {
    name: {**fields, "version": (1, minor)}  # only structs before 1.2 may have them
    for minor in (0, 1)
    for name, fields in layouts(*((shape, None) for shape in _WITHOUT_STRIDES)).items()
}


@probe("C-08", hostile=True)
def null_strides_are_row_major(target: Target) -> str:
    return right_or_refused(target, in_sizes(NULL_STRIDES))


@probe("C-23", hostile=True)
def null_strides_are_accepted(target: Target) -> str:
    return accepted(target, NULL_STRIDES, strides=ROW_MAJOR)


@probe("C-08", hostile=True)
def null_strides_on_its_own_device(target: Target) -> str | None:
    """Consumers often import device memory with other code than host memory."""
    if target.function is None:
        raise Skip(NO_CONSUMER)
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
        return f"on device {device}: refused: {name_error(error)}"
    strides = best(result).contents.strides
    if strides not in (None, export.contents.strides):
        raise Broken(f"on device {device} NULL became strides of {strides}")
    return None


# C-09 and C-24: offsets --------------------------------------------------------------------------

OFFSETS: Cases = {
    key: it
    for elements in (1, 4, 16, 64)
    for key, it in layouts(((2, 3), (3, 1)), ((3,), (1,)), ((), ()), byte_offset=elements).items()
}


@probe("C-09", hostile=True)
def offsets_are_not_ignored(target: Target) -> str:
    strided = [((3,), (-1,)), ((3,), (2,)), ((2, 3), (1, 2)), ((2, 3), (0, 1)), ((1, 3), (9, 1))]
    deep = [((2, 2, 3), (6, 3, 1)), ((2, 2, 2, 2), (1, 2, 4, 8))]
    combined = survivors(target, layouts(*strided, *deep, byte_offset=5))
    compact = layouts(((2, 3), None), ((5,), None), byte_offset=5, version=(1, 0))
    return right_or_refused(target, in_sizes({**OFFSETS, **combined, **compact}))


@probe("C-24", hostile=True)
def offsets_are_accepted(target: Target) -> str:
    return accepted(target, in_sizes(OFFSETS, {"the plain dtype": PLAIN["dtype"]}), byte_offset=0)


# C-10: strides -----------------------------------------------------------------------------------

COMPACT = layouts(
    *(
        (shape, row_major(shape))
        for shape in [
            *((), (1,), (5,), (100,), (2, 3), (17, 9), (2, 3, 4), (3, 1, 2)),
            *((2, 3, 2, 2), (2, 1, 3, 1, 2), (1, 2, 1, 2, 1, 2), (2,) * 8),
        ]
    )
)
STRIDED = layouts(
    # transposed
    *[((2, 3), (1, 2)), ((2, 3, 4), (1, 2, 6)), ((2, 3, 4), (4, 8, 1)), ((2, 3, 4), (12, 1, 3))],
    *[((2, 3, 2, 2), (1, 2, 6, 12)), ((2, 2, 3, 2), (6, 12, 2, 1)), ((9, 17), (1, 9))],
    *[((2, 1, 2, 3, 2), (1, 2, 2, 4, 12))],
    # stepped, with gaps
    *[((3,), (2,)), ((40,), (3,)), ((2, 3), (8, 2)), ((2, 3), (8, 1)), ((2, 3, 4), (24, 8, 2))],
    *[((2, 3, 4), (30, 6, 1)), ((2, 2, 2, 3), (40, 18, 8, 2))],
    *[((2, 2, 2, 2, 2), (50, 24, 11, 5, 2))],
    # repeated
    *[((3,), (0,)), ((2, 3), (0, 1)), ((2, 3), (1, 0)), ((2, 3), (0, 0)), ((2, 3, 2), (2, 0, 1))],
    *[((2, 2, 3, 2), (0, 6, 2, 1)), ((2, 2, 3, 2), (6, 0, 0, 1))],
    # overlapping windows
    *[((4, 3), (1, 1)), ((2, 3, 3), (1, 2, 1)), ((2, 2, 3, 2), (1, 1, 2, 1))],
    # extents of 1, whose strides mean nothing
    *[((1,), (7,)), ((1, 3), (90, 1)), ((1, 3), (-5, 1)), ((3, 1), (1, 0)), ((3, 1), (1, -9))],
    *[((2, 1, 3), (3, 77, 1)), ((1, 1, 1, 2), (5, 0, -3, 1)), ((1, 2, 3), (0, 1, 2))],
)  # fmt: skip
# Of more dimensions than 8, 16 and 32, with extents that count at every place.
MANY = layouts(
    *(
        (shape, row_major(shape))
        for shape in [
            *((2,) * 9, (2,) * 10, (1,) * 8 + (2, 3), (2, 3) + (1,) * 8, (1, 2) * 5, (2, 1) * 8),
            *((1,) * 16 + (3, 2), (3,) + (1,) * 16 + (2,), (1,) * 31 + (5,), (1,) * 60 + (2, 3)),
        ]
    )
)
TRANSPOSED: dict[str, Any] = {"shape": (2,) * 10, "strides": row_major((2,) * 10)[::-1]}
BACKWARDS = layouts(
    *[((3,), (-1,)), ((3,), (-2,)), ((2, 3), (-3, 1)), ((2, 3), (3, -1)), ((2, 3), (-3, -1))],
    *[((2, 3, 2), (6, -2, 1)), ((2, 3, 2), (-6, -2, -1)), ((2, 2, 2, 2), (8, 4, -2, 1))],
)  # fmt: skip
EMPTY = layouts(*((shape, row_major(shape)) for shape in [(0,), (2, 0), (0, 3), (2, 0, 4)]))


@probe("C-10", hostile=True)
def compact_tensors_are_read(target: Target) -> str:
    marked: Cases = {
        "version (1, 99)": {"version": (1, 99)},
        "an unknown flag": {"version": (1, 0), "flags": 1 << 40},
        "IS_COPIED": {"version": (1, 0), "flags": abi.IS_COPIED},
        "READ_ONLY": {"version": (1, 0), "flags": abi.READ_ONLY},
    }
    return right_or_refused(target, {**in_sizes(COMPACT), **EMPTY, **marked})


@probe("C-10", hostile=True)
def strides_are_read(target: Target) -> str:
    return right_or_refused(target, in_sizes(STRIDED))


@probe("C-10", hostile=True)
def many_extents_are_read(target: Target) -> str:
    """Many consumers copy extents to arrays of 8, 16 or 32."""
    return right_or_refused(target, {**MANY, "10 transposed dimensions": TRANSPOSED})


# More elements than 16 bits count, and than a consumer copies in one part.
LARGE = layouts(((128, 512), (512, 1)), ((512, 128), (1, 512)), ((256, 256), (1, 256)))


@probe("C-10", hostile=True)
def large_tensors_are_read(target: Target) -> str:
    return right_or_refused(target, LARGE, times=1)


@probe("C-36", hostile=True)
def negative_strides_are_read(target: Target) -> str:
    return right_or_refused(target, in_sizes(BACKWARDS))


@probe("C-10", hostile=True)
def tensors_at_one_address(target: Target) -> str:
    """A consumer that remembers an address, a type or a producer would return an old tensor."""
    readers(target)
    count = 0
    content = samples.encode(PLAIN["dtype"], 0, 64)
    shared = device_memory.upload(content, device_memory.selected())
    other = layouts(((3, 2), (2, 1)), ((2, 3), (1, 2)), ((4,), (1,)), ((2, 3), (3, 1)))
    for kind in kinds(target):
        kept = []
        for fields in other.values():
            kept.append(import_as(target, kind, pointer=shared, **fields))
            _must_be_right(kept[-1], f"{kind}, another tensor at the address of the last one")
        for call in kept:
            _must_be_right(call, f"{kind}, a tensor after others at its address")
        changing = Producer(version=None if kind == LEGACY else VERSION)
        for number, fields in enumerate(other.values()):
            changing.fields.update(fields, start=7 * number)
            call = ConsumerCall(target, changing)
            _must_be_right(call, f"{kind}, a new import from a producer that changed")
            count += 1
    return note(target, f"{count} right", [])


def _must_be_right(call: ConsumerCall, title: str) -> None:
    if call.refusal is not None:
        return
    try:
        difference = wrong_values(call)
    except CannotRead as why:
        raise Skip(f"{title} cannot be read: {why}") from None
    if difference is not None:
        raise Broken(
            f"{title}: {difference}",
            fix="Read the struct of every import; do not remember what an address or a producer "
            "held before.",
        )


# C-11: invalid shapes ----------------------------------------------------------------------------

INVALID_SHAPES: Cases = {
    "ndim of -1": {"ndim": -1},
    "ndim of -2**31": {"ndim": -(2**31)},
    "a negative extent": {"shape": (-2,), "strides": (1,)},
    "one negative extent of two": {"shape": (2, -3), "strides": (3, 1)},
    "two negative extents": {"shape": (-2, -3), "strides": (3, 1)},
    "2**124 elements": {"shape": (2**62, 2**62), "strides": (0, 0)},
    "2**63 elements": {"shape": (2**61, 4), "strides": (4, 1)},
    "2**64 elements, 0 in 64 bits": {"shape": (2**32, 2**32), "strides": (0, 0)},
    "six elements at NULL": {"pointer": 0},
    "two dimensions at NULL": {"shape": None, "strides": None, "ndim": 2},
}


@probe("C-11", hostile=True)
def invalid_shapes_are_refused(target: Target) -> str:
    return refused(target, INVALID_SHAPES)


@probe("C-11", hostile=True)
def many_dimensions_are_right_or_refused(target: Target) -> str:
    """All extents are 1: valid, but beyond the limit of most libraries."""
    readers(target)
    cases: Cases = {
        f"{rank} dimensions": {"shape": (1,) * rank, "strides": (1,) * rank}
        for rank in (32, 33, 64, 65, 1000)
    }
    wrong, refusals = [], []
    for title, call in each_import(target, cases):
        if call.refusal is not None:
            refusals.append(f"{title}: {call.error_text}")
            continue
        try:
            values = values_of(target, call.result)
        except CannotRead:  # memoryview has a limit of its own
            continue
        while isinstance(values, (list, tuple)) and len(values) == 1:
            values = values[0]
        if values != samples.value(PLAIN["dtype"], 0):
            wrong.append(f"{title}: got {short(repr(values))}")
    if wrong:
        raise Broken(summed_up(wrong))
    return note(target, "right or refused", refusals)


# C-15 and C-33: alignment ------------------------------------------------------------------------


@probe("C-15", hostile=True)
def data_of_any_alignment(target: Target) -> str:
    cases: Cases = {}
    for elements in (1, 2, 3, 4, 8):
        for name, fields in layouts(((2, 3), (3, 1)), ((40,), (1,)), ((3,), (2,))).items():
            cases[f"{name}, {elements} elements from an aligned address"] = {
                **fields,
                "shift": elements,
            }
    return right_or_refused(target, in_sizes(cases))


@probe("C-33", hostile=True)
def data_between_elements(target: Target) -> str:
    return right_or_refused(
        target,
        {
            f"{name} {shift} bytes from an aligned address": {"dtype": dtype, "shift": shift}
            for name, dtype in SIZES.items()
            for shift in (1, 2, 4, 8)
            if shift < samples.itemsize(dtype)
        },
    )


def _sums(target: Target, shifts: dict[int, Triple]) -> str | None:
    """Vector instructions of arithmetic may need more alignment than reading."""
    readers(target)
    add = target.library.compute if target.library is not None else None
    wrong, failed = [], []
    for shift, dtype in shifts.items():
        case: Cases = {f"x + x {shift} bytes from an aligned address": {
            "shape": (32,), "strides": (1,), "dtype": dtype, "shift": shift}}  # fmt: skip
        for title, call in each_import(target, case):
            if call.refusal is not None:
                continue
            try:
                both = add(target.module, call.result) if add else operator.add(*[call.result] * 2)
                values = values_of(target, both)
            except Exception as error:
                failed.append(f"{title}: {name_error(error)}")
                continue
            expected = [2 * number for number in call.producer.values]
            if not same(values, expected):
                wrong.append(f"{title} is {short(repr(values))}, not {short(repr(expected))}")
    if wrong:
        raise Broken(summed_up(wrong))
    return short("; ".join(failed[:1]), 160) or None


@probe("C-15", hostile=True)
def sums_of_data_of_any_alignment(target: Target) -> str | None:
    return _sums(target, dict.fromkeys((4, 8, 16, 32), samples.FLOAT32))


@probe("C-33", hostile=True)
def sums_of_data_between_elements(target: Target) -> str | None:
    return _sums(target, dict.fromkeys((1, 2), samples.FLOAT32))


# C-16 and C-25: no elements, no dimensions -------------------------------------------------------


@probe("C-16", hostile=True)
def empty_tensors_are_accepted(target: Target) -> str:
    at_null = {f"{name} at NULL": {**fields, "pointer": 0} for name, fields in EMPTY.items()}
    # A consumer may refuse the same shape at an address too, for its rank or for its size.
    return accepted(target, in_sizes(at_null), pointer=None)


@probe("C-16", hostile=True)
def empty_tensors_keep_their_shape(target: Target) -> str:
    wrong, refusals = [], []
    for title, call in each_import(target, {
        f"{name} at NULL": {**fields, "pointer": 0} for name, fields in EMPTY.items()
    }):  # fmt: skip
        if call.refusal is not None:
            refusals.append(f"{title}: {call.error_text}")
            continue
        try:
            shape = tuple(call.result.shape)
        except Exception:  # it has no such attribute
            continue
        if shape != call.producer.fields["shape"]:
            wrong.append(f"{title}: the result has the shape {shape}")
    if wrong:
        raise Broken(summed_up(wrong), fix="Keep the shape also where the size is 0.")
    return note(target, "the shapes are kept", refusals)


NO_DIMENSIONS: Cases = {
    "shape and strides of NULL": {"shape": None, "strides": None, "ndim": 0},
    "no extents": {"shape": (), "strides": ()},
    "strides of NULL": {"shape": (), "strides": None},
}


@probe("C-25", hostile=True)
def scalars_are_accepted(target: Target) -> str:
    # A consumer may refuse this rank, also where both pointers are valid.
    return accepted(target, NO_DIMENSIONS, shape=(), strides=(), ndim=0)


@probe("C-10", hostile=True)
def scalars_are_read(target: Target) -> str:
    return right_or_refused(target, in_sizes(NO_DIMENSIONS))
