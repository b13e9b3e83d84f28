"""Containers of tensors that a call reads more than once, with both bindings: the elements of an
iterator are kept, and tensors that Python code changes meanwhile are borrowed again."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cpython_build import FREE_THREADED

# Elsewhere an ndarray is imported by __dlpack__, and its capsule states what the array was then.
IS_BORROWED = not FREE_THREADED and np.lib.NumpyVersion(np.__version__) >= "2.1.0"
CONFIRMED = 4 if IS_BORROWED else 1_000_000
MODULES = [name for name in ("extension", "nanobind_extension") if importlib.util.find_spec(name)]


@pytest.fixture(params=MODULES)
def extension(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def arrays(dtype: str) -> list[Any]:
    return [np.zeros(2, dtype), np.zeros(3, dtype)]


def test_an_iterator_is_read_once_for_all_overloads(extension: Any) -> None:
    assert extension.floats_of(iter(arrays("float32"))) == 2
    assert extension.floats_of(iter(arrays("float64"))) == 12
    with pytest.raises(TypeError, match="element 0"):
        extension.floats_of(iter(arrays("int8")))


def test_an_iterator_is_read_once_for_all_alternatives(extension: Any) -> None:
    assert extension.alternative_of(iter([1, 2, 3])) == 3
    assert extension.alternative_of(iter(arrays("float32"))) == 12
    assert extension.alternative_of(each for each in arrays("float32")) == 12


class Resizing:
    """A producer and an iterable, which changes another array when it is read."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.own = np.zeros(1, "float32")

    def resize(self) -> None:
        self.array.resize(4, refcheck=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.resize()
        return self.own.__dlpack__(**keywords)

    def __iter__(self) -> Iterator[float]:
        self.resize()
        return iter([1.0])


def test_a_container_is_confirmed_after_later_arguments(extension: Any) -> None:
    x = np.zeros(1_000_000, "float32")
    assert extension.extent_after([x], Resizing(x)) == CONFIRMED


class Frees:
    """A number and a producer, which frees the memory of a tensor when it is read."""

    def __init__(self, free: Callable[[], object]) -> None:
        self.free = free

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.free()
        return np.ones(1, "float32").__dlpack__(**keywords)


class FreesAsNumber:
    def __init__(self, free: Callable[[], object]) -> None:
        self.free = free

    def __float__(self) -> float:
        self.free()
        return 1.0


def of_numpy() -> tuple[Any, Callable[[], object]]:
    x = np.ones(1_000_000, "float32")
    return x, lambda: x.resize(3_000_000, refcheck=False)


def of_torch() -> tuple[Any, Callable[[], object]]:
    torch = pytest.importorskip("torch")
    x = torch.ones(1_000_000)
    return x, lambda: x.set_(torch.zeros(3))


FREED = {"numpy": of_numpy, "torch": of_torch}


@pytest.mark.parametrize("owner", FREED)
@pytest.mark.parametrize("last", [Frees, FreesAsNumber])
def test_overloads_do_not_read_freed_memory(extension: Any, owner: str, last: Any) -> None:
    """The tensor is refused, or read where it is now."""
    x, free = FREED[owner]()
    try:
        assert extension.sum_after(x, last(free)) in (0, 3, 1_000_000)
    except TypeError as refusal:
        assert "a tensor that stays as it is during the call" in str(refusal)


@pytest.mark.parametrize("owner", FREED)
@pytest.mark.parametrize("name", ["sum_after_alone", "write_after"])
def test_a_single_function_does_not_use_freed_memory(extension: Any, owner: str, name: str) -> None:
    x, free = FREED[owner]()
    try:
        assert getattr(extension, name)(x, Frees(free)) in (None, 0, 1_000_000)
    except TypeError as refusal:
        assert "a tensor that stays as it is during the call" in str(refusal)


def test_a_tuple_is_confirmed_after_its_elements_were_read(extension: Any) -> None:
    x = np.zeros(1_000_000, "float32")
    assert extension.extent_in_tuple((x, Resizing(x))) == CONFIRMED


def test_an_overload_without_tensors_keeps_nothing(extension: Any) -> None:
    assert extension.tensor_or_number(np.zeros(3, "float32")) == 3
    x = np.array(1.5)
    assert extension.tensor_or_number(x) == -1
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("name", MODULES)
def test_threads_and_the_process_end_after_such_a_call(name: str) -> None:
    code = f"""
        import sys, threading
        sys.path[:] = {sys.path!r}
        import numpy as np
        import {name} as extension
        call = lambda: print(extension.tensor_or_number(np.array(1.5)), flush=True)
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        call()
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (process.returncode, process.stdout) == (0, "-1\n-1\n"), process.stderr
