# SPDX-License-Identifier: BSD-3-Clause
"""The probes of a tensor's fields: device, shape, strides, dtype, alignment."""

from __future__ import annotations

import re
from typing import Any

from ... import abi, devices, dtypes
from ..helpers.arrays import BELOW_A_BYTE, DTYPES
from ..helpers.exports import (
    best,
    call_text,
    element_bytes,
    every_kind,
    has_dlpack,
    make,
    request,
    requests_of_kinds,
    size,
)
from ..helpers.survey import Sample, judge, survey
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

WITH_INDEX_0 = frozenset({devices.CPU, *devices.PINNED, devices.CUDA_MANAGED})

# Devices -----------------------------------------------------------------------------------------


def _are_on_host(*types: int) -> bool:
    return devices.HOST_ACCESSIBLE.issuperset(types)


@probe("P-10")
def one_device(target: Target) -> None:
    def check(sample: Sample) -> bool:
        actual, reported = sample.contents.device, sample.device
        if reported is None:
            return False
        if actual != reported and not _are_on_host(actual[0], reported[0]):
            raise Broken(f"{sample}: __dlpack_device__() is {reported}; the capsule has {actual}")
        return True

    judge(survey(target).exports(), check, "__dlpack_device__ returns no pair of integers")


@probe("P-37")
def one_device_type(target: Target) -> None:
    def check(sample: Sample) -> bool:
        actual, reported = sample.contents.device, sample.device
        if reported is None or not _are_on_host(actual[0], reported[0]):
            return False
        if actual[0] != reported[0]:
            raise Broken(f"{sample}: __dlpack_device__() is {reported}; the capsule has {actual}")
        return True

    why = "no array is in memory of the host, by its capsule and by __dlpack_device__()"
    judge(survey(target).exports(), check, why)


@probe("P-33")
def index_of_the_host(target: Target) -> None:
    def check(sample: Sample) -> bool:
        places = {"the capsule": sample.contents.device, "__dlpack_device__()": sample.device}
        for where, device in places.items():
            if device is not None and device[0] in WITH_INDEX_0 and device[1] != 0:
                raise Broken(f"{sample}: {where} has {device}")
        return sample.contents.device[0] in WITH_INDEX_0

    judge(list(survey(target).samples), check, "no array is in memory of the host")


# Shapes and strides ------------------------------------------------------------------------------


@probe("P-11")
def shapes(target: Target) -> None:
    def check(sample: Sample) -> bool:
        tensor = sample.contents
        if not 0 <= tensor.ndim <= abi.MAX_NDIM:
            raise Broken(f"{sample}: ndim is {tensor.ndim}")
        if tensor.shape is None:
            what = "NULL" if tensor.shape_is_null else "a pointer that is not readable"
            raise Broken(f"{sample}: ndim is {tensor.ndim}, and shape is {what}")
        if any(extent < 0 for extent in tensor.shape):
            raise Broken(f"{sample}: the shape is {tensor.shape}")
        is_one_element = size(tensor) == 1  # of any rank: P-20 judges arrays without dimensions
        if sample.shape not in (None, tensor.shape) and not is_one_element:
            raise Broken(f"{sample}: the array has shape {sample.shape}, and its capsule "
                         f"{tensor.shape}")  # fmt: skip
        return True

    every = survey(target)
    every.exports()
    judge(list(every.samples), check, "there are no exports")


@probe("P-12")
def strides_are_there(target: Target) -> None:
    def check(sample: Sample) -> bool:
        tensor = sample.contents
        if tensor.version is None or tensor.version < (1, 2) or tensor.ndim <= 0:
            return False
        if tensor.strides_is_null:
            raise Broken(f"{sample}: strides is NULL in a capsule of version "
                         f"{_dotted(tensor.version)}")  # fmt: skip
        return True

    why = "no capsule has version 1.2 or newer, from which on strides must not be NULL"
    judge(survey(target).versioned(), check, why)


@probe("P-15")
def idle_strides(target: Target) -> None:
    def check(sample: Sample) -> bool:
        tensor = sample.contents
        if tensor.strides is None or tensor.shape is None or sample.what.startswith("x"):
            return False  # a view has the strides of its base
        most = 1
        for extent in tensor.shape:
            most *= max(1, extent)
        idle = [
            step
            for extent, step in zip(tensor.shape, tensor.strides)
            if extent == 1 or size(tensor) == 0
        ]
        if not all(0 <= step <= most for step in idle):
            raise Broken(f"{sample}: shape {tensor.shape} has strides {tensor.strides}")
        return bool(idle)

    judge(survey(target).exports(), check, "no array with an extent of 1 or 0 has strides")


