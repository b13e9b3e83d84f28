# SPDX-License-Identifier: BSD-3-Clause
"""Judges imports of tensors: read correctly, accepted, or refused."""

from __future__ import annotations

import re
from typing import Any

from ...elements import row_major, same_nested
from ..outcomes import Broken, Skip
from ..target import Target
from .consumption import (
    AGAIN,
    Cases,
    ConsumerCall,
    each_import,
    kinds,
    short,
    summed_up,
    support,
)
from .results import CannotRead, readers, values_of
from .trials import fatal, how_it_ends

NOWHERE = 0x10  # an invalid pointer
same = same_nested  # of values that were read, and those that are expected
ROW_MAJOR = (object(),)  # in place of strides: those of a compact tensor


def wrong_values(call: ConsumerCall) -> str | None:
    """Describes the difference between a result and its producer's tensor; None without one.

    Raises CannotRead where no method reads the result.
    """
    expected = call.producer.values
    values = values_of(call.target, call.result)
    if same(values, expected):
        return None
    return f"expected {short(repr(expected))}; got {short(repr(values))}"


def right_or_refused(
    target: Target, cases: Cases, *, fix: str | None = None, times: int = 2
) -> str:
    """Judges every case in every struct, twice: other values are a violation, a refusal is none.

    Raises Skip where everything that was accepted cannot be read.
    """
    readers(target)
    refused, unread, right = [], [], 0
    failed: set[str] = set()
    ended = fatal(target, cases)
    layouts = {_without_dtype(name): how for name, how in ended.items()}
    wrong = [f"{name}: the import ends the process: {how}" for name, how in layouts.items()]
    cases = {name: fields for name, fields in cases.items() if name not in ended}
    for title, call in each_import(target, cases, times=times):
        if call.refusal is not None:
            refused.append(f"{title}: {call.error_text}")
            continue
        try:
            difference = wrong_values(call)
        except CannotRead as why:
            unread.append(f"{title}: {why}")
            continue
        if difference is None:
            right += 1
        elif (layout := _without_dtype(title)) not in failed:
            failed.add(layout)
            wrong.append(f"{title}: {difference}")
    if wrong:
        raise Broken(summed_up(wrong), fix=fix)
    if unread and not right:
        raise Skip(f"accepted, and cannot be read: {summed_up(unread)}")
    text = f"{right} right" + (f", {len(unread)} cannot be read: {unread[0]}" if unread else "")
    return note(target, text, refused)


def _without_dtype(title: str) -> str:
    """Names a layout, which is reported once.

    >>> _without_dtype("legacy, shape (3,) of uint8, again")
    'legacy, shape (3,)'
    """
    return re.sub(r" of \w+$", "", title.removesuffix(AGAIN))


def note(target: Target, text: str, refused: list[str]) -> str:
    """Adds what was refused, and which struct was not examined."""
    if refused:
        text += f", {len(refused)} refused: {summed_up(refused[:1])}"
    missing = support(target).reasons
    return "; ".join([text, *(f"{kind} structs: {why}" for kind, why in missing.items())])


def accepted(target: Target, cases: Cases, **plain: Any) -> str:
    """Judges every case in every struct: a refusal is a violation.

    Not where the same tensor with the fields `plain` is refused too: it is for another reason.
    Wrong values are none: another rule judges the same cases by them.
    """
    refused, others, count = [], [], 0
    for title, call in each_import(target, cases):
        if call.refusal is None:
            count += 1
        elif plain and _is_refused(call, plain):
            others.append(f"{title}: {call.error_text}")
        else:
            refused.append(f"{title}: refused: {call.error_text}")
    if refused:
        raise Broken(summed_up(refused))
    if not count:
        raise Skip(f"refused, and so are other tensors: {summed_up(others)}")
    return note(target, f"{count} accepted", others)


def _is_refused(call: ConsumerCall, plain: dict[str, Any]) -> bool:
    fields = {**call.producer.fields, **plain}
    if plain.get("strides", ()) is ROW_MAJOR:
        fields["strides"] = row_major(fields["shape"])
    return ConsumerCall(call.target, type(call.producer)(**fields)).refusal is not None


def refused(target: Target, cases: Cases) -> str:
    """Judges every case in every struct: acceptance is a violation, and so is a crash."""
    taken, errors = [], []
    ended = {
        name: ending
        for name, fields in cases.items()
        for kind in kinds(target)
        if (ending := how_it_ends(target, kind, fields))
    }
    taken += [f"{name}: the import ends the process: {it}" for name, it in ended.items()]
    cases = {name: fields for name, fields in cases.items() if name not in ended}
    for title, call in each_import(target, cases):
        if call.refusal is not None:
            errors.append(f"{title}: {call.error_text}")
            continue
        try:  # some consumers validate late
            shape = getattr(call.result, "shape", None)
        except Exception:
            continue
        taken.append(f"{title}: accepted; the shape of the result is {short(repr(shape))}")
    if taken:
        raise Broken(summed_up(taken))
    return note(target, "", errors).removeprefix(", ")
