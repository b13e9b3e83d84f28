# SPDX-License-Identifier: BSD-3-Clause
"""Containers of tensors that a call reads more than once, with both bindings: an iterator is
refused, and tensors that Python code changes meanwhile are borrowed again."""

from __future__ import annotations

import gc
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

from bindings import MODULES

IS_BORROWED = not FREE_THREADED and np.lib.NumpyVersion(np.__version__) >= "2.1.0"
CHANGED = "a tensor that stays as it is during the call"


def arrays(dtype: str) -> list[Any]:
    return [np.zeros(2, dtype), np.zeros(3, dtype)]


REFUSED = r"expected a sequence; got list_iterator\. Pass list\(\) of it"


def test_overloads_refuse_an_iterator(extension: Any) -> None:
    """The first of them would leave nothing of it to the others."""
    x = iter(arrays("float64"))
    with pytest.raises(TypeError, match=REFUSED):
        extension.floats_of(x)
    assert extension.floats_of(list(x)) == 12


def test_alternatives_refuse_an_iterator(extension: Any) -> None:
    x = iter(arrays("float32"))
    with pytest.raises(TypeError, match=REFUSED):
        extension.alternative_of(x)
    assert extension.alternative_of(list(x)) == 12
    assert extension.alternative_of([1, 2, 3]) == 3


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


def assert_extent_is_current(call: Callable[[], int]) -> None:
    if IS_BORROWED:
        assert call() == 4
    else:  # the ndarray was imported by __dlpack__: NumPy before 2.1, or Python without the GIL
        assert_is_refused(call)


def assert_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=CHANGED):
        call()


def test_a_container_is_confirmed_after_later_arguments(extension: Any) -> None:
    x = np.zeros(1_000_000, "float32")
    assert_extent_is_current(lambda: extension.extent_after([x], Resizing(x)))


class Moves:
    """A number and a producer, which moves a tensor to other memory when it is read."""

    def __init__(self, move: Callable[[], object]) -> None:
        self.move = move

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.move()
        return np.ones(1, "float32").__dlpack__(**keywords)


class MovesAsNumber:
    def __init__(self, move: Callable[[], object]) -> None:
        self.move = move

    def __float__(self) -> float:
        self.move()
        return 1.0


# Each creates memory with five twos, a tensor on it, and a function that moves the tensor to five
# zeros. The tensor no longer holds its former memory then. The test does, so that a function which
# reads or writes there does no harm, but is detected.
def of_numpy(kind: type[Any] = np.ndarray) -> tuple[Any, Any, Callable[[], object]]:
    memory = np.full(5, 2, "float32")
    x = memory.view(kind)
    zeros: Any = (1, x.shape, x.dtype, False, bytes(x.nbytes))
    return memory, x, lambda: np.ndarray.__setstate__(x, zeros)


def of_torch() -> tuple[Any, Any, Callable[[], object]]:
    torch = pytest.importorskip("torch")
    memory = torch.full((5,), 2.0)
    x = memory[:]
    return memory, x, lambda: x.set_(torch.zeros(5))


OWNERS = {"numpy": of_numpy, "memmap": lambda: of_numpy(np.memmap), "torch": of_torch}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("last", [Moves, MovesAsNumber])
def test_overloads_do_not_read_former_memory(extension: Any, owner: str, last: Any) -> None:
    memory, x, move = OWNERS[owner]()
    if owner == "torch" or IS_BORROWED:
        assert extension.sum_after(x, last(move)) == 0
    else:
        assert_is_refused(lambda: extension.sum_after(x, last(move)))
    assert memory.tolist() == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("name", ["sum_after_alone", "write_after"])
def test_a_single_function_does_not_use_former_memory(
    extension: Any, owner: str, name: str
) -> None:
    memory, x, move = OWNERS[owner]()
    function = getattr(extension, name)
    if IS_BORROWED or (owner == "torch" and name == "sum_after_alone"):
        assert function(x, Moves(move)) == (0 if name == "sum_after_alone" else None)
    else:  # the call owned the tensor: an exchange table lends none that is written to
        assert_is_refused(lambda: function(x, Moves(move)))
    assert memory.tolist() == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("owner", OWNERS)
def test_a_tensor_that_stays_where_it_is_is_accepted(extension: Any, owner: str) -> None:
    _memory, x, _move = OWNERS[owner]()
    assert extension.sum_after(x, Moves(lambda: None)) == 10
    assert extension.sum_after(x, MovesAsNumber(lambda: None)) == 10
    assert extension.sum_after_alone(x, Moves(lambda: None)) == 10
    extension.write_after(x, Moves(lambda: None))
    assert x.tolist() == [2, 2, 2, 2, 1]


def test_a_tuple_is_confirmed_after_its_elements_were_read(extension: Any) -> None:
    x = np.zeros(1_000_000, "float32")
    assert_extent_is_current(lambda: extension.extent_in_tuple((x, Resizing(x))))


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