# Alignment ---------------------------------------------------------------------------------------


@probe("P-14")
def aligned_elements(target: Target) -> None:
    def check(sample: Sample) -> bool:
        tensor = sample.contents
        own = element_bytes(tensor) // (2 if tensor.dtype[0] == dtypes.COMPLEX else 1)
        if tensor.device[0] not in devices.ADDRESSES or not size(tensor) or own == 0:
            return False
        if tensor.first % own:
            raise Broken(f"{sample}: the first element is at {tensor.first:#x}, which is no "
                         f"multiple of {own} bytes")  # fmt: skip
        return True

    judge(survey(target).exports(), check, "no array has addresses")


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
    names: dict[str, None] = {}

    def check(sample: Sample) -> bool:
        tensor = sample.contents
        reason = _illegal(tensor)
        if reason is not None:
            raise Broken(f"{sample}: the dtype is {tensor.dtype}: {reason}")
        names[dtypes.name(tensor.dtype)] = None
        name = sample.dtype
        if name is None or name == "bool" or _is_another(sample.own_dtype, name):
            return True
        if tensor.dtype != DTYPES[name]:
            raise Broken(
                f"{sample}: the dtype is {tensor.dtype}",
                expected=f"{name} is {DTYPES[name]}: code, bits, lanes.",
            )
        return True

    every = survey(target)
    every.exports()
    judge(list(every.samples), check, "there are no exports")
    return f"exported: {', '.join(names)}"


def _illegal(tensor: abi.Contents) -> str | None:
    """Returns what is wrong with a dtype, None for a valid one."""
    code, bits, lanes = tensor.dtype
    if lanes < 1:
        return "lanes must be at least 1"
    if bits < 1:
        return "bits must be above 0"
    if code not in dtypes.CODES or code in dtypes.SUBBYTE_FLOATS:
        return None  # P-53 and P-55 judge them
    widths = dtypes.CODES[code].widths
    if code == dtypes.UINT and bits == 1:
        return None  # a bool; P-17 reports it
    return None if widths is None or bits in widths else f"code {code} has no width of {bits} bits"


def _is_another(own: str | None, name: str) -> bool:
    """Whether the array reports another dtype than the requested one.

    JAX narrows to 32 bits, and Paddle's uint16 is a bfloat16: neither is an error of the export.
    """
    return own is not None and name not in re.split(r"\W+", own)


@probe("P-53")
def bits_of_small_floats(target: Target) -> None:
    def check(sample: Sample) -> bool:
        code, bits, _ = sample.contents.dtype
        if code not in dtypes.SUBBYTE_FLOATS:
            return False
        if bits not in (dtypes.CODES[code].widths or ()):
            name = dtypes.CODES[code].name
            raise Broken(f"{sample}: the dtype is {sample.contents.dtype}: {name} of {bits} bits")
        return True

    judge(list(survey(target).samples), check, "no array has floats of 4 or 6 bits")


@probe("P-55")
def codes_of_the_enumeration(target: Target) -> None:
    def check(sample: Sample) -> bool:
        tensor = sample.contents
        is_newer = tensor.version is not None and tensor.version > (1, 3)
        if tensor.dtype[0] not in dtypes.CODES and not is_newer:
            raise Broken(f"{sample}: the dtype is {tensor.dtype}: DLDataTypeCode has no "
                         f"code {tensor.dtype[0]}")  # fmt: skip
        return True

    every = survey(target)
    every.exports()
    judge(list(every.samples), check, "there are no exports")


@probe("P-17")
def booleans(target: Target) -> None:
    def check(sample: Sample) -> bool:
        if sample.dtype != "bool" or _is_another(sample.own_dtype, "bool"):
            return False
        if sample.contents.dtype != (dtypes.BOOL, 8, 1):
            raise Broken(f"{sample}: bool is {sample.contents.dtype}")
        return True

    judge(survey(target).exports(), check, "the factory creates no array of dtype 'bool'")


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
            raise Broken(f"{name} is marked as padded in version {_dotted(tensor.version)}")
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
    def check(sample: Sample) -> bool:
        tensor = sample.contents
        if tensor.shape is None or size(tensor):
            return False
        if tensor.data:
            raise Broken(f"{sample}: shape {tensor.shape} has data {tensor.data:#x}")
        return True

    every = survey(target)
    every.exports()
    judge(list(every.samples), check, "no array of size 0 is exported")


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
