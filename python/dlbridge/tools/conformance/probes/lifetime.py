# SPDX-License-Identifier: BSD-3-Clause
"""The probes of capsules and deleters: when and on which thread they free a tensor."""

from __future__ import annotations

import gc
import operator
import weakref
from collections.abc import Iterator
from typing import Any

from ... import abi
from ..helpers.deleters import (
    AFTER_THE_END,
    CountingDeleter,
    call_while_gil_is_held,
    call_without_gil,
    end_of_process,
)
from ..helpers.exports import (
    FREE,
    Export,
    Keywords,
    accepts_keyword,
    call_text,
    content,
    free,
    make,
    obtain,
    request,
    requests_of_kinds,
    require_ends,
)
from ..helpers.memory import growth, how_often, settle
from ..helpers.references import left
from ..journal import entry
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target


def fulfilled(x: Any) -> list[Keywords]:
    """Returns the requests of each struct, of the memory and of a copy, that x fulfils.

    Raises Skip where there are none.
    """
    requests = requests_of_kinds(x)
    if accepts_keyword(x, "copy"):
        requests += [{**kind, "copy": True} for kind in requests]
    result = []
    why = ""
    for keywords in requests:
        try:
            obtain(x, **keywords)
            result.append(keywords)
        except Skip as reason:
            why = str(reason)
    if not result:
        raise Skip(f"the producer returns no capsule that can be read: {why}")
    return result


def _weak(x: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(x)
    except TypeError:
        return None


def _exports(target: Target) -> Iterator[tuple[str, Export]]:
    """Yields exports of new arrays. The caller drops each before it asks for the next one."""
    for keywords in fulfilled(make(target)):
        yield call_text(keywords), obtain(make(target), **keywords)


# Capsules that are dropped, and those that are consumed --------------------------------------


@probe("X-01", hostile=True, twice=True)
def dropped_once(target: Target) -> None:
    for call, item in _exports(target):
        if not item.contents.deleter:
            continue
        deleter = CountingDeleter(item.contents)
        capsule_of = [item.capsule]
        del item
        capsule_of.clear()
        if deleter.calls > 1:
            raise Broken(f"dropping the capsule of {call} ran its deleter {deleter.calls} times")


def _runs_its_deleter(x: Any, keywords: Keywords) -> bool:
    """Whether the destructor of a capsule calls the deleter once."""
    item = obtain(x, **keywords)
    if not item.contents.deleter:
        return False
    deleter = CountingDeleter(item.contents)
    del item
    return deleter.calls == 1


@probe("X-01", hostile=True)
def dropped_and_freed(target: Target) -> str:
    """A destructor that does not call the deleter may free the tensor in another way.

    X-08 judges what a deleter leaves.
    """
    require_ends()
    x = make(target)
    for keywords in fulfilled(x):
        if _runs_its_deleter(x, keywords):
            continue

        def act(keywords: Keywords = keywords) -> None:
            request(x, **keywords)

        remains = left(x, act) or growth(act, how_often(act))
        if remains is not None:
            raise Broken(f"dropped capsules of {call_text(keywords)} leave {remains}")
    return "no memory remains"


@probe("X-02", hostile=True, twice=True)
def pending_exception(target: Target) -> None:
    """The interpreter frees the argument of operator.index() while its TypeError is pending."""
    require_ends()
    x = make(target)
    for keywords in fulfilled(x):
        for is_used in (False, True):
            call = f"dropping a {'used' if is_used else 'fresh'} capsule of {call_text(keywords)}"
            tensor = None
            capsules = [request(x, **keywords)]
            if is_used:
                tensor = abi.take(capsules[0])
            try:
                operator.index(capsules.pop())
            except TypeError as error:
                if "PyCapsule" not in str(error):
                    raise Broken(f"{call} turned the pending TypeError into "
                                 f"{name_error(error)}") from None  # fmt: skip
            except BaseException as other:
                raise Broken(f"{call} turned the pending TypeError into "
                             f"{name_error(other)}") from None  # fmt: skip
            if tensor is not None:
                free(tensor)


@probe("X-03", hostile=True, twice=True)
def used_and_dropped(target: Target) -> None:
    for call, item in _exports(target):
        if not abi.destructor_of(item.capsule):  # dropping the capsule calls nothing
            continue
        tensor = item.contents
        before = content(tensor)
        deleter = CountingDeleter(tensor) if tensor.deleter else None
        now = abi.read_struct(tensor.address, tensor.name)
        used = abi.USED[tensor.name]
        abi.rename(item.capsule, used)
        capsule_of = [item.capsule]
        del item
        capsule_of.clear()
        if deleter is not None and deleter.calls:
            raise Broken(f"dropping the capsule {used!r} of {call} ran the deleter")
        if _read_again(now) != now or content(tensor) != before:
            raise Broken(f"dropping the capsule {used!r} of {call} freed the tensor")
        if deleter is not None:
            with entry(FREE):
                deleter.callback(tensor.address)


def _read_again(contents: abi.Contents) -> abi.Contents | None:
    try:
        return abi.read_struct(contents.address, contents.name)
    except abi.Unreadable:
        return None


# Deleters on other threads and after the end ---------------------------------------------------


@probe("X-04", hostile=True)
def without_the_gil(target: Target) -> None:
    for keywords in fulfilled(make(target)):
        call_without_gil(abi.take(obtain(make(target), **keywords).capsule))
        x = make(target)
        tensor = abi.take(obtain(x, **keywords).capsule)
        owner = _weak(x)
        del x
        is_kept = owner is not None and owner() is not None
        call_while_gil_is_held(tensor, owner if is_kept else None)
        if is_kept:
            settle(lambda owner=owner: owner() is None)  # type: ignore[misc]
        if is_kept and owner is not None and owner() is not None and _frees_here(target, keywords):
            raise Broken(f"the deleter of {call_text(keywords)}, called on another thread, did not "
                         "free the array; on the thread that created it, it does")  # fmt: skip


def _frees_here(target: Target, keywords: Keywords) -> bool:
    """Whether the deleter, called on this thread, frees the array."""
    x = make(target)
    tensor = abi.take(obtain(x, **keywords).capsule)
    owner = _weak(x)
    del x
    free(tensor)
    gc.collect()
    return owner is not None and owner() is None


@probe("X-05", hostile=True)
def after_the_end(target: Target) -> None:
    make(target)
    end = end_of_process(target, registers=True)
    if end.outcome == "returned":
        return
    if end_of_process(target, registers=False).outcome != "returned":
        raise Skip("a process that uses this library fails at its end in any case")
    if end.outcome == "hung":
        raise Broken(f"the deleter had not returned after {AFTER_THE_END:g} s")
    message = f": {end.noise.splitlines()[0]}" if end.noise else ""
    raise Broken(f"the process ended with {end.message}{message}")
