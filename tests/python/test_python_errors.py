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

MODULES = [name for name in ("extension", "nanobind_extension") if importlib.util.find_spec(name)]
X = np.ones(4, "float32")
TOO_MANY = 1 << 50  # elements: 4 PiB
EMPTY = "expected an owner of a tensor; got an empty one"


@pytest.fixture(params=MODULES)
def functions(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param).python_errors


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


@pytest.mark.parametrize("module, name", [("extension", "Image"), ("nanobind_extension", "Buffer")])
def test_an_object_without_init_is_no_producer(module: str, name: str) -> None:
    if module not in MODULES:
        pytest.skip(f"needs {module}")
    cls = getattr(importlib.import_module(module), name)
    buffer = cls.__new__(cls)
    for function in (np.from_dlpack, dlbridge.from_dlpack, type(buffer).__dlpack__):
        with pytest.raises(TypeError, match="expected an initialized object"):
            function(buffer)
