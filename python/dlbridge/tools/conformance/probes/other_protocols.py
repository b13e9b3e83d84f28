# SPDX-License-Identifier: BSD-3-Clause
"""The probes of S-04 and S-06 to S-08: other protocols, small dtypes, and both structs."""

from __future__ import annotations

import contextlib
from typing import Any

from ... import abi
from ...buffers import buffer_of
from ..helpers.consumption import summed_up
from ..helpers.exports import (
    Export,
    best,
    compact_strides,
    content,
    element_bytes,
    every_kind,
    make,
    steps,
)
from ..judgement import fields, protocols
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target
from .exchange_table import arrays

# S-04: the buffer protocol and the array interfaces ----------------------------------------------

Description = tuple[int, tuple[int, ...], tuple[int, ...]]  # address, shape, strides in bytes


@probe("S-04")
def other_protocols_agree(target: Target) -> str:
    found: dict[str, None] = {}
    wrong = []
    for title, x in arrays(target):
        try:
            contents = best(x).contents
        except (Skip, BufferError):
            continue
        if not element_bytes(contents) or 0 in (contents.shape or ()):
            continue  # an empty array may have any address
        expected = _description(contents)
        for name, description in _descriptions(x).items():
            found[name] = None
            if description != expected:
                wrong.append(
                    f"{title}: address, shape, steps by __dlpack__: {expected}; by {name}:"
                    f" {description}"
                )
    if wrong:
        raise Broken(summed_up(wrong))
    if not found:
        raise Skip(f"{type(make(target)).__name__} has no other protocol")
    return f"also {', '.join(found)}"


def _description(contents: abi.Contents) -> Description:
    each, shape = element_bytes(contents), contents.shape or ()
    return contents.first, shape, tuple(each * step for step in steps(contents))


def _descriptions(x: Any) -> dict[str, Description]:
    others = {
        "the buffer protocol": _by_buffer(x),
        "__array_interface__": _by_interface(getattr(x, "__array_interface__", None)),
        "__cuda_array_interface__": _by_interface(_cuda_interface(x)),
    }
    return {name: it for name, it in others.items() if it is not None}


def _by_buffer(x: Any) -> Description | None:
    contents = buffer_of(x)
    return None if contents is None else (contents.address, contents.shape, contents.strides)


def _by_interface(contents: Any) -> Description | None:
    if contents is None:
        return None
    shape = tuple(contents["shape"])
    each = int(contents["typestr"][2:])
    in_bytes = contents.get("strides") or [each * step for step in compact_strides(shape)]
    return int(contents["data"][0]), shape, tuple(in_bytes)


def _cuda_interface(x: Any) -> Any:
    with contextlib.suppress(Exception):  # many raise for host memory
        return x.__cuda_array_interface__
    return None


@probe("S-04")
def other_protocols_are_as_read_only(target: Target) -> None:
    x = target.make(readonly=True)
    buffer = buffer_of(x)
    if buffer is not None and not buffer.readonly:
        raise Broken("the array is read-only, and its buffer can be written")
    contents = getattr(x, "__array_interface__", None)
    if contents is not None and not contents["data"][1]:
        raise Broken("the array is read-only, and its __array_interface__ is not marked read-only")


# S-06 to S-08 ------------------------------------------------------------------------------------


@probe("S-06")
def padding_is_said_of_small_dtypes_only(target: Target) -> str:
    count = 0
    for title, x in arrays(target):
        try:
            contents = best(x).contents
        except (Skip, BufferError):
            continue
        count += contents.version is not None
        found = fields.padding(contents)
        if found:
            raise Broken(f"{title}: {found}")
    if not count:
        raise Skip("it exports no versioned capsules, and legacy ones have no flags")
    return f"{count} arrays"


@probe("S-07")
def packing_of_four_bits(target: Target) -> str:
    contents = best(make(target, dtype="float4_e2m1fn", shape=(4,))).contents
    return f"{contents.dtype} of shape {contents.shape}"


@probe("S-08")
def both_struct_kinds_describe_one_array(target: Target) -> str:
    wrong, count = [], 0
    for title, x in arrays(target):
        try:
            exports, again = every_kind(x), every_kind(x)
        except Skip:
            continue
        if len(exports) == 2:
            count += 1
            one, other = (each.contents for each in exports)
            if _are_copies(exports, again):
                how = protocols.other_elements(one, other, content(one), content(other))
            else:
                how = protocols.difference(one, other)
            if how is not None:
                wrong.append(f"{title}: by the legacy and by the versioned capsule the {how}")
    if wrong:
        raise Broken(summed_up(wrong))
    if not count:
        raise Skip("it exports capsules of one kind only")
    return f"{count} arrays agree"


def _are_copies(exports: list[Export], again: list[Export]) -> bool:
    """Whether an export is marked as a copy, or is elsewhere than another one that is in use."""
    return any(
        one.contents.flags & abi.IS_COPIED or one.contents.first != other.contents.first
        for one, other in zip(exports, again)
    )
