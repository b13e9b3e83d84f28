# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the memory that a tensor describes, and of the elements in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import abi, dtypes
from ...elements import index_at, same
from ..helpers import device_memory
from ..helpers.exports import element_bytes, reach, size, steps
from ..helpers.readings import Reading, decode
from ..helpers.survey import Equal, Sample
from .verdict import HOLDS, Verdict


def is_in_memory(sample: Sample) -> bool:
    """Whether there are elements, in memory that can be read."""
    tensor = sample.contents
    is_readable = tensor.shape is not None and device_memory.can_read(tensor.device)
    return is_readable and bool(size(tensor) and element_bytes(tensor))


def bounds(sample: Sample) -> Verdict:
    tensor = sample.contents
    if not is_in_memory(sample) or not dtypes.has_width(tensor.dtype):
        return None  # P-16 judges the dtype
    if tensor.strides is None and not tensor.strides_is_null:
        return "strides is a pointer that is not readable"
    low, high = reach(tensor)
    layout = f"shape {tensor.shape} and strides {steps(tensor)}"
    if not sample.is_readable:
        return f"{layout} span {high - low} bytes from {low:#x}, which are not readable"
    if sample.bounds is None:
        return None
    if bounds_if_outside(tensor, sample.bounds):
        return None  # a copy: P-38 compares its elements
    if reaches_beyond(tensor, sample.bounds):
        begin, end = sample.bounds
        return (
            f"{layout} span {high - low} bytes from {low:#x}; the array has {end - begin} bytes "
            f"from {begin:#x}"
        )
    return HOLDS


def reaches_beyond(tensor: abi.Contents, own: tuple[int, int] | None) -> bool:
    """Whether a tensor has elements within an array's own memory, and others outside of it."""
    low, high = reach(tensor)
    return own is not None and low < own[1] and own[0] < high and (low < own[0] or own[1] < high)


def bounds_if_outside(tensor: abi.Contents, own: tuple[int, int] | None) -> tuple[int, int] | None:
    """Returns the bounds of an array's own memory, where an export is outside of them."""
    low, high = reach(tensor)
    return own if own and (high <= own[0] or own[1] <= low) else None


# Elements ----------------------------------------------------------------------------------------


def numbers_in(sample: Sample) -> tuple[Any, ...] | None:
    """Returns the exported numbers; None where they cannot be read."""
    return None if sample.raw is None else decode(sample.raw, sample.contents.dtype)


def comparable(sample: Sample) -> list[Reading]:
    """Returns the readings of as many numbers as the export has."""
    numbers = numbers_in(sample)
    if numbers is None:
        return []
    return [reading for reading in sample.readings if len(reading.numbers) == len(numbers)]


def elements(sample: Sample) -> Verdict:
    tensor = sample.contents
    if is_in_memory(sample) and tensor.first == 0:
        return f"data is NULL, and shape {tensor.shape} has {size(tensor)} elements"
    readings = comparable(sample)
    for reading in readings:
        numbers, shape = numbers_in(sample) or (), tensor.shape or ()
        found = difference(numbers, reading, shape, sample.places, sample.equal)
        if found is not None:
            return found
    return HOLDS if readings else None


def difference(
    numbers: Sequence[Any],
    reading: Reading,
    shape: tuple[int, ...],
    places: Sequence[int] | None = None,
    equal: Equal = same,
) -> str | None:
    """Describes the first number that is not the array's own; None where all are.

    `places` are those of the numbers in row-major order; None: they are all.
    """
    unequal = [at for at, pair in enumerate(zip(numbers, reading.numbers)) if not equal(*pair)]
    if not unequal:
        return None
    at = unequal[0]
    index = index_at(shape, at if places is None else places[at])
    return (
        f"element {list(index)} is {numbers[at]!r}; it is {reading.numbers[at]!r} by "
        f"{reading.way} ({len(unequal)} of {len(numbers)} compared elements differ)"
    )


# After the array was freed -----------------------------------------------------------------------


def outlives(
    before: abi.Contents, now: abi.Contents | None, raw: bytes | None, raw_now: bytes | None
) -> Verdict:
    """X-07: judges an export, which is still in use, by what it was; None: it is not readable."""
    after = "after the array was freed"
    if now is None:
        return f"{after} the struct is no longer readable"
    for field in ("shape", "strides"):
        if getattr(now, field) != getattr(before, field):
            was, became = getattr(before, field), getattr(now, field)
            return f"{after} the {field} {was} became {became}"
    if now != before:
        return f"{after} the struct holds other fields"
    if raw != raw_now:
        what = "holds other bytes" if raw_now is not None else "is no longer readable"
        return f"{after} its memory {what}"
    return HOLDS
