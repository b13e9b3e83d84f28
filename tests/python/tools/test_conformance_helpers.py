# SPDX-License-Identifier: BSD-3-Clause
"""The helpers of the conformance probes: processes that end, references, readings, leaks."""

from __future__ import annotations

import ctypes
import gc
import os
import queue
import sys
import threading
import time
from array import array
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Callable

import pytest

from dlbridge.tools import abi, dtypes, marks
from dlbridge.tools import clock as clocks
from dlbridge.tools.conformance import registry, target
from dlbridge.tools.conformance.helpers import (
    arrays,
    deleters,
    memory,
    readings,
    references,
    results,
)
from dlbridge.tools.conformance.helpers.grids import Grid
from dlbridge.tools.conformance.judgement.memory import reaches_beyond
from dlbridge.tools.conformance.outcomes import Broken, Skip

# The process that ends with live deleters --------------------------------------------------------


@pytest.fixture
def child_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))


def _target(name: str) -> target.Target:
    nothing: frozenset[str] = frozenset()
    return target.Target(f"conformance_targets:{name}", None, None, None, nothing, None)


@pytest.mark.parametrize("name", ["tensor", "prints_an_incomplete_line", "forks"])
@pytest.mark.usefixtures("child_paths")
def test_the_end_of_a_process(name: str) -> None:
    begin = time.monotonic()
    end = deleters.end_of_process(_target(name), registers=True)
    assert (end.outcome, end.message, end.noise) == ("returned", "", "")
    assert time.monotonic() - begin < deleters.BEFORE_THE_END


@pytest.mark.usefixtures("child_paths")
def test_the_end_of_a_process_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleters, "BEFORE_THE_END", 1.0)
    with pytest.raises(Skip, match="has not reached its end after 1 s"):
        deleters.end_of_process(_target("hangs"), registers=True)
    with pytest.raises(Skip, match="failed before its end"):
        monkeypatch.setattr(deleters, "BEFORE_THE_END", 30.0)
        deleters.end_of_process(_target("raises"), registers=True)


# The references for views ------------------------------------------------------------------------

ROWS = Grid.of(range(24), (4, 6))


@pytest.mark.parametrize(
    ("view", "shape", "numbers"),
    [
        (ROWS[1:3, ::3], (2, 2), [6, 9, 12, 15]),
        (ROWS[::-2, 5], (2,), [23, 11]),
        (ROWS[2:2], (0, 6), []),
        (ROWS[1, 2], (), [8]),
        (ROWS[None, ..., 4:], (1, 4, 2), [4, 5, 10, 11, 16, 17, 22, 23]),
        (ROWS.T[1:, 0], (5,), [1, 2, 3, 4, 5]),
        (ROWS[:2, :2].mT, (2, 2), [0, 6, 1, 7]),
        (ROWS[:2, :2].reshape((4,)), (4,), [0, 1, 6, 7]),
        (ROWS[0, :2].broadcast((2, 2)), (2, 2), [0, 1, 0, 1]),
        (ROWS[:2, :1].broadcast((2, 2)), (2, 2), [0, 0, 6, 6]),
        (Grid.of(range(6), (1, 2, 3)).transpose(2, 0, 1), (3, 1, 2), [0, 3, 1, 4, 2, 5]),
    ],
)
def test_views_of_a_grid(view: Grid, shape: tuple[int, ...], numbers: list[int]) -> None:
    assert view.shape == shape
    assert view.flat() == numbers


def test_a_grid_without_numbers_has_shapes() -> None:
    view = Grid.of(None, (4, 6))[1:, ::2].T
    assert (view.shape, view.flat()) == ((3, 3), None)


# What arrays tell of themselves ------------------------------------------------------------------


class Numbers:
    """Tells its numbers by a chosen method."""

    def __init__(self, method: Callable[[], object]) -> None:
        self.tolist = method


def test_a_reading_through_dlpack_does_not_count() -> None:
    class Exporter:
        def __dlpack__(self) -> None:
            pass

        def tolist(self) -> list[int]:
            self.__dlpack__()
            return [1, 2]

    assert readings.reading_of(Exporter(), (2,), dtypes.INT) is None
    assert readings.reading_of(Numbers(lambda: [1, 2]), (2,), dtypes.INT) == readings.Reading(
        "tolist()", (1, 2)
    )


