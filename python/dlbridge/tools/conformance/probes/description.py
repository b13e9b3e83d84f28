# SPDX-License-Identifier: BSD-3-Clause
"""The probes of a tensor's fields: device, shape, strides, dtype, alignment."""

from __future__ import annotations

from typing import Any

from ... import abi, dtypes
from ..helpers.arrays import BELOW_A_BYTE
from ..helpers.exports import (
    best,
    call_text,
    every_kind,
    has_dlpack,
    make,
    request,
    requests_of_kinds,
)
from ..helpers.survey import judge, survey
from ..judgement import fields
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

NOTHING = "there are no exports"

# Devices -----------------------------------------------------------------------------------------


@probe("P-10")
def one_device(target: Target) -> None:
    why = "__dlpack_device__ returns no pair of integers"
    judge(survey(target).exports(), fields.device, why)


@probe("P-37")
def one_device_type(target: Target) -> None:
    why = "no array is in memory of the host, by its capsule and by __dlpack_device__()"
    judge(survey(target).exports(), fields.device_type, why)


@probe("P-33")
def index_of_the_host(target: Target) -> None:
    judge(survey(target).samples, fields.device_index, "no array is in memory of the host")


# Shapes and strides ------------------------------------------------------------------------------


@probe("P-11")
def shapes(target: Target) -> None:
    judge(survey(target).every(), fields.shape, NOTHING)


@probe("P-12")
def strides_are_there(target: Target) -> None:
    why = "no capsule has version 1.2 or newer, from which on strides must not be NULL"
    judge(survey(target).versioned(), fields.strides, why)


@probe("P-15")
def idle_strides(target: Target) -> None:
    why = "no array with an extent of 1 or 0 has strides"
    judge(survey(target).exports(), fields.idle_strides, why)


# Alignment ---------------------------------------------------------------------------------------


@probe("P-14")
def aligned_elements(target: Target) -> None:
    judge(survey(target).exports(), fields.alignment, "no array has addresses")


@probe("P-21")
def alignment(target: Target) -> str:
    tensor = best(make(target)).contents
    if tensor.first == 0:
        return "data is NULL"
    item = max(power for power in (1 << i for i in range(9)) if tensor.first % power == 0)
    return f"the first element is aligned to {item} bytes" + (" or more" if item == 256 else "")


# Dtypes ------------------------------------------------------------------------------------------


@probe("P-16")
def dtypes_of_arrays(target: Target) -> str:
    every = survey(target).every()
    judge(every, fields.dtype, NOTHING)
    names = dict.fromkeys(dtypes.name(sample.contents.dtype) for sample in every)
    return f"exported: {', '.join(names)}"


@probe("P-53")
def bits_of_small_floats(target: Target) -> None:
    why = "no array has floats of 4 or 6 bits"
    judge(survey(target).samples, fields.bits_of_small_float, why)


@probe("P-55")
def codes_of_the_enumeration(target: Target) -> None:
    judge(survey(target).every(), fields.type_code, NOTHING)


@probe("P-17")
def booleans(target: Target) -> None:
    why = "the factory creates no array of dtype 'bool'"
    judge(survey(target).exports(), fields.boolean, why)


@probe("P-18", twice=True)
def below_a_byte(target: Target) -> str:
    best(make(target))
    if "dtype" not in target.accepts:
        raise Skip("the factory has no parameter `dtype`; dtypes smaller than a byte are needed")
    notes = []
    for name in BELOW_A_BYTE:
        try:
            tensor = best(make(target, dtype=name)).contents
        except (Skip, Exception):  # it has no such dtype, or does not export it
            continue
        padded = bool(tensor.flags & abi.SUBBYTE_PADDED)
        whole = tensor.dtype[1] * tensor.dtype[2] % 8 == 0
        if padded and tensor.version is not None and tensor.version < (1, 1):
            raise Broken(f"{name} is marked as padded in version {fields.dotted(tensor.version)}")
        how = "whole bytes" if whole else "padded" if padded else "packed"
        notes.append(f"{name} is {tensor.dtype}, {how}")
    if not notes:
        raise Skip("the library exports no dtype smaller than a byte")
    return "; ".join(notes)


# No elements, no dimensions ----------------------------------------------------------------------


def _exported(target: Target, shape: tuple[int, ...]) -> Any:
    """Returns an array of a shape; raises Skip where the library has none, or never exports it."""
    make(target)
    x = target.make(shape=shape)
    if not has_dlpack(x):
        raise Skip(f"the {type(x).__name__} of shape {shape} has no __dlpack__")
    return x


def _is_exported(x: Any, what: str) -> None:
    """Raises Broken for an exception other than BufferError, which a producer may raise."""
    for keywords in requests_of_kinds(x):
        try:
            request(x, **keywords)
        except BufferError:
            continue
        except Exception as error:
            call = call_text(keywords)
            raise Broken(f"{what} is refused: {call} raised {name_error(error)}") from None


@probe("P-19", twice=True)
def size_zero(target: Target) -> None:
    examined, why = 0, ""
    for shape in ((0,), (2, 0, 4), (3, 0)):
        try:
            x = _exported(target, shape)
        except Skip as reason:
            why = str(reason)
            continue
        examined += 1
        _is_exported(x, f"an array of shape {shape}")
    if not examined:
        raise Skip(why)


@probe("P-20", twice=True)
def no_dimensions(target: Target) -> None:
    x = _exported(target, ())
    _is_exported(x, "an array without dimensions")
    items = every_kind(x)  # named, so that no destructor runs while an exception is pending
    for item in items:
        tensor = item.contents
        if tensor.ndim != 0:
            raise Broken(f"the array of shape () has shape {tensor.shape} in its capsule")


@probe("P-41")
def no_data_without_elements(target: Target) -> None:
    why = "no array of size 0 is exported"
    judge(survey(target).every(), fields.data_without_elements, why)
