"""Exchanges with every library in both directions: how each is done, and what came of it.

What must come of it is the table in expected.py. Everything is read back by foreign hands: by the
library itself, or by ctypes; never by dlbridge alone.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import os
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any, Callable

import pytest

import dlbridge
import hands
from dlbridge.tools import abi, children, elements
from dlbridge.tools.libraries import CASES, Case, Library, capsule_of
from expected import Expected, expected_of, row_of
from rows import LIBRARIES

VERSION = (1, 0)
Road = Callable[[Library, Any, Any], Any]  # library, its module, what is handed over


def _take_object(library: Library, module: Any, t: dlbridge.Tensor, **keywords: Any) -> Any:
    assert library.take is not None
    given = dlbridge.to_dlpack(t) if library.takes_capsules else t
    return library.take(module, given, **keywords)


def _take_capsule(library: Library, module: Any, capsule: Any) -> Any:
    """Of a capsule, which serves once."""
    assert library.from_capsule is not None
    x = library.from_capsule(module, capsule)
    with pytest.raises(Exception):  # noqa: B017 - each says it in another class
        library.from_capsule(module, capsule)
    return x


def _give_capsule(library: Library, module: Any, x: Any) -> dlbridge.Tensor:
    assert library.to_capsule is not None
    capsule = library.to_capsule(module, x)
    t = dlbridge.from_dlpack(capsule)
    with pytest.raises(ValueError, match="capsule already used"):
        dlbridge.from_dlpack(capsule)
    return t


GIVES: dict[str, Road] = {
    "from_dlpack": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x)),
    "as_tensor": lambda lib, m, x: dlbridge.as_tensor(lib.give(m, x)),
    "capsule": _give_capsule,
    "copy=True": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x), copy=True),
    "copy=False": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x), copy=False),
    "device=cpu": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x), device="cpu"),
}
TAKES: dict[str, Road] = {
    "take": _take_object,
    "capsule": lambda lib, m, t: _take_capsule(lib, m, dlbridge.to_dlpack(t)),
    "versioned capsule": lambda lib, m, t: _take_capsule(
        lib, m, dlbridge.to_dlpack(t, max_version=VERSION)
    ),
    "copy=True": lambda lib, m, t: _take_object(lib, m, t, copy=True),
    "copy=False": lambda lib, m, t: _take_object(lib, m, t, copy=False),
    "device=cpu": lambda lib, m, t: _take_object(lib, m, t, device="cpu"),
}
REQUESTS = ("copy=True", "copy=False", "device=cpu")
CASES_OF_REQUESTS = ("row-major", "transposed", "offset", "read-only")


def _has_keywords(library: Library) -> bool:
    parameters = inspect.signature(library.take).parameters if library.take else {}
    return any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def exchanges_of(name: str) -> list[tuple[str, str, str]]:
    """The direction, road and case of everything that there is to exchange with a library."""
    library = LIBRARIES[name]
    has = {
        ("gives", "capsule"): library.to_capsule is not None,
        ("takes", "take"): library.take is not None,
        ("takes", "capsule"): library.from_capsule is not None,
        ("takes", "versioned capsule"): library.from_capsule is not None,
        **{("takes", road): _has_keywords(library) for road in REQUESTS},
    }
    makes = {"read-only": library.read_only, "broadcast": library.broadcast}
    roads = [("gives", road) for road in GIVES] if library.array is not None else []
    roads += [("takes", road) for road in TAKES]
    roads += [("returns", "there and back")]
    found = [
        (direction, road, case)
        for direction, road in roads
        if has.get((direction, road), True)
        for case in (CASES_OF_REQUESTS if road in REQUESTS else CASES)
        if direction != "gives" or case not in makes or makes[case] is not None
    ]
    return [  # that there is no such array is said once
        (direction, road, case)
        for direction, road, case in found
        if direction != "gives"
        or road == "from_dlpack"
        or expected_of(name, "gives", "from_dlpack", case).outcome != "impossible"
    ]


# Done ------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What came of one exchange. `lost` says what was promised and did not hold."""

    outcome: str  # of Expected.outcome
    said: str = ""  # of a refusal, or what was read
    dtype: str = ""
    read_only: bool = False
    lost: str = ""


