"""The probes of lifetime: when and on which thread tensors are freed, X-01 to X-05, X-07, X-08."""

from __future__ import annotations

import gc
import operator
import weakref
from typing import Any, Callable

from dlbridge.tools import abi, children
from dlbridge.tools.conformance.helpers.deleters import (
    AFTER_THE_END,
    CountingDeleter,
    call_while_gil_is_held,
    call_without_gil,
    end_of_process,
)
from dlbridge.tools.conformance.helpers.exports import best, content, every_kind, export, make
from dlbridge.tools.conformance.helpers.memory import growth, how_often
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target


def _weak(x: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(x)
    except TypeError:
        return None


# Capsules that are dropped, and those that are consumed --------------------------------------


@probe("X-01")
def dropped_once(target: Target) -> None:
    kinds = every_kind(make(target))
    while kinds:
        item = kinds.pop()  # the only reference
        deleter = CountingDeleter(item.contents)
        name = item.contents.name
        del item
        gc.collect()
        if deleter.calls > 1:
            raise Broken(f"dropping a capsule {name!r} ran its deleter {deleter.calls} times")


@probe("X-01")
def dropped_and_freed(target: Target) -> str | None:
    for act in (lambda: make(target).__dlpack__(), lambda: best(make(target))):
        try:
            times = min(1000, how_often(act))
            remains = growth(act, times)
        except BufferError:
            continue
        if remains is None:
            continue
        remains_alone = growth(lambda: make(target), times)
        if remains_alone is not None:
            return f"the factory's arrays alone leave {remains_alone}"
        raise Broken(f"dropped capsules leave {remains}")
    return None


@probe("X-02", hostile=True)
def pending_exception(target: Target) -> None:
    """The interpreter frees the argument of operator.index() while its TypeError is pending."""
    x = make(target)
    for keywords in ({}, {"max_version": (1, 3)}):
        try:
            x.__dlpack__(**keywords)
        except Exception:  # it has no such keyword
            continue
        try:
            operator.index(x.__dlpack__(**keywords))
        except TypeError as error:
            if "PyCapsule" in str(error):
                continue
            raise Broken(f"the pending TypeError became {name_error(error)}") from None
        except BaseException as other:
            raise Broken(f"the pending TypeError became {name_error(other)}") from None


@probe("X-03", hostile=True)
def used_and_dropped(target: Target) -> None:
    kinds = every_kind(make(target))
    while kinds:
        item = kinds.pop()
        tensor = item.contents
        before = content(tensor)
        deleter = CountingDeleter(tensor)
        capsule = item.capsule
        abi.rename(capsule, abi.USED[tensor.name])
        del item, capsule
        gc.collect()
        if deleter.calls:
            raise Broken(f"dropping a capsule {abi.USED[tensor.name]!r} ran the deleter")
        if content(tensor) != before:
            raise Broken(f"dropping a capsule {abi.USED[tensor.name]!r} freed the memory")
        abi.Deleter(tensor.deleter)(tensor.address)


# Deleters on other threads and after the end ---------------------------------------------------


@probe("X-04", hostile=True)
def without_the_gil(target: Target) -> None:
    for kind in (export, best):
        x = make(target)
        try:
            held_tensor, free_tensor = abi.take(kind(x).capsule), abi.take(kind(x).capsule)
        except BufferError:
            continue
        call_without_gil(free_tensor)
        owner = _weak(x)
        del x
        gc.collect()
        call_while_gil_is_held(
            held_tensor, owner if owner is not None and owner() is not None else None
        )


@probe("X-05", hostile=True)
def after_the_end(target: Target) -> None:
    make(target)
    end = end_of_process(target, registers=True)
    if end.status == 0:
        return
    if end_of_process(target, registers=False).status != 0:
        raise Skip("a process that uses this library fails at its end in any case")
    if end.status is None:
        raise Broken(f"the deleter had not returned after {AFTER_THE_END:g} s")
    message = f": {end.output}" if end.output else ""
    raise Broken(f"the process ended with {children.how_it_ended(end.status)}{message}")


# Memory and its owner --------------------------------------------------------------------------


@probe("X-07", hostile=True)
def outlives_its_source(target: Target) -> str | None:
    shapes: list[dict[str, Any]] = [{}]
    if "shape" in target.accepts:
        shapes.append({"shape": (128, 512)})
    examined = 0
    for arguments in shapes:
        x = make(target, **arguments)
        tensor = abi.take(best(x).capsule)
        before = content(tensor.contents)
        del x
        gc.collect()
        _churn(target, arguments, len(before or b""))
        if before is not None:
            examined += 1
            after = content(tensor.contents)
            if after != before:
                what = "holds other bytes" if after is not None else "is no longer readable"
                raise Broken(f"after the source object was freed its memory {what}")
        tensor.free()
    return None if examined else "the host cannot read the memory: only the deleter was examined"


def _churn(target: Target, arguments: dict[str, Any], nbytes: int) -> None:
    """Allocates memory of the size that may just have been freed, and writes to it."""
    blocks = [bytearray(b"\xa5") * nbytes for _ in range(20)]
    others = [make(target, **arguments) for _ in range(3)]
    del blocks, others


@probe("X-08")
def exports_leave_nothing(target: Target) -> str:
    notes = []
    shapes: list[dict[str, Any]] = [{}]
    if "shape" in target.accepts:
        shapes.append({"shape": (2, 0, 4)})
    for arguments in shapes:
        try:
            x = make(target, **arguments)
            kinds = [kind for kind in (export, best) if _gives(kind, x)]
        except Skip:
            if not arguments:
                raise
            continue
        for kind in kinds:

            def act(kind: Callable[[Any], Any] = kind, x: Any = x) -> None:
                abi.take(kind(x).capsule).free()

            times = how_often(act)
            remains = growth(act, times)
            name = kind(x).contents.name
            if remains is not None:
                raise Broken(f"{times} exports as {name!r}, each freed, leave {remains}")
            notes.append(f"{times} exports as {name!r}")
    return f"no memory remains after {', '.join(notes)}" if notes else ""


def _gives(kind: Callable[[Any], Any], x: Any) -> bool:
    try:
        kind(x)
    except BufferError:
        return False
    return True
