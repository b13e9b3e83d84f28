# SPDX-License-Identifier: BSD-3-Clause
"""Judges the exports of one object by the rules by which conformance judges those of many."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ... import dtypes
from ...conformance.helpers.exports import size
from ...conformance.helpers.readings import (
    MASKED,
    MOST_CONVERTED,
    MOST_LISTED,
    Reading,
    bounds_of,
    dtype_of,
    shape_of,
    try_ways,
)
from ...conformance.helpers.survey import Sample
from ...conformance.judgement import OF_EXPORT, calls, fields, memory, protocols
from ...elements import index_at, same
from ...elements import shape_of as shape_of_list
from ...marks import protecting
from .description import Description
from .elements import chosen, is_decodable
from .explanations import equality_of, explain
from .exports import KEYWORDS
from .protocols import COPIES, DLPACK, TITLES, Raised, Response, guarded, quietly
from .signs import Comparison, Sign, signs_of
from .subject import ROADS, Subject

NEED_LAYOUT = {"P-13", "P-14", "P-24", "P-38", "P-40"}
UNCOPIED = {"copy": "bare", "1.0 copy": "1.0"}  # the request without copy=True
# A view, as which one object may have come, has the strides of its base. The others are cases of
# cases/, which hold of a tensor by any protocol.
LEFT_OUT = {"P-15", "P-12", "P-14", "P-41", "S-06"}


@dataclass
class Together:
    """What exports show that are alive at the same time."""

    signs: list[Sign] = field(default_factory=list)
    shared: bool = False  # whether two capsules have the same managed tensor
    # By protocol: whether a copy shares memory with the object, or a legacy export is a copy.
    sharing_copies: set[str] = field(default_factory=set)
    silent_copies: set[str] = field(default_factory=set)


def judge(
    x: Any, about: Subject, responses: Sequence[Response], together: Together
) -> tuple[Comparison, list[Sign]]:
    """Compares every response with what the object tells of itself, and judges it."""
    described = {each.name: each.description for each in responses if each.description is not None}
    exports = {name: it for name, it in described.items() if name in DLPACK and it.contents}
    if not exports:
        return Comparison(), []
    reading, reason = _reading(x, about, described)
    signs = [Sign("masked")] if reason == MASKED else []
    facts = _facts(x, about, responses, described)
    for name, export in exports.items():
        sample = _sample(name, export, exports, reading, together, facts)
        sample = replace(sample, **_access(export, about, described))
        for rule, judge_export in OF_EXPORT.items():
            text = judge_export(sample) if _applies(rule, name, export) else None
            if text:
                repair = explain(export, reading.numbers) if rule == "P-38" and reading else ""
                signs.append(Sign(rule, (name,), {"text": text, "repair": repair}))
    signs += _versions(exports)
    signs += _disagreements(exports)
    signs += _interfaces(described, exports, reading)
    if reading is None:
        return Comparison(reason=reason), signs
    compared = [
        name
        for name, it in described.items()
        if it.raw and len(it.numbers) == len(reading.numbers) and TITLES[name] != reading.way
    ]
    return Comparison(reading.way, len(reading.numbers), tuple(compared)), signs


def _applies(rule: str, name: str, export: Description) -> bool:
    if rule in LEFT_OUT or (rule in NEED_LAYOUT and export.layout is None):
        return False
    return rule != "P-38" or name not in COPIES  # P-24 judges them


def _sample(
    name: str,
    export: Description,
    exports: Mapping[str, Description],
    reading: Reading | None,
    together: Together,
    facts: Mapping[str, Any],
) -> Sample:
    assert export.contents is not None and export.dtype is not None
    uncopied = exports.get(UNCOPIED.get(name, ""))
    return Sample(
        array=0,
        what="",
        keywords=KEYWORDS.get(name, {"max_version": (1, 0)}),  # the table has versioned tensors
        contents=export.contents,
        raw=export.raw,
        places=chosen(export.shape or ()) if export.raw else None,
        equal=equality_of(export.dtype),
        is_readable=export.readable is not False,
        readings=(reading,) if reading is not None else (),
        readonly=None,
        is_again=False,
        shares=name in together.sharing_copies,
        uncopied=uncopied.raw if uncopied is not None else None,
        is_silent_copy=name in together.silent_copies,
        **facts,
    )


# What the object tells of itself -----------------------------------------------------------------


def _reading(
    x: Any, about: Subject, described: Mapping[str, Description]
) -> tuple[Reading | None, str]:
    """Returns the object's own numbers, or why there are none to compare with."""
    first = next(it for name, it in described.items() if name in DLPACK)
    reason = _reason_against(first, about)
    if reason:
        return None, reason
    assert first.shape is not None and first.dtype is not None
    shape, code, places = first.shape, first.dtype[0], chosen(first.shape)
    try:
        reading: tuple[Reading | None, str] = guarded(lambda: try_ways(x, shape, code, places))
        return reading
    except Raised as error:
        return None, f"the object's own methods raise {error}"


def _reason_against(x: Description, about: Subject) -> str:
    if not x.is_host:
        return f"the memory is on {x.device_text}"
    if x.layout is None or x.dtype is None:
        return "the shape and strides of its export are not valid"
    if x.layout.size == 0:
        return "it has no elements"
    if x.readable is False or not x.first:
        return "the memory is not readable"
    if not is_decodable(x.dtype) or not x.raw:
        return f"Python's struct module cannot read {x.dtype_text}"
    if {"negated", "conjugated"} & set(about.marks):
        return "PyTorch computes the values lazily"
    return ""


