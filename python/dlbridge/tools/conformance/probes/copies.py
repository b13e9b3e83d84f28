# SPDX-License-Identifier: BSD-3-Clause
"""The probes of copies: copy=True, copy=False, and what IS_COPIED promises."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ... import abi
from ..helpers.arrays import Array, Change, another_element, arrays, view_of
from ..helpers.exports import (
    NEWEST,
    Export,
    Keywords,
    accepts_keyword,
    call_text,
    content,
    device_of,
    every_request,
    export,
    has_address,
    make,
    needs_keyword,
    overlap,
    requests_of_kinds,
    size,
)
from ..helpers.readings import bounds_of
from ..helpers.survey import Refusal, judge, survey
from ..judgement import copies, memory
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

OPAQUE = "the data is a handle and no address"
LARGE = (128, 512)  # more elements than the blocks and buffers in which libraries copy


def attempt(x: Any, **keywords: Any) -> Export | None:
    """Exports; None for a refusal, which other rules judge."""
    try:
        return export(x, **keywords)
    except (Skip, Exception):
        return None


def attempt_twice(x: Any, **keywords: Any) -> tuple[Export, Export] | None:
    """Exports twice, so that both tensors exist together; None for a refusal."""
    one, other = attempt(x, **keywords), attempt(x, **keywords)
    return None if one is None or other is None else (one, other)


def different_arrays(target: Target) -> Iterator[Array]:
    """Yields one array of each kind: the exports of each are compared with one another."""
    seen = set()
    for array in arrays(target):
        item = attempt(array.x) or attempt(array.x, max_version=NEWEST)
        if item is None or not has_address(item.contents) or not size(item.contents):
            continue
        kind = (array.what.partition(" of ")[0], item.contents.dtype)
        if kind not in seen:
            seen.add(kind)
            yield array


WRITTEN = 8  # arrays that are tried, until one can be written

# copy=False --------------------------------------------------------------------------------------


@probe("P-23")
def no_copy_is_none(target: Target) -> None:
    needs_keyword(make(target), "copy")
    examined = 0
    for array in different_arrays(target):
        for kind in every_request(array.x):
            examined += _is_not_copied(array, kind)
    if not examined:
        raise Skip("copy=False is refused for every array")


def _is_not_copied(array: Array, kind: Keywords) -> bool:
    keywords = {**kind, "copy": False}
    what = f"{array.what}, {call_text(keywords)}"
    try:
        one, other = export(array.x, **keywords), export(array.x, **keywords)
    except BufferError:
        return False
    except Exception as error:
        if attempt(array.x, **kind) is None:
            return False  # it does not export this array at all
        raise Broken(f"{what} raised {name_error(error)}, and no BufferError") from None
    found = copies.uncopied(one.contents, other.contents, bounds_of(array.x))
    if found:
        raise Broken(f"{what}: {found}")
    defaults = attempt_twice(array.x, **kind)
    if defaults is None or defaults[0].contents.flags & abi.IS_COPIED:
        return True
    if are_copies(*defaults) or bounds_if_outside(array, defaults[0]) is not None:
        return True  # the default copies: P-54 judges it
    address = defaults[0].contents.first
    if address != one.contents.first:
        raise Broken(f"{what} returned memory at {one.contents.first:#x}; without copy it is "
                     f"at {address:#x}")  # fmt: skip
    return True


def are_copies(one: Export, other: Export) -> bool:
    return copies.are_copies(one.contents, other.contents)


def bounds_if_outside(array: Array, item: Export) -> tuple[int, int] | None:
    """Returns the bounds of the array's own memory, where the export is outside of them.

    None where it is inside, and where the array does not tell its bounds.
    """
    return memory.bounds_if_outside(item.contents, bounds_of(array.x))


def is_in_place(array: Array, item: Export, what: str) -> None:
    """Checks that an export is in the array's own memory, where the array tells its bounds."""
    bounds = bounds_if_outside(array, item)
    if bounds is not None:
        raise Broken(f"{array.what}, {what}: {copies.elsewhere(item.contents, bounds)}")


def misses_writes(target: Target, keywords: Keywords) -> str | None:
    """Says that an export keeps its address, and does not show what is written to the array.

    Raises Skip where no array can be written, or where it moves to other memory then, as arrays do
    that are immutable inside: for the reason of the first, as others are empty or have odd dtypes.
    """
    why: Skip | None = None
    for array in itertools.islice(arrays(target), WRITTEN):
        try:
            return _misses_a_write(array, keywords)
        except Skip as reason:
            why = why or reason
    raise why or Skip("the factory creates no array")


def _misses_a_write(array: Array, keywords: Keywords) -> str | None:
    if array.grid is None or 0 in array.grid.shape:
        raise Skip("its first element is not known")
    index = (0,) * len(array.grid.shape)
    item = attempt(array.x, **keywords)
    if item is None:
        raise Skip(f"{call_text(keywords)} is refused")
    if item.contents.flags & abi.IS_COPIED:
        raise Skip("the export is marked as a copy")
    before = content(item.contents)
    with another_element(array.x, index):
        again = attempt(array.x, **keywords)
        after = content(item.contents)
    if before is None or again is None:
        raise Skip("the host cannot read the memory")
    if again.contents.first != item.contents.first:
        raise Skip("the array moves when it is written")
    if after != before:
        return None
    return f"{call_text(keywords)}: an element that was then written to the array does not show"


