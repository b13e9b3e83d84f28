# SPDX-License-Identifier: BSD-3-Clause
"""The functions of an extension that nanobind's build made: by dlbridge::def, by plain nanobind
with dlbridge's casters, and by def_fast. NumPy reads what they return."""

from __future__ import annotations

import ctypes
import gc
import importlib
import importlib.util
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dlbridge

if importlib.util.find_spec("nanobind_extension") is None:
    pytest.skip("the module was not built, as nanobind was not found", allow_module_level=True)

extension: Any = importlib.import_module("nanobind_extension")

BINDINGS = ("by_def", "by_nanobind", "by_fast")
KINDS = ("span_to_read", "span_to_write", "owned", "argument", "any_tensor", "managed_tensor")
FLOATS = 'typing.Annotated[dlbridge.typing.SupportsDLPack, "float32[*] on cpu"]'


def floats(n: int = 4) -> Any:
    return np.arange(n, dtype=np.float32)


def address(x: Any) -> int:
    return int(x.__array_interface__["data"][0])


def refusal(function: Any, *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(TypeError) as raised:
        function(*arguments, **keywords)
    return str(raised.value)


class Interrupting:
    """A producer whose export is interrupted."""

    def __dlpack__(self, **_: Any) -> Any:
        raise KeyboardInterrupt

    def __dlpack_device__(self) -> Any:
        return (1, 0)


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_parameter(binding: str, kind: str) -> None:
    functions = getattr(extension, binding)
    x = floats()
    assert getattr(functions, kind)(x) == address(x)
    assert getattr(functions, kind)(x=x) == address(x)
    assert getattr(functions, f"optional_{kind}")(x) == address(x)
    assert getattr(functions, f"optional_{kind}")(None) == 0


@pytest.mark.parametrize("binding", BINDINGS)
def test_results_belong_to_the_library_of_the_caller(binding: str) -> None:
    functions = getattr(extension, binding)
    doubled = functions.doubled(floats())
    assert type(doubled) is np.ndarray and doubled.tolist() == [0, 2, 4, 6]
    x = floats()
    assert address(functions.same(x)) == address(x)
    tensor = functions.to_managed(3)
    assert type(tensor).__name__ == "Tensor"
    assert np.from_dlpack(tensor).tolist() == [0, 1, 2]
    assert functions.to_optional(-1) is None


def test_results_of_named_libraries_and_in_containers() -> None:
    assert type(extension.returns.numpy(3)) is np.ndarray
    assert type(extension.returns.dlbridge(3)).__name__ == "Tensor"
    counted = extension.by_def.counted_like(floats(3))
    assert type(counted) is np.ndarray and counted.tolist() == [0, 1, 2]
    assert [np.from_dlpack(each).size for each in extension.by_nanobind.several(3)] == [0, 1, 2]


@pytest.mark.parametrize("binding", ("by_def", "by_fast"))
def test_a_refusal_names_function_argument_and_requirement(binding: str) -> None:
    function = getattr(extension, binding).span_to_read
    assert refusal(function, floats().astype(np.float64)) == (
        "span_to_read(): argument 'x': expected float32[*] on cpu; got float64[4] on cpu: "
        "dtype differs"
    )
    producer = (
        "span_to_read(): argument 'x': not a DLPack producer: expected an object with __dlpack__ "
        "and __dlpack_device__; got one of type "
    )
    assert refusal(function, "text") == producer + "str"
    assert refusal(function, None) == producer + "NoneType"
    assert refusal(function) == "span_to_read() is missing argument 'x'"
    assert refusal(function, floats(), floats()) == "span_to_read() takes 1 argument, not 2"
    assert refusal(function, y=floats()) == (
        "span_to_read() got an unexpected keyword argument 'y'"
    )
    assert refusal(function, floats(), x=floats()) in (
        "span_to_read() got several values for argument 'x'",
        "span_to_read() takes 1 argument, not 2",
    )


def test_plain_nanobind_refuses_with_its_signature() -> None:
    message = refusal(extension.by_nanobind.span_to_read, floats().astype(np.float64))
    assert f"span_to_read(x: {FLOATS}) -> int" in message


def test_a_refusal_lists_every_argument() -> None:
    assert refusal(extension.join, np.zeros(3), np.zeros(3, np.int64), how=3) == (
        "join():\n"
        "  argument 'x': expected float32[*] on cpu; got float64[3] on cpu: dtype differs\n"
        "  argument 'y': expected float32[*] on cpu; got int64[3] on cpu: dtype differs"
    )
    assert refusal(extension.unnamed, floats(), np.zeros(3)) == (
        "unnamed(): argument 2: expected float32[*] on cpu; got float64[3] on cpu: dtype differs"
    )
    assert refusal(extension.unnamed, floats()) == "unnamed() is missing argument 2"


def test_a_refusal_of_what_is_no_tensor() -> None:
    plain = extension.plain
    assert plain(1, "abc") == 4
    for wrong in (("a", 2), (None, "b")):  # in the words of nanobind
        assert refusal(plain, *wrong).startswith("plain(): incompatible function arguments.")
    assert refusal(plain, 1, z=3) == "plain() got an unexpected keyword argument 'z'"
    assert refusal(plain, 1, x=3) == "plain() got several values for argument 'x'"
    assert (
        refusal(extension.join, floats(), floats(), "there")
        == "join() takes 2 positional arguments, not 3"
    )
    assert extension.no_conversion(floats(), 2.0) == 12
    assert "incompatible function arguments" in refusal(extension.no_conversion, floats(), 2)


def test_defaults_keyword_only_and_variadic_arguments() -> None:
    x = floats()
    extension.scale(x)
    assert x.tolist() == [0, 2, 4, 6]
    extension.scale(x, factor=0.5)
    assert x.tolist() == [0, 1, 2, 3]
    assert extension.join(x, x) == "here 12"
    assert extension.join(x, x, how="there") == "there 12"
    assert extension.rest(x, 1, 2, a=3) == (6.0, (1, 2), {"a": 3})
    assert "argument 'x': expected float32[*]" in refusal(extension.rest, np.zeros(2), 1)
    assert extension.without_gil(x) == 6.0


def test_read_only_memory_is_refused_for_writing() -> None:
    x = dlbridge.from_dlpack(floats(), readonly=True)
    assert extension.by_def.span_to_read(x) == x.data_ptr
    assert "writable" in refusal(extension.by_def.span_to_write, x)
    assert "writable" in refusal(extension.by_nanobind.span_to_write, x)


def test_overloads_state_the_reason_of_each() -> None:
    kind_of = extension.kind_of
    assert kind_of(floats()) == "floats"
    assert kind_of(np.arange(3)) == "integers"
    assert kind_of(np.arange(3), 3) == "integers and a number"
    integers = FLOATS.replace("float32", "int64")
    assert refusal(kind_of, np.zeros(2)) == (
        "kind_of(): no overload takes these arguments:\n"
        f"1. kind_of(x: {FLOATS}) -> str\n"
        "  argument 'x': expected float32[*] on cpu; got float64[2] on cpu: dtype differs\n"
        f"2. kind_of(x: {integers}) -> str\n"
        "  argument 'x': expected int64[*] on cpu; got float64[2] on cpu: dtype differs\n"
        f"3. kind_of(x: {integers}, n: int) -> str\n"
        "  is missing argument 'n'"
    )
    missing = refusal(kind_of)  # one reason of overloads in a row is stated once
    assert missing.count("is missing argument 'x'") == 1
    assert f"1. kind_of(x: {FLOATS}) -> str\n2. kind_of(x: {integers}) -> str\n3. " in missing
    assert "not those of this signature" in refusal(kind_of, np.arange(3), "s")
    assert "Overloaded function." in kind_of.__doc__


def test_overloads_of_plain_nanobind_follow() -> None:
    assert extension.mixed(floats()) == "floats"
    assert extension.mixed("a") == "text"
    assert "mixed(x: str)" in refusal(extension.mixed, 3)


def test_overloads_import_a_capsule_once() -> None:
    x = np.arange(3)
    assert extension.taken(x.__dlpack__()) == address(x)
    assert "float32[*]" in refusal(extension.kind_of, np.zeros(2).__dlpack__())


def test_containers_and_casts_of_plain_nanobind() -> None:
    plain = extension.by_nanobind
    assert plain.by_reference(floats()) == 6
    assert plain.total_of_all([floats(), floats(3)]) == 9
    assert "Sequence[" + FLOATS in refusal(plain.total_of_all, [floats(), np.zeros(2)])
    assert plain.cast_owning(floats()) == 6
    for function in (plain.cast_owning, plain.cast_span):  # of another dtype; of a span
        with pytest.raises(RuntimeError, match="bad_cast"):
            function(np.zeros(2))


@pytest.mark.parametrize("binding", BINDINGS)
def test_exceptions(binding: str) -> None:
    fail = getattr(extension, binding).fail
    expected = (
        (BufferError, "overflow"),
        (KeyError, "a nanobind exception"),
        (RuntimeError, "a standard exception"),
        (LookupError, "a Python exception"),
        (LookupError, "a Python exception"),
        (MemoryError, "^(std::bad_alloc)?$"),
        (TypeError, "of the function itself"),
        (IndexError, "an index"),
        (OverflowError, "a number"),
        (ValueError, "a length"),
    )
    for how, (kind, text) in enumerate(expected):
        with pytest.raises(kind, match=text):
            fail(how)
        with pytest.raises(kind, match=text):
            extension.fail_with(floats(), how)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that a shell starts in the background ignores SIGINT."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("binding", BINDINGS)
def test_an_interrupt_is_not_lost(binding: str) -> None:
    with pytest.raises((KeyboardInterrupt, TypeError)) as raised:
        try:
            getattr(extension, binding).span_to_read(Interrupting())
        except TypeError:  # of plain nanobind, during which the interrupt arrives
            for _ in range(100):
                pass
            raise AssertionError("the interrupt was lost") from None
    assert raised.type is KeyboardInterrupt


def test_an_interrupt_ends_a_call_of_overloads() -> None:
    with pytest.raises(KeyboardInterrupt):
        extension.kind_of(Interrupting())


def test_methods_constructors_and_static_methods() -> None:
    scaler = extension.Scaler(floats())
    assert scaler.dot(floats()) == 14
    scaler.add(floats())
    assert scaler.scaled(floats()).tolist() == [0, 2, 8, 18]
    assert extension.Scaler.size_of(floats()) == 4
    wrong = "argument 'x': expected float32[*] on cpu; got float64[2] on cpu: dtype differs"
    for function in (extension.Scaler, scaler.dot, extension.Scaler.size_of):
        assert wrong in refusal(function, np.zeros(2))
    assert refusal(scaler.dot) == "dot() is missing argument 'x'"
    assert "incompatible function arguments" in refusal(scaler.add, floats(), "a")
    assert "takes 1 argument, not 2" in refusal(extension.Scaler, floats(), floats())


def test_a_view_of_a_member_keeps_its_object_alive() -> None:
    factors = np.array([1, 2], "float32")
    scaler = extension.Scaler(factors)
    views = [scaler.values, scaler.view(), scaler.array(), scaler.view_like(factors)]
    assert [type(each).__name__ for each in views] == ["Tensor", "Tensor", "ndarray", "ndarray"]
    np.asarray(views[0])[0] = 5
    del scaler
    gc.collect()
    assert [np.asarray(each).tolist() for each in views] == [[5, 2]] * 4
    with pytest.raises(TypeError, match="has no object to keep alive; return it from a method"):
        extension.view_of_nothing()


def matrix(rows: int = 2, columns: int = 3) -> Any:
    return np.arange(rows * columns, dtype="float32").reshape(rows, columns)


def test_a_property_exposes_memory_and_takes_tensors() -> None:
    table = extension.Table(matrix())
    assert type(table.values).__name__ == "Tensor"
    np.asarray(table.values)[1, 2] = 50
    assert type(table.array) is np.ndarray
    assert table.array[1, 2] == 50
    table.values = matrix(3, 1)
    assert table.array.tolist() == [[0], [1], [2]]
    assert (extension.Table.values.__doc__, table.rows) == ("All values.", 3)
    assert refusal(setattr, table, "values", np.zeros(2, "float32")) == (
        "Table.values.setter(): argument 'value': expected float32[*, *] on cpu; got float32[2] on "
        "cpu: rank differs"
    )
    with pytest.raises(AttributeError):
        table.rows = 3
    array = table.array
    del table
    gc.collect()
    assert array.tolist() == [[0], [1], [2]]


def test_an_iterator_keeps_its_object_alive() -> None:
    iterator = iter(extension.Table(matrix(3, 2)))
    class_ = type(iterator)  # CPython from 3.12 on warns of a class without a module
    assert getattr(sys.modules[class_.__module__], class_.__qualname__) is class_
    gc.collect()
    items = list(iterator)
    del iterator
    gc.collect()
    assert [np.asarray(each).tolist() for each in items] == matrix(3, 2).tolist()
    assert [type(each) for each in extension.Table(matrix()).arrays()] == [np.ndarray] * 2
    squares = extension.Table(matrix()).squares()
    assert [np.asarray(each).tolist() for each in squares] == [[0], [1], [4]]
    assert list(squares) == []
    item = iter(extension.Table(matrix(3, 2))).__reduce__()[1][0]
    assert np.asarray(item(2)).tolist() == matrix(3, 2)[2].tolist()
    for i in (3, 10**9, 2**64 - 1):
        with pytest.raises(StopIteration):
            item(i)
    with pytest.raises(BufferError, match="extents of 0 and above"):
        list(extension.Table(matrix()).broken())
    assert extension.Table.__iter__.__doc__.endswith("-> collections.abc.Iterator[typing.Any]")


def test_objects_that_are_no_parameters_are_imported() -> None:
    one, two = np.ones(1, "float32"), np.ones(2, "float32")
    assert extension.lengths(one, two, y=two) == [1, 2, 2]
    assert (extension.optional_length(None), extension.optional_length(two)) == (-1, 2)
    assert refusal(extension.lengths, one, y=two.astype("int8")) == (
        "argument 'y': expected float32[*] on cpu; got int8[2] on cpu: dtype differs"
    )
    assert refusal(extension.lengths, 3).startswith("not a DLPack producer")
    with pytest.raises(KeyboardInterrupt):
        extension.lengths(Interrupting())


@pytest.mark.parametrize("name", ["bind_none", "bind_a_default_of_none"])
def test_none_is_stated_for_optional_parameters_only(name: str) -> None:
    words = r"^dlbridge: the binding of needs_x\(\) states that argument 'x' may be None, which its"
    with pytest.raises(TypeError, match=words):
        getattr(extension, name)(extension)
    assert not hasattr(extension, "needs_x")


def test_a_class_with_traits_is_a_producer() -> None:
    buffer = extension.Buffer(3)
    x = np.from_dlpack(buffer)
    # NumPy 1 and 2.0 make every array of from_dlpack read-only.
    ctypes.c_float.from_address(x.ctypes.data).value = 5
    alive = weakref.ref(x)
    assert np.from_dlpack(buffer).tolist() == [5, 1, 1]
    assert buffer.__dlpack_device__() == (1, 0)
    del buffer
    gc.collect()
    assert x.tolist() == [5, 1, 1]
    del x
    assert alive() is None
    assert "copy=None" in extension.Buffer.__dlpack__.__text_signature__


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("argument", ["max_version", "stream", "dl_device"])
def test_an_array_that_python_code_resizes_during_its_export(argument: str, copy: Any) -> None:
    """The capsule describes the memory that the array has when __dlpack__ returns."""
    buffer = extension.Buffer(3)

    class Resizing:
        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            buffer.resize(100_000)
            return self.value

    values: dict[str, Any] = {
        "max_version": (Resizing(1), 0), "stream": Resizing(-1), "dl_device": (Resizing(1), 0),
    }  # fmt: skip
    t = dlbridge.from_dlpack(buffer.__dlpack__(**{argument: values[argument]}, copy=copy))
    assert (t.size, t.tolist()[:4]) == (100_000, [1, 1, 1, 0])
    assert (t.data_ptr == dlbridge.from_dlpack(buffer).data_ptr) == (copy is None)


def test_a_name_that_is_taken() -> None:
    message = refusal(extension.bind_taken_name, extension)
    assert message.startswith("taken_name exists already and is no function of nanobind")


LEAVING = """
import numpy as np
import nanobind_extension as e
e.kind_of(np.zeros(2, np.float32))
try:
    e.kind_of(np.zeros(2))
except TypeError:
    pass
scaler = e.Scaler(np.zeros(2, np.float32))
table = e.Table(np.zeros((2, 2), np.float32))
try:
    table.values = 3
except TypeError:
    pass
rows = iter(table)
next(rows)
del table, rows
kept = [e.by_def.doubled(np.zeros(2, np.float32)), e.by_def.to_managed(3), e.Buffer(3)]
np.from_dlpack(e.Buffer(3))
"""


def test_nothing_leaks_at_exit() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""  # nanobind lists leaked instances, types and functions there
