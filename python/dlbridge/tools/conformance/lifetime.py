"""The probes of lifetime and threads, X-01 to X-12: who frees, when, and on which thread."""

from __future__ import annotations

import copy
import gc
import operator
import os
import pickle
import sys
import threading
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
from dlbridge.tools.conformance.exports import (
    best,
    content,
    device_of,
    every_kind,
    export,
    make,
)
from dlbridge.tools.conformance.memory import growth
from dlbridge.tools.conformance.probes import Broken, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

TIMES, FEWEST = 10_000, 300
SECONDS = 2.0  # for one of the long counts, which is cut short where a library is slow
PATIENCE = 2.0  # seconds for a library that frees on another thread
RACES, RUNNERS = 200, 4


def _weak(x: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(x)
    except TypeError:
        return None


def _how_often(act: Callable[[], object]) -> int:
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
            times = min(1000, _how_often(act))
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
    """Makes tensors of six numbers, of the kind that a caller asks for."""
    data = abi.memory(bytes(64))

    def made(max_version: tuple[int, int] | None = None, **others: Any) -> abi.Made:
        version = (1, 0) if max_version is not None else None
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

            times = _how_often(act)
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
    times = _how_often(act)
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
    sys.setswitchinterval(1e-6)
    try:
        races = _Races(target)
        races.run_all()
    finally:
        sys.setswitchinterval(interval)
    wins = [len(won) for won in races.won]
    if set(wins) != {1}:
        wrong = next(number for number in wins if number != 1)
        raise Broken(f"of {RUNNERS} threads with one capsule {wrong} took it")
    races.won.clear()
    races.capsules.clear()
    if not _settle(lambda: all(sum(it.calls for it in pair.values()) == 2 for pair in races.made)):
        raise Broken("the deleters did not run once each")
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    return f"{RACES} races of {RUNNERS} threads, {'with' if has_gil else 'without'} the GIL"


@probe("X-10", hostile=True)
def used_twice(target: Target) -> None:
    x = make(target)
    capsules: list[Any] = []

    def capsule(**asked: Any) -> Any:
        if not capsules:
            capsules.append(x.__dlpack__(**asked))
        return capsules[0]

    if target.function is None:
        raise Skip("no consumer is known: name one with --consumer MODULE:FUNCTION")
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
                severity="W",  # where arrays never change it does no harm
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
