# SPDX-License-Identifier: BSD-3-Clause
"""Compares the elements that the protocols give with those that the object itself gives."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ... import dtypes
from ...elements import row_major, same
from ...output import plural
from . import own
from .description import Description
from .elements import (
    Elements,
    chosen,
    first_difference,
    is_decodable,
    read,
)
from .protocols import (
    COPIES,
    DLPACK,
    TITLES,
    Raised,
    Response,
    guarded,
)
from .signs import MASKED, Comparison, Sign
from .subject import Subject

FARTHEST = 64  # elements by which a data pointer is tried elsewhere
FEWEST = 3  # different values without which an explanation could be chance
# The other descriptions of memory, which are the truth where the object has no method of its own.
INDEPENDENT = ("buffer", "array")


def compare(
    x: Any, subject: Subject, responses: Sequence[Response]
) -> tuple[Comparison, list[Sign]]:
    """Compares the elements of every response; see own.py for what they are compared with."""
    described = {each.name: each.description for each in responses if each.description is not None}
    exports = [described[name] for name in DLPACK if name in described]
    if not exports:
        return Comparison(), []
    reason = _reason_against(exports[0], subject)
    if reason:
        return Comparison(reason=reason), []
    shape = exports[0].shape
    assert shape is not None
    truth, reason = own.read(x, shape)
    signs = [Sign("masked")] if reason == MASKED else []
    if truth is None:
        truth = _of_memory(described, shape)
    if truth is None:
        return Comparison(reason=reason), signs
    if truth.shape is not None and truth.shape != shape and 0 not in truth.shape:
        return Comparison(reason=f"{truth.method} has another shape"), _other_shape(
            truth, shape, subject
        )
    compared = {
        name: description
        for name, description in described.items()
        if description.elements and description.shape == shape and TITLES[name] != truth.method
    }
    signs += _differences(truth, compared, described)
    signs += _conversion(x, exports[0])
    return Comparison(truth.method, len(truth.elements), tuple(compared)), signs


def _reason_against(x: Description, subject: Subject) -> str:
    if not x.is_host:
        return f"the memory is on {x.device_text}"
    if x.layout is None or x.dtype is None:
        return "the shape and strides of its export are not valid"
    if x.layout.size == 0:
        return "it has no elements"
    if x.readable is False or not x.first:
        return "the memory is not readable"
    if not is_decodable(x.dtype) or not x.elements:
        return f"Python's struct module cannot read {x.dtype_text}"
    if {"negated", "conjugated"} & set(subject.marks):
        return "PyTorch computes the values lazily"
    return ""


def _of_memory(described: dict[str, Description], shape: tuple[int, ...]) -> own.Own | None:
    for name in INDEPENDENT:
        description = described.get(name)
        if description is not None and description.elements and description.shape == shape:
            return own.Own(TITLES[name], shape, description.elements)
    return None


def _other_shape(truth: own.Own, shape: tuple[int, ...], subject: Subject) -> list[Sign]:
    if subject.own_shape is not None and subject.own_shape != shape:
        return []  # a check of the conclusions says so
    words = {
        "method": truth.method,
        "own": str(list(truth.shape or ())),
        "export": str(list(shape)),
    }
    return [Sign("shape of the object", (), words)]


def _differences(
    truth: own.Own, compared: dict[str, Description], described: dict[str, Description]
) -> Iterator[Sign]:
    """Yields one sign for all protocols that give the same other elements."""
    groups: dict[tuple[int, str], list[str]] = {}
    for name, description in compared.items():
        difference = _difference(description, description.elements, truth.elements)
        if difference is not None:
            key = (difference[0], repr(description.elements))
            groups.setdefault(key, []).append(name)
    for (position, _), names in groups.items():
        description = compared[names[0]]
        assert description.shape is not None
        first = _difference(description, description.elements, truth.elements)
        assert first is not None
        explained = next((name for name in names if name not in COPIES), None)
        got, expected = _texts(description.elements[position], truth.elements[position])
        words = {
            "index": str(list(chosen(description.shape)[position])),
            "got": got,
            "expected": expected,
            "truth": truth.method,
            "unequal": str(first[1]),
            "count": str(len(truth.elements)),
            "repair": "" if explained is None else explain(described[explained], truth.elements),
        }
        kind = "values" if set(names) & set(DLPACK) else "values of the interface"
        yield Sign(kind, tuple(names), words)


def _conversion(x: Any, export: Description) -> Iterator[Sign]:
    """Compares the result of __array__(), which numpy.asarray calls, with an export."""
    if not hasattr(type(x), "__array__") or export.layout is None or export.dtype is None:
        return
    if export.layout.size > own.MOST_CONVERTED:
        return
    try:
        array = guarded(lambda: x.__array__())
        dtype, shape = str(array.dtype), tuple(array.shape)
        numbers = guarded(lambda: own.numbers_of(array, shape))
    except (Raised, AttributeError, TypeError):  # it is refused, or its elements are no numbers
        return
    name = dtypes.name(export.dtype)
    if shape != export.shape:
        yield Sign("conversion", (), {"got": f"shape {shape}", "export": str(export.shape)})
    elif dtype != name and export.dtype != (dtypes.UINT, 8, 1):  # as which bool is exported
        yield Sign("conversion", (), {"got": dtype, "export": name})
    elif dtype == name and (found := first_difference(export.elements, numbers)) is not None:
        index = list(chosen(shape)[found[0]])
        got, expected = _texts(numbers[found[0]], export.elements[found[0]])
        words = {"got": f"{got} at {index}", "export": expected}
        yield Sign("conversion", (), words)


def _difference(x: Description, read: Elements, listed: Elements) -> tuple[int, int] | None:
    """As first_difference(). A list may be rounded to 32 bits, and more precise than such a float.

    Other numbers are the same only with the same bits: a zero has a sign.
    """
    is_single = x.dtype in (dtypes.ENCODABLE["float32"][0], dtypes.ENCODABLE["complex64"][0])

    def equal(one: Any, other: Any) -> bool:
        return (
            same(one, other)
            or same(_rounded(one), other)
            or (is_single and same(one, _rounded(other)))
        )

    return first_difference(read, listed, equal)


def _rounded(x: Any) -> Any:
    """Returns a number as a float of 32 bits holds it."""
    if isinstance(x, complex):
        return complex(_rounded(x.real), _rounded(x.imag))
    try:
        return struct.unpack("f", struct.pack("f", x))[0] if isinstance(x, float) else x
    except OverflowError:
        return math.copysign(math.inf, x)


def _texts(*numbers: Any) -> list[str]:
    """Returns two different numbers as texts that differ."""
    short = [f"{x:.9g}" if isinstance(x, float) else str(x) for x in numbers]
    return short if len(set(short)) > 1 else list(map(repr, numbers))


# Explanations -----------------------------------------------------------------------------------


def explain(x: Description, expected: Elements) -> str:
    """Returns which repair of the description would give the expected elements; "" for none.

    Reads the memory again, so the source must be alive.
    """
    if len({repr(value) for value in expected}) < FEWEST:
        return ""
    for description, repair in _variants(x):
        elements = read(description)
        if elements is not None and _difference(description, elements, expected) is None:
            return repair
    return ""


def _variants(x: Description) -> Iterator[tuple[Description, str]]:
    size, layout = x.element_bytes, x.layout
    if layout is None or x.dtype is None or x.shape is None:
        return
    yield from _other_strides(x, layout.strides)
    if x.byte_offset:
        yield (
            replace(x, byte_offset=0),
            f"data already includes the byte_offset of {x.byte_offset}, which consumers add again",
        )
    for distance in sorted(range(-FARTHEST, FARTHEST + 1), key=abs):
        if distance:
            way = "further on" if distance > 0 else "before"
            yield (
                replace(x, data=x.data + distance * size),
                f"the first element is {plural(abs(distance), 'element')} "
                f"({plural(abs(distance) * size, 'byte')}) {way}: correct data or byte_offset",
            )
    for dtype, _ in dtypes.ENCODABLE.values():
        if dtype != x.dtype:
            yield (
                replace(x, dtype=dtype, byte_strides=None),
                f"the elements are {dtypes.name(dtype)} {dtype}: export that dtype",
            )


def _other_strides(x: Description, strides: tuple[int, ...]) -> Iterator[tuple[Description, str]]:
    assert x.shape is not None
    size = x.element_bytes

    def with_strides(other: tuple[int, ...]) -> Description:
        return replace(x, strides=other, byte_strides=None, strides_is_null=False)

    if size > 1 and all(step % size == 0 for step in strides):
        fewer = tuple(step // size for step in strides)
        yield with_strides(fewer), "the strides count bytes; DLPack counts elements"
    yield with_strides(strides[::-1]), f"the strides are {list(strides[::-1])}, in the other order"
    compact = row_major(x.shape)
    yield with_strides(compact), f"the memory is row-major: export the strides {list(compact)}"
    reverse = row_major(x.shape[::-1])[::-1]
    yield with_strides(reverse), f"the memory is column-major: export the strides {list(reverse)}"
    if len(x.shape) == 1:
        for step in (*range(2, 17), -1, -2):
            yield with_strides((step,)), f"it is a view: export the stride {step}"
