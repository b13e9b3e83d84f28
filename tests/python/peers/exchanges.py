# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges with every library in both directions, and their results.

expected.py has the expected results. The library itself or ctypes reads the values of every
exchange, never dlbridge alone.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import operator
import os
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any, Callable

import pytest

import ctypes_library
import dlbridge
from dlbridge.tools import abi, children, elements
from dlbridge.tools.elements import same_nested as same
from dlbridge.tools.libraries import CASES, Case, Library, capsule_of
from expected import COMPARISONS, Expected, expected_of, is_result_of, row_of
from rows import LIBRARIES

VERSION = (1, 0)
Method = Callable[[Library, Any, Any], Any]  # library, its module, the object to exchange


def _take_object(library: Library, module: Any, t: dlbridge.Tensor, **keywords: Any) -> Any:
    assert library.take is not None
    x = dlbridge.to_dlpack(t) if library.takes_capsules else t
    return library.take(module, x, **keywords)


def _take_capsule(library: Library, module: Any, capsule: Any) -> Any:
    """Imports a capsule, which must fail a second time."""
    assert library.from_capsule is not None
    x = library.from_capsule(module, capsule)
    with pytest.raises(Exception):  # noqa: B017 - the class depends on the library
        library.from_capsule(module, capsule)
    return x


def _give_capsule(library: Library, module: Any, x: Any) -> dlbridge.Tensor:
    assert library.to_capsule is not None
    capsule = library.to_capsule(module, x)
    t = dlbridge.from_dlpack(capsule)
    with pytest.raises(ValueError, match="capsule already used"):
        dlbridge.from_dlpack(capsule)
    return t