def _facts(
    x: Any,
    about: Subject,
    responses: Sequence[Response],
    described: Mapping[str, Description],
) -> dict[str, Any]:
    device = next((each.device for each in responses if each.name == "device"), None)
    own_dtype = quietly(lambda: dtype_of(x))
    return {
        "device": device if device is not None and device[1] is not None else None,
        "dtype": _dtype_name(about.own_dtype),
        "own_dtype": None if own_dtype is None else str(own_dtype),
        "shape": _shape(x, described),
        "bounds": quietly(lambda: bounds_of(x)),
    }


# numpy's str(dtype), torch.float32, <dtype: 'float32'>, <class 'numpy.float32'>
OWN_DTYPE = re.compile(r"^(?:<(?:dtype: |class )')?(?:\w+\.)*(\w+?)(?:'>)?$")


def _dtype_name(own: str) -> str | None:
    """The dtype that the object's attribute names, None where the name is not one of DLPack's."""
    match = OWN_DTYPE.match(own)
    name = match.group(1).rstrip("_") if match else ""
    return name if name in fields.NAMED else None


def _shape(x: Any, described: Mapping[str, Description]) -> tuple[int, ...] | None:
    """Returns the shape of the object, or of its list."""
    first = next(it for name, it in described.items() if name in DLPACK)
    own: tuple[int, ...] | None = quietly(lambda: shape_of(x))
    exported = first.shape or ()
    if own is None and first.raw and math.prod(exported) <= MOST_LISTED:
        listed = quietly(lambda: shape_of_list(x.tolist()))
        own = listed if listed and 0 not in listed else None  # lists lose what follows a 0
    if own and len(own) < len(exported) and own == exported[: len(own)]:
        return None  # vectors as elements are further dimensions of the tensor
    return own


def _access(
    export: Description, about: Subject, described: Mapping[str, Description]
) -> dict[str, Any]:
    """Returns whether the memory of an export must not be written, by what every road says."""
    marks = {
        road: mark
        for road, mark in about.own_marks.items()
        if road not in ROADS or meet(export, described.get(ROADS[road]))
    }
    if marks:
        return {"readonly": any(marks.values()), "protected_by": protecting(marks)}
    flagged = any(
        it.read_only and it.first == export.first  # others are copies
        for name, it in described.items()
        if name in DLPACK and name not in COPIES
    )
    return {"readonly": True if flagged else None}


def meet(one: Description, other: Description | None) -> bool:
    """Whether two tensors share memory."""
    if other is None or one.memory is None or other.memory is None:
        return False
    return one.memory[0] < other.memory[1] and other.memory[0] < one.memory[1]


# What several protocols say ----------------------------------------------------------------------


def _versions(exports: Mapping[str, Description]) -> list[Sign]:
    signs: list[Sign] = []
    for name in ("1.0", "1.3", "give", "capsule"):
        description = exports.get(name)
        if description is not None and description.version is not None:
            signs += signs_of("P-06", calls.version(description.version, (1, 0)), name)
    return signs


def _disagreements(exports: Mapping[str, Description]) -> list[Sign]:
    """Compares each export with the first one; others than requested copies."""
    shared = [it for it in exports.items() if it[0] not in COPIES]
    for name, other in shared[1:]:
        first_name, first = shared[0]
        assert first.contents is not None and other.contents is not None
        if first.first == other.first:
            how = protocols.difference(first.contents, other.contents)
        else:  # a copy, of which P-38 judges the elements
            how = protocols.other_elements(first.contents, other.contents, None, None)
        if how is not None:
            return signs_of("S-08", f"by {TITLES[first_name]} and by {TITLES[name]} the {how}")
    return []


def _interfaces(
    described: Mapping[str, Description],
    exports: Mapping[str, Description],
    reading: Reading | None,
) -> list[Sign]:
    """Judges the elements of the other protocols."""
    signs: list[Sign] = []
    for name, description in described.items():
        if reading is None or name in exports or not description.numbers:
            continue
        if len(description.numbers) != len(reading.numbers) or description.dtype is None:
            continue
        shape = description.shape or ()
        text = memory.difference(
            description.numbers, reading, shape, chosen(shape), equality_of(description.dtype)
        )
        signs += signs_of("S-04", text, name)
    return signs


def conversion(x: Any, export: Description | None) -> list[Sign]:
    """Compares the result of __array__(), which numpy.asarray calls, with an export."""
    if export is None or not export.raw or export.contents is None or export.dtype is None:
        return []
    if size(export.contents) > MOST_CONVERTED:
        return []
    if not quietly(lambda: hasattr(type(x), "__array__")):
        return []
    shape, code = export.shape or (), export.dtype[0]
    try:
        array = guarded(lambda: x.__array__())
        dtype, its_shape = str(array.dtype), tuple(array.shape)
    except (Raised, AttributeError, TypeError):  # it is refused
        return []
    name = dtypes.name(export.dtype)
    if its_shape != shape:
        words = {"got": f"shape {its_shape}", "export": str(shape)}
    elif dtype != name and export.dtype != (dtypes.UINT, 8, 1):  # as which bool is exported
        words = {"got": dtype, "export": name}
    else:
        reading = quietly(lambda: try_ways(array, shape, code, chosen(shape)))
        if dtype != name or not reading or reading[0] is None or not export.numbers:
            return []
        pairs = list(zip(chosen(shape), reading[0].numbers, export.numbers))
        other = next((each for each in pairs if not same(*each[1:])), None)
        if other is None:
            return []
        got = f"{other[1]!r} at {list(index_at(shape, other[0]))}"
        words = {"got": got, "export": f"{other[2]!r}"}
    return [Sign("conversion", (), words)]
