# SPDX-License-Identifier: BSD-3-Clause
"""Lets each call of Python's C API by dlbridge raise an exception in turn: `python api_calls.py`.

Arguments select operations by name. Each call fails in a child process of its own: once where the
operation runs for the first time, and once where it has run before. The exception must reach the
caller, as it is or as the cause or context of another one, unless a rule of SUPPRESSED states why
the code goes on without it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.util
import json
import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Callable, NamedTuple

MODULES = Path(os.environ["DLBRIDGE_TEST_MODULES"])
# failing_api.cpp names every function that the modules call with this version. With others they
# also call some that it does not name, which are left as they are.
CLASSIFIED = (3, 11)
# Of the calls while the extension is imported, one in so many fails. pybind11 ends the process if
# one of the first fails, with which it prepares itself.
IMPORT_STEP = 23


class Injected(Exception):
    """An exception that code may suppress."""


class Interrupt(BaseException):
    """An exception that must reach the caller, as KeyboardInterrupt must."""


class Rule(NamedTuple):
    """Where an exception does not reach the caller. The first two are patterns of names."""

    operation: str
    function: str
    why: str


SUPPRESSED = {
    Injected: [
        Rule("import a copy", "Py*", "dlbridge copies where a producer raises for copy=True"),
        Rule("import an old producer", "Py*", "the first call may raise; the second decides"),
        Rule("import a bare producer", "Py*", "the first call may raise; the second decides"),
        Rule("compare dtypes", "Py*", "an object whose name cannot be read is not equal"),
        Rule("import on a handle", "PyObject_GetAttr", "the next attribute decides"),
        Rule("import from a queue", "PyObject_GetAttrString", "the array then has no known queue"),
        Rule("refuse *", "PyObject_Repr", "the message then says 'a value'"),
        Rule("refuse *", "PyUnicode_AsUTF8AndSize", "the message then says 'a value'"),
        Rule("refuse *", "PyObject_Str", "the message then has the type of the exception only"),
        Rule("refuse a type", "PyObject_GetAttr", "the message then names no remedy"),
        *(
            Rule(operation, function, "a result returns as a Tensor if its library is not found")
            for operation in ("*, by_*", "a result*", "a member", "like an argument")
            for function in (
                "PyImport_ImportModule", "PyObject_GetAttr", "PyObject_GetAttrString",
                "PyObject_VectorcallMethod", "PyUnicode_AsUTF8AndSize",
            )
        ),
        *(
            Rule(operation, "*Py*", "an array is imported by __dlpack__ where the self-test fails")
            for operation in ("from NumPy", "NumPy argument, by_*", "from a masked array")
        ),
        Rule("a result for a library, numpy", "PyObject_CallMethod",
             "a result returns by from_dlpack where the test of NumPy's C API fails"),
        Rule("*, by_library", "*", "a caster of pybind11 states only that an object does not fit"),
        Rule("totals, by_def", "*", "the caster of a container does the same"),
    ],
    Interrupt: [],
}  # fmt: skip
SUPPRESSED_ALWAYS = [
    Rule("*", "PyLong_AsLong", "pybind11 converts an integer in two attempts"),
    Rule("import", "PyUnicode_FromString", "pybind11 does not check the name of a new class"),
    Rule("from a pointer", "PyUnicode_InternFromString", "pybind11 does not check the name of a "
         "keyword that it looks up"),
    Rule("refuse an overload", "Py*", "pybind11 writes a message of its own, which is not used"),
    Rule("asarray of bfloat16", "PyUnicode_DecodeUTF8", "NumPy calls __array__ after any exception "
         "of a buffer"),
]  # fmt: skip


class Mode(NamedTuple):
    """What the failing call raises, and whether every later call raises it as well."""

    kind: type[BaseException]
    for_good: bool


MODES = (Mode(Injected, False), Mode(Interrupt, False), Mode(Interrupt, True))

library = ctypes.PyDLL(str(MODULES / "libfailing_api.so"))
library.replace_api.restype = ctypes.py_object
library.replace_api.argtypes = [ctypes.c_char_p]
library.fail_calls.restype = ctypes.c_long
library.fail_calls.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.py_object]
library.failed_function.restype = ctypes.c_char_p
library.last_failed_function.restype = ctypes.c_char_p


class Outcome(NamedTuple):
    """What became of one failed call."""

    function: str
    problem: str


def replace_calls() -> None:
    """Replaces the functions in the files of dlbridge._core and extension, which this loads."""
    spec = importlib.util.find_spec("dlbridge")
    assert spec is not None and spec.submodule_search_locations is not None
    files = [*Path(spec.submodule_search_locations[0]).glob("_core.*.so")]
    files += MODULES.glob("extension.*.so")
    assert len(files) == 2, files
    for file in files:
        ctypes.PyDLL(str(file))
        unknown = library.replace_api(os.fsencode(file))
        if sys.version_info[:2] == CLASSIFIED:
            assert not unknown, f"failing_api.cpp must name {sorted(set(unknown))}"


def origins(raised: BaseException | None) -> set[type[BaseException]]:
    """The class of an exception, and those of its causes and contexts."""
    seen: dict[int, BaseException] = {}
    pending = [raised]
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in seen:
            seen[id(each)] = each
            pending += [each.__cause__, each.__context__]
    return {type(each) for each in seen.values()}


def lost(raised: BaseException, kind: type[BaseException]) -> str:
    """A problem, unless the exception or one of its origins is of a class. CPython raises
    SystemError for a function that returns a result and an exception, or neither."""
    if kind in origins(raised) and not isinstance(raised, SystemError):
        return ""
    return f"{type(raised).__name__}: {raised}"


def fail_operation(operation: Any, mode: Mode, successes: int) -> Outcome | None:
    """Runs an operation in which one call raises. None if it has no more calls than successes."""
    import foreign
    from operations import contents

    kind = mode.kind
    unraisable: list[str] = []
    sys.unraisablehook = lambda args: unraisable.append(str(args.exc_value))
    before = foreign.accounts()
    x = operation.make()
    expected = contents(x)
    references = sys.getrefcount(x)
    problem = ""
    library.fail_calls(successes, mode.for_good, kind)
    try:
        operation.use(x)
    except BaseException as raised:
        failed = library.fail_calls(-1, 0, kind)
        problem = lost(raised, kind)
        del raised
    else:
        failed = library.fail_calls(-1, 0, kind)
        problem = "no exception"
    if not failed:
        return None
    function = library.failed_function().decode()
    gc.collect()
    errors = [f"unraisable: {each}" for each in unraisable]
    if contents(x) != expected:
        errors.append("the elements have changed")
    if not isinstance(x, (int, str, tuple)) and sys.getrefcount(x) != references:
        errors.append(f"{sys.getrefcount(x) - references} references more")
    del x
    gc.collect()
    exports, calls = (now - then for now, then in zip(foreign.accounts(), before))
    if exports != calls:
        errors.append(f"{exports} exports, {calls} deleter calls")
    if any(type(each) is kind for each in gc.get_objects()):
        errors.append("the exception is still referred to")
    operation.run(operation.make())
    if errors:
        return Outcome(function, "; ".join(errors))
    return Outcome(function, problem)


def fail_import(module: str, mode: Mode, successes: int) -> Outcome | None:
    """Imports a module while one call raises. pybind11 replaces most exceptions by an ImportError,
    which states why, unless the C++ exception of dlbridge escaped to it."""
    library.fail_calls(successes, mode.for_good, mode.kind)
    problem = ""
    try:
        importlib.import_module(module)
    except BaseException as raised:
        if "a Python exception is pending" in str(raised):
            problem = str(raised)
        del raised
    failed = library.fail_calls(-1, 0, mode.kind)
    return Outcome(library.failed_function().decode(), problem) if failed else None


def in_child(function: Callable[..., Outcome | None], *arguments: Any) -> Outcome | None:
    """The result of a function in a child process, whose end by a signal is a problem."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            outcome = function(*arguments)
        except BaseException as raised:
            outcome = Outcome(
                library.failed_function().decode(), f"{type(raised).__name__}: {raised}"
            )
        os.write(writable, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as stream:
        text = stream.read()
    status = os.waitpid(child, 0)[1]
    if not text:
        failed = library.last_failed_function().decode()
        return Outcome(failed, f"the process ended with status {status}")
    outcome = json.loads(text)
    return None if outcome is None else Outcome(*outcome)


def is_allowed(name: str, kind: type[BaseException], outcome: Outcome) -> bool:
    rules = SUPPRESSED_ALWAYS + SUPPRESSED[kind]
    return any(
        fnmatchcase(name, rule.operation) and fnmatchcase(outcome.function, rule.function)
        for rule in rules
    )


def check(
    name: str,
    function: Callable[..., Outcome | None],
    subject: Any,
    modes: tuple[Mode, ...] = MODES,
    step: int = 1,
) -> int:
    """Lets calls of one operation fail, in turn. Prints the problems, and returns the number."""
    count = 0
    for mode in modes:
        successes = step - 1
        while (outcome := in_child(function, subject, mode, successes)) is not None:
            if outcome.problem and not is_allowed(name, mode.kind, outcome):
                where = f"{name}: {mode.kind.__name__} from call {successes}, {outcome.function}"
                print(f"{where}: {outcome.problem}", file=sys.stderr, flush=True)
            count += 1
            successes += step
            assert successes < 100_000
    return count


def main(names: list[str]) -> None:
    replace_calls()
    gc.disable()
    importlib.import_module("dlbridge")  # also the first steps of pybind11, which may crash
    if not names:
        # pybind11 ends the process if it cannot write the message of a failed import
        once = tuple(mode for mode in MODES if not mode.for_good)
        count = check("import", fail_import, "extension", once, IMPORT_STEP)
        print(f"import: {count} failed calls", flush=True)
    from operations import all_operations

    operations = all_operations()
    gc.collect()
    gc.freeze()  # the children do not search the objects of this process
    counts = dict.fromkeys(names or operations, 0)
    for is_first in (True, False):
        for name in counts:
            operation = operations[name]
            if not is_first:
                for _ in range(3):
                    operation.run(operation.make())
            counts[name] += check(name, fail_operation, operation)
    for name, count in counts.items():
        print(f"{name}: {count} failed calls", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