EXPORTS: dict[str, Method] = {
    "from_dlpack": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x)),
    "as_tensor": lambda lib, m, x: dlbridge.as_tensor(lib.give(m, x)),
    "capsule": _give_capsule,
    "copy=True": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x), copy=True),
    "copy=False": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x), copy=False),
    "device=cpu": lambda lib, m, x: dlbridge.from_dlpack(lib.give(m, x), device="cpu"),
}
IMPORTS: dict[str, Method] = {
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
    """The direction, method and case of every exchange with a library."""
    library = LIBRARIES[name]
    supported = {
        ("gives", "capsule"): library.to_capsule is not None,
        ("takes", "take"): library.take is not None,
        ("takes", "capsule"): library.from_capsule is not None,
        ("takes", "versioned capsule"): library.from_capsule is not None,
        **{("takes", method): _has_keywords(library) for method in REQUESTS},
    }
    constructors = {"read-only": library.read_only, "broadcast": library.broadcast}
    methods = [("gives", method) for method in EXPORTS] if library.array is not None else []
    methods += [("takes", method) for method in IMPORTS]
    methods += [("returns", "there and back")]
    exchanges = [
        (direction, method, case)
        for direction, method in methods
        if supported.get((direction, method), True)
        for case in (CASES_OF_REQUESTS if method in REQUESTS else CASES)
        if direction != "gives" or case not in constructors or constructors[case] is not None
    ]
    return [  # an array that does not exist is listed once
        (direction, method, case)
        for direction, method, case in exchanges
        if direction != "gives"
        or method == "from_dlpack"
        or expected_of(name, "gives", "from_dlpack", case).outcome != "impossible"
    ]


# Exchanges -------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """The result of one exchange. `violations` lists broken guarantees of ownership."""

    outcome: str  # of Expected.outcome
    text: str = ""  # of an exception, or the values read
    dtype: str = ""
    read_only: bool = False
    violations: str = ""


def _describe(raised: BaseException) -> str:
    return f"{type(raised).__name__}: {raised}"


class _Violations(list[str]):
    """Descriptions of the conditions that failed."""

    def require(self, condition: bool, text: str) -> None:
        if not condition:
            self.append(text)


def _examine(t: dlbridge.Tensor, source: int) -> tuple[abi.Contents, Outcome]:
    """The contents of a Tensor's capsule, read with ctypes, and the outcome of its import."""
    contents = abi.read(t.__dlpack__(max_version=VERSION))
    shared = contents.first == source or t.size == 0
    dtype = elements.NAMES.get(contents.dtype, str(contents.dtype))
    read_only = bool(contents.flags & abi.READ_ONLY)
    return contents, Outcome("zero-copy" if shared else "copied", dtype=dtype, read_only=read_only)


def _read(outcome: Outcome, read: Callable[[], Any], values: Any) -> None:
    """Compares the values read with the expected ones; sets "misread" if they differ."""
    try:
        actual = read()
    except Exception as raised:
        outcome.outcome, outcome.text = "misread", _describe(raised)
        return
    if not same(actual, values):
        outcome.outcome, outcome.text = "misread", f"the values are {actual}"


def _give(library: Library, module: Any, method: str, case: Case) -> Outcome:
    """Exports the library's array to dlbridge; reads it before and after the array is deleted."""
    try:
        x = case.make(library, module)
    except Exception as raised:
        return Outcome("impossible", _describe(raised))
    source = _address(library, module, x)
    try:
        t = EXPORTS[method](library, module, x)
    except Exception as raised:
        return Outcome("refused", _describe(raised))
    contents, outcome = _examine(t, source)
    _read(outcome, lambda: elements.read(contents), case.values)
    del x
    gc.collect()
    _read(outcome, lambda: elements.read(contents), case.values)
    return outcome


def _wait_until_freed(source: Any) -> None:
    """Waits for the deleters, as JAX calls them after a delay where it copies."""
    deadline = time.monotonic() + 5
    gc.collect()
    while 0 in source.frees and time.monotonic() < deadline:
        time.sleep(0.01)


def _take(library: Library, module: Any, method: str, case: Case) -> Outcome:
    """Exports a ctypes tensor through dlbridge to the library; drops both in either order."""
    violations = _Violations()
    for first in ("dlbridge", "library"):
        source = case.make(ctypes_library.CTYPES, None)
        t = dlbridge.from_dlpack(source)
        imported = None
        try:
            imported = IMPORTS[method](library, module, t)
        except Exception as raised:
            outcome = Outcome("refused", _describe(raised))
        else:
            shared = _address(library, module, imported) == source.address or t.size == 0
            outcome = Outcome("zero-copy" if shared else "copied")
            outcome.dtype = _dtype(library, module, imported)
        if first == "dlbridge":
            del t
            gc.collect()
        if imported is not None:
            _read(outcome, functools.partial(library.values, module, imported), case.values)
        if first == "library":
            imported = None
            gc.collect()
            violations.require(source.frees == [0], f"freed {source.frees} times before the Tensor")
            del t
        imported = None
        _wait_until_freed(source)
        violations.require(
            source.frees == [1], f"freed {source.frees} times, {first} dropped first"
        )
    outcome.violations = "; ".join(violations)
    return outcome


def _return(library: Library, module: Any, method: str, case: Case) -> Outcome:
    """Exports a ctypes tensor through dlbridge to the library, and imports it again."""
    violations = _Violations()
    source = case.make(ctypes_library.CTYPES, None)
    try:
        x = IMPORTS["take"](library, module, dlbridge.from_dlpack(source))
        t = dlbridge.as_tensor(library.give(module, x))
    except Exception as raised:
        return Outcome("refused", _describe(raised))
    del x
    gc.collect()
    contents, outcome = _examine(t, source.address)
    violations.require(
        source.frees == [0] or outcome.outcome == "copied" or t.size == 0,
        f"freed {source.frees} times before the Tensor",
    )
    _read(outcome, lambda: elements.read(contents), case.values)
    del t
    _wait_until_freed(source)
    violations.require(source.frees == [1], f"freed {source.frees} times")
    outcome.violations = "; ".join(violations)
    return outcome


DIRECTIONS = {"gives": _give, "takes": _take, "returns": _return}


def _address(library: Library, module: Any, x: Any) -> int:
    assert library.address is not None
    return library.address(module, x)


def _dtype(library: Library, module: Any, x: Any) -> str:
    """The dtype of the library's own export; "" if it exports nothing."""
    try:
        tensor = abi.take(capsule_of(library.give(module, x)))
    except Exception:
        return ""
    tensor.free()
    return elements.NAMES.get(tensor.contents.dtype, str(tensor.contents.dtype))


@functools.cache
def _loaded(library: str) -> tuple[Library, Any]:
    """A library and its module. Freezes the module's objects, as exchanges collect often."""
    row = LIBRARIES[library]
    module = row.load()
    with contextlib.suppress(Exception):  # some load more modules for the first array
        CASES["row-major"].make(row, module)
    gc.collect()
    gc.freeze()
    return row, module


def attempt(library: str, direction: str, method: str, case: str) -> dict[str, Any]:
    """Performs one exchange; returns the fields of its Outcome. Also runs in a child process."""
    row, module = _loaded(library)
    with warnings.catch_warnings():  # from the libraries
        warnings.simplefilter("ignore")
        return vars(DIRECTIONS[direction](row, module, method, CASES[case]))


def attempt_in_child(**exchange: Any) -> dict[str, Any]:
    """The same in a child process, which the exchange may abort."""
    path = os.pathsep.join(sys.path)
    answer = children.call("exchanges:attempt", environment={"PYTHONPATH": path}, **exchange)
    if answer.outcome == "returned":
        return dict(answer.value)
    return vars(Outcome("crashes", f"{answer.message}: {answer.noise[-200:]}"))


# Comparison with the table --------------------------------------------------------------------


def explain(expected: Expected, case: Case, got: Outcome) -> str:
    """The difference between an outcome and the table; "" if there is none."""
    if got.outcome != expected.outcome:
        return f"expected: {expected.outcome}; got: {got.outcome}. {got.text or got.violations}"
    if expected.text not in got.text:
        return f"expected the text {expected.text!r}; got: {got.text}"
    is_read = got.outcome in ("zero-copy", "copied")
    dtype = expected.dtype or (case.dtype if is_read else got.dtype)
    if got.dtype not in ("", dtype):
        return f"expected: {dtype}; got: {got.dtype}"
    if is_read and got.read_only != expected.read_only:
        return f"expected read-only: {expected.read_only}; got: {got.read_only}"
    return got.violations


def test_exchange(
    direction: str,
    method: str,
    case: str,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    library = request.module.LIBRARY
    expected = expected_of(library, direction, method, case)
    run = attempt_in_child if expected.outcome == "crashes" else attempt
    got = Outcome(**run(library=library, direction=direction, method=method, case=case))
    record_property("exchange", [direction, method, case, got.outcome, expected.text])
    if difference := explain(expected, CASES[case], got):
        pytest.fail(f"{library} {direction}, {method}: {case}: {difference}", pytrace=False)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
def test_comparison(compare: Callable[[Any, Any], Any], request: pytest.FixtureRequest) -> None:
    """Elements are compared, or not at all; where the library is asked alone, it decides."""
    name = request.module.LIBRARY
    library, module = _loaded(name)
    own = ctypes_library.make([1.0, 2.0], "float32")
    assert library.take is not None
    if library.array is not None:
        x = library.array(module, [1.0, 2.0], "float32")
    else:
        x = library.take(module, dlbridge.as_tensor(own))
    t = dlbridge.as_tensor(own)
    kind = COMPARISONS[name]
    for left, right in ((x, t), (t, x)):
        if kind == "elements":
            result = compare(left, right)
            assert library.values(module, result) == [compare is operator.eq] * 2
        elif kind == "unasked" and left is x:
            assert compare(left, right) is (compare is operator.ne)
        else:
            with pytest.raises(TypeError) as raised:
                compare(left, right)
            is_own = "a Tensor does not compare its elements, float32" in str(raised.value)
            assert is_own == (kind != "own error")
    if kind in ("refused", "unasked"):  # the remedy of the message
        imported = library.take(module, t)
        if isinstance(same := imported == x, bool):  # the library compares no elements either
            assert memoryview(dlbridge.from_dlpack(library.give(module, x))) == memoryview(t)
        else:
            assert library.values(module, same) == [True, True]


def test_the_table_names_what_there_is(request: pytest.FixtureRequest) -> None:
    """Every row of the table is the expected result of at least one exchange."""
    library = request.module.LIBRARY
    exchanges = exchanges_of(library)
    for direction in DIRECTIONS:
        rows = getattr(row_of(library), direction)
        for key in rows:
            assert any(
                key in (f"{method}: {case}", f"{method}: *", case, "*")
                and is_result_of(rows[key], expected_of(library, direction, method, case))
                for other, method, case in exchanges
                if other == direction
            ), f"{library} {direction} {key}"
