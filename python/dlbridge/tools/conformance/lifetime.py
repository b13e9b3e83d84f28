"""The probes of lifetime: who frees, when, and on which thread, X-01 to X-05, X-07 and X-08."""

from __future__ import annotations

import gc
import operator
import time
import weakref
from typing import Any, Callable

from dlbridge.tools import abi, children
from dlbridge.tools.conformance.deleters import (
    AFTER_THE_END,
    Counted,
    end_of_process,
    while_nobody_holds_the_gil,
    while_the_gil_is_held,
)
from dlbridge.tools.conformance.exports import best, content, every_kind, export, make
from dlbridge.tools.conformance.memory import growth
from dlbridge.tools.conformance.probes import Broken, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

TIMES, FEWEST = 10_000, 300
SECONDS = 2.0  # for one of the long counts, which is cut short where a library is slow


def _weak(x: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(x)
    except TypeError:
        return None


def how_often(act: Callable[[], object]) -> int:
    """How many calls fit into SECONDS, TIMES at the most."""
    begin = time.perf_counter()
    for _ in range(20):
        act()
    each = (time.perf_counter() - begin) / 20
    return max(FEWEST, min(TIMES, int(SECONDS / 2.2 / max(each, 1e-7))))


# Capsules that nobody takes, and those that are taken ----------------------------------------


@probe("X-01")
def dropped_once(target: Target) -> None:
    kinds = every_kind(make(target))
    while kinds:
        found = kinds.pop()  # and nobody else holds it
        counted = Counted(found.contents)
        name = found.contents.name
        del found
        gc.collect()
        if counted.calls > 1:
            raise Broken(f"dropping a capsule {name!r} ran its deleter {counted.calls} times")


@probe("X-01")
def dropped_and_freed(target: Target) -> str | None:
    for act in (lambda: make(target).__dlpack__(), lambda: best(make(target))):
        try:
            times = min(1000, how_often(act))
            left = growth(act, times)
        except BufferError:
            continue
        if left is None:
            continue
        alone = growth(lambda: make(target), times)
        if alone is not None:
            return f"the factory's arrays leave {alone} by themselves"
        raise Broken(f"capsules that were dropped leave {left}")
    return None


@probe("X-02", hostile=True)
def pending_exception(target: Target) -> None:
    """The call frees its argument when its error is already set."""
    x = make(target)
    for asked in ({}, {"max_version": (1, 3)}):
        try:
            x.__dlpack__(**asked)
        except Exception:  # it is not asked for that
            continue
        try:
            operator.index(x.__dlpack__(**asked))
        except TypeError as kept:
            if "PyCapsule" in str(kept):
                continue
            raise Broken(f"the pending TypeError became {name_error(kept)}") from None
        except BaseException as other:
            raise Broken(f"the pending TypeError became {name_error(other)}") from None


@probe("X-03", hostile=True)
def used_and_dropped(target: Target) -> None:
    kinds = every_kind(make(target))
    while kinds:
        found = kinds.pop()
        it = found.contents
        before = content(it)
        counted = Counted(it)
        capsule = found.capsule
        abi.rename(capsule, abi.USED[it.name])
        del found, capsule
        gc.collect()
        if counted.calls:
            raise Broken(f"dropping a capsule {abi.USED[it.name]!r} ran the deleter")
        if content(it) != before:
            raise Broken(f"dropping a capsule {abi.USED[it.name]!r} freed the memory")
        abi.Deleter(it.deleter)(it.address)


# Deleters in other places ----------------------------------------------------------------------


@probe("X-04", hostile=True)
def without_the_gil(target: Target) -> None:
    for kind in (export, best):
        x = make(target)
        try:
            held, free = abi.take(kind(x).capsule), abi.take(kind(x).capsule)
        except BufferError:
            continue
        while_nobody_holds_the_gil(free)
        owner = _weak(x)
        del x
        gc.collect()
        while_the_gil_is_held(held, owner if owner is not None and owner() is not None else None)


@probe("X-05", hostile=True)
def after_the_end(target: Target) -> None:
    make(target)
    end = end_of_process(target.name, target.consumer, registers=True)
    if end.status == 0:
        return
    if end_of_process(target.name, target.consumer, registers=False).status != 0:
        raise Skip("a process that uses this library does not end well anyhow")
    if end.status is None:
        raise Broken(f"the deleter had not come back after {AFTER_THE_END:g} s")
    said = f": {end.said}" if end.said else ""
    raise Broken(f"the process ended with {children.how_it_ended(end.status)}{said}")


# Whose memory lives how long -------------------------------------------------------------------


@probe("X-07", hostile=True)
def outlives_its_source(target: Target) -> str | None:
    shapes: list[dict[str, Any]] = [{}]
    if "shape" in target.accepts:
        shapes.append({"shape": (128, 512)})
    examined = 0
    for wanted in shapes:
        x = make(target, **wanted)
        taken = abi.take(best(x).capsule)
        before = content(taken.contents)
        del x
        gc.collect()
        _churn(target, wanted, len(before or b""))
        if before is not None:
            examined += 1
            after = content(taken.contents)
            if after != before:
                what = "holds other bytes" if after is not None else "cannot be read any more"
                raise Broken(f"after the source object died the memory {what}")
        taken.free()
    return None if examined else "the host cannot read the memory: only the deleter was tried"


def _churn(target: Target, wanted: dict[str, Any], nbytes: int) -> None:
    """Takes memory of the size that may just have been freed, and writes on it."""
    blocks = [bytearray(b"\xa5") * nbytes for _ in range(20)]
    others = [make(target, **wanted) for _ in range(3)]
    del blocks, others


@probe("X-08")
def exports_leave_nothing(target: Target) -> str:
    notes = []
    shapes: list[dict[str, Any]] = [{}]
    if "shape" in target.accepts:
        shapes.append({"shape": (2, 0, 4)})
    for wanted in shapes:
        try:
            x = make(target, **wanted)
            kinds = [kind for kind in (export, best) if _gives(kind, x)]
        except Skip:
            if not wanted:
                raise
            continue
        for kind in kinds:

            def act(kind: Callable[[Any], Any] = kind, x: Any = x) -> None:
                abi.take(kind(x).capsule).free()

            times = how_often(act)
            left = growth(act, times)
            name = kind(x).contents.name
            if left is not None:
                raise Broken(f"{times} exports as {name!r}, each freed, leave {left}")
            notes.append(f"{times} as {name!r}")
    return ", ".join(notes)


def _gives(kind: Callable[[Any], Any], x: Any) -> bool:
    try:
        kind(x)
    except BufferError:
        return False
    return True