def _say(raised: BaseException) -> str:
    return f"{type(raised).__name__}: {raised}"


class _Lost(list[str]):
    """What did not hold; nothing if all did."""

    def unless(self, held: bool, text: str) -> None:
        if not held:
            self.append(text)


def _arrived(t: dlbridge.Tensor, source: int) -> tuple[abi.Contents, Outcome]:
    """What is known of a Tensor of ours, by its own capsule read with ctypes."""
    contents = abi.read(t.__dlpack__(max_version=VERSION))
    shared = contents.first == source or t.size == 0
    dtype = elements.NAMES.get(contents.dtype, str(contents.dtype))
    read_only = bool(contents.flags & abi.READ_ONLY)
    return contents, Outcome("zero-copy" if shared else "copied", dtype=dtype, read_only=read_only)


def _read(outcome: Outcome, read: Callable[[], Any], values: Any) -> None:
    """Compares what is read there; that the library cannot is an outcome of its own."""
    try:
        found = read()
    except Exception as raised:
        outcome.outcome, outcome.said = "misread", _say(raised)
        return
    if found != values:
        outcome.outcome, outcome.said = "misread", f"the values are {found}"


def _give(library: Library, module: Any, road: str, case: Case) -> Outcome:
    """The library's array to us; read while it is there, and when it has gone."""
    try:
        x = case.make(library, module)
    except Exception as raised:
        return Outcome("impossible", _say(raised))
    source = _address(library, module, x)
    try:
        t = GIVES[road](library, module, x)
    except Exception as raised:
        return Outcome("refused", _say(raised))
    contents, outcome = _arrived(t, source)
    _read(outcome, lambda: elements.read(contents), case.values)
    del x
    gc.collect()
    _read(outcome, lambda: elements.read(contents), case.values)
    return outcome


def _settled(hand: Any) -> None:
    """Waits until memory that nobody holds is freed: JAX frees what it copies a moment later."""
    deadline = time.monotonic() + 5
    gc.collect()
    while 0 in hand.frees and time.monotonic() < deadline:
        time.sleep(0.01)


def _take(library: Library, module: Any, road: str, case: Case) -> Outcome:
    """Memory made by hand, through us, to the library; dropped in one order and in the other."""
    lost = _Lost()
    for first in ("ours", "theirs"):
        hand = case.make(hands.HANDS, None)
        t = dlbridge.from_dlpack(hand)
        theirs = None
        try:
            theirs = TAKES[road](library, module, t)
        except Exception as raised:
            outcome = Outcome("refused", _say(raised))
        else:
            shared = _address(library, module, theirs) == hand.address or t.size == 0
            outcome = Outcome("zero-copy" if shared else "copied")
            outcome.dtype = _dtype(library, module, theirs)
        if first == "ours":
            del t
            gc.collect()
        if theirs is not None:
            _read(outcome, functools.partial(library.values, module, theirs), case.values)
        if first == "theirs":
            theirs = None
            gc.collect()
            lost.unless(hand.frees == [0], f"freed {hand.frees} times while we had it")
            del t
        theirs = None
        _settled(hand)
        lost.unless(hand.frees == [1], f"freed {hand.frees} times, {first} dropped first")
    outcome.lost = "; ".join(lost)
    return outcome


def _return(library: Library, module: Any, road: str, case: Case) -> Outcome:
    """Memory made by hand, through us to the library and back; the last one frees it."""
    lost = _Lost()
    hand = case.make(hands.HANDS, None)
    try:
        theirs = TAKES["take"](library, module, dlbridge.from_dlpack(hand))
        t = dlbridge.as_tensor(library.give(module, theirs))
    except Exception as raised:
        return Outcome("refused", _say(raised))
    del theirs
    gc.collect()
    contents, outcome = _arrived(t, hand.address)
    lost.unless(
        hand.frees == [0] or outcome.outcome == "copied" or t.size == 0,
        f"freed {hand.frees} times while we had it",
    )
    _read(outcome, lambda: elements.read(contents), case.values)
    del t
    _settled(hand)
    lost.unless(hand.frees == [1], f"freed {hand.frees} times")
    outcome.lost = "; ".join(lost)
    return outcome


