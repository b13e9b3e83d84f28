"""Lets each allocation of an operation fail, once and for good: `python allocations.py NAME`.

Runs with libfailing_malloc.so preloaded and PYTHONMALLOC=malloc, so that every allocation counts.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import pickle
import sys
import types
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Callable

import dlbridge
import extension
import foreign
import producers
from dlbridge._core import _vector

fail_allocations = ctypes.PyDLL(None).fail_allocations  # preloaded
fail_allocations.restype = ctypes.c_long
V = (1, 0)
# What libraries make of a failed allocation.
FOREIGN = (RuntimeError, BufferError, SystemError, pickle.PickleError)


class Lender(foreign.Exported):
    __dlpack_c_exchange_api__ = foreign.exchange_capsule(foreign.exchange_table())


class Python(producers.Producer):
    """A producer that is written in Python, of three elements."""

    def __init__(self) -> None:
        super().__init__(shape=(3,))


def tensor() -> dlbridge.Tensor:
    return dlbridge.from_dlpack(Python())


@dataclass(frozen=True)
class Operation:
    """An operation on a new object: `make` always has memory, `use` does not."""

    make: Callable[[], Any]
    use: Callable[[Any], object]


def contents(x: Any) -> bytes | None:
    """The elements of a Tensor, which a failed operation leaves as they are. The functions that it
    added to a module can be called."""
    if isinstance(x, types.ModuleType):
        for each in vars(x).values():
            assert not callable(each) or each(Python()) == 3
    if not isinstance(x, dlbridge.Tensor):
        return None
    return bytes(foreign.consume(x.__dlpack__(max_version=V)).tobytes())


def exchange_slot(name: Any) -> Callable[[Any], object]:
    return lambda t: foreign.slot(dlbridge.Tensor, name, t)


def bound(binding: str, name: str) -> Callable[[Any], object]:
    function: Any = getattr(getattr(extension, binding), name)
    return lambda x: function([x] if name == "totals" else x)


def rejected(function: Callable[[Any], object]) -> Callable[[Any], object]:
    def refuse(x: Any) -> None:
        with suppress(TypeError, ValueError, BufferError):
            function(x)

    return refuse


BINDINGS = ("by_def", "by_pybind11", "by_fast")
OPERATIONS: dict[str, Operation] = {
    "import": Operation(Python, dlbridge.from_dlpack),
    "import a copy": Operation(Python, lambda x: dlbridge.from_dlpack(x, copy=True)),
    "import an old producer": Operation(producers.OldStyle, dlbridge.from_dlpack),
    "import a bare producer": Operation(producers.Bare, dlbridge.from_dlpack),
    "import a buffer": Operation(lambda: bytearray(8), dlbridge.as_tensor),
    "share": Operation(tensor, dlbridge.from_dlpack),
    "share read-only": Operation(tensor, lambda t: dlbridge.from_dlpack(t, readonly=True)),
    "export": Operation(tensor, lambda t: t.__dlpack__()),
    "export versioned": Operation(tensor, lambda t: t.__dlpack__(max_version=V)),
    "export a copy": Operation(tensor, lambda t: t.__dlpack__(max_version=V, copy=True)),
    "export a vector": Operation(lambda: _vector(3, int), lambda t: t.__dlpack__()),
    "export raw": Operation(tensor, dlbridge.to_dlpack),
    "slot give": Operation(tensor, exchange_slot("give")),
    "slot take": Operation(lambda: foreign.consume(foreign.tensor().capsule(True)),
                       exchange_slot("take")),
    "buffer": Operation(tensor, memoryview),
    "pickle": Operation(tensor, lambda t: pickle.dumps(t, protocol=5)),
    "pickle as bytes": Operation(tensor, lambda t: pickle.dumps(t, protocol=2)),
    "unpickle": Operation(lambda: pickle.dumps(tensor()), pickle.loads),
    "attributes": Operation(tensor, lambda t: (t.shape, t.strides, t.dtype, t.device, t.version)),
    "repr": Operation(tensor, repr),
    "dtype": Operation(lambda: "float32", dlbridge.dtype),
    "refuse an import": Operation(lambda: producers.Producer(ndim=-1),
                              rejected(dlbridge.from_dlpack)),
    "refuse a type": Operation(lambda: 3, rejected(dlbridge.from_dlpack)),
    "refuse a keyword": Operation(tensor, rejected(lambda t: t.__dlpack__(max_version="1"))),
    "refuse an export": Operation(lambda: dlbridge.as_tensor(b"abc"),
                              rejected(lambda t: t.__dlpack__())),
    **{f"{name}, {binding}": Operation(Python, bound(binding, name))
       for binding in BINDINGS for name in ("sum", "owned", "doubled", "same", "totals")
       if (binding, name) != ("by_fast", "totals")},
    **{f"a lent argument, {binding}": Operation(lambda: Lender(foreign.tensor(shape=(3,))),
                                            bound(binding, "sum"))
       for binding in BINDINGS},
    **{f"refuse an argument, {binding}": Operation(lambda: producers.Producer(dtype=(0, 64, 1)),
                                               rejected(bound(binding, "sum")))
       for binding in ("by_def", "by_fast")},  # pybind11 terminates
    "an overload": Operation(Python, extension.kind),
    "def_fast": Operation(lambda: types.ModuleType("functions"), extension.define_fast),
    "def_dlpack": Operation(lambda: extension.Image(2, 3), lambda x: x.__dlpack__(max_version=V)),
    "import of def_dlpack": Operation(lambda: extension.Image(2, 3), dlbridge.from_dlpack),
}  # fmt: skip


def numpy_operations() -> dict[str, Operation]:
    try:
        import numpy as np
    except ImportError:
        return {}
    bfloat16 = {
        "asarray of bfloat16": Operation(
            lambda: dlbridge.from_dlpack(producers.Producer(dtype=(4, 16, 1))), np.asarray
        )
    }
    return {
        **(bfloat16 if importlib.util.find_spec("ml_dtypes") else {}),
        "to NumPy": Operation(tensor, np.from_dlpack),
        "asarray": Operation(tensor, np.asarray),
        "from NumPy": Operation(lambda: np.zeros(3), dlbridge.from_dlpack),
        **{
            f"NumPy argument, {binding}": Operation(
                lambda: np.zeros(3, dtype=np.float32), bound(binding, "doubled")
            )
            for binding in BINDINGS
        },
    }


def attempt(operation: Operation, successes: int, for_good: int) -> int:
    """Runs an operation whose allocations fail after some. Returns how many failed."""
    before = foreign.accounts()
    x = operation.make()
    expected = contents(x)
    fail_allocations(successes, for_good)
    try:
        operation.use(x)
    except Exception as raised:
        failed = fail_allocations(-1, 0)
        of_pybind11 = str(raised).startswith("Unable to convert function return value")
        if not isinstance(raised, (MemoryError, *FOREIGN)) and not of_pybind11:
            raise
        del raised
    else:
        failed = fail_allocations(-1, 0)
    assert contents(x) == expected
    del x
    gc.collect()
    exports, calls = (now - then for now, then in zip(foreign.accounts(), before))
    assert exports == calls, f"{exports} exports, {calls} deleter calls"
    return int(failed)


def check(name: str) -> int:
    """Runs one operation with every allocation failing in turn. Returns the number of failures."""
    operation = {**OPERATIONS, **numpy_operations()}[name]
    with suppress(BufferError):  # a C++ exception: the first one of a thread allocates its storage,
        dlbridge.as_tensor(b"abc").__dlpack__()  # without which glibc ends the process
    for _ in range(3):  # what is imported, interned or cached on first use
        operation.use(operation.make())
    count = 0
    # pybind11 ends the process if it has no memory for the message of a refused call.
    by_pybind11 = any(each in name for each in ("by_def", "by_pybind11", "overload"))
    for for_good in (0,) if by_pybind11 else (0, 1):
        successes = 0
        while failed := attempt(operation, successes, for_good):
            count += failed > 0
            successes += 1
            assert successes < 5000
    return count


if __name__ == "__main__":
    for each in sys.argv[1:] or [*OPERATIONS, *numpy_operations()]:
        print(f"{each}: {check(each)} failed allocations", flush=True)
