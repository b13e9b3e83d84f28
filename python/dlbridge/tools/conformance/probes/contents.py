# SPDX-License-Identifier: BSD-3-Clause
"""The probes of elements: the memory that a tensor describes, and the numbers in it."""

from __future__ import annotations

from ..helpers import device_memory
from ..helpers.arrays import Array, large_arrays
from ..helpers.exports import (
    MOST_ELEMENTS,
    call_text,
    content,
    every_request,
    export,
    size,
    steps,
)
from ..helpers.readings import Reading, decode, shape_of
from ..helpers.survey import Sample, judge, readings, survey
from ..judgement import memory
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target


@probe("P-13")
def within_its_memory(target: Target) -> str:
    exports = survey(target).exports()
    judged = judge(
        exports,
        memory.bounds,
        "the bounds of the array's memory are not known: it has neither a buffer nor an array "
        "interface; P-38 compares the elements",
    )
    unbounded = {each.array for each in exports if memory.is_in_memory(each) and not each.bounds}
    rest = f"; of {len(unbounded)} arrays the bounds are not known" if unbounded else ""
    return f"{judged} exports compared{rest}"


@probe("P-38")
def elements_of_the_array(target: Target) -> str:
    exports = survey(target).exports()
    judged = judge(
        exports,
        memory.elements,
        "the elements are not readable, or there is nothing to compare them with: the array has "
        "neither tolist(), nor a buffer, nor __array_interface__, nor items",
    )
    ways = dict.fromkeys(each.way for sample in exports for each in memory.comparable(sample))
    return f"{judged} of {len(exports)} exports compared with {', '.join(ways)}"


@probe("P-38", extra=True)
def equal_elements_of_exports(target: Target) -> str:
    """Where nothing else tells the elements, at least all exports of an array must agree."""
    first: dict[int, Sample] = {}
    pairs = 0
    for sample in survey(target).exports():
        if sample.raw is None:
            continue
        other = first.setdefault(sample.array, sample)
        if other is sample or other.contents.dtype != sample.contents.dtype:
            continue
        pairs += 1
        if other.raw != sample.raw:
            raise Broken(f"{sample}: the elements are {_first_bytes(sample.raw)}, and "
                         f"those of {other} {_first_bytes(other.raw or b'')}")  # fmt: skip
    if not pairs:
        raise Skip("the host cannot read the elements of two exports of one array")
    return ""


@probe("P-38", extra=True)
def elements_of_a_large_array(target: Target) -> str:
    """A producer may compute large extents in other code, and in fewer bits."""
    compared = sum(_are_its_elements(array) for array in large_arrays(target))
    if not compared:
        raise Skip("there is no large array whose elements can be read and compared")
    return ""


def _are_its_elements(array: Array) -> bool:
    """Whether the elements can be compared. Raises Broken where they are not those of the array."""
    expected: tuple[Reading, ...] | None = None
    right: tuple[bytes, object] | None = None  # the elements of an export, and their dtype
    for keywords in every_request(array.x):
        try:
            item = export(array.x, **keywords)
        except (Skip, Exception):  # other rules judge refusals
            continue
        tensor, what = item.contents, f"{array.what}, {call_text(keywords)}"
        if not device_memory.can_read(tensor.device):
            return False
        raw = content(tensor)
        if raw is None and not 0 < size(tensor) <= MOST_ELEMENTS:
            continue  # P-11 judges the shape
        if raw is None:
            raise Broken(f"{what}: shape {tensor.shape} and strides {steps(tensor)} address memory "
                         "that is not readable")  # fmt: skip
        if right == (raw, tensor.dtype):
            continue
        if expected is None:
            shape = shape_of(array.x) or (None if array.grid is None else array.grid.shape)
            expected = () if shape is None else tuple(readings(array, tensor, shape))
        numbers = decode(raw, tensor.dtype)
        for reading in expected if numbers is not None else ():
            if len(reading.numbers) != len(numbers or ()):
                continue  # P-11 judges the shape
            right = raw, tensor.dtype
            found = memory.difference(numbers or (), reading, tensor.shape or ())
            if found is not None:
                raise Broken(f"{what}: {found}")
    return right is not None


def _first_bytes(raw: bytes) -> str:
    return raw[:16].hex(" ") + (" ..." if len(raw) > 16 else "")
