# SPDX-License-Identifier: BSD-3-Clause
"""Constructors, static methods, properties, iterators and reasons of refused calls of the functions
that an extension binds, and tensors of objects that are no parameters."""

from __future__ import annotations

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import numpy as np
import pytest
from cpython_build import FREE_THREADED

import dlbridge
from producers import Raises

FLOAT32 = 'typing.Annotated[SupportsDLPack, "float32[*, *] on cpu"]'


@pytest.fixture
def members(extension: Any) -> Any:
    return extension.members


@pytest.fixture
def Table(members: Any) -> Any:
    return members.Table


def numbers(rows: int = 2, columns: int = 3) -> Any:
    return np.arange(rows * columns, dtype="float32").reshape(rows, columns)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(TypeError) as raised:
        call()
    return str(raised.value)


def test_constructors_take_tensors(Table: Any) -> None:
    assert np.asarray(Table(numbers()).array).tolist() == numbers().tolist()
    assert np.asarray(Table(factor=2, values=numbers()).array).tolist() == (2 * numbers()).tolist()
    assert Table(3, 2).array.shape == (3, 2)
    assert Table.__init__.__name__ == "__init__"


def test_a_constructor_states_why_it_refuses(Table: Any) -> None:
    own = "self" if "nanobind" in Table.__module__ else f"self: {Table.__module__}.Table"
    first = f"1. __init__({own}, values: {FLOAT32}"
    for arguments, named, reasons in (
        (
            (numbers().astype("float64"),),
            {},
            (
                "argument 'values': expected float32[*, *] on cpu; got float64[2, 3] on cpu: "
                "dtype differs",
                "is missing argument 'columns'",
            ),
        ),
        ((), {"values": numbers(), "rows": 1}, ("got an unexpected keyword argument 'rows'",) * 1),
        ((1, 2, 3), {}, ("takes 2 arguments, not 3",) * 2),
    ):
        text = refusal(lambda a=arguments, n=named: Table(*a, **n))  # type: ignore[misc]
        assert text.startswith(f"Table(): no overload takes these arguments:\n{first}")
        for reason in reasons:
            assert f"\n  {reason}" in text


def test_a_refused_constructor_leaves_no_object_behind(Table: Any) -> None:
    values = numbers().astype("float64")
    for _ in range(3):
        refusal(lambda v=values: Table(v))  # type: ignore[misc]
    gc.collect()
    alive = weakref.ref(values)
    del values
    gc.collect()
    assert alive() is None


def test_a_subclass_calls_the_constructor(Table: Any) -> None:
    class Named(Table):  # type: ignore[misc]
        def __init__(self, values: Any, name: str) -> None:
            super().__init__(values)
            self.name = name

    named = Named(numbers(), "a")
    assert (named.array.tolist(), named.name) == (numbers().tolist(), "a")


def test_a_subclass_in_python_overrides_a_virtual_method(members: Any) -> None:
    class Square(members.Shape):  # type: ignore[misc]
        def kind(self, number: int) -> str:
            return f"{number} square"

    corners = np.zeros(4, "float32")
    assert members.kind_of(members.Shape(corners)) == "2 plain"
    square = Square(corners)
    assert (members.kind_of(square), square.count()) == ("2 square", 4)
    assert square.is_alias() and not members.Shape(corners).is_alias()
    assert refusal(lambda: members.Shape("round")).startswith(
        "Shape(): argument 'corners': not a DLPack producer"
    )


def test_static_methods_are_overloaded(Table: Any) -> None:
    assert Table.column(np.ones(4, "float32")).rows == 4
    assert Table(1, 1).column(np.ones(5, "float64")).rows == 5
    text = refusal(lambda: Table.column(np.ones(2, "int8")))
    assert text.count("got int8[2] on cpu: dtype differs") == 2
    is_pybind11 = Table.__module__ == "extension.members"
    assert isinstance(vars(Table)["column"], staticmethod) == is_pybind11


