# SPDX-License-Identifier: BSD-3-Clause
"""The probes of sharing: imports leave nothing, copies of an object, forks and cycles."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import time
import weakref
from typing import Any, Callable

from ... import abi, children, devices
from ...clock import Stopwatch
from .. import journal
from ..helpers import device_memory
from ..helpers.consumption import (
    function_with_keywords,
    takes_capsules,
    wait_until,
)
from ..helpers.exports import (
    best,
    call_text,
    content,
    export,
    free,
    make,
    requests_of_kinds,
    require_requests,
)
from ..helpers.memory import growth, how_often
from ..helpers.producers import (
    CopyingProducer,
    LegacyProducer,
    OldProducer,
    Producer,
    RaisingProducer,
)
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

PATIENCE = 2.0  # seconds for a library that calls deleters on another thread
MOST_IMPORTS = 2000  # in the search for memory that remains


class _CapsuleProducer:
    """A producer that returns capsules of a function."""

    def __init__(self, capsule: Callable[..., Any], device: tuple[int, int]) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def call_consumer(target: Target, capsule: Callable[..., Any], device: Any = None) -> Any:
    """Passes a producer to the consumer, or a capsule where it accepts nothing else."""
    if takes_capsules(target):
        return target.consume(capsule())
    return target.consume(_CapsuleProducer(capsule, device or device_memory.selected()))


def tensor_factory(**fields: Any) -> Callable[..., abi.CtypesTensor]:
    """Creates tensors of six numbers, of the requested kind, each on its own memory."""

    def tensors(max_version: tuple[int, int] | None = None, **others: Any) -> abi.CtypesTensor:
        version = (1, 0) if max_version is not None else None
        device = device_memory.selected()
        data = device_memory.upload(bytes(64), device)
        layout: dict[str, Any] = {"shape": (2, 3), "strides": (3, 1), "device": device}
        return abi.make(data=data, version=version, **layout, **fields)

    return tensors


@probe("X-08")
def imports_leave_nothing(target: Target) -> str | None:
    if target.function is None:
        return None  # there is no consumer
    journal.require(journal.END)
    create = tensor_factory()
    tensors = {None: create(), (1, 0): create(max_version=(1, 0))}
    created = 0

    def capsule(max_version: Any = None, **others: Any) -> Any:
        nonlocal created
        created += 1
        return tensors[None if max_version is None else (1, 0)].capsule()

    def act() -> None:
        call_consumer(target, capsule)

    try:
        act()
    except Exception:  # C-01 and C-17 report it
        return None
    times = min(how_often(act), MOST_IMPORTS)
    remains = growth(act, times)

    def calls() -> int:
        return sum(each.calls for each in tensors.values())

    if not wait_until(lambda: calls() == created):
        raise _wrong_ends(created, calls())
    if remains is not None:
        raise Broken(
            f"{times} imports, each dropped, leave {remains}",
            fix="Free in the destructor of your array everything that from_dlpack allocated.",
        )
    return f"no memory remains after {times} imports"


def _wrong_ends(created: int, calls: int) -> Broken:
    """Names a leak, or a double free, of imports."""
    if calls < created:
        return Broken(
            f"a leak: of {created} tensors that were consumed and dropped {calls} were freed",
            expected="An import that is dropped frees its tensor.",
            fix="Call the deleter once, in the destructor of the object that owns the tensor.",
        )
    return Broken(
        f"a double free: the deleters of {created} tensors that were consumed and dropped ran "
        f"{calls} times",
        expected="An import that is dropped frees its tensor once.",
        fix="Rename the capsule when you take ownership, so that its destructor frees nothing, and "
        "call the deleter only in the destructor of the object that owns the tensor.",
    )


def _endings() -> dict[str, tuple[Callable[[], Producer], dict[str, Any]]]:
    """Returns the ways in which an import ends: a producer and the keywords of the consumer."""
    return {
        "an import": (Producer, {}),
        "an import from a producer of 2021.12": (OldProducer, {}),
        "an import of a legacy struct": (LegacyProducer, {}),
        "a refused dtype": (lambda: Producer(dtype=(3, 64, 1)), {}),
        "an exception of __dlpack__": (lambda: RaisingProducer(BufferError("no")), {}),
        "a TypeError of __dlpack__": (lambda: RaisingProducer(TypeError("no")), {}),
        "an exception of __dlpack_device__": (lambda: _NoDevice(), {}),
        "an import with copy=True": (Producer, {"copy": True}),
        "an import with copy=False": (Producer, {"copy": False}),
        "a refusal of copy=False": (CopyingProducer, {"copy": False}),
        "an import with device='cpu'": (Producer, {"device": "cpu"}),
    }


class _NoDevice(Producer):
    """Raises in __dlpack_device__."""

    def __dlpack_device__(self) -> tuple[int, int]:
        raise BufferError("it has no device")


@probe("X-08")
def imports_keep_no_references(target: Target) -> str | None:
    """The producer, its capsules and the exceptions must die with the result."""
    if target.function is None:
        return None  # there is no consumer
    if takes_capsules(target):
        return "it takes capsules, and no producers"
    kept, count = [], 0
    for name, (create, keywords) in _endings().items():
        try:
            consume = function_with_keywords(target) if keywords else target.consume
        except Skip:
            continue
        for _ in range(2):
            if left := _left_by(consume, create, keywords):
                kept.append(f"after {name}, dropped, {left}")
        count += 1
    if kept:
        raise Broken(
            "; ".join(dict.fromkeys(kept)),
            fix="Release every reference to the producer, to its method's result and to its"
            " exception, on every path.",
        )
    return f"nothing is kept after {count} kinds of imports"


def _left_by(
    consume: Callable[..., Any], create: Callable[[], Producer], keywords: dict[str, Any]
) -> str | None:
    """Describes what an import keeps alive after its result was dropped; None for nothing."""
    journal.require(journal.END)
    producer = create()
    capsules = producer.capsules
    reference = weakref.ref(producer)
    try:
        result = consume(producer, **keywords)
    except Exception:  # which refers to this frame, until here
        result = None
    del result, producer
    if not wait_until(lambda: reference() is None):
        return "the producer is still referenced"
    fresh = [Producer().export(None)]
    if not wait_until(lambda: all(
        sys.getrefcount(capsules[i]) <= sys.getrefcount(fresh[0]) for i in range(len(capsules))
    )):  # fmt: skip
        return "the capsule is still referenced"
    return None


# Copies -----------------------------------------------------------------------------------------


@probe("X-11", hostile=True)
def copies_of_the_object(target: Target) -> str:
    notes = []
    ways: dict[str, Callable[[Any], Any]] = {
        "pickle": lambda x: pickle.loads(pickle.dumps(x)),
        "copy.deepcopy": copy.deepcopy,
        "copy.copy": copy.copy,
    }
    for way, act in ways.items():
        x = make(target)
        original = best(x)
        before = content(original.contents)
        try:
            copied = act(x)
        except Exception as refused:
            notes.append(f"{way}: {type(refused).__name__}")
            continue
        if type(copied) is not type(x) or not hasattr(copied, "__dlpack__"):
            notes.append(f"{way}: returns {type(copied).__name__}")
            continue
        copy_export = best(copied)
        is_freed = bool(original.contents.deleter)  # else both may have the same struct
        if is_freed and copy_export.contents.address == original.contents.address:
            raise Broken(f"{way} returned an object with the managed tensor of the original")
        shared = copy_export.contents.first == original.contents.first
        if shared and way != "copy.copy" and before and not _is_frozen(original.contents):
            raise Broken(f"{way} returned an object with the memory of the original")
        del x, original
        gc.collect()
        if content(copy_export.contents) != before:
            raise Broken(f"{way} returned an object that holds other bytes")
        notes.append(f"{way}: {'the same memory' if shared else 'a copy'}")
    return ", ".join(notes)


@probe("X-11", hostile=True)
def copies_share_no_capsule(target: Target) -> None:
    """An object may keep what it exports, or prepare its next export: a copy must not get it."""
    x = make(target)
    for keywords in requests_of_kinds(x):
        for way in (copy.copy, copy.deepcopy):
            try:
                kept = export(x, **keywords)
                copied = way(x)
                items = [kept, export(copied, **keywords), export(x, **keywords)]
            except (Skip, Exception):  # it is refused
                continue
            addresses = [item.contents.address for item in items if item.contents.deleter]
            if len(set(addresses)) < len(addresses):
                raise Broken(f"copy.{way.__name__} returned an object that exports the managed "
                             f"tensor of the original, {call_text(keywords)}")  # fmt: skip


def _is_frozen(contents: abi.Contents) -> bool:
    """Whether the memory is read-only, so that sharing it is harmless."""
    return bool(contents.flags & abi.READ_ONLY)


@probe("X-11", hostile=True)
def after_a_fork(target: Target) -> str | None:
    if not hasattr(os, "fork"):
        return None
    x = make(target)
    first = best(x).contents
    if first.device[0] != devices.CPU:
        return "not examined in a forked process, where no driver of a device works"
    before = content(first)
    process = os.fork()
    if process == 0:
        status = 1
        try:
            result = abi.take(best(x).capsule)
            status = 0 if content(result.contents) == before else 2
            free(result)
        finally:
            os._exit(status)
    stopwatch = Stopwatch(process)
    while stopwatch.seconds() < 5 * PATIENCE:
        journal.tick()
        pid, status = os.waitpid(process, os.WNOHANG)
        if pid:
            break
        time.sleep(0.01)
    else:
        os.kill(process, 9)
        os.waitpid(process, 0)
        raise Broken("in a forked process __dlpack__ did not return")
    exit_code = os.waitstatus_to_exitcode(status)
    if exit_code:
        description = "other bytes" if exit_code == 2 else children.how_it_ended(exit_code)
        raise Broken(f"an export in a forked process: {description}")
    return None


@probe("X-12")
def cycles(target: Target) -> str:
    x = make(target)
    if target.function is None:
        return "there is no consumer to create a cycle with"
    require_requests()
    try:
        x.cycle = target.consume(x)
        reference = weakref.ref(x)
    except Skip:
        raise
    except Exception as error:
        return f"no cycle can be created: {name_error(error)}"
    del x
    gc.collect()
    return "a cycle was " + ("collected" if reference() is None else "not collected")