DIRECTIONS = {"gives": _give, "takes": _take, "returns": _return}


def _address(library: Library, module: Any, x: Any) -> int:
    assert library.address is not None
    return library.address(module, x)


def _dtype(library: Library, module: Any, x: Any) -> str:
    """By what the library itself exports; "" where it exports nothing."""
    try:
        taken = abi.take(capsule_of(library.give(module, x)))
    except Exception:
        return ""
    taken.free()
    return elements.NAMES.get(taken.contents.dtype, str(taken.contents.dtype))


@functools.cache
def _loaded(library: str) -> tuple[Library, Any]:
    """What a library brings along is out of the collector's sight then: exchanges collect much."""
    row = LIBRARIES[library]
    module = row.load()
    with contextlib.suppress(Exception):  # some load the rest when they make an array
        CASES["row-major"].make(row, module)
    gc.collect()
    gc.freeze()
    return row, module


def attempt(library: str, direction: str, road: str, case: str) -> dict[str, Any]:
    """Does one exchange: the fields of its Outcome. Also called in a child process."""
    row, module = _loaded(library)
    with warnings.catch_warnings():  # the libraries' own affair
        warnings.simplefilter("ignore")
        return vars(DIRECTIONS[direction](row, module, road, CASES[case]))


def attempt_in_child(**exchange: Any) -> dict[str, Any]:
    """The same in a process of its own, which may die of it."""
    path = os.pathsep.join(sys.path)
    answer = children.call("exchanges:attempt", environment={"PYTHONPATH": path}, **exchange)
    if answer.outcome == "returned":
        return dict(answer.value)
    return vars(Outcome("crashes", f"{answer.message}: {answer.noise[-200:]}"))


# Compared with the table -----------------------------------------------------------------------


def explain(expected: Expected, case: Case, got: Outcome) -> str:
    """What is not as the table says; nothing if all is."""
    if got.outcome != expected.outcome:
        return f"expected: {expected.outcome}; got: {got.outcome}. {got.said or got.lost}"
    if expected.says not in got.said:
        return f"expected the words {expected.says!r}; got: {got.said}"
    if got.outcome in ("zero-copy", "copied"):
        dtype = expected.dtype or case.dtype
        if got.dtype not in ("", dtype):
            return f"expected: {dtype}; got: {got.dtype}"
        if got.read_only != expected.read_only:
            return f"expected read-only: {expected.read_only}; got: {got.read_only}"
    return got.lost


def test_exchange(
    direction: str,
    road: str,
    case: str,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    library = request.module.LIBRARY
    expected = expected_of(library, direction, road, case)
    do = attempt_in_child if expected.outcome == "crashes" else attempt
    got = Outcome(**do(library=library, direction=direction, road=road, case=case))
    record_property("exchange", [direction, road, case, got.outcome, expected.says])
    if wrong := explain(expected, CASES[case], got):
        pytest.fail(f"{library} {direction}, {road}: {case}: {wrong}", pytrace=False)


def test_the_table_names_what_there_is(request: pytest.FixtureRequest) -> None:
    """A row that no exchange looks at says nothing, and would be believed."""
    library = request.module.LIBRARY
    there = exchanges_of(library)
    for direction in DIRECTIONS:
        rows = getattr(row_of(library), direction)
        for key in rows:
            assert any(
                key in (f"{road}: {case}", f"{road}: *", case, "*")
                and expected_of(library, way, road, case) == rows[key]
                for way, road, case in there
                if way == direction
            ), f"{library} {direction} {key}"
