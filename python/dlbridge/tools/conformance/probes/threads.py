# SPDX-License-Identifier: BSD-3-Clause
"""The probes of threads and of several exports at once."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterable
from typing import Any

from ... import abi, clock
from ..helpers.exports import (
    Export,
    Keywords,
    accepts_keyword,
    best,
    call_text,
    content,
    export,
    free,
    make,
    obtain,
    requests_of_kinds,
)
from ..judgement import calls
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target
from .release import churn

THREADS, EXPORTS = 4, 25  # so many exports on each thread
MORE_EXPORTS = 100  # of different arrays
SHAPES = ((2, 3), (6,), (4, 5), (2, 3, 4))  # of arrays on different threads
SWITCHING = 1e-5  # seconds, after which Python lets another thread run
LONGEST = 1.0  # seconds for them; slow libraries get fewer


def _requests(x: Any) -> list[Keywords]:
    """Returns the requests that are examined, as far as the array fulfils them."""
    requests = requests_of_kinds(x)
    if accepts_keyword(x, "copy"):
        requests += [{**kind, "copy": True} for kind in requests]
    result = []
    for keywords in requests:
        try:
            obtain(x, **keywords)
        except Skip:
            continue
        result.append(keywords)
    if not result:
        obtain(x)  # raises Skip with the reason
    return result


@probe("P-31", twice=True)
def another_thread(target: Target) -> None:
    x = make(target)
    own = best(x).contents
    results: list[Export | Skip | Exception] = []

    def run() -> None:
        try:
            results.append(best(x))
        except (Skip, Exception) as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    item = results[0]
    if isinstance(item, Skip):
        raise item
    if isinstance(item, Exception):
        raise Broken(f"on another thread __dlpack__ raised {name_error(item)}")
    other = item.contents
    if (other.shape, other.dtype, other.device) != (own.shape, own.dtype, own.device):
        raise Broken(f"on another thread it returned {other.shape} on {other.device}")


SHARED = "several capsules hold one managed tensor, which is right where it counts them"


def _again(x: Any, keywords: Keywords) -> Export:
    """Exports what was exported before. An error that is no refusal is a violation then."""
    try:
        return export(x, **keywords)
    except (BufferError, TypeError):
        raise Skip(f"{call_text(keywords)} is refused where it was repeated") from None
    except Exception as error:
        raise Broken(f"{call_text(keywords)}, which succeeded before, raised "
                     f"{name_error(error)}") from None  # fmt: skip


@probe("P-32", twice=True)
def independent_capsules(target: Target) -> str | None:
    x = make(target)
    are_shared = False
    for keywords in _requests(x):
        are_shared |= _are_shared([_again(x, keywords) for _ in range(3)], call_text(keywords))
    every = [_again(x, keywords) for keywords in _requests(x)]
    are_shared |= _are_shared(every, "several requests")
    return SHARED if are_shared else None


def _is_freed(item: Export) -> bool:
    """Whether its consumer frees the tensor; one without a deleter may be in several capsules."""
    return bool(item.contents.deleter)


def _are_shared(items: list[Export], how: str) -> bool:
    """Whether two different capsules hold one tensor that both consumers free."""
    for one, two in itertools.combinations(items, 2):
        if one.capsule is two.capsule:
            raise Broken(f"{how}: {calls.SAME_CAPSULE}")
    freed = [item.contents.address for item in items if _is_freed(item)]
    return len(set(freed)) < len(freed)


@probe("P-32", hostile=True)
def shared_tensors_are_counted(target: Target) -> None:
    """A tensor in several capsules must live until the last consumer has freed it."""
    x = make(target)
    for keywords in _requests(x):
        items = [_again(x, keywords) for _ in range(3)]
        if not _are_shared(items, call_text(keywords)):
            continue
        tensors = [abi.take(item.capsule) for item in items]
        seen = [_state(tensor.contents) for tensor in tensors]
        for number, tensor in enumerate(tensors):
            churn()
            if _state(tensor.contents) != seen[number]:
                raise Broken(f"{call_text(keywords)}: several capsules hold one managed tensor, "
                             "and the first consumer freed it for all")  # fmt: skip
            free(tensor)


@probe("P-32", twice=True)
def capsules_of_several_threads(target: Target) -> None:
    """All exports are in use at once, so equal addresses are equal tensors."""
    x = make(target)
    for keywords in _requests(x):
        pair = [_again(x, keywords) for _ in range(2)]
        expected = content(pair[0].contents)
        how = f"{call_text(keywords)} on {THREADS} threads"
        items = _exported_on_threads([x] * THREADS, keywords, EXPORTS)
        if not _are_shared(pair, call_text(keywords)):
            _are_different(itertools.chain(*items), how)
        if any(content(item.contents) != expected for item in itertools.chain(*items)):
            raise Broken(f"{how}: an export has other elements than one alone")


@probe("P-32", twice=True, extra=True)
def different_arrays_on_several_threads(target: Target) -> None:
    """Each thread has an array of its own: what one export leaves in between shows in another."""
    shapes = SHAPES if "shape" in target.accepts else ()
    arrays = [make(target, shape=shape) for shape in shapes if _exists(target, shape)]
    arrays = arrays if len(arrays) > 1 else [make(target) for _ in range(THREADS)]
    for keywords in _requests(arrays[0]):
        alone = [_description(obtain(x, **keywords)) for x in arrays]
        how = f"{call_text(keywords)} of {len(arrays)} arrays, each on a thread of its own"
        pair = [_again(arrays[0], keywords) for _ in range(2)]
        exported = _exported_on_threads(arrays, keywords, MORE_EXPORTS)
        if _are_shared(pair, call_text(keywords)):  # those of one array, and not of several
            once = ({item.contents.address: item for item in items} for items in exported)
            _are_different(itertools.chain(*(each.values() for each in once)), how)
        else:
            _are_different(itertools.chain(*exported), how)
        for expected, items in zip(alone, exported):
            for item in items:
                if _description(item) != expected:
                    shape = item.contents.shape
                    raise Broken(f"{how}: the array of shape {expected[0]} was exported with shape "
                                 f"{shape}" if shape != expected[0] else
                                 f"{how}: an export differs from one alone")  # fmt: skip


def _exists(target: Target, shape: tuple[int, ...]) -> bool:
    try:
        obtain(make(target, shape=shape))
    except Skip:
        return False
    return True


def _description(item: Export) -> tuple[Any, ...]:
    """Returns what every export of an array has in common, also where each is a copy."""
    tensor = item.contents
    return tensor.shape, tensor.strides, tensor.dtype, tensor.device, content(tensor)


def _are_different(items: Iterable[Export], how: str) -> None:
    addresses = [item.contents.address for item in items if _is_freed(item)]
    if len(set(addresses)) < len(addresses):
        raise Broken(f"{how}: two capsules hold the same managed tensor")


def _exported_on_threads(arrays: list[Any], keywords: Keywords, count: int) -> list[list[Export]]:
    """Exports each array several times, all at the same time, each on a thread of its own.

    Raises Skip where an export raises.
    """
    items: list[list[Export]] = [[] for _ in arrays]
    errors: list[BaseException] = []
    begin = threading.Barrier(len(arrays))

    def run(x: Any, exported: list[Export]) -> None:
        begin.wait()
        try:
            until = clock.now() + LONGEST
            for _ in range(count):
                exported.append(export(x, **keywords))
                if clock.now() > until:
                    break
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCHING)
    try:
        threads = [threading.Thread(target=run, args=pair) for pair in zip(arrays, items)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise Skip(f"{call_text(keywords)} on {len(arrays)} threads raised "
                   f"{name_error(errors[0])}: P-31 judges other threads")  # fmt: skip
    return items


@probe("P-32", hostile=True)
def freed_in_every_order(target: Target) -> None:
    """Frees three exports in every order; the others must not change meanwhile."""
    x = make(target)
    requests = _requests(x)
    for number, order in enumerate(itertools.permutations(range(3))):
        chosen = [requests[(number + i) % len(requests)] for i in range(3)]
        tensors = [abi.take(obtain(x, **keywords).capsule) for keywords in chosen]
        seen = [_state(tensor.contents) for tensor in tensors]
        for position, freed in enumerate(order):
            free(tensors[freed])
            for other in order[position + 1 :]:
                if _state(tensors[other].contents) != seen[other]:
                    raise Broken(f"freeing {call_text(chosen[freed])} changed another export, "
                                 f"{call_text(chosen[other])}")  # fmt: skip


def _state(contents: abi.Contents) -> tuple[abi.Contents | None, bytes | None]:
    """Reads a tensor in memory anew: its struct, its shape, its strides and its elements."""
    try:
        now = abi.read_struct(contents.address, contents.name)
    except abi.Unreadable:
        return None, None
    return now, content(now)
