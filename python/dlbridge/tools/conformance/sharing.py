"""The probes of sharing: who takes a capsule, once, and what copies are, X-06 and X-08 to X-12."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import threading
import time
import weakref
from typing import Any, Callable

from dlbridge.tools import abi, children
from dlbridge.tools.conformance.exports import best, content, device_of, make
from dlbridge.tools.conformance.lifetime import how_often
from dlbridge.tools.conformance.memory import growth
from dlbridge.tools.conformance.probes import Broken, Skip, probe
from dlbridge.tools.conformance.target import NO_CONSUMER, Target, name_error

PATIENCE = 2.0  # seconds for a library that frees on another thread
RACES, RUNNERS = 200, 4
RACING = 2.0  # seconds, for as many times 200 races as fit in


class _Gives:
    """A producer whose capsules are made elsewhere."""

    def __init__(self, capsule: Callable[..., Any], device: tuple[int, int] = abi.CPU) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def _hand_over(target: Target, capsule: Callable[..., Any], device: Any = abi.CPU) -> Any:
    """Gives the consumer a producer, or a capsule where it takes nothing else."""
    if target.library is not None and target.library.takes_capsules:
        return target.consume(capsule())
    return target.consume(_Gives(capsule, device))


def _by_hand(**words: Any) -> Callable[..., abi.Made]:
    """Makes tensors of six numbers, of the kind that a caller asks for, each on its own memory."""

    def made(max_version: tuple[int, int] | None = None, **others: Any) -> abi.Made:
        version = (1, 0) if max_version is not None else None
        data = abi.memory(bytes(64))
        return abi.make(data=data, shape=(2, 3), strides=(3, 1), version=version, **words)

    return made


def _settle(holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold, in a moment."""
    until = time.perf_counter() + PATIENCE
    while not holds() and time.perf_counter() < until:
        gc.collect()
        time.sleep(0.01)
    return holds()


@probe("X-06", hostile=True)
def no_deleter(target: Target) -> None:
    made = _by_hand(deleter=False)
    try:
        taken = _hand_over(target, lambda **asked: made(**asked).capsule())
    except Skip:
        raise
    except Exception as raised:
        raise Broken(f"a tensor without deleter is refused: {name_error(raised)}") from None
    del taken
    gc.collect()


@probe("X-08")
def imports_leave_nothing(target: Target) -> str | None:
    if target.function is None:
        return None  # there is no consumer
    by_hand = _by_hand()
    made = {None: by_hand(), (1, 0): by_hand(max_version=(1, 0))}
    given = 0

    def capsule(max_version: Any = None, **others: Any) -> Any:
        nonlocal given
        given += 1
        return made[None if max_version is None else (1, 0)].capsule()

    def act() -> None:
        _hand_over(target, capsule)

    try:
        act()
    except Exception:  # C-01 tells of that
        return None
    times = how_often(act)
    left = growth(act, times)

    def calls() -> int:
        return sum(each.calls for each in made.values())

    if not _settle(lambda: calls() == given):
        raise Broken(f"of {given} tensors that were taken and dropped {calls()} were freed")
    if left is not None:
        raise Broken(f"{times} imports, each dropped, leave {left}")
    return f"{times} imports"


# Threads, second uses, copies ----------------------------------------------------------------


