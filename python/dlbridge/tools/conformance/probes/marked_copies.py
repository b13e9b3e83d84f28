# SPDX-License-Identifier: BSD-3-Clause
"""The probes of marked copies: what is flagged IS_COPIED, and what is not."""

from __future__ import annotations

import itertools

from ... import abi
from ..helpers.arrays import Array
from ..helpers.exports import (
    NEWEST,
    Keywords,
    accepts_keyword,
    call_text,
    device_of,
    every_request,
    has_address,
    make,
    needs_keyword,
    overlap,
    versioned,
)
from ..helpers.survey import judge, survey
from ..judgement import copies
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target
from .copies import (
    OPAQUE,
    attempt,
    different_arrays,
    is_in_place,
    misses_writes,
)


@probe("P-39")
def copies_are_marked(target: Target) -> None:
    why = "no copy is exported in a versioned capsule"
    judge(survey(target).copies(), copies.marked, why)


@probe("P-39", twice=True, extra=True)
def copies_to_a_device_are_marked(target: Target) -> None:
    x = make(target)
    needs_keyword(x, "copy")
    needs_keyword(x, "dl_device")
    own = versioned(x)
    keywords = {"max_version": NEWEST, "dl_device": device_of(x), "copy": True}
    copied = attempt(x, **keywords)
    if copied is None or copied.contents.version is None:
        raise Skip("a copy to the array's own device is refused, or has no flags")
    if not has_address(copied.contents):
        raise Skip(OPAQUE)
    is_copy = not overlap(own.contents, copied.contents)  # P-24 reports others
    if is_copy and not copied.contents.flags & abi.IS_COPIED:
        raise Broken(f"{call_text(keywords)}: the flags of the copy are {copied.contents.flags}")


@probe("P-39", extra=True)
def silent_copies(target: Target) -> None:
    """An export without copy=True may be a copy, where it is marked as one."""
    examined = 0
    for array in different_arrays(target):
        for keywords in every_request(array.x):
            if "max_version" in keywords:
                examined += _is_marked_where_copied(array, keywords)
    if not examined:
        raise Skip("the producer returns no versioned capsule with an address")


def _is_marked_where_copied(array: Array, keywords: Keywords) -> bool:
    one, other = attempt(array.x, **keywords), attempt(array.x, **keywords)
    if one is None or other is None or one.contents.version is None:
        return False
    if one.contents.flags & other.contents.flags & abi.IS_COPIED:
        return True
    how = call_text(keywords)
    is_in_place(array, one, f"{how}, which is not marked IS_COPIED")
    if one.contents.first != other.contents.first:
        raise Broken(f"{array.what}, {how}: two exports, both in use, are at "
                     f"{one.contents.first:#x} and {other.contents.first:#x}, and the flags "
                     f"are {one.contents.flags} and {other.contents.flags}")  # fmt: skip
    return True


@probe("P-39", twice=True, extra=True)
def a_silent_copy_misses_writes(target: Target) -> None:
    x = make(target)
    versioned(x)
    for keywords in every_request(x):
        missed = misses_writes(target, keywords) if "max_version" in keywords else None
        if missed is not None:
            raise Broken(f"{missed}, and the copy is not marked")


@probe("P-40")
def only_copies_are_marked(target: Target) -> None:
    every = survey(target).versioned()
    if any(each.contents.flags & abi.IS_COPIED for each in every):
        judge(every, copies.only_copies_marked, OPAQUE)


@probe("P-40", extra=True)
def marked_exports_are_apart(target: Target) -> None:
    examined = 0
    for array in different_arrays(target):
        can_copy = accepts_keyword(array.x, "copy")
        kinds = [kind for kind in every_request(array.x) if "max_version" in kind]
        for kind, keywords in itertools.product(kinds, ({}, {"copy": False}, {"copy": True})):
            request = {**kind, **keywords}
            if keywords and not can_copy:
                continue
            one, other = attempt(array.x, **request), attempt(array.x, max_version=NEWEST)
            if one is None or other is None or one.contents.version is None:
                continue
            examined += 1
            found = copies.marked_and_shared(one.contents, other.contents)
            if found:
                raise Broken(f"{array.what}, {call_text(request)}: {found}")
    if not examined:
        raise Skip("the producer returns no versioned capsule with an address")