@probe("P-23", twice=True)
def no_copy_shows_writes(target: Target) -> str | None:
    """A copy that is kept has one address: without bounds, only a write shows it."""
    x = make(target)
    needs_keyword(x, "copy")
    try:
        for kind in every_request(x):
            missed = misses_writes(target, {**kind, "copy": False})
            if missed is not None:
                raise Broken(f"{missed}: it is a copy")
    except Skip as why:
        if bounds_of(x) is None:
            raise
        return f"not examined by a write: {why}"
    return None


@probe("P-54")
def no_copy_by_default(target: Target) -> None:
    needs_keyword(make(target), "copy")
    examined = 0
    for array in different_arrays(target):
        for kind in every_request(array.x):
            uncopied = attempt_twice(array.x, **kind, copy=False)
            default = attempt(array.x, **kind)
            if uncopied is None or default is None:
                continue
            if are_copies(*uncopied) or bounds_if_outside(array, uncopied[0]) is not None:
                continue  # copy=False copies: P-23 judges it
            examined += 1
            first, other = uncopied[0].contents.first, default.contents.first
            if first != other:
                raise Broken(f"{array.what}: {call_text({**kind, 'copy': False})} is at {first:#x} "
                             f"and {call_text(kind)} at {other:#x}")  # fmt: skip
    if not examined:
        raise Skip("copy=False is refused, or copies, for every array")


# copy=True ---------------------------------------------------------------------------------------


@probe("P-24")
def a_copy_is_one(target: Target) -> None:
    why = "no copy is in memory that the host can read"
    judge(survey(target).copies(), copies.apart, why)


@probe("P-24", twice=True, extra=True)
def a_copy_to_a_device(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "copy")
    needs_keyword(x, "dl_device")
    examined = 0
    for kind in requests_of_kinds(x):
        own = attempt(x, **kind)
        keywords = {**kind, "dl_device": device_of(x), "copy": True}
        copied = attempt(x, **keywords)
        if own is None or copied is None:
            continue
        if not has_address(own.contents):
            raise Skip(OPAQUE)
        examined += 1
        if overlap(own.contents, copied.contents):
            raise Broken(f"{call_text(keywords)} returned the array's own memory, at "
                         f"{copied.contents.first:#x}")  # fmt: skip
        if content(own.contents) != content(copied.contents):
            raise Broken(f"{call_text(keywords)} returned a copy with other bytes than the array")
    if not examined:
        raise Skip("a copy to the array's own device is refused")


@probe("P-24", extra=True)
def a_large_copy_is_one(target: Target) -> None:
    x = make(target, shape=LARGE)
    needs_keyword(x, "copy")
    examined = 0
    views: dict[str, Change] = {"an array": lambda x: x, "x.T": lambda x: x.T}
    for name, view in views.items():
        try:
            array = view_of(x, name, view)
        except (Skip, Exception):
            continue  # the library has no such view
        for kind in requests_of_kinds(array):
            own, copied = attempt(array, **kind), attempt(array, **kind, copy=True)
            elements = None if own is None else content(own.contents)
            if copied is None or elements is None:
                continue
            examined += 1
            if elements != content(copied.contents):
                raise Broken(f"{name} of shape {LARGE}, {call_text({**kind, 'copy': True})} "
                             "returned a copy with other bytes than the array")  # fmt: skip
    if not examined:
        raise Skip("no large copy is in memory that the host can read")


@probe("P-43")
def refused_copies(target: Target) -> str:
    every = survey(target)
    x = make(target)
    needs_keyword(x, "copy")
    every.exports()
    exported = {(each.array, "max_version" in each.keywords) for each in every.exports()}
    refused = [
        each
        for each in every.refusals
        if each.keywords.get("copy") and (each.array, "max_version" in each.keywords) in exported
    ]
    refused += _refused_copies_to_a_device(x)
    for each in refused:
        if not isinstance(each.error, BufferError):
            raise Broken(f"{each} raised {name_error(each.error)}")
    if not refused:
        raise Skip("no request of a copy is refused")
    return f"refused: {refused[0]}"


def _refused_copies_to_a_device(x: Any) -> Iterator[Refusal]:
    """Yields the refused copies to the array's own device, where it is accepted without copy."""
    if not accepts_keyword(x, "dl_device"):
        return
    for kind in requests_of_kinds(x):
        keywords = {**kind, "dl_device": device_of(x)}
        if attempt(x, **keywords) is None:
            continue
        try:
            export(x, **keywords, copy=True)
        except Skip:  # P-03 and P-04 judge what it returned
            continue
        except Exception as error:
            yield Refusal(-1, "an array", {**keywords, "copy": True}, error.with_traceback(None))


@probe("P-25", twice=True)
def copy_of_another_type(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "copy")
    others: tuple[Any, ...] = ("never", [], 2.5)
    for value in others:
        for kind in requests_of_kinds(x):
            keywords = {**kind, "copy": value}
            if attempt(x, **keywords) is not None:
                raise Broken(f"{call_text(keywords)} was accepted")


@probe("P-44")
def copies_are_apart(target: Target) -> None:
    needs_keyword(make(target), "copy")
    examined = 0
    for array in different_arrays(target):
        own = attempt(array.x) or attempt(array.x, max_version=NEWEST)
        requests = [{**kind, "copy": True} for kind in requests_of_kinds(array.x)]
        exported = [
            (request, item)
            for request in (*requests, *requests)
            if (item := attempt(array.x, **request)) is not None
            and (own is None or not overlap(own.contents, item.contents))  # P-24 reports those
        ]
        for i, (request, item) in enumerate(exported):
            for _, other in exported[:i]:
                examined += 1
                found = copies.share(item.contents, other.contents)
                if found:
                    raise Broken(f"{array.what}, {call_text(request)}: {found}")
    if not examined:
        raise Skip("no copy is exported that is one")