class _Races:
    """Threads that all want the same capsule, one capsule after another; who got which."""

    def __init__(self, target: Target) -> None:
        self.target, by_hand = target, _by_hand()
        self.ready = threading.Barrier(RUNNERS)
        self.made = [{None: by_hand(), 1: by_hand(max_version=(1, 0))} for _ in range(RACES)]
        self.capsules = [{kind: it.capsule() for kind, it in pair.items()} for pair in self.made]
        self.won: list[list[Any]] = [[] for _ in range(RACES)]
        self.skipped: list[Skip] = []

    def run_all(self) -> None:
        threads = [threading.Thread(target=self._run) for _ in range(RUNNERS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if self.skipped:
            raise self.skipped[0]

    def _run(self) -> None:
        for capsules, won in zip(self.capsules, self.won):

            def capsule(
                max_version: Any = None, *, of: dict[int | None, Any] = capsules, **others: Any
            ) -> Any:
                return of[None if max_version is None else 1]

            self.ready.wait()
            try:
                won.append(_hand_over(self.target, capsule))
            except Skip as why:
                self.skipped.append(why)
            except Exception:  # it came too late
                continue


@probe("X-09", hostile=True)
def one_winner(target: Target) -> str:
    interval = sys.getswitchinterval()
    until = time.perf_counter() + RACING
    batches = 0
    while batches == 0 or time.perf_counter() < until:
        sys.setswitchinterval(1e-6)
        try:
            races = _Races(target)
            races.run_all()
        finally:
            sys.setswitchinterval(interval)
        _judge(races)
        batches += 1
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    how = "with" if has_gil else "without"
    return f"{batches * RACES} races of {RUNNERS} threads, {how} the GIL"


def _judge(races: _Races) -> None:
    wins = [len(won) for won in races.won]
    if set(wins) != {1}:
        wrong = next(number for number in wins if number != 1)
        raise Broken(f"of {RUNNERS} threads with one capsule {wrong} took it")
    races.won.clear()
    races.capsules.clear()
    if not _settle(lambda: all(sum(it.calls for it in pair.values()) == 2 for pair in races.made)):
        raise Broken("the deleters did not run once each")


@probe("X-10", hostile=True)
def used_twice(target: Target) -> None:
    x = make(target)
    capsules: list[Any] = []

    def capsule(**asked: Any) -> Any:
        if not capsules:
            capsules.append(x.__dlpack__(**asked))
        return capsules[0]

    if target.function is None:
        raise Skip(NO_CONSUMER)
    try:
        first = _hand_over(target, capsule, device_of(x))
    except Exception as raised:
        raise Skip(f"the consumer does not take this producer: {name_error(raised)}") from None
    _must_raise(target, capsule, device_of(x), "a capsule that is used")
    del first
    made = _by_hand()()
    foreign = made.capsule("foreign_tensor")
    _must_raise(target, lambda **asked: foreign, abi.CPU, "a capsule named 'foreign_tensor'")
    if made.calls:
        raise Broken("the deleter behind a capsule of a foreign name was called")


def _must_raise(target: Target, capsule: Callable[..., Any], device: Any, what: str) -> None:
    try:
        _hand_over(target, capsule, device)
    except SystemError as unclean:
        raise Broken(f"{what} gave {name_error(unclean)}") from None
    except Exception:
        return
    raise Broken(f"{what} was accepted")


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
            notes.append(f"{way}: gives {type(copied).__name__}")
            continue
        found = best(copied)
        if found.contents.address == original.contents.address:
            raise Broken(f"{way} gave an object with the managed tensor of the first")
        shared = found.contents.first == original.contents.first
        if shared and way != "copy.copy" and before and not _is_frozen(original.contents):
            raise Broken(
                f"{way} gave an object with the memory of the first",
                # A pickle must hold more than an address; arrays that never change may be shared.
                severity=None if way == "pickle" else "W",
            )
        del x, original
        gc.collect()
        if content(found.contents) != before:
            raise Broken(f"{way} gave an object that holds other bytes")
        notes.append(f"{way}: {'the same memory' if shared else 'a copy'}")
    return ", ".join(notes)


def _is_frozen(contents: abi.Contents) -> bool:
    """Whether sharing does no harm, as nobody may write."""
    return bool(contents.flags & abi.READ_ONLY)


@probe("X-11", hostile=True)
def after_a_fork(target: Target) -> None:
    if not hasattr(os, "fork"):
        return
    x = make(target)
    before = content(best(x).contents)
    process = os.fork()
    if process == 0:
        status = 1
        try:
            taken = abi.take(best(x).capsule)
            status = 0 if content(taken.contents) == before else 2
            taken.free()
        finally:
            os._exit(status)
    until = time.perf_counter() + 5 * PATIENCE
    while time.perf_counter() < until:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(process, 9)
        os.waitpid(process, 0)
        raise Broken("in a forked process __dlpack__ did not come back", severity="W")
    ended = os.waitstatus_to_exitcode(status)
    if ended:
        said = "other bytes" if ended == 2 else children.how_it_ended(ended)
        raise Broken(f"an export in a forked process: {said}", severity="W")


@probe("X-12")
def cycles(target: Target) -> str:
    x = make(target)
    if target.function is None:
        return "there is no consumer to make a cycle with"
    try:
        x.cycle = target.consume(x)
        there = weakref.ref(x)
    except Skip:
        raise
    except Exception as raised:
        return f"no cycle can be made: {name_error(raised)}"
    del x
    gc.collect()
    return "a cycle was " + ("collected" if there() is None else "not collected")
