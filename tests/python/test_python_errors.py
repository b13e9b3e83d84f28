# SPDX-License-Identifier: BSD-3-Clause
"""Python exceptions that C++ code catches or throws in other threads, results without a tensor, and
producers that free the objects that are being imported; with both bindings."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import dlbridge
from bindings import MODULES

X = np.ones(4, "float32")
TOO_MANY = 1 << 50  # elements: 4 PiB
EMPTY = "expected an owner of a tensor; got an empty one"


@pytest.fixture
def functions(extension: Any) -> Any:
    return extension.python_errors


def test_an_exception_of_another_thread_reaches_the_caller(functions: Any) -> None:
    assert functions.allocate_in_thread(X, 7) == 7
    with pytest.raises(MemoryError, match="Unable to allocate"):
        functions.allocate_in_thread(X, TOO_MANY)
    with pytest.raises(ValueError, match="extents of 0 and above; got shape"):
        functions.allocate_in_thread(X, -1)


def test_an_exception_that_is_caught_is_gone(functions: Any) -> None:
    assert functions.allocate_less(X, TOO_MANY) == TOO_MANY >> 40
    text = functions.text_of_failure(X, TOO_MANY)
    assert "MemoryError: Unable to allocate 4.00 PiB" in text
    assert functions.text_of_failure(X, 1) == ""


def test_there_may_be_no_exception_to_throw(functions: Any) -> None:
    with pytest.raises(SystemError, match="while no Python exception was pending"):
        functions.throw_without_exception(X)


@pytest.mark.parametrize("x", [X, dlbridge.from_dlpack(X)], ids=["numpy", "dlbridge"])
@pytest.mark.parametrize(
    "name",
    [
        "empty_owner",
        "empty_in_container",
        "empty_fast",
        "moved_from",
        "like_moved_from",
        "any_like_moved_from",
    ],
)
def test_an_empty_owner_is_refused(functions: Any, name: str, x: Any) -> None:
    with pytest.raises(BufferError, match=EMPTY):
        getattr(functions, name)(x)


def test_an_empty_owner_is_refused_for_a_library_by_name(functions: Any) -> None:
    with pytest.raises(BufferError, match=EMPTY):
        functions.empty_for_numpy()


class Emptying:
    """A producer that is freed while it is imported."""

    def __init__(self, container: dict[str, Any]) -> None:
        self.container = container

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        self.container.clear()
        self.memory = np.full(3, 2, "float32")
        return self.memory.__dlpack__()


@pytest.mark.parametrize(
    "name", ["sum_of_arguments", "sum_of_tensors", "sum_of_spans", "sum_by_cast"]
)
def test_a_producer_that_empties_its_container(functions: Any, name: str) -> None:
    """The freed object would be overwritten by the ones that follow."""
    for _ in range(100):
        container: dict[str, Any] = {}
        container["x"] = Emptying(container)
        assert getattr(functions, name)(container) == 2
        others = [Emptying({}) for _ in range(20)]
        del others


def test_an_object_without_init_is_no_producer(extension: Any) -> None:
    image = extension.Image.__new__(extension.Image)
    for function in (np.from_dlpack, dlbridge.from_dlpack, extension.Image.__dlpack__):
        with pytest.raises(TypeError, match="expected an initialized object"):
            function(image)


class Raises:
    """A producer that raises an exception."""

    def __init__(self, exception: BaseException) -> None:
        self.exception = exception

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        raise self.exception


class Counted:
    """A producer that counts its imports."""

    def __init__(self) -> None:
        self.imports = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.imports += 1
        return np.ones(1).__dlpack__(**keywords)


FATAL = [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError]
WAYS = ["by_def", "by_fast", "by_overloads", "by_library"]
KINDS = ["span", "tensor", "convert", "optional_span", "or_numbers_convert", "variant"]


def calls_of(module: str, way: str) -> list[tuple[Any, Any]]:
    """Functions of two arguments, and what puts a producer into the first one."""
    functions = getattr(importlib.import_module(module).changes, way)
    calls: list[tuple[Any, Any]] = [
        (getattr(functions, kind), lambda x, _y: x)
        for kind in KINDS
        if kind != "variant" or way != "by_library"
    ]
    if way != "by_library":
        calls += [
            (functions.vector_of_tensors, lambda x, y: [x, y]),
            (functions.optional_vector, lambda x, y: [x, y]),
            (functions.tuple_of_two, lambda x, y: (x, y)),
            (functions.map_of_any, lambda x, y: {"x": x, "y": y}),
            (functions.vector_of_variants, lambda x, y: [x, y]),
        ]
    return calls


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("exception", FATAL)
def test_a_fatal_exception_ends_the_call_before_the_next_argument(
    module: str, way: str, exception: type[BaseException]
) -> None:
    # nanobind's casters pass no exception on, and raise KeyboardInterrupt later.
    is_lost = module == "nanobind_extension" and way == "by_library"
    for function, first in calls_of(module, way):
        later = Counted()
        if not (is_lost and exception is KeyboardInterrupt):
            with pytest.raises(TypeError if is_lost else exception):
                function(first(Raises(exception("stopped")), later), later)
        assert later.imports == 0, function.__name__


@pytest.mark.parametrize("way", ["by_def", "by_fast"])
@pytest.mark.parametrize("module", MODULES)
def test_a_refusal_states_the_reasons_of_all_arguments(module: str, way: str) -> None:
    function = getattr(importlib.import_module(module).changes, way).span
    with pytest.raises(TypeError, match=r"'x': ValueError: first(.|\n)*'y': ValueError: second"):
        function(Raises(ValueError("first")), Raises(ValueError("second")))


class Recursive:
    """A producer that passes itself to a function twice, down to a level."""

    def __init__(self, function: Any, first: Any) -> None:
        self.function = function
        self.first = first
        self.level = 0
        self.imports = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        self.imports += 1
        if self.level == 30:
            raise RecursionError("30 levels")
        self.level += 1
        try:
            return self.function(self.first(self, self), self)
        finally:
            self.level -= 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("module", MODULES)
def test_two_recursive_arguments_end_in_as_many_imports_as_levels(module: str, way: str) -> None:
    if module == "nanobind_extension" and way == "by_library":
        return  # nanobind raises a TypeError instead, after which each import tries fewer keywords
    for function, first in calls_of(module, way):
        x = Recursive(function, first)
        with pytest.raises(RecursionError):
            function(first(x, x), x)
        assert x.imports == 31, function.__name__
