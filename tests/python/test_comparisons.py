# SPDX-License-Identifier: BSD-3-Clause
"""== and != of a Tensor, its dtype and its device: right or refused, and its flags."""

from __future__ import annotations

import array
import collections
import ctypes
import enum
import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

import dlbridge
import producers

REFUSED = "a Tensor does not compare its elements"


class Level(enum.IntEnum):
    ONE = 1


class Row(list):  # type: ignore[type-arg]
    pass


EQUAL = [True, True, False, False]
UNEQUAL = [False, False, True, True]


def compared(a: Any, b: Any) -> list[Any]:
    """The results of == and !=, each in both orders."""
    return [compare(*pair) for compare in (operator.eq, operator.ne) for pair in ((a, b), (b, a))]


NUMBERS = [1, 1.0, 1j, True, Decimal(1), Fraction(1), Level.ONE]
SEQUENCES = [
    [1, 2], (1, 2), range(1, 3), Row([1, 2]), [[1], [2]], array.array("d", [1, 2]),
    (ctypes.c_double * 2)(1, 2),
]  # fmt: skip


def tensor(**fields: Any) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(producers.Producer(**fields))


def pair() -> tuple[Any, dlbridge.Tensor]:
    x = np.array([1.0, 2.0])
    return x, dlbridge.from_dlpack(x)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
@pytest.mark.parametrize("other", NUMBERS + SEQUENCES, ids=lambda x: type(x).__name__)
def test_numbers_and_sequences_are_refused(other: Any, compare: Any) -> None:
    x, t = pair()
    for left, right in ((t, other), (other, t)):
        with pytest.raises(TypeError, match=REFUSED) as raised:
            compare(left, right)
    remedy = str(raised.value).rpartition("as ")[2]
    assert remedy == "numpy.asarray(t) == x"
    result = eval(remedy, {"numpy": np, "t": t, "x": other})
    assert result.tolist() == (x == other).tolist()


def test_the_remedy_for_packed_elements() -> None:
    t = tensor(shape=(3,), dtype=(0, 4, 1))
    with pytest.raises(TypeError, match=REFUSED) as raised:
        assert t == [1, 2, 3]
    remedy = str(raised.value).rpartition("compare ")[2]
    assert isinstance(eval(remedy, {"t": t}), list)


def test_memory_of_a_device_is_not_compared() -> None:
    with pytest.raises(TypeError, match="on cuda:0, with one of type int; compare a copy on the"):
        assert tensor(device=(2, 0)) == 1


@pytest.mark.parametrize("code", "?bBhHiIlLqQefdFD")
def test_numpy_compares_elements(code: str) -> None:
    x, t = pair()
    scalar = np.dtype(code).type(1)
    for other in (scalar, scalar[None], x.astype(code), x.astype(code).astype(object)):
        for result in (t == other, other == t):
            assert isinstance(result, np.ndarray)
            assert result.tolist() == (x == other).tolist()
        assert (t != other).tolist() == (x != other).tolist()


class Opaque:
    """An object that is compared by its identity."""


OTHERS = [None, "a", "", b"ab", bytearray(b"ab"), np.str_("a"), object(), Opaque(), {}, set(), int]


@pytest.mark.parametrize("other", OTHERS, ids=lambda x: type(x).__name__)
def test_other_objects_are_unequal(other: Any) -> None:
    _, t = pair()
    assert compared(t, other) == UNEQUAL
    assert type(t).__eq__(t, other) is NotImplemented is type(t).__ne__(t, other)


def test_objects_that_compare_with_anything() -> None:
    x, t = pair()
    assert compared(t, mock.ANY) == EQUAL
    assert compared(t, pytest.approx(x)) == compared(t, pytest.approx([1.0, 2.0])) == EQUAL
    assert t != pytest.approx(x + 1)
    assert t[0] == pytest.approx(1.0) and t[0] != pytest.approx(2.0)
    assert t == memoryview(x) and t != memoryview(x + 1)


def test_tensors_are_compared_by_identity() -> None:
    x, t = pair()
    other = dlbridge.from_dlpack(x)
    assert (compared(t, t), compared(t, other)) == (EQUAL, UNEQUAL)
    assert {t: 1}[t] == 1 and {t, other} == {other, t} and t in [other, t]
    assert hash(t) == hash(t) == object.__hash__(t)
    assert {1: "a look-up by hash asks no Tensor"}.get(t[0]) is None  # type: ignore[call-overload]


