# SPDX-License-Identifier: BSD-3-Clause
"""Counts and calls deleters: on threads without the GIL, and after the interpreter's end."""

from __future__ import annotations

import ctypes as C
import sys
import time
import weakref
from dataclasses import dataclass, field
from typing import Any

from ... import abi, children
from .. import journal
from ..outcomes import Broken, Skip
from ..target import Target, find
from .exports import every_kind, free, make

_callbacks: list[Any] = []  # kept alive, as a library may still call them
OBSERVED = 0.1  # seconds in which a deleter that ignores the GIL shows it
BEFORE_THE_END = 30.0  # seconds that a process may take to import the library and to export
AFTER_THE_END = 10.0  # seconds that it may take to end


@dataclass
class CountingDeleter:
    """A deleter that replaces the tensor's own; it counts the calls and forwards the first."""

    contents: abi.Contents
    calls: int = 0
    callback: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.contents.deleter:
            raise Skip("the deleter is NULL: there is nothing to free")
        original = abi.Deleter(self.contents.deleter)

        def count(address: int) -> None:
            self.calls += 1
            if self.calls == 1:
                original(address)

        self.callback = abi.Deleter(count)
        _callbacks.append(self.callback)
        struct = abi.STRUCTS[self.contents.name].from_address(self.contents.address)
        struct.deleter = C.cast(self.callback, C.c_void_p)


def call_while_gil_is_held(tensor: abi.OwnedTensor, owner: weakref.ref[Any] | None) -> None:
    """Calls a deleter on a new thread that has no Python thread state.

    Meanwhile this thread holds the GIL: an owner that is freed then was freed without the GIL.
    Raises Skip where such threads cannot be created, Broken where the deleter ignored the GIL.
    """
    address = _deleter_of(tensor)
    try:
        create, join = C.PyDLL(None).pthread_create, C.CDLL(None).pthread_join
    except (AttributeError, TypeError, OSError):
        raise Skip("this system has no pthread_create") from None
    thread = C.c_ulong()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10.0)  # no other thread requests the GIL meanwhile
    try:
        status = create(
            C.byref(thread), None, C.c_void_p(address), C.c_void_p(tensor.contents.address)
        )
        was_freed = False
        if not status and owner is not None and _has_gil():
            until = time.perf_counter() + OBSERVED
            while time.perf_counter() < until and not was_freed:
                was_freed = owner() is None
    finally:
        sys.setswitchinterval(interval)
    if status:
        raise Skip(f"pthread_create failed with {status}")
    join(thread, None)
    if was_freed:
        raise Broken("the deleter freed its Python object while another thread held the GIL")


class _SigEvent(C.Structure):
    _fields_ = [
        ("value", C.c_void_p),
        ("signo", C.c_int),
        ("notify", C.c_int),
        ("function", C.c_void_p),
        ("attributes", C.c_void_p),
        ("rest", C.c_char * 32),
    ]


class _TimerSpec(C.Structure):
    _fields_ = [(name, C.c_long) for name in ("again_s", "again_ns", "first_s", "first_ns")]


SIGEV_THREAD, CLOCK_MONOTONIC = 2, 1


def call_without_gil(tensor: abi.OwnedTensor) -> None:
    """Lets the C library call a deleter on one of its threads while Python sleeps.

    A deleter that assumes an attached Python thread fails here. Does nothing special where the
    system has no such timers.
    """
    libc = C.CDLL(None)
    event = _SigEvent(
        value=tensor.contents.address, notify=SIGEV_THREAD, function=_deleter_of(tensor)
    )
    timer = C.c_void_p()
    try:
        status = libc.timer_create(CLOCK_MONOTONIC, C.byref(event), C.byref(timer))
    except AttributeError:
        status = 1
    if status:
        free(tensor)
        return
    soon = _TimerSpec(first_ns=int(OBSERVED * 1e9 / 4))
    libc.timer_settime(timer, 0, C.byref(soon), None)
    libc.usleep(int(OBSERVED * 1e6))
    libc.timer_delete(timer)


def _deleter_of(tensor: abi.OwnedTensor) -> int:
    if not tensor.contents.deleter:
        raise Skip("the deleter is NULL: there is nothing to free")
    return tensor.contents.deleter


def _has_gil() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


# After the interpreter's end -------------------------------------------------------------------


def register_deleters(name: str, consumer: str | None, device: str, registers: bool) -> None:
    """In a process of its own: lets libc call deleters after the interpreter has ended."""
    for item in every_kind(make(find(name, consumer, device))):
        tensor = abi.take(item.capsule)
        if registers and tensor.contents.deleter:
            C.CDLL(None).__cxa_atexit(
                C.c_void_p(tensor.contents.deleter), C.c_void_p(tensor.contents.address), None
            )


def end_of_process(target: Target, *, registers: bool) -> children.Answer:
    """Returns how a process ends in which register_deleters() was called, as Worker.finish() does.

    Raises Skip where the process fails, or hangs, before its end.
    """
    with children.Worker() as worker:
        answer = worker.call(
            f"{__name__}:{register_deleters.__name__}",
            within=BEFORE_THE_END,
            watch=journal.tick,
            name=target.name,
            consumer=target.consumer,
            device=target.device,
            registers=registers,
        )
        if answer.outcome == "hung":
            raise Skip(f"a separate process has not reached its end after {BEFORE_THE_END:g} s")
        if answer.outcome != "returned":
            raise Skip(f"a separate process failed before its end: {answer.message}")
        return worker.finish(within=AFTER_THE_END, watch=journal.tick)
