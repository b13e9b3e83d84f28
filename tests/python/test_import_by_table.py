# SPDX-License-Identifier: BSD-3-Clause
"""from_dlpack by the exchange table of a type, and by the fields of an ndarray: when they are used,
and when __dlpack__ is."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import dlbridge
import foreign

NAME = "__dlpack_c_exchange_api__"
CPU = (1, 0)
COMPLEX64 = (5, 64, 1)


class WithMethods(foreign.Exported):
    """Has __dlpack__ as well, and counts its calls."""

    def __init__(self, handle: foreign.Handle) -> None:
        self.handle = handle
        self.requests: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        return self.handle.capsule(True)


def table_class(**options: Any) -> Any:
    table = foreign.exchange_capsule(foreign.exchange_table(**options))
    return type("Array", (WithMethods,), {NAME: table})


TAKES = [dlbridge.from_dlpack, dlbridge.as_tensor]


@pytest.mark.parametrize("keywords", [{}, {"stream": None}, {"copy": None}, {"readonly": True}])
@pytest.mark.parametrize("take", TAKES)
def test_the_table_is_used(take: Any, keywords: dict[str, Any]) -> None:
    handle = foreign.tensor()
    x = table_class()(handle)
    t = take(x, **keywords)
    assert (x.requests, handle.calls) == ([], 0)
    consumed = foreign.consume(t.__dlpack__(max_version=(1, 3)))
    assert consumed.data == handle.address
    del t
    assert handle.calls == 0
    consumed.release("nogil")
    assert handle.calls == handle.handed_out == 1


@pytest.mark.parametrize("keywords", [{"copy": True}, {"copy": False}, {"device": "cpu"}])
@pytest.mark.parametrize("take", TAKES)
def test_a_request_is_for_the_protocol(take: Any, keywords: dict[str, Any]) -> None:
    x = table_class()(foreign.tensor())
    take(x, **keywords)
    assert len(x.requests) >= 1


@pytest.mark.parametrize("options", [{"missing": ["give"]}, {"failing": ["give"]}])
def test_a_table_that_refuses(options: dict[str, Any]) -> None:
    x = table_class(**options)(foreign.tensor())
    dlbridge.from_dlpack(x)
    assert len(x.requests) == 1


def test_complex_tensors() -> None:
    x = table_class()(foreign.tensor(dtype=COMPLEX64))
    t = dlbridge.from_dlpack(x)
    assert len(x.requests) == 1
    assert x.handle.calls == 1  # the tensor of the table, which was not used
    del t
    assert x.handle.calls == x.handle.handed_out == 2


def test_a_malformed_tensor() -> None:
    x = table_class()(foreign.tensor(shape=(-1,)))
    with pytest.raises(BufferError, match="extents of 0 and above"):
        dlbridge.from_dlpack(x)
    assert x.handle.calls == x.handle.handed_out == 1


def test_an_inherited_table_is_not_used() -> None:
    """A subclass may have overridden what __dlpack__ checks."""
    x = type("Derived", (table_class(),), {})(foreign.tensor())
    dlbridge.from_dlpack(x)
    assert len(x.requests) == 1


def test_a_table_without_methods() -> None:
    table = foreign.exchange_capsule(foreign.exchange_table())
    handle = foreign.tensor()
    x = type("Bare", (foreign.Exported,), {NAME: table})(handle)
    for take in TAKES:
        assert foreign.consume(take(x).__dlpack__()).data == handle.address


def test_more_types_than_the_cache_has_rows() -> None:
    """Types replace each other there: none is imported as another one, or by another method."""
    arrays = []
    for i in range(300):
        kind = table_class() if i % 2 == 0 else type("Array", (WithMethods,), {})
        arrays.append(kind(foreign.tensor()))
    for _ in range(2):
        for x in arrays:
            consumed = foreign.consume(dlbridge.from_dlpack(x).__dlpack__(max_version=(1, 3)))
            assert consumed.data == x.handle.address
    assert [len(x.requests) for x in arrays] == [0, 2] * 150


# The fields of an ndarray.


def test_an_ndarray_is_kept_and_released() -> None:
    class Owner:
        """Has the memory of an ndarray."""

        __array_interface__ = np.arange(6.0).__array_interface__

    owner = Owner()
    gone = weakref.ref(owner)
    x = np.asarray(owner)
    references = sys.getrefcount(x)
    t = dlbridge.from_dlpack(x)
    assert sys.getrefcount(x) == references + 1
    del x, owner
    gc.collect()
    assert gone() is not None
    consumed = foreign.consume(t.__dlpack__(max_version=(1, 3)))
    del t
    assert gone() is not None
    consumed.release("nogil")
    gc.collect()
    assert gone() is None


def test_several_exports_of_an_ndarray() -> None:
    x = np.arange(6.0).reshape(2, 3).T
    t = dlbridge.from_dlpack(x)
    pointer, strides = t.data_ptr, t.strides
    consumed = [foreign.consume(t.__dlpack__(max_version=(1, 3))) for _ in range(3)]
    consumed.append(foreign.consume(t.__dlpack__()))
    assert {each.data for each in consumed} == {x.ctypes.data}
    assert (t.data_ptr, t.strides, t.shape) == (pointer, strides, (3, 2))
    references = sys.getrefcount(x)
    del t
    assert sys.getrefcount(x) == references
    for each in consumed:
        each.release("nogil")
    assert sys.getrefcount(x) == references - 1


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5
def test_the_shape_of_the_array_may_change() -> None:
    x = np.arange(6.0)
    t = dlbridge.from_dlpack(x)
    x.shape = (2, 3)
    assert t.shape == (6,)
    assert np.from_dlpack(t).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("keywords", [{}, {"copy": False}, {"readonly": True}, {"device": "cpu"}])
@pytest.mark.parametrize("take", TAKES)
def test_a_tensor_that_is_imported_again(take: Any, keywords: dict[str, Any]) -> None:
    """The second Tensor outlives the first, whose memory others then use."""
    first = dlbridge.from_dlpack(np.arange(6.0))
    second = take(first, **keywords)
    del first
    others = [dlbridge.from_dlpack(np.zeros((9, 9, each))) for each in range(50)]
    assert (second.shape, second.strides) == ((6,), (1,))
    assert memoryview(second).tolist() == [0, 1, 2, 3, 4, 5]
    assert len(others) == 50


def test_a_class_that_states_that_it_has_no_dlpack() -> None:
    table = foreign.exchange_capsule(foreign.exchange_table())
    x = type("Array", (foreign.Exported,), {NAME: table, "__dlpack__": None})(foreign.tensor())
    with pytest.raises(TypeError, match="not a DLPack producer"):
        dlbridge.from_dlpack(x)


def test_a_question_answered_by_a_method_of_another_type() -> None:
    """The method is called with a check of its object, which it refuses; list.clear without the
    check would overwrite the members of the object."""
    members = {"is_neg": list.clear, "__module__": "torch"}
    handle = foreign.tensor()
    x = type("Tensor", (WithMethods,), members)(handle)
    assert dlbridge.from_dlpack(x).shape == (2, 3)
    assert (x.handle, len(x.requests)) == (handle, 1)


def test_the_version_is_that_of_numpy() -> None:
    x = np.ones(2)
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:  # NumPy up to 2.0
        capsule = x.__dlpack__()
    version = dlbridge.from_dlpack(capsule).version
    t = dlbridge.from_dlpack(x)
    assert t.version == version
    t.__dlpack__()
    assert t.version == version


@pytest.mark.parametrize("rank", [0, 1, 8, 9])
def test_buffers_of_every_rank(rank: int) -> None:
    x = np.arange(2**rank, dtype="int16").reshape((2,) * rank).T
    t = dlbridge.from_dlpack(x)
    first, second = memoryview(t), memoryview(t)
    for each in (first, second):
        assert (each.shape, each.strides, each.nbytes) == (x.shape, x.strides, x.nbytes)
        assert each.tolist() == x.tolist()
    first.release()
    assert second.tolist() == x.tolist()
    del t
    assert second.tolist() == x.tolist()


@pytest.mark.parametrize("value, uses_table", [("1", False), ("0", True), ("", True)])
def test_the_environment_variable(value: str, uses_table: bool) -> None:
    """DLBRIDGE_PROTOCOL_ONLY makes every import call __dlpack__."""
    program = (
        "import dlbridge, test_import_by_table as t, foreign\n"
        "x = t.table_class()(foreign.tensor())\n"
        "dlbridge.from_dlpack(x)\n"
        "print(len(x.requests))"
    )
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    environment = {**os.environ, "DLBRIDGE_PROTOCOL_ONLY": value, "PYTHONPATH": path}
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert (result.stdout, result.stderr) == ("0\n" if uses_table else "1\n", "")


def counting(method: Any, calls: list[Any]) -> Any:
    """A function that counts its calls and then calls a method of an array."""

    def counted(*arguments: Any, **keywords: Any) -> Any:
        calls.append(keywords)
        return method(*arguments, **keywords)

    return counted


class Derived(np.ndarray):
    """Overrides nothing: its objects are read as those of ndarray are."""


@pytest.mark.parametrize("copy", [None, True])
def test_an_object_of_a_derived_class_has_a_method_of_its_own(copy: Any) -> None:
    calls: list[Any] = []
    x = np.arange(3.0).view(Derived)
    assert dlbridge.from_dlpack(x, copy=copy).tolist() == [0, 1, 2]
    x.__dlpack__ = counting(np.arange(4.0).__dlpack__, calls)  # type: ignore[method-assign]
    assert dlbridge.from_dlpack(x, copy=copy).tolist() == [0, 1, 2, 3]
    assert calls
    del x.__dlpack__
    assert dlbridge.from_dlpack(x, copy=copy).tolist() == [0, 1, 2]


@pytest.mark.parametrize("copy", [None, True])
def test_a_derived_class_gets_a_method(copy: Any) -> None:
    calls: list[Any] = []
    class_: Any = type("Derived", (np.ndarray,), {})
    x = np.arange(3.0).view(class_)
    assert dlbridge.from_dlpack(x, copy=copy).tolist() == [0, 1, 2]
    class_.__dlpack__ = counting(np.ndarray.__dlpack__, calls)
    assert dlbridge.from_dlpack(x, copy=copy).tolist() == [0, 1, 2]
    assert calls
    del class_.__dlpack__
    calls.clear()
    assert dlbridge.from_dlpack(x, copy=copy).tolist() == [0, 1, 2]
    assert not calls


def test_a_derived_class_looks_up_its_attributes_itself() -> None:
    class Forwarding(np.ndarray):
        def __getattribute__(self, name: str) -> Any:
            other = np.arange(4.0)
            return other.__dlpack__ if name == "__dlpack__" else super().__getattribute__(name)

    assert dlbridge.from_dlpack(np.arange(3.0).view(Forwarding)).tolist() == [0, 1, 2, 3]


def test_a_derived_class_without_attributes() -> None:
    class Slots(np.ndarray):
        __slots__ = ()

    x = np.arange(6.0).reshape(2, 3).T.view(Slots)
    t = dlbridge.from_dlpack(x)
    assert (t.data_ptr, t.shape, t.strides) == (x.ctypes.data, (3, 2), (1, 3))


def test_an_attribute_whose_comparison_raises() -> None:
    class Name(str):
        def __hash__(self) -> int:
            return hash("__dlpack__")

        def __eq__(self, other: object) -> bool:
            raise KeyboardInterrupt

    # Attributes of other objects of the class would be compared when this one is set.
    class_: Any = type("Derived", (np.ndarray,), {})
    x = np.arange(3.0).view(class_)
    x.__dict__[Name()] = 1
    with pytest.raises(KeyboardInterrupt):
        dlbridge.from_dlpack(x)


def test_a_mapped_file_stays_open(tmp_path: Any) -> None:
    path = tmp_path / "numbers"
    x: Any = np.memmap(path, dtype="float64", mode="w+", shape=(3,))
    x[:] = 1, 2, 3
    t = dlbridge.from_dlpack(x)
    del x
    gc.collect()
    assert (t.tolist(), t.readonly) == ([1, 2, 3], False)


def test_a_derived_class_that_refuses_is_called_once() -> None:
    calls: list[dict[str, Any]] = []

    class Refusing(np.ndarray):
        def __dlpack__(self, **keywords: Any) -> Any:
            calls.append(keywords)
            raise ValueError("no export")

    with pytest.raises(ValueError, match="no export"):
        dlbridge.from_dlpack(np.ones(3).view(Refusing))
    assert calls == [{"max_version": (1, 3)}]


def test_a_derived_class_that_calls_itself() -> None:
    """Two calls at each level would not end."""

    class Endless(np.ndarray):
        def __dlpack__(self, **keywords: Any) -> Any:
            return dlbridge.from_dlpack(self).__dlpack__(**keywords)

    with pytest.raises(RecursionError):
        dlbridge.from_dlpack(np.ones(3).view(Endless))
