"""The probes of threads and of several exports at once."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.helpers.exports import (
    Export,
    Keywords,
    accepts_keyword,
    best,
    call_text,
    content,
    export,
    make,
    obtain,
    requests_of_kinds,
)
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target

THREADS, EXPORTS = 4, 25  # so many exports on each thread
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


@probe("P-32", twice=True)
def independent_capsules(target: Target) -> None:
    x = make(target)
    for keywords in _requests(x):
        _are_independent([obtain(x, **keywords) for _ in range(3)], call_text(keywords))
    _are_independent([obtain(x, **keywords) for keywords in _requests(x)], "several requests")


def _is_freed(item: Export) -> bool:
    """Whether its consumer frees the tensor; one without a deleter may be in several capsules."""
    return bool(item.contents.deleter)


def _are_independent(items: list[Export], how: str) -> None:
    for one, two in itertools.combinations(items, 2):
        if one.capsule is two.capsule:
            raise Broken(f"{how}: two calls returned the same capsule")
        if _is_freed(one) and one.contents.address == two.contents.address:
            raise Broken(f"{how}: two capsules hold the same managed tensor: it would be freed "
                         "twice")  # fmt: skip


@probe("P-32", twice=True)
def capsules_of_several_threads(target: Target) -> None:
    """All exports are in use at once, so equal addresses are equal tensors."""
    x = make(target)
    for keywords in _requests(x):
        alone = obtain(x, **keywords)
        expected = content(alone.contents)
        items: list[Export] = []
        errors: list[BaseException] = []
        begin = threading.Barrier(THREADS)

        def run(
            keywords: Keywords = keywords,
            begin: threading.Barrier = begin,
            items: list[Export] = items,
            errors: list[BaseException] = errors,
        ) -> None:
            begin.wait()
            try:
                until = time.monotonic() + LONGEST
                for _ in range(EXPORTS):
                    items.append(export(x, **keywords))
                    if time.monotonic() > until:
                        break
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        how = f"{call_text(keywords)} on {THREADS} threads"
        if errors:
            raise Skip(f"{how} raised {name_error(errors[0])}: P-31 judges other threads")
        addresses = [item.contents.address for item in items if _is_freed(item)]
        if len(set(addresses)) < len(addresses):
            raise Broken(f"{how}: two capsules hold the same managed tensor")
        if any(content(item.contents) != expected for item in items):
            raise Broken(f"{how}: an export has other elements than one alone")


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
            tensors[freed].free()
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
