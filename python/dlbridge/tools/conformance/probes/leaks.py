# SPDX-License-Identifier: BSD-3-Clause
"""The probes of leaks that some exports have: of a dtype, a layout or a size, and of refusals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Callable

from ... import abi, clock
from .. import journal
from ..helpers.arrays import (
    DTYPES,
    SHAPES,
    VIEWED,
    arrays,
    large_arrays,
    view_of,
    views_of,
)
from ..helpers.exports import (
    FREE,
    Keywords,
    call_text,
    has_dlpack,
    request,
    require_ends,
)
from ..helpers.memory import (
    SLOWEST,
    frozen,
    growth,
    how_often,
    may_leave,
    shortest,
    too_slow,
)
from ..helpers.references import left
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target
from .ownership import requests_of_all_kinds

CALLS = 20  # of each, in one measurement
LONGEST = 5.0  # seconds for all of them: of a slow library they are fewer
Create = Callable[[], Any]


@dataclass(frozen=True)
class Exports:
    """An array that is created anew each time, and the requests that it gets."""

    what: str
    create: Create
    requests: tuple[Keywords, ...]

    def __call__(self) -> None:
        x = self.create()
        for keywords in self.requests:
            _export_and_free(x, keywords)


def _export_and_free(x: Any, keywords: Keywords) -> None:
    """Takes the tensor as quickly as a consumer in C does, without a look at what it contains."""
    try:
        capsule = request(x, **keywords)
    except Exception:  # a refusal must not leave anything either
        return
    name = abi.name_of(capsule)
    if name not in abi.STRUCTS:
        return
    address = abi.pointer_of(capsule)
    deleter = abi.STRUCTS[name].from_address(address).deleter
    abi.rename(capsule, abi.USED[name])
    if deleter:
        with journal.entry(FREE):
            abi.Deleter(deleter)(address)


# Arrays of every kind ----------------------------------------------------------------------------


def _recipes(target: Target) -> Iterator[tuple[str, Create]]:
    """Yields how to create arrays of each dtype, shape and access, and views of each kind."""
    rows: list[dict[str, Any]] = [{}]
    if "dtype" in target.accepts:
        rows += [{"dtype": name} for name in DTYPES]
    if "shape" in target.accepts:
        rows += [{"shape": shape} for shape in SHAPES]
    if "readonly" in target.accepts:
        rows += [{**row, "readonly": True} for row in rows]
    for arguments in rows:
        text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        yield f"make({text})", lambda arguments=arguments: target.make(**arguments)  # type: ignore[misc]
    for shape in VIEWED if "shape" in target.accepts else ():
        for name, (change, _) in views_of(target, len(shape)).items():
            yield (
                f"{name} of make(shape={shape})",
                lambda name=name, change=change, shape=shape: view_of(  # type: ignore[misc]
                    target.make(shape=shape), name, change
                ),
            )


def _created(target: Target) -> Iterator[tuple[str, Create, Any]]:
    """Yields what can be created and exported, with one array of it.

    Large arrays are created once, as it takes too long to create them anew.
    """
    for what, create in _recipes(target):
        try:
            x = create()
        except (Skip, Exception):  # the library has no such array
            continue
        if has_dlpack(x):
            journal.subject = what
            yield what, create, x
            journal.subject = ""
    for array in large_arrays(target):
        yield array.what, lambda x=array.x: x, array.x  # type: ignore[misc]


def _quick(what: str, create: Create, x: Any) -> Exports | None:
    """Returns the requests that are answered quickly enough to be measured."""
    quick, total = [], _seconds(create, SLOWEST)
    if total > SLOWEST / 2:
        create, total = lambda: x, 0.0
    for keywords in requests_of_all_kinds(x):
        total += _seconds(
            lambda keywords=keywords: _export_and_free(x, keywords),  # type: ignore[misc]
            SLOWEST - total,
        )
        if total > SLOWEST:
            break
        quick.append(keywords)
    return Exports(what, create, tuple(quick)) if quick else None


def _seconds(act: Callable[[], object], limit: float) -> float:
    act()  # fills caches
    return shortest(act, limit)


@probe("X-08", hostile=True, extra=True)
def exports_of_every_kind_leave_no_memory(target: Target) -> str:
    require_ends()
    examined, begin = 0, clock.now()
    with frozen():
        for what, create, x in _created(target):
            exports = _quick(what, create, x)
            if exports is not None:
                examined += 1
                _leave_nothing(exports)
            if clock.now() - begin > LONGEST:
                break
    if not examined:
        raise too_slow(SLOWEST)
    return f"no memory remains after exports of {examined} kinds of arrays"


def _leave_nothing(exports: Exports) -> None:
    if not may_leave(exports, CALLS):
        return
    if may_leave(exports.create, CALLS):  # new arrays leave something, also without an export
        x = exports.create()
        exports = replace(exports, create=lambda: x)
        if not may_leave(exports, CALLS):
            return
    for keywords in exports.requests:
        one = replace(exports, requests=(keywords,))
        if not may_leave(one, CALLS):
            continue
        times = how_often(one)
        remains = growth(one, times)
        if remains is not None:
            raise Broken(f"{times} calls of {call_text(keywords)} of {exports.what}, each freed or "
                         f"refused, leave {remains}")  # fmt: skip


# Refusals ----------------------------------------------------------------------------------------


@probe("X-08", hostile=True, extra=True)
def refusals_leave_no_reference(target: Target) -> str:
    require_ends()
    seen, examined = set(), 0
    for array in itertools.chain(arrays(target), large_arrays(target)):
        kind = array.what.partition(" of ")[0], array.readonly
        if kind in seen or " after " in array.what:
            continue
        seen.add(kind)
        for keywords in requests_of_all_kinds(array.x):
            if _is_refused(array.x, keywords):
                examined += 1
                remains = left(array.x, lambda: _export_and_free(array.x, keywords))  # noqa: B023
                if remains is not None:
                    raise Broken(f"{array.what}, {call_text(keywords)}: refusals leave {remains}")
    if not examined:
        raise Skip("no request is refused")
    return f"{examined} refused requests"


def _is_refused(x: Any, keywords: Keywords) -> bool:
    try:
        request(x, **keywords)
    except Exception:
        return True
    return False
