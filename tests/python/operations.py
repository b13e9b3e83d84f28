# SPDX-License-Identifier: BSD-3-Clause
"""Operations of dlbridge, in which allocations.py and api_calls.py inject failures."""

from __future__ import annotations

import ctypes
import importlib.util
import operator
import pickle
import types
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Callable

import dlbridge
import extension
import foreign
import producers
from dlbridge._core import _vector

V = (1, 0)
REFUSALS = (TypeError, ValueError, BufferError)


class Lender(foreign.Exported):
    __dlpack_c_exchange_api__ = foreign.exchange_capsule(foreign.exchange_table())


class Python(producers.Producer):
    """A producer that is written in Python, of three elements."""

    def __init__(self) -> None:
        super().__init__(shape=(3,))


class ArrayInterface:
    """Memory that an array interface describes."""

    def __init__(self) -> None:
        self.memory = bytearray(64)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.__array_interface__ = {
            "shape": (3,),
            "strides": (8,),
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }


class Queue:
    """A SYCL queue."""

    def submit_barrier(self, events: object = None) -> object:
        return events


class OnQueue(producers.Producer):
    """An array of a SYCL library."""

    def __init__(self) -> None:
        super().__init__(device=(14, 0))
        self.sycl_queue = Queue()


class Stream:
    """A stream of CUDA."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 5)


class Named(types.SimpleNamespace):
    """An object of a framework, with the attributes that name a device, a dtype or a stream."""


class float32:
    """A dtype that is a class, as those of NumPy and JAX are."""


def tensor() -> dlbridge.Tensor:
    return dlbridge.from_dlpack(Python())


@dataclass(frozen=True)
class Operation:
    """An operation on a new object. `make` does not fail; failures are injected in `use`."""

    make: Callable[[], Any]
    use: Callable[[Any], object]
    refused: bool = False

    def run(self, x: Any) -> None:
        """Uses an object, which refuses the operation if that is expected."""
        with suppress(*(REFUSALS if self.refused else ())):
            self.use(x)


def contents(x: Any) -> bytes | None:
    """The elements of a Tensor, which a failed operation leaves as they are. The functions that it
    added to a module can be called."""
    if isinstance(x, types.ModuleType):
        for each in vars(x).values():
            assert isinstance(each, type) or not callable(each) or each(Python()) == 3
    if not isinstance(x, dlbridge.Tensor):
        return None
    return bytes(foreign.consume(x.__dlpack__(max_version=V)).tobytes())


def exchange_slot(name: Any) -> Callable[[Any], object]:
    return lambda t: foreign.slot(dlbridge.Tensor, name, t)


def bound(binding: str, name: str) -> Callable[[Any], object]:
    function: Any = getattr(getattr(extension, binding), name)
    return lambda x: function([x] if name == "totals" else x)


fast: Any = extension.fast
BINDINGS = ("by_def", "by_library", "by_fast")
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
    "index": Operation(tensor, lambda t: (t[1], t[None, ::-1, ...], len(t), [*t])),
    "refuse an index": Operation(tensor, lambda t: t[[0]], refused=True),
    "shapes": Operation(tensor, lambda t: (t.T, t.permute(0), t.reshape(1, 3).mT, t.ravel(),
                                           t.view("int32"))),
    "refuse a shape": Operation(tensor, lambda t: t[::2].view("int8"), refused=True),
    "elements": Operation(tensor, lambda t: (t.tolist(), t[0].item(), int(t[1]), float(t[1]),
                                             complex(t[1]), t.tobytes(), t[::-1].tobytes())),
    "format": Operation(tensor, lambda t: (f"{t[0]:.2f}", f"{t}")),
    "element of an index": Operation(lambda: tensor().view("int32")[0].reshape(()), operator.index),
    "move": Operation(tensor, lambda t: (t.to("cpu"), t.copy())),
    "array interface of a tensor": Operation(tensor, lambda t: (t.__array_interface__, t.flags)),
    "from a pointer": Operation(tensor, lambda t: dlbridge.from_pointer(
        t.data_ptr, (3,), "float32", strides=(1,), device="cpu", owner=t)),
    "refuse a pointer": Operation(lambda: 0, lambda p: dlbridge.from_pointer(p, 3, "int8"),
                                  refused=True),
    "empty": Operation(lambda: (3, 4), lambda shape: dlbridge.empty(shape, "float32")),
    "dtype": Operation(lambda: "float32", dlbridge.dtype),
    "import a capsule": Operation(lambda: foreign.tensor().capsule(True), dlbridge.from_dlpack),
    "import to a device": Operation(Python, lambda x: dlbridge.from_dlpack(x, device="cpu")),
    "import on a stream": Operation(lambda: producers.Producer(device=(2, 0)),
                                    lambda x: dlbridge.from_dlpack(x, stream=Stream())),
    "import on a handle": Operation(lambda: producers.Producer(device=(2, 0)),
                                    lambda x: dlbridge.from_dlpack(x, stream=Named(ptr=5))),
    "import from a queue": Operation(OnQueue, dlbridge.from_dlpack),
    "import on a queue": Operation(OnQueue, lambda x: dlbridge.from_dlpack(x, stream=Queue())),
    "export to a queue": Operation(lambda: dlbridge.from_dlpack(OnQueue()),
                                   lambda t: t.__dlpack__(stream=Queue())),
    "share for a queue": Operation(lambda: dlbridge.from_dlpack(OnQueue()),
                                   lambda t: dlbridge.from_dlpack(t, stream=Queue())),
    "import an array interface": Operation(ArrayInterface, dlbridge.as_tensor),
    "export raw from a producer": Operation(Python, dlbridge.to_dlpack),
    "device": Operation(lambda: Named(platform="gpu", id=1), dlbridge.device),
    "device of a pair": Operation(lambda: [1, 0], lambda x: tensor().__dlpack__(dl_device=x)),
    "device attributes": Operation(lambda: dlbridge.device("cuda:1"),
                                   lambda d: (d.type, d.id, d.code, repr(d))),
    "dtype of a triple": Operation(lambda: (2, 32, 1), dlbridge.dtype),
    "dtype of a type": Operation(lambda: float32, dlbridge.dtype),
    "dtype attributes": Operation(lambda: dlbridge.dtype("float32"),
                                  lambda d: (d.code, d.bits, d.lanes, d.itemsize, repr(d))),
    "compare dtypes": Operation(lambda: dlbridge.dtype("float32"),
                                lambda d: d == Named(name="float32")),
    "refuse an import": Operation(lambda: producers.Producer(ndim=-1),
                              dlbridge.from_dlpack, refused=True),
    "refuse a type": Operation(lambda: 3, dlbridge.from_dlpack, refused=True),
    "refuse a keyword": Operation(tensor, lambda t: t.__dlpack__(max_version="1"), refused=True),
    "refuse an export": Operation(lambda: dlbridge.as_tensor(b"abc"),
                              lambda t: t.__dlpack__(), refused=True),
    **{f"{name}, {binding}": Operation(Python, bound(binding, name))
       for binding in BINDINGS for name in ("sum", "owned", "doubled", "same", "totals")
       if (binding, name) != ("by_fast", "totals")},
    **{f"numbers in lists, {binding}": Operation(lambda: [1, 2.5],
                                                 bound(binding, "total_of_numbers"))
       for binding in BINDINGS if binding != "by_fast"},
    "refuse a text in a list": Operation(lambda: [1, "2"], bound("by_def", "total_of_numbers"),
                                         refused=True),
    **{f"refuse a list, {binding}": Operation(lambda: [1, 2], bound(binding, "sum"), refused=True)
       for binding in ("by_def", "by_fast")},
    **{f"a lent argument, {binding}": Operation(lambda: Lender(foreign.tensor(shape=(3,))),
                                            bound(binding, "sum"))
       for binding in BINDINGS},
    **{f"refuse an argument, {binding}": Operation(lambda: producers.Producer(dtype=(0, 64, 1)),
                                               bound(binding, "sum"), refused=True)
       for binding in ("by_def", "by_fast")},  # pybind11 terminates
    **{f"a result, {binding}": Operation(lambda: 3, bound(binding, "to_managed"))
       for binding in BINDINGS},
    **{f"a result for a library, {name}": Operation(lambda: 3, getattr(extension.returns, name))
       for name in ("dlbridge", "numpy")},
    "like an argument": Operation(Python, extension.by_def.counted_like),
    "numbers": Operation(lambda: 5, lambda n: (fast.int32(n), fast.uint64(n), fast.int64(-1),
                                               fast.float64(n))),
    "refuse a number": Operation(lambda: -1, fast.uint64, refused=True),
    "a keyword": Operation(Python, lambda x: extension.by_fast.sum(x=x)),
    "an overload": Operation(Python, extension.kind),
    "a second overload": Operation(lambda: producers.Producer(shape=(3,), dtype=(2, 64, 1)),
                                   extension.kind),
    "refuse an overload": Operation(lambda: producers.Producer(dtype=(0, 64, 1)),
                                    extension.kind, refused=True),
    "refuse an unknown keyword": Operation(tensor, lambda t: t.__dlpack__(other=1), refused=True),
    "def": Operation(lambda: types.ModuleType("functions"), extension.define_overloads),
    "def_fast": Operation(lambda: types.ModuleType("functions"), extension.define_fast),
    "a method": Operation(lambda: (extension.Image(2, 3), producers.Producer(shape=(2, 3))),
                          lambda pair: pair[0].dot(pair[1])),
    "a member": Operation(lambda: extension.Image(2, 3), lambda x: x.row(1)),
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
        "from a masked array": Operation(lambda: np.ma.zeros(3), dlbridge.from_dlpack),
        "refuse a mask": Operation(
            lambda: np.ma.masked_less([1, 2], 2), dlbridge.from_dlpack, refused=True
        ),
        **{
            f"NumPy argument, {binding}": Operation(
                lambda: np.zeros(3, dtype=np.float32), bound(binding, "doubled")
            )
            for binding in BINDINGS
        },
    }


def all_operations() -> dict[str, Operation]:
    return {**OPERATIONS, **numpy_operations()}
