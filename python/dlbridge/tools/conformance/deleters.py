"""Ways to watch and to call a deleter: counted, on threads without the GIL, after the end."""

from __future__ import annotations

import ctypes as C
import signal
import subprocess
import sys
import time
import weakref
from dataclasses import dataclass, field
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.exports import best, make
from dlbridge.tools.conformance.probes import Broken, Skip
from dlbridge.tools.conformance.target import find, name_error

_kept: list[Any] = []  # callbacks that somebody may still call
LOOK_FOR = 0.2  # seconds in which a deleter that ignores the GIL shows it
AFTER_THE_END = 20.0  # seconds that a process may take to end
AT_MOST = 300  # seconds after which a process that is not ended ends itself


@dataclass
class Counted:
    """A deleter that was put in the place of a tensor's own; it counts, and calls that one."""

    contents: abi.Contents
    calls: int = 0
    callback: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.contents.deleter:
            raise Skip("the deleter is NULL: nothing is to be freed")
        original = abi.Deleter(self.contents.deleter)

        def count(address: int) -> None:
            self.calls += 1
            if self.calls == 1:
                original(address)

        self.callback = abi.Deleter(count)
        _kept.append(self.callback)
        struct = abi.STRUCTS[self.contents.name].from_address(self.contents.address)
        struct.deleter = C.cast(self.callback, C.c_void_p)


def while_the_gil_is_held(taken: abi.Taken, owner: weakref.ref[Any] | None) -> None:
    """Calls a deleter as a thread's first function, on a thread that Python knows nothing of.

    This thread holds the GIL for a while meanwhile: an owner that dies then was freed without it.
    Raises Skip where there are no such threads, Broken where the GIL was ignored.
    """
    address = _deleter_of(taken)
    try:
        create, join = C.PyDLL(None).pthread_create, C.CDLL(None).pthread_join
    except (AttributeError, TypeError, OSError):
        raise Skip("this system has no pthread_create") from None
    thread = C.c_ulong()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10.0)  # nobody asks this thread for the GIL meanwhile
    try:
        failed = create(
            C.byref(thread), None, C.c_void_p(address), C.c_void_p(taken.contents.address)
        )
        died = False
        if not failed and owner is not None and _has_gil():
            until = time.perf_counter() + LOOK_FOR
            while time.perf_counter() < until and not died:
                died = owner() is None
    finally:
        sys.setswitchinterval(interval)
    if failed:
        raise Skip(f"pthread_create failed with {failed}")
    join(thread, None)
    if died:
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


def while_nobody_holds_the_gil(taken: abi.Taken) -> None:
    """Has the C library call a deleter on a thread of its own while Python sleeps.

    A deleter that takes for granted that some thread is Python's current one finds none. Does
    nothing where there are no such timers.
    """
    libc = C.CDLL(None)
    event = _SigEvent(
        value=taken.contents.address, notify=SIGEV_THREAD, function=_deleter_of(taken)
    )
    timer = C.c_void_p()
    try:
        failed = libc.timer_create(CLOCK_MONOTONIC, C.byref(event), C.byref(timer))
    except AttributeError:
        failed = 1
    if failed:
        taken.free()
        return
    soon = _TimerSpec(first_ns=int(LOOK_FOR * 1e9 / 4))
    libc.timer_settime(timer, 0, C.byref(soon), None)
    libc.usleep(int(LOOK_FOR * 1e6))
    libc.timer_delete(timer)


def _deleter_of(taken: abi.Taken) -> int:
    if not taken.contents.deleter:
        raise Skip("the deleter is NULL: nothing is to be freed")
    return taken.contents.deleter


def _has_gil() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


# After the end of the interpreter ----------------------------------------------------------------


def leave(name: str, consumer: str | None, registers: bool) -> None:
    """In a process of its own: has libc call a deleter when the interpreter is gone.

    Prints what it did; whoever runs it looks how the process ends.
    """
    signal.alarm(AT_MOST)
    taken = abi.take(best(make(find(name, consumer))).capsule)
    if registers and taken.contents.deleter:
        C.CDLL(None).__cxa_atexit(
            C.c_void_p(taken.contents.deleter), C.c_void_p(taken.contents.address), None
        )
    print("leaving", flush=True)


@dataclass(frozen=True)
class End:
    """How a process ended: its exit status, None when it did not; what it printed."""

    status: int | None
    said: str


def end_of_process(name: str, consumer: str | None, *, registers: bool) -> End:
    """Runs leave(). Raises Skip where it does not even come to its end."""
    program = f"from {__name__} import leave; leave({name!r}, {consumer!r}, {registers})"
    with subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            if line.strip() == "leaving":
                break
            said = line.strip() or said
        else:
            raise Skip(f"a process of its own did not come so far: {said}")
        try:
            rest, _ = process.communicate(timeout=AFTER_THE_END)
        except subprocess.TimeoutExpired:
            process.kill()
            return End(None, "")
        except Exception as raised:
            process.kill()
            raise Skip(name_error(raised)) from None
        return End(process.returncode, (rest.strip().splitlines() or [""])[0])
