# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that C++ code gives to Python code: arguments of callbacks and of overrides, entries of
dicts, attributes, arguments of exceptions. Both modules state NumPy as their library."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Callable

import callers
import numpy as np
import pytest

MODULES = [name for name in ("given_pybind11", "given_nanobind") if importlib.util.find_spec(name)]
# pybind11 makes a function of its own of a callback.
OF_NANOBIND = [name for name in MODULES if name == "given_nanobind"]
CALLERS = [
    callers.LIBRARIES[name] for name in ("numpy", "torch", "jax") if importlib.util.find_spec(name)
]


@pytest.fixture(params=MODULES)
def given(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


@pytest.fixture(params=CALLERS, ids=lambda each: each.name)
def caller(request: pytest.FixtureRequest) -> callers.Library:
    caller: callers.Library = request.param
    return caller


@pytest.fixture
def x(caller: callers.Library) -> Any:
    return caller.make([1, 2], "float32")


def doubled(x: Any) -> Any:
    return 2 * x


def values(x: Any) -> list[float]:
    result: list[float] = np.asarray(x).tolist()
    return result


def refusal(call: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(TypeError) as caught:
        call(*arguments)
    return str(caught.value)


CALLS = ["applied", "applied_plain", "applied_unnamed", "without_gil", "overloaded"]


@pytest.mark.parametrize("name", CALLS)
def test_a_callback_computes_with_arrays_of_the_caller(
    given: Any, caller: callers.Library, x: Any, name: str
) -> None:
    received: list[str] = []

    def f(array: Any) -> Any:
        received.append(type(array).__name__)
        return 2 * array

    assert values(getattr(given, name)(x, f)) == [2, 4]
    # A function of plain m.def has no caller.
    expected = "ndarray" if name == "applied_plain" else caller.type
    assert received == [expected] * (2 if name == "overloaded" else 1)


def test_a_callback_writes_to_memory_of_the_function(given: Any) -> None:
    def f(x: Any, gradient: Any) -> float:
        gradient[:] = 2 * x
        return float((x * x).sum())

    for each in CALLERS:
        if each.name != "jax":  # whose arrays are immutable
            assert given.descend(each.make([2, 2], "float32"), f, 3) == 0.5


def test_a_callback_that_takes_no_array(given: Any) -> None:
    assert type(given.applied_alone(lambda x: x)) is np.ndarray
    assert given.is_empty(None) is True
    assert given.is_empty(doubled) is False


NO_PRODUCER = (
    "not a DLPack producer: expected an object with __dlpack__ and __dlpack_device__; "
    "got one of type list. Pass numpy.asarray() of it"
)
OTHER_DTYPE = "expected float32[*] on cpu; got float64[2] on cpu: dtype differs"


@pytest.mark.parametrize(
    "result, reason", [([1], NO_PRODUCER), (np.ones(2), OTHER_DTYPE)], ids=["list", "dtype"]
)
def test_the_result_of_a_callback_is_checked(given: Any, x: Any, result: Any, reason: str) -> None:
    def f(_: Any) -> Any:
        return result

    for name in (*CALLS, "in_thread"):
        assert refusal(getattr(given, name), x, f) == f"cast(): {reason}"
    assert refusal(given.cast, result) == f"cast(): {reason}"
    with pytest.raises(RuntimeError, match="cast"):  # of the binding library
        given.pair(x, lambda _: (1.0, result))
    assert type(given.made_plain()) is np.ndarray  # nothing of the call remains


def test_a_function_may_name_the_result_that_it_checks(given: Any, x: Any) -> None:
    assert values(given.applied_checked(x, doubled)) == [2, 4]
    message = refusal(given.applied_checked, x, lambda _: np.ones(2))
    assert message == f"argument 'result of f': {OTHER_DTYPE}"


def test_the_result_of_a_callback_is_converted(given: Any, x: Any) -> None:
    result = given.applied_converted(x, lambda each: np.asarray(each, "f8") * 2)
    assert (values(result), "float32" in str(result.dtype)) == ([2, 4], True)


def test_none_is_no_callback(given: Any, x: Any) -> None:
    assert values(given.applied_to_callable(x, doubled)) == [2, 4]
    assert "incompatible function arguments" in refusal(given.applied_to_callable, x, None)


@pytest.mark.parametrize("make", ["Samples", "Constant"])
def test_the_result_for_an_object_of_a_class(given: Any, make: str) -> None:
    """An object of the class, if array_traits can make one; otherwise of the module's library."""
    x = getattr(given, make)()
    copied, positive = given.copied(x), given.positive(x)
    assert type(copied) is (given.Samples if make == "Samples" else np.ndarray)
    assert (type(positive), positive.dtype) == (np.ndarray, np.bool_)
    assert (values(copied), values(positive)) == ([1, 2], [True, True])


@pytest.mark.parametrize("module", OF_NANOBIND)
@pytest.mark.parametrize("place", ["store", "same_sum", "Task"])
def test_a_callback_stays_itself(place: str, module: str) -> None:
    given = importlib.import_module(module)
    if place == "same_sum":
        assert given.same_sum(doubled) is doubled
    elif place == "store":
        given.store(doubled)
        assert given.stored() is doubled
        given.store(None)
        assert given.stored() is None
    else:
        task = given.Task()
        task.f = doubled
        assert task.f is doubled


@pytest.mark.parametrize("module", OF_NANOBIND)
def test_a_class_may_show_a_callback_to_the_garbage_collector(module: str) -> None:
    given = importlib.import_module(module)
    task = given.Task()
    task.alive = alive = Alive()
    task.f = lambda x, task=task: x
    reference = weakref.ref(alive)
    del task, alive
    gc.collect()
    assert reference() is None


class Alive:
    pass


def test_a_signature_states_what_a_callback_gets(given: Any) -> None:
    result = 'typing.Annotated[SupportsDLPack, "float32[*] on cpu"]'
    assert f"f: collections.abc.Callable[[typing.Any], {result}]" in given.applied.__doc__


def test_a_cast_of_a_container(given: Any) -> None:
    x = np.ones(2, dtype=np.float32)
    assert (given.cast_all([x, x, x]), given.cast_two((x, x))) == (3, 2)
    for cast in (given.cast_all, given.cast_two):
        assert refusal(cast, (x, np.ones(2))) == f"argument 'x', element 1: {OTHER_DTYPE}"


def test_a_cast_that_may_fail_leaves_no_exception(given: Any) -> None:
    x = np.ones(2, dtype=np.float32)
    assert [given.cast_choice(each) for each in (x, 3)] == [1, 0]
    with pytest.raises(RuntimeError, match="cast"):
        given.cast_choice("text")
    if given.__name__ == "given_nanobind":
        assert [given.try_cast(each) for each in (x, "text")] == [True, False]


def test_a_callback_returns_a_container(given: Any, caller: callers.Library, x: Any) -> None:
    number, array = given.pair(x, lambda array: (1.5, 2 * array))
    assert (number, values(array), type(array).__name__) == (1.5, [2, 4], caller.type)


def test_an_exception_of_a_callback_reaches_the_caller(given: Any, x: Any) -> None:
    error = ValueError("of the callback")

    def f(_: Any) -> Any:
        raise error

    for name in (*CALLS, "in_thread"):
        with pytest.raises(ValueError) as caught:
            getattr(given, name)(x, f)
        assert caught.value is error
        assert type(given.made_plain()) is np.ndarray  # nothing of the call remains


def test_another_thread_has_no_caller(given: Any, x: Any) -> None:
    received: list[type] = []

    def f(array: Any) -> Any:
        received.append(type(array))
        return array

    given.in_thread(x, f)
    assert received == [np.ndarray]

    def g(array: Any) -> Any:
        other = threading.Thread(target=lambda: received.append(type(given.made_plain())))
        other.start()
        other.join()
        return array

    given.applied(x, g)
    assert received == [np.ndarray] * 2


def test_calls_within_a_callback_have_callers_of_their_own(
    given: Any, caller: callers.Library, x: Any
) -> None:
    inner = np.ones(2, dtype=np.float32)
    received: list[str] = []

    def note(array: Any) -> Any:
        received.append(type(array).__name__)
        return array

    def f(array: Any) -> Any:
        given.applied(inner, note)
        for made in (given.made_plain(), given.made(), given.made_fast(), given.given_none()):
            note(made)
        given.call_stored()
        given.call_stored_plain()
        given.call_stored_fast(array)
        note(array)
        return array

    given.store(note)
    try:
        given.applied(x, f)
    finally:
        given.store(None)
    numpy = "ndarray"
    assert received == [numpy, numpy, numpy, numpy, "NoneType", numpy, numpy, numpy, caller.type]


def test_a_generator_keeps_no_caller(given: Any, x: Any) -> None:
    def arrays() -> Iterator[Any]:
        while True:
            given.applied(x, doubled)
            yield given.made_plain()

    iterator = arrays()
    assert [type(next(iterator)), type(given.made_plain()), type(next(iterator))] == [
        np.ndarray
    ] * 3


def test_calls_keep_no_reference(given: Any, x: Any) -> None:
    for name in CALLS:
        getattr(given, name)(x, doubled)
    gc.collect()
    before = sys.getrefcount(x)
    for name in CALLS * 10:
        getattr(given, name)(x, doubled)
        refusal(given.applied, x, lambda _: [1])
    gc.collect()
    assert sys.getrefcount(x) == before


def test_an_override_computes_with_arrays_of_the_caller(
    given: Any, caller: callers.Library, x: Any
) -> None:
    class Solver(given.Solver):  # type: ignore[misc]
        def step(self, array: Any) -> Any:
            assert type(array).__name__ == caller.type
            return array + 1

    class Wrong(given.Solver):  # type: ignore[misc]
        def step(self, array: Any) -> Any:
            return [1]

    result = given.solve(Solver(), x)
    assert (values(result), type(result).__name__) == ([2, 3], caller.type)
    assert refusal(given.solve, Wrong(), x) == f"cast(): {NO_PRODUCER}"
    with pytest.raises(RuntimeError):
        given.solve(given.Solver(), x)


@pytest.mark.parametrize("name", ["state", "cast_state"])
def test_entries_of_a_dict_are_of_the_library_of_the_caller(
    given: Any, caller: callers.Library, x: Any, name: str
) -> None:
    entry = getattr(given, name)(x)["copy"]
    assert (values(entry), type(entry).__name__) == ([1, 2], caller.type)


def test_the_library_of_the_module(given: Any, caller: callers.Library, x: Any) -> None:
    made = (given.table, given.default_table, given.made(), given.made_plain(), given.made_fast())
    assert [type(each) for each in made] == [np.ndarray] * 5
    assert (given.table + given.default_table).tolist() == [2, 4, 6]
    assert type(given.made_like(x)).__name__ == caller.type
    assert type(given.same_plain(x)).__name__ == caller.type
    assert given.given_none() is None


def test_the_extra_precedes_the_library_of_the_module(given: Any) -> None:
    if importlib.util.find_spec("torch"):
        assert type(given.made_torch()).__name__ == "Tensor"
    else:
        with pytest.raises(ModuleNotFoundError):
            given.made_torch()


def test_to_python_names_a_library(given: Any) -> None:
    dlbridge, numpy, cupy = 0, 1, 5  # of the enumeration
    assert type(given.given(dlbridge)).__module__ == "dlbridge"
    assert type(given.given(numpy)) is np.ndarray
    with pytest.raises(ModuleNotFoundError, match="cupy"):
        given.given(cupy)


def test_an_argument_of_an_exception(given: Any) -> None:
    with pytest.raises(ArithmeticError) as caught:
        given.diverge()
    text, array = caught.value.args
    assert (text, (array + 1).tolist()) == ("diverged", [2, 3])