class Array:
    """An array of a library whose comparison gives an answer, or does not know a Tensor."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __dlpack__(self) -> None: ...
    def __eq__(self, other: object) -> Any:
        return self.answer

    def __ne__(self, other: object) -> Any:
        return self.answer


class PlainArray:
    def __array__(self) -> None: ...


def test_arrays_of_libraries_are_asked() -> None:
    _, t = pair()
    assert (t == Array("answer"), t != Array("answer")) == ("answer", "answer")
    for other in (Array(NotImplemented), Array(False), Array(True), PlainArray()):
        for compare in (operator.eq, operator.ne):
            with pytest.raises(
                TypeError, match=REFUSED + r".*import both with from_dlpack\(\) of one"
            ):
                compare(t, other)
    for other in (Array(NotImplemented), PlainArray()):
        with pytest.raises(TypeError, match=REFUSED):
            operator.eq(other, t)


def raise_lookup(_: object) -> Any:
    raise LookupError("while the type is asked")


def test_an_exception_of_an_array_passes() -> None:
    _, t = pair()
    with pytest.raises(ZeroDivisionError):
        operator.eq(t, type("Broken", (Array,), {"__eq__": lambda *_: 1 // 0})(0))
    names = {"__getattr__": lambda *names: raise_lookup(names)}
    with pytest.raises(LookupError):
        operator.eq(t, type("Meta", (type,), names)("Broken", (), {})())


@dataclass
class Record:
    value: Any


def test_containers_are_as_loud_as_with_an_array() -> None:
    t: Any = pair()[1]
    objects = np.array([None, 1], dtype=object)
    objects[0] = t
    called = mock.Mock()
    called(t)
    for use in (
        lambda: t in [1], lambda: 1 in [t], lambda: [1, t].index(t), lambda: [t, 1].index(1),
        lambda: [t, 1].remove(1), lambda: [t].count(1), lambda: (t,) == (1,),
        lambda: {"a": t} == {"a": 1}, lambda: Record(t) == Record(1), lambda: objects == 1,
        lambda: called.assert_called_with(1), lambda: collections.deque([t]).index(1),
        lambda: sum(v == 1 for v in t), lambda: next(i for i in t if i == 2),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=REFUSED):
            use()
    assert Record(t) == Record(t) and [1, t][1:].index(t) == 0
    with pytest.raises(TypeError, match="in"):
        assert 1 in t


def test_many_comparisons_leak_nothing() -> None:
    import sys

    _, t = pair()
    others = [1, [1], Array(NotImplemented), Array(False), None, np.float64(1)]
    before = [sys.getrefcount(each) for each in (t, NotImplemented, False, *others[1:4])]
    for _ in range(100):
        for other in others:
            try:
                assert (t == other) is not None
            except TypeError as error:
                del error
    after = [sys.getrefcount(each) for each in (t, NotImplemented, False, *others[1:4])]
    assert all(abs(a - b) < 50 for a, b in zip(after, before))


NAMES = ["f4", "<f4", "=f4", "single", "f", "float32", np.float32, np.dtype("f4"), ctypes.c_float]
DIFFERENT = [">f4", "f8", "float", "double", "d", "i4", "f4,f4", "O", "", "no dtype", "float32x2",
             np.float64, np.dtype(">f4"), float, int, object, ctypes.c_double, None, 1, 1.0, Opaque,
             np.number, np.generic, Opaque(), ("f4",), b"f4"]  # fmt: skip


def little_endian(names: list[Any]) -> list[Any]:
    swapped = str.maketrans("<>", "<>" if np.little_endian else "><")
    return [each.translate(swapped) if isinstance(each, str) else each for each in names]


def test_a_dtype_equals_all_names_of_it() -> None:
    own = dlbridge.empty(1, "float32").dtype
    for name in little_endian(NAMES):
        assert compared(own, name) == EQUAL, name
    for name in little_endian(DIFFERENT):
        assert compared(own, name) == UNEQUAL, name
    for code in "?bBhHiIlLqQefdFD":
        numpy_dtype = np.dtype(code)
        own = dlbridge.from_dlpack(np.zeros(1, code)).dtype
        for name in (code, numpy_dtype.str, numpy_dtype.name, numpy_dtype, numpy_dtype.type):
            assert own == name and name == own, name
    assert sorted([dlbridge.dtype("int8"), "int16"]) == ["int16", "int8"]


def test_a_device_equals_all_names_of_it() -> None:
    cpu: Any = dlbridge.device("cpu")
    cuda: Any = dlbridge.device("cuda:1")
    jax_like = type("Device", (), {"platform": "gpu", "id": 1})()
    for own, same in ((cpu, "cpu"), (cpu, "cpu:0"), (cpu, (1, 0)), (cuda, (2, 1)),
                      (dlbridge.device("cuda"), "cuda"), (cuda, jax_like)):  # fmt: skip
        assert compared(own, same) == EQUAL
    for other in ("cuda:0", "cuda", (2, 0), None, 1, "", "no device", [2, 1], Opaque(), np.float32):
        assert compared(cuda, other) == UNEQUAL
    assert {cpu: 1}["cpu"] == 1 and cpu < cuda


# fmt: off
FLAGS = [
    "aligned", "behaved", "c_contiguous", "carray", "contiguous", "f_contiguous", "farray", "fnc",
    "forc", "fortran", "num", "owndata", "writeable", "writebackifcopy",
]
KEYS = [
    "C", "C_CONTIGUOUS", "CONTIGUOUS", "F", "F_CONTIGUOUS", "FORTRAN", "O", "OWNDATA", "W",
    "WRITEABLE", "A", "ALIGNED", "X", "WRITEBACKIFCOPY", "FNC", "FORC", "B", "BEHAVED", "CA",
    "CARRAY", "FA", "FARRAY",
]
# fmt: on


def read_only(x: Any) -> Any:
    x.flags.writeable = False
    return x


ARRAYS = {
    "rows": np.zeros((2, 3)),
    "columns": np.zeros((2, 3), order="F"),
    "vector": np.zeros(3),
    "steps": np.zeros((4, 6))[:, ::2],
    "one": np.zeros((1, 5))[:, ::2],
    "reversed": np.zeros(5)[::-1],
    "scalar": np.zeros(()),
    "empty": np.zeros((0, 3)),
    "transposed": np.zeros((2, 3, 4)).transpose(1, 0, 2),
    "broadcast": np.broadcast_to(np.zeros(1), (2, 3)),
    "read-only": read_only(np.zeros((2, 3))),
    "empty read-only": read_only(np.zeros(0)),
    "misaligned": np.zeros(33, "u1")[1:].view("f8"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_flags_are_those_of_the_array(kind: str) -> None:
    t = dlbridge.as_tensor(ARRAYS[kind])
    own: Any = t.flags
    expected: Any = np.asarray(t).flags
    assert {name for name in dir(expected) if name[0] != "_"} - {"setflags"} == set(FLAGS)
    assert {n: getattr(own, n) for n in FLAGS} == {n: getattr(expected, n) for n in FLAGS}
    assert {key: own[key] for key in KEYS} == {key: expected[key] for key in KEYS}
    assert type(own.c_contiguous) is bool is type(own["C"]) and type(own.num) is int
    assert int(own) == own == t.readonly


@pytest.mark.parametrize("key", ["U", "c", "c_contiguous", "", "C ", "C F", "C\0", 0, None, ()])
def test_other_keys_of_flags(key: Any) -> None:
    for flags in (dlbridge.empty(1, "int8").flags, np.zeros(1).flags):
        with pytest.raises(KeyError):
            flags[key]
    with pytest.raises(AttributeError):
        dlbridge.empty(1, "int8").flags.writeable = True  # type: ignore[misc]


def test_byte_strides_have_room_for_any_stride() -> None:
    owner = (ctypes.c_double * 2)(1, 2)
    address = ctypes.addressof(owner)
    strides = (2**61 + 1, -(2**62), 1)
    t = dlbridge.from_pointer(address, (1, 1, 2), "float64", strides=strides, owner=owner)
    assert t.strides == strides
    assert t.byte_strides == tuple(8 * stride for stride in strides)
    assert np.asarray(t).tolist() == np.from_dlpack(t).tolist() == [[[1, 2]]]


def test_the_message_names_both_sides() -> None:
    _, t = pair()
    expected = "a Tensor does not compare its elements, float64[2] on cpu, with one of type int; "
    with pytest.raises(TypeError, match="^" + re.escape(expected)):
        assert t == 1