def test_readings() -> None:
    items = array("d", [1.5, 2.5])
    assert readings.reading_of(memoryview(items), (2,), dtypes.FLOAT) == readings.Reading(
        "tolist()", (1.5, 2.5)
    )
    assert readings.bounds_of(items) == (items.buffer_info()[0], items.buffer_info()[0] + 16)
    assert [marks.is_read_only(x) for x in (items, b"12", 7)] == [False, True, None]
    flags = SimpleNamespace(writable=False)
    assert marks.is_read_only(SimpleNamespace(flags=flags)) is True
    assert marks.is_read_only(SimpleNamespace(flags=flags, readonly=False)) is True
    for none in (lambda: False, None):  # a method, and an attribute that is not set
        flags = SimpleNamespace(writeable=none, writable=none)
        assert marks.is_read_only(SimpleNamespace(flags=flags, readonly=none)) is None
        assert marks.is_read_only(SimpleNamespace(flags=flags, readonly=True)) is True
        assert results.marks(SimpleNamespace(flags=flags)) == {}
    by_base = SimpleNamespace(base=memoryview(b"1"))
    assert marks.read_only_marks(by_base) == {
        "base.readonly": True, "base.the buffer protocol": True,
    }  # fmt: skip
    assert marks.is_read_only(SimpleNamespace(base=b"1", readonly=False)) is False
    interface = {"data": (8, True)}
    protected = SimpleNamespace(readonly=False, __array_interface__=interface)
    assert marks.is_read_only(protected) is True
    assert marks.protecting(marks.read_only_marks(protected)) == "__array_interface__"
    array_like = SimpleNamespace(flags=SimpleNamespace(writeable=True), readonly=False)
    assert marks.mark_read_only(array_like) is True
    assert (array_like.flags.writeable, array_like.readonly) == (False, True)
    assert marks.mark_read_only(items) is False
    assert readings.same([1.0, float("nan")], [1, float("nan")])
    assert not readings.same([1, 2], [1])


def test_numbers_tell_dtypes_apart() -> None:
    assert target.numbers((2, 0, 4)) == [[], []]
    assert target.numbers((), "bool") is True
    assert target.numbers((2,), "uint8") == [255, 254]
    assert target.numbers((2,), "complex64") == [-1 + 0j, 2 + 1j]
    assert min(target.numbers((128,), "int8")) >= -128
    assert len(set(target.numbers((24,), "float32"))) == 24


# Measuring memory and references -----------------------------------------------------------------


def _much() -> list[bytes]:
    """Returns far more than what other threads take and free during the calls of a round."""
    return [bytes(100) for _ in range(100)]


def test_a_leak_and_what_only_looks_like_one() -> None:
    kept: list[object] = []
    assert memory.growth(lambda: kept.append(_much()), 100) is not None
    assert memory.growth(lambda: bytes(100), 100) is None
    waiting: deque[bytes] = deque(maxlen=64)
    assert memory.growth(lambda: waiting.append(bytes(100)), 50) is None
    cache: dict[int, bytes] = {}
    assert memory.growth(lambda: cache.setdefault(len(cache) % 300, bytes(100)), 100) is None


def test_slow_calls_are_measured_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LONGEST", 0.01)
    kept: list[object] = []

    def leak() -> None:
        time.sleep(0.001)
        kept.append(_much())

    assert memory.growth(leak, 10) is not None
    assert len(kept) < 100


@pytest.mark.parametrize("is_frozen", [False, True])
def test_measuring_leaves_what_was_frozen(is_frozen: bool) -> None:
    gc.unfreeze()
    if is_frozen:
        gc.freeze()
    try:
        memory.growth(lambda: None, 10)
        assert bool(gc.get_freeze_count()) == is_frozen
    finally:
        gc.unfreeze()


def test_references() -> None:
    class Owner:
        def __init__(self) -> None:
            self.part = bytearray(1)

    x, kept = Owner(), []  # type: tuple[Owner, list[object]]
    assert references.left(x, lambda: x.part) is None
    assert references.left(x, lambda: kept.append(x)) == "1 reference to the array for each"
    assert "its attribute 'part'" in (references.left(x, lambda: kept.append(x.part)) or "")


def test_references_that_are_dropped_later() -> None:
    class Owner:
        pass

    x, waiting = Owner(), deque(maxlen=64)  # type: tuple[Owner, deque[object]]
    assert references.left(x, lambda: waiting.append(x)) is None
    given: queue.SimpleQueue[object] = queue.SimpleQueue()

    def drop() -> None:
        while True:
            given.get()

    threading.Thread(target=drop, daemon=True).start()
    assert references.left(x, lambda: given.put(x)) is None