def test_a_property_exposes_memory_and_takes_tensors(Table: Any) -> None:
    table = Table(numbers())
    values = table.values
    assert isinstance(values, dlbridge.Tensor)
    np.asarray(values)[1, 2] = 50
    assert table.array[1, 2] == 50
    table.values = numbers(3, 1)
    assert table.array.tolist() == [[0], [1], [2]]
    assert (Table.values.__doc__, table.rows) == ("All values.", 3)
    with pytest.raises(AttributeError):
        table.rows = 3
    with pytest.raises(TypeError, match=r"^Table\.values\.setter\(\): argument 'value': not a DLP"):
        table.values = 3


def test_a_view_belongs_to_the_library_that_the_function_names(Table: Any) -> None:
    table = Table(numbers())
    array = table.array
    assert type(array) is np.ndarray
    assert array.ctypes.data == table.values.data_ptr
    del table
    gc.collect()
    assert array.tolist() == numbers().tolist()


def test_a_view_belongs_to_the_library_of_the_first_tensor_argument(Table: Any) -> None:
    table = Table(numbers())
    row = np.zeros(3, "float32")
    assert type(table.values_like(row)) is np.ndarray
    assert type(table.values_like(dlbridge.from_dlpack(row))) is dlbridge.Tensor
    assert type(table.array_like(dlbridge.from_dlpack(row))) is np.ndarray
    assert type(table.row(1)) is dlbridge.Tensor
    assert np.asarray(table.row(1)).tolist() == [3, 4, 5]


def test_an_iterator_keeps_its_object_alive(Table: Any) -> None:
    def rows() -> Any:
        return iter(Table(numbers(3, 2)))

    iterator = rows()
    class_ = type(iterator)  # CPython from 3.12 on warns of a class without a module
    assert getattr(sys.modules[class_.__module__], class_.__qualname__) is class_
    gc.collect()
    items = list(iterator)
    del iterator
    gc.collect()
    assert [np.asarray(each).tolist() for each in items] == numbers(3, 2).tolist()
    assert [type(each) for each in Table(numbers()).arrays()] == [np.ndarray] * 2
    squares = Table(1, 1).squares()
    assert [np.asarray(each).tolist() for each in squares] == [[0], [1], [4]]
    assert list(squares) == []
    with pytest.raises(BufferError, match="extents of 0 and above"):
        list(Table(1, 1).broken())
    assert Table.__iter__.__doc__.rstrip().endswith("-> collections.abc.Iterator[typing.Any]")


def test_threads_share_an_iterator(Table: Any) -> None:
    # A first use by several threads, and an end that each of them meets. Without the GIL an item
    # may come twice, as from iterators of Python, but none beyond the last one.
    iterator = iter(Table(numbers(500, 1)))
    with ThreadPoolExecutor(4) as pool:
        parts = list(
            pool.map(lambda _: [float(np.asarray(each)[0]) for each in iterator], range(4))
        )
    assert {value for part in parts for value in part} <= set(range(500))
    assert sum(map(len, parts)) == 500 or FREE_THREADED


def test_the_function_of_an_iterator_checks_its_index(Table: Any) -> None:
    item = iter(Table(numbers(3, 2))).__reduce__()[1][0]
    assert np.asarray(item(2)).tolist() == numbers(3, 2)[2].tolist()
    for i in (3, 10**9, 2**64 - 1):
        with pytest.raises(StopIteration):
            item(i)


def test_an_operator_refuses_other_objects(Table: Any) -> None:
    assert Table(numbers()) == numbers()
    assert (Table(numbers()) == "text") is False
    # pybind11 takes __hash__ from a class with __eq__, as Python does.
    assert (Table.__hash__ is None) == (Table.__module__ == "extension.members")


def test_objects_that_are_no_parameters_are_imported(members: Any) -> None:
    two = np.ones(2, "float32")
    assert members.cast_by_library(x=two) == 2
    assert (members.optional_length(None), members.optional_length(two)) == (-1, 2)
    with pytest.raises(KeyboardInterrupt):
        members.lengths(Raises(KeyboardInterrupt()))


