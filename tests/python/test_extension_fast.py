# SPDX-License-Identifier: BSD-3-Clause
"""def_fast: numbers of every type, keywords, and error messages like those of def."""

from __future__ import annotations

import re
import sys
import types
from typing import Any

import pytest

import dlbridge
from bindings import freed_once
from producers import Producer


@pytest.fixture
def fast(extension: Any) -> Any:
    return extension.fast


INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
VECTOR = 'typing.Annotated[SupportsDLPack, "float32[*] on cpu{}"]'


class Index:
    def __index__(self) -> int:
        return 5


class Float:
    def __float__(self) -> float:
        return 2.5


class Faulty:
    def __index__(self) -> int:
        raise LookupError("no number")

    __float__ = __index__


def bounds(name: str) -> tuple[int, int]:
    bits = int(name.lstrip("uint"))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(fast: Any, name: str) -> None:
    echo = getattr(fast, name)
    low, high = bounds(name)
    for value in (low, high, 0, 1, True, Index()):
        number = value.__index__()
        assert (echo(value), type(echo(value))) == (number, int)
    sign = "unsigned" if low == 0 else "signed"
    for value in (low - 1, high + 1, -(2**70), 2**70):
        with pytest.raises(TypeError) as raised:
            echo(value)
        words = f"expected an integer of {name.lstrip('uint')} bits, {sign}; got {value}"
        assert str(raised.value) == f"{name}(): argument 'value': OverflowError: {words}"
        assert type(raised.value.__cause__) is OverflowError


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="every int has a repr()")
@pytest.mark.parametrize("name", INTEGERS)
def test_an_integer_of_too_many_digits_for_repr(fast: Any, name: str) -> None:
    with pytest.raises(TypeError, match=r"OverflowError: .* got a value of type int$"):
        getattr(fast, name)(10**5000)


@pytest.mark.parametrize("value", [1.0, "1", None, [1], 1j])
@pytest.mark.parametrize("name", INTEGERS)
def test_other_objects_than_integers(fast: Any, name: str, value: object) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(fast, name)(value)
    kind = type(value).__name__
    assert str(raised.value) == f"{name}(): argument 'value': expected an int; got {kind}"


@pytest.mark.parametrize("name, third", [("float32", 0.3333333432674408), ("float64", 1 / 3)])
def test_floats(fast: Any, name: str, third: float) -> None:
    echo = getattr(fast, name)
    assert [echo(each) for each in (1, 2.5, True, Index(), Float(), -1.0, -1)] == [
        1, 2.5, 1, 5, 2.5, -1, -1,
    ]  # fmt: skip
    assert echo(1 / 3) == third
    assert echo(float("inf")) == float("inf")
    for value in ("1", None, [1.0], 1j):
        with pytest.raises(TypeError) as raised:
            echo(value)
        kind = type(value).__name__
        assert str(raised.value) == f"{name}(): argument 'value': expected a float; got {kind}"


def test_bools(fast: Any) -> None:
    assert fast.boolean(True) is True
    assert fast.boolean(False) is False
    for value in (0, 1, "", None):
        with pytest.raises(TypeError) as raised:
            fast.boolean(value)
        kind = type(value).__name__
        assert str(raised.value) == f"boolean(): argument 'value': expected a bool; got {kind}"


@pytest.mark.parametrize("name", ["int8", "uint64", "float32"])
def test_a_number_that_raises(fast: Any, name: str) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(fast, name)(Faulty())
    assert str(raised.value) == f"{name}(): argument 'value': LookupError: no number"
    assert type(raised.value.__cause__) is LookupError


def test_keywords(fast: Any) -> None:
    x, y = Producer(shape=(3,)), Producer(shape=(3,))
    target = dlbridge.from_dlpack(y)
    assert fast.axpy(2, x, y=target) is None
    assert fast.axpy(y=target, a=1, x=x) is None
    assert memoryview(target).tolist() == [0, 4, 8]
    assert fast.dot(Producer(shape=(3,)), Producer(shape=(3,))) == 5