def test_an_object_with_too_few_references_stays_alive() -> None:
    class Owner:
        pass

    x = Owner()
    kept = [x] * 100
    drop = ctypes.pythonapi.Py_DecRef
    found = references.left(x, lambda: drop(ctypes.py_object(x)))
    assert found == "1 too few references to the array for each"
    for _ in range(1000):  # more than are missing
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
    assert kept[99] is x


def test_a_stopwatch_subtracts_a_wait_that_the_system_states_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delays = {"1": 5_000_000_000}  # of earlier
    monkeypatch.setattr(clocks.Stopwatch, "_read_delays", lambda self: dict(delays))
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    stopwatch = clocks.Stopwatch(1)
    now = 112.0
    assert stopwatch.seconds() == 12
    now, delays["1"] = 113.0, 17_500_000_000  # it waited for 12.5 seconds
    assert stopwatch.seconds() == 0.5
    delays["2"] = 1_000_000_000  # a thread that began later, and waited less
    del delays["1"]
    now = 114.0
    assert stopwatch.seconds() == 1.5


class Clock:
    """A clock that only its own sleep() advances, in place of those of memory.py."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    seconds = now  # of a Stopwatch; none is reset here

    def sleep(self, seconds: float) -> None:
        self._now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for name in ("clock", "time"):
        monkeypatch.setattr(memory, name, clock)
    monkeypatch.setattr(memory, "Stopwatch", lambda process: clock)
    return clock


def test_slow_calls_are_not_measured(clock: Clock) -> None:
    def act() -> None:
        clock.sleep(0.25)

    with pytest.raises(Skip, match=r"too slow to measure .* one takes 0.25 s"):
        references.left(object(), act)
    with pytest.raises(Skip, match=r"too slow to measure .* one takes 0.25 s"):
        memory.how_often(act)


@pytest.mark.parametrize("late", [1, 2, 3])
def test_a_call_during_which_the_process_was_stopped_is_measured_again(
    clock: Clock, late: int
) -> None:
    calls = 0

    def act() -> None:
        nonlocal calls
        calls += 1
        if calls == late:
            clock.sleep(0.25)  # as where the system runs other processes for so long

    assert memory.how_often(act) == memory.TIMES
    calls = 0
    assert references.left(object(), act) is None


def test_a_slow_library_has_fewer_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    dlbridge = target.find("dlbridge", None)
    assert len(list(arrays.arrays(dlbridge))) > 10
    monkeypatch.setattr(arrays, "LONGEST", 0.0)
    assert len(list(arrays.arrays(dlbridge))) == 1


def test_a_repeated_check_states_which_repetition_found_the_fault() -> None:
    calls: list[target.Target] = []

    def check(one: target.Target) -> None:
        calls.append(one)
        if len(calls) == 2:
            raise Broken("another answer")

    with pytest.raises(Broken) as caught:
        registry._repeated(check)(None)  # type: ignore[arg-type]
    expected = "passed at first; when the check was repeated: another answer"
    assert (len(calls), caught.value.got) == (2, expected)


# Exports that say nothing about their array ------------------------------------------------------


def _export(flags: int, strides: tuple[int, ...] = (3, 1)) -> abi.CtypesTensor:
    return abi.make(data=abi.memory(bytes(64)), shape=(2, 3), strides=strides, flags=flags)


def test_a_copy_tells_neither_the_address_of_its_array_nor_whether_it_may_be_written() -> None:
    def array_with(flags: int) -> SimpleNamespace:
        return SimpleNamespace(__dlpack__=lambda **keywords: _export(flags).capsule())

    assert results.addresses_of(_target("tensor"), array_with(0)) != []
    assert results.addresses_of(_target("tensor"), array_with(abi.IS_COPIED)) == []
    assert results.marks(array_with(abi.READ_ONLY)) == {"__dlpack__": True}
    assert results.marks(array_with(abi.IS_COPIED)) == {}


def test_a_tensor_reaches_beyond_an_array_only_from_within() -> None:
    contents = abi.read(_export(0).capsule())
    first = contents.first
    assert reaches_beyond(contents, (first, first + 20))
    assert reaches_beyond(contents, (first + 4, first + 24))
    assert not reaches_beyond(contents, (first, first + 24))
    assert not reaches_beyond(contents, (first + 24, first + 48))
    assert not reaches_beyond(contents, None)


def test_the_widths_of_a_dtype() -> None:
    known = {(2, 32, 1): True, (2, 4, 1): False, (0, 3, 1): False, (200, 3, 1): True}
    assert {each: dtypes.has_width(each) for each in known} == known