VECTOR = np.ones(3, "float32")
WRONG = np.ones(3, "int8")
BY_LIBRARY = r"(?s)\w+\(\): incompatible function arguments\..*Invoked"
WRONG_TEXT = "expected float32[...] on cpu; got int8[3] on cpu: dtype differs"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda m: m.numbered(VECTOR), "numbered() is missing argument 'n'"),
        (lambda m: m.numbered(n=1), "numbered() is missing argument 'x'"),
        (lambda m: m.numbered(VECTOR, 1, 2), "numbered() takes 2 arguments, not 3"),
        (
            lambda m: m.numbered(VECTOR, 1, x=2),
            "numbered() got several values for argument 'x'",
        ),
        (
            lambda m: m.numbered(VECTOR, 1, z=2),
            "numbered() got an unexpected keyword argument 'z'",
        ),
        (
            lambda m: m.numbered(WRONG, None),
            f"numbered(): argument 'x': {WRONG_TEXT}",
        ),
        (
            lambda m: m.keyword_only(VECTOR, "text"),
            "keyword_only() takes 1 positional argument, not 2",
        ),
        (lambda m: m.keyword_only(VECTOR), "keyword_only() is missing argument 'scale'"),
        (lambda m: m.unnamed(VECTOR), "unnamed() is missing argument 2"),
        (lambda m: m.raises(VECTOR, 0), "of the body"),
        (lambda m: m.raises(VECTOR, 1), "raises(): incompatible with the rest"),
        (lambda m: m.rest(WRONG, 1), f"rest(): argument 'x': {WRONG_TEXT}"),
        (lambda m: m.plain(1, z=3), "plain() got an unexpected keyword argument 'z'"),
        (lambda m: m.plain(1, x=3), "plain() got several values for argument 'x'"),
        (
            lambda m: m.bind_a_default_of_none(m),
            "dlbridge: the binding of needs_x() states that argument 'x' may be None, which its "
            "type refuses. Write std::optional of the type",
        ),
    ],
)
def test_a_refused_call_names_each_tensor_and_why(
    members: Any, call: Callable[[Any], object], expected: str
) -> None:
    assert refusal(lambda: call(members)) == expected


def test_accepted_calls_with_every_kind_of_argument(members: Any) -> None:
    assert members.keyword_only(VECTOR, scale=2, text="ab") == 10
    assert members.rest(VECTOR, 1, 2, 3, y=1, z=2) == 8
    assert members.no_conversion(VECTOR, True) is True
    assert members.plain(1, "abc") == 4


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.numbered(VECTOR, "a"),
        lambda m: m.numbered(VECTOR, 128),
        lambda m: m.numbered_or_none(VECTOR, 128),
        lambda m: m.keyword_only(VECTOR, text=3, scale=1),
        lambda m: m.rest(VECTOR, 1, 2, 3, y="x"),
        lambda m: m.unnamed(VECTOR, VECTOR),
        lambda m: m.no_conversion(VECTOR, 1),
        lambda m: m.plain("a", 2),
        lambda m: m.plain(None, "b"),
        lambda m: m.Table.row(3, 1),
    ],
)
def test_the_library_states_why_it_converts_no_other_argument(
    members: Any, call: Callable[[Any], object]
) -> None:
    with pytest.raises(TypeError, match=BY_LIBRARY):
        call(members)


def test_extras_that_pybind11_alone_has() -> None:
    from extension import members

    with pytest.raises(TypeError, match=BY_LIBRARY):
        members.no_none(VECTOR, None)
    with pytest.raises(TypeError, match=BY_LIBRARY):
        members.no_none_for_optional(None)
    assert refusal(lambda: members.positional_only(x=VECTOR, n=1)) == (
        "positional_only() takes argument 'x' by position only"
    )
    assert refusal(lambda: members.positional_only(n=1)) == (
        "positional_only() is missing argument 'x'"
    )
