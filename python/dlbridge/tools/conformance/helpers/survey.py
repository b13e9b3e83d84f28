# SPDX-License-Identifier: BSD-3-Clause
"""Exports many arrays in every way, and keeps what was seen for the rules that judge it.

The survey runs once in a process. Each array is exported as soon as it exists, and again after all
others, so that what one export leaves behind shows in another.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Callable

from ... import abi
from ...elements import same
from ...marks import is_read_only, protecting, read_only_marks
from .. import journal
from ..outcomes import Broken, Skip
from ..target import Target
from . import device_memory
from .arrays import DTYPES, Array, arrays
from .exports import (
    Export,
    Keywords,
    accepts_keyword,
    best,
    call_text,
    content,
    device_of,
    element_bytes,
    export,
    overlap,
    reach,
    read,
    requests_of_kinds,
    requests_to_its_device,
)
from .readings import (
    Reading,
    bounds_of,
    dtype_of,
    reading_of,
    shape_of,
    without_dlpack,
)

Equal = Callable[[Any, Any], bool]
AGAIN = ", exported again"


@dataclass(frozen=True)
class Sample:
    """One export, and what is known of its array from elsewhere."""

    array: int  # its number in the survey; several arrays may have the same text
    what: str  # the text of the array
    keywords: Keywords
    contents: abi.Contents
    # Of the memory during the export: it may be unmapped when a rule judges the sample.
    raw: bytes | None  # the elements in row-major order; None: unreadable, or too many
    is_readable: bool  # whether the host can read all elements
    device: tuple[int, int] | None  # of __dlpack_device__()
    dtype: str | None  # that the factory was asked for
    own_dtype: str | None  # the text of the array's attribute `dtype`
    shape: tuple[int, ...] | None  # of the array
    readings: tuple[Reading, ...]
    bounds: tuple[int, int] | None  # of the memory that the array has
    readonly: bool | None  # whether the array must not be written; None: it is not known
    is_again: bool  # the second export of this array
    protected_by: str = ""  # the roads that say so, as far as the array tells it itself
    # For an export with copy=True: whether it shares memory with one without, alive meanwhile.
    shares: bool = False
    uncopied: bytes | None = None  # the elements of that one
    # For a legacy export, which has no flag for it: whether another one, alive meanwhile, is
    # elsewhere. False for arrays that may be written.
    is_silent_copy: bool = False
    # The numbers, in row-major order, of the elements in `raw` and in readings; None: of all.
    places: tuple[int, ...] | None = None
    equal: Equal = same  # of an exported number, and of the array's own

    @property
    def is_copy(self) -> bool:
        return self.keywords.get("copy") is True

    def __str__(self) -> str:
        return f"{self.what}{AGAIN if self.is_again else ''}, {call_text(self.keywords)}"


@dataclass(frozen=True)
class Refusal:
    """A request that raised."""

    array: int  # its number in the survey
    what: str
    keywords: Keywords
    error: Exception

    def __str__(self) -> str:
        return f"{self.what}, {call_text(self.keywords)}"


@dataclass(frozen=True)
class Survey:
    samples: tuple[Sample, ...]
    refusals: tuple[Refusal, ...]

    def exports(self) -> list[Sample]:
        """Returns the exports without copy=True. Raises Skip where there are none."""
        result = [sample for sample in self.samples if not sample.is_copy]
        if not result:
            why = f": {self.refusals[0]} raised" if self.refusals else ""
            raise Skip(f"the producer returns no capsule that can be read{why}")
        return result

    def every(self) -> tuple[Sample, ...]:
        """Returns all exports. Raises Skip where there are none without copy=True."""
        self.exports()
        return self.samples

    def versioned(self) -> list[Sample]:
        """Returns all versioned exports. Raises Skip where there are none."""
        result = [each for each in self.samples if each.contents.version is not None]
        if not result:
            self.exports()
            raise Skip("the producer returns legacy capsules only, which have neither version "
                       "nor flags")  # fmt: skip
        return result

    def copies(self) -> list[Sample]:
        """Returns the exports with copy=True. Raises Skip where there are none."""
        result = [sample for sample in self.samples if sample.is_copy]
        if not result:
            self.exports()
            refused = [each for each in self.refusals if each.keywords.get("copy")]
            why = "every request of a copy is refused" if refused else "it has no keyword copy"
            raise Skip(why)
        return result


@functools.lru_cache(maxsize=1)
def survey(target: Target) -> Survey:
    """Exports every array of the target. Raises Skip where it has nothing with __dlpack__."""
    samples: list[Sample] = []
    refusals: list[Refusal] = []
    kept = []
    for number, array in enumerate(arrays(target)):
        kept.append(array)
        _export(target, number, array, False, samples, refusals)
    for number, array in enumerate(kept):
        journal.subject = array.name
        _export(target, number, array, True, samples, refusals)
    journal.subject = ""
    return Survey(tuple(samples), tuple(refusals))


def _export(
    target: Target,
    number: int,
    array: Array,
    is_again: bool,
    samples: list[Sample],
    refusals: list[Refusal],
) -> None:
    facts: dict[str, Any] | None = None
    copies = accepts_keyword(array.x, "copy")
    kinds = requests_of_kinds(array.x)
    # The first time also with its own device, where a producer may run other code.
    to_device = [] if is_again else requests_to_its_device(array.x)
    for kind in (*kinds, *to_device):
        refused = refusals if kind in kinds else []  # P-26 and P-43 judge the others
        item = _attempt(number, array, kind, refused)
        if item is None:
            continue
        if facts is None:  # not before the first export: a reading may change the array's state
            facts = _facts(target, array, item.contents)
        silent = facts["readonly"] is not False and _is_silent_copy(array, kind, item)
        samples.append(_sample(number, array, kind, item, facts, is_again, is_silent_copy=silent))
        request = {**kind, "copy": True}
        copied = _attempt(number, array, request, refused) if copies else None
        if copied is not None:
            shares = overlap(item.contents, copied.contents)
            more = {"shares": shares, "uncopied": samples[-1].raw}
            samples.append(_sample(number, array, request, copied, facts, is_again, **more))
        if not copies or not array.readonly or is_again:
            continue
        request = {**kind, "copy": False}
        uncopied = _attempt(number, array, request, [])  # P-23 judges refusals
        if uncopied is not None:
            samples.append(_sample(number, array, request, uncopied, facts, is_again))


def _is_silent_copy(array: Array, kind: Keywords, item: Export) -> bool:
    """Whether a legacy export is a copy: another one is at another address."""
    if item.contents.version is not None:
        return False
    other = _attempt(-1, array, kind, [])
    return other is not None and other.contents.first != item.contents.first


def _attempt(
    number: int, array: Array, keywords: Keywords, refusals: list[Refusal]
) -> Export | None:
    try:
        return export(array.x, **keywords)
    except Skip:  # no capsule, or an unreadable one
        return None
    except Exception as error:
        refusals.append(Refusal(number, array.what, keywords, error.with_traceback(None)))
        return None


def _sample(
    number: int,
    array: Array,
    keywords: Keywords,
    item: Export,
    facts: dict[str, Any],
    is_again: bool,
    **more: Any,
) -> Sample:
    contents = item.contents
    raw = content(contents)
    return Sample(
        array=number,
        what=array.what,
        keywords=keywords,
        contents=contents,
        raw=raw,
        is_readable=raw is not None or _is_readable(contents),
        dtype=array.dtype,
        is_again=is_again,
        **facts,
        **more,
    )


def _is_readable(contents: abi.Contents) -> bool:
    """Whether the host can read the memory that the elements span."""
    if contents.shape is None or (contents.strides is None and not contents.strides_is_null):
        return False
    return read(*reach(contents), contents.device) is not None


def _facts(target: Target, array: Array, contents: abi.Contents) -> dict[str, Any]:
    """Returns what the array tells of itself."""
    x, grid = array.x, array.grid
    shape = shape_of(x)
    if shape is None and grid is not None and 0 not in grid.shape:
        shape = grid.shape  # of an empty array that states none, the library chooses the extents
    has_bounds = device_memory.can_read(contents.device)
    try:
        device = device_of(x)
    except Skip:
        device = None
    return {
        "device": device,
        "own_dtype": dtype_of(x),
        "shape": shape,
        "readings": tuple(readings(array, contents, shape)) if shape is not None else (),
        "bounds": memory_bounds(target, array, contents) if has_bounds else None,
        "readonly": _must_not_be_written(array, contents),
        "protected_by": protecting(read_only_marks(x)),
    }


def memory_bounds(target: Target, array: Array, contents: abi.Contents) -> tuple[int, int] | None:
    """Returns the bounds of an array's memory: of its own, or of its base's for a view."""
    own = bounds_of(array.x)
    if own is not None:
        return own
    if array.base is not None:
        try:  # while the view is exported as well, so that equal addresses are the same memory
            one, other = best(array.base), best(array.base)
        except (Skip, Exception):
            return None
        # The memory of a copy belongs to another export as soon as the copy is freed.
        is_copy = one.contents.flags & abi.IS_COPIED or one.contents.first != other.contents.first
        return None if is_copy else reach(one.contents)
    if target.library is None or target.library.address is None or array.grid is None:
        return None
    address = target.library.address
    try:
        first = operator.index(without_dlpack(lambda: address(target.module, array.x)))
    except Exception:
        return None
    return first, first + math.prod(array.grid.shape) * element_bytes(contents)


def readings(array: Array, contents: abi.Contents, shape: tuple[int, ...]) -> Iterator[Reading]:
    """Yields the array's own reading, or else that of the numbers that it was created from.

    A view's numbers follow from its base's only if the library means the same by the view, so its
    own reading takes precedence.
    """
    own = reading_of(array.x, shape, contents.dtype[0])
    if own is not None:
        yield own
    if array.grid is None or array.grid.shape != shape or (own and array.base is not None):
        return
    numbers = array.grid.flat()
    narrowed = array.dtype is not None and contents.dtype != DTYPES.get(array.dtype)
    if numbers is not None and not narrowed:
        yield Reading("the numbers that it was created from", tuple(numbers))


def _must_not_be_written(array: Array, contents: abi.Contents) -> bool | None:
    own = is_read_only(array.x)
    if own or not array.readonly:
        return own
    if array.base is None:
        return True if own is None else own
    if is_read_only(array.base) is False:
        return own
    try:  # a view of read-only memory, also where it tells that it may be written; or a copy
        base = best(array.base).contents
    except (Skip, Exception):
        return None
    return True if overlap(base, contents) else own


# Judging samples ---------------------------------------------------------------------------------


def judge(samples: Iterable[Sample], rule: Callable[[Sample], str | None], why: str) -> int:
    """Judges each sample by a function of judgement/, and returns how many it could judge.

    Raises Broken for the first that breaks the rule, and Skip with the reason where none can be
    judged.
    """
    judged = 0
    for sample in samples:
        found = rule(sample)
        if found:
            raise Broken(f"{sample}: {found}")
        judged += found is not None
    if judged == 0:
        raise Skip(why)
    return judged
