# SPDX-License-Identifier: BSD-3-Clause
"""Counts and calls deleters: on threads without the GIL, and after the interpreter's end."""

from __future__ import annotations

import contextlib
import ctypes as C
import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ... import abi, children
from ...clock import Stopwatch
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


def exit_with_deleter(
    name: str, consumer: str | None, device: str, registers: bool, reached: str
) -> None:
    """In a process of its own: lets libc call deleters after the interpreter has ended.

    Creates the file `reached` when it is done; the parent process checks how the process ends.
    """
    for item in every_kind(make(find(name, consumer, device))):
        tensor = abi.take(item.capsule)
        if registers and tensor.contents.deleter:
            C.CDLL(None).__cxa_atexit(
                C.c_void_p(tensor.contents.deleter), C.c_void_p(tensor.contents.address), None
            )
    Path(reached).touch()


@dataclass(frozen=True)
class End:
    """How a process ended: its exit status, None for a timeout, and its first line after that."""

    status: int | None
    output: str


def end_of_process(target: Target, *, registers: bool) -> End:
    """Runs exit_with_deleter(). Raises Skip where the process fails, or hangs, before its end.

    The process writes to files, so that neither its output nor that of its own children can block
    or delay this one; its children end with it.
    """
    function = exit_with_deleter.__name__
    with tempfile.TemporaryDirectory() as folder:
        reached, output = Path(folder) / "reached", Path(folder) / "output"
        opened = f"{target.name!r}, {target.consumer!r}, {target.device!r}"
        call = f"{function}({opened}, {registers}, {str(reached)!r})"
        parent, alive = children.pipe()
        own = f"from {children.__name__} import end_with; end_with({parent})"
        program = f"{own}; from {__name__} import {function}; {call}"
        with output.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                pass_fds=(parent,),
                start_new_session=True,
            )
        os.close(parent)
        try:
            _wait_for(process, reached)
            before = output.stat().st_size
            status = _wait(process)
        finally:
            _end_group(process)
            os.close(alive)
        text = output.read_bytes()
        if not reached.exists():
            raise Skip(f"a separate process failed before its end: {_lines(text)[-1]}")
        return End(status, _lines(text[before:])[0])


def _lines(text: bytes) -> list[str]:
    return text.decode(errors="replace").strip().splitlines() or [""]


def _wait_for(process: subprocess.Popen[bytes], reached: Path) -> None:
    """Waits until the process has created a file, or ended."""
    stopwatch = Stopwatch(process.pid)
    while process.poll() is None and not reached.exists():
        if stopwatch.seconds() > BEFORE_THE_END:
            raise Skip(f"a separate process has not reached its end after {BEFORE_THE_END:g} s")
        journal.tick()
        time.sleep(0.01)


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """Returns the exit status; None where the process does not end in time."""
    stopwatch = Stopwatch(process.pid)
    while process.poll() is None:
        if stopwatch.seconds() > AFTER_THE_END:
            return None
        journal.tick()
        time.sleep(0.01)
    return process.returncode


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and the children that it may have left."""
    with contextlib.suppress(OSError):  # none of them is left
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