def test_names_of_parameters_beyond_ascii(fast: Any) -> None:
    assert fast.beyond_ascii(5, ä=2) == fast.beyond_ascii(ä=2, größe=5) == 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'ö'"):
        fast.beyond_ascii(5, ö=2)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("nothing", (1,), {}, "nothing() takes 0 arguments, not 1"),
    ("int8", (1, 2), {}, "int8() takes 1 argument, not 2"),
    ("axpy", (), {}, "axpy() is missing argument 'a'"),
    ("axpy", (1, 2), {}, "axpy() is missing argument 'y'"),
    ("axpy", (1,), {"y": 2}, "axpy() is missing argument 'x'"),
    ("axpy", (1,), {"a": 2}, "axpy() got several values for argument 'a'"),
    ("axpy", (1,), {"b": 2}, "axpy() got an unexpected keyword argument 'b'"),
    ("axpy", (1, 2, 3), {"b": 2}, "axpy() got an unexpected keyword argument 'b'"),
    ("nothing", (), {"b": 2}, "nothing() got an unexpected keyword argument 'b'"),
    ("unnamed", (1,), {}, "unnamed() is missing argument 'arg1'"),
]


@pytest.mark.parametrize("name, args, keywords, words", CALLS)
def test_wrong_number_or_names_of_arguments(
    fast: Any, name: str, args: tuple[Any, ...], keywords: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(fast, name)(*args, **keywords)
    assert str(raised.value) == words


def test_every_wrong_argument_is_named(fast: Any) -> None:
    x, y = Producer(shape=(3,), dtype=(0, 8, 1)), Producer(shape=(3,), flags=1)
    with pytest.raises(TypeError) as raised:
        fast.axpy("2", x, y)
    assert str(raised.value) == (
        "axpy():\n"
        "  argument 'a': expected a float; got str\n"
        "  argument 'x': expected float32[*] on cpu; got int8[3] on cpu: dtype differs\n"
        "  argument 'y': expected float32[*] on cpu, writable; got float32[3] on cpu, read-only: "
        "writability differs. Pass an array that you keep, as y = numpy.array(x), to which the "
        "function writes"
    )
    assert freed_once(x, y)


def test_unnamed_parameters(fast: Any) -> None:
    with pytest.raises(TypeError) as raised:
        fast.unnamed(Producer(shape=()), Producer(shape=(3,)))
    assert str(raised.value) == (
        "unnamed(): argument 'arg0': expected float32[*] on cpu; got float32[] on cpu: rank differs"
    )
    assert fast.unnamed(arg1=Producer(shape=(2,)), arg0=Producer(shape=(2,))) == 1


def test_too_many_names(fast: Any, extension: Any) -> None:
    words = (
        "bad argument: expected at most one name for each parameter of dot3(), which has 2; got 3 "
        "names"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        extension.too_many_names(fast)


def test_a_name_that_is_taken(extension: Any) -> None:
    module = types.ModuleType("functions")
    extension.define_fast(module)
    first = module.extent
    with pytest.raises(ValueError, match="expected the name of no other function; got extent"):
        extension.define_fast(module)
    assert module.extent is first


def test_docstrings_and_attributes(fast: Any) -> None:
    read, write = VECTOR.format(""), VECTOR.format(", writable")
    assert fast.dot.__doc__ == f"dot(x: {read}, y: {read}) -> float\n\nThe scalar product."
    assert fast.axpy.__doc__ == f"axpy(a: float, x: {read}, y: {write}) -> None"
    assert fast.nothing.__doc__ == "nothing() -> None"
    assert fast.uint8.__doc__ == "uint8(value: int) -> int"
    assert (fast.dot.__name__, fast.dot.__module__) == ("dot", fast.__name__)


def test_a_function_outlives_its_module_attribute(fast: Any) -> None:
    dot = fast.dot
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(fast, "dot")
        assert dot(Producer(shape=(3,)), Producer(shape=(3,))) == 5


def test_a_type_error_of_the_conversion_is_the_cause(extension: Any) -> None:
    class Length:
        def __float__(self) -> float:
            raise TypeError("metres are no seconds")

    with pytest.raises(TypeError, match=r"TypeError: metres are no seconds$") as raised:
        extension.fast.float64(Length())
    assert isinstance(raised.value.__cause__, TypeError)
