# SPDX-License-Identifier: BSD-3-Clause
"""Conversions by value and to complex numbers, and tensors of any dtype that are row-major."""

from __future__ import annotations

import array
import re
from typing import Any

import numpy as np
import pytest
from test_converted import (
    INTEGERS,
    SOURCES,
    array_of,
    dtype_named,
    expected,
    numbers,
    tensor,
)
from test_element_types import FLOATS, assert_same
from test_signatures import BINDINGS, module_of

import dlbridge
from producers import Producer

COMPLEX = ("complex64", "complex128")
TARGETS = ("bool", *INTEGERS, "float32", "float64", "float16", "bfloat16", "float8_e4m3fn")
HAS_SAME_VALUE = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4)


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


def edges(name: str) -> Any:
    """The numbers of a dtype at and around the limits of the others."""
    around = [
        b + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for b in (2**k, -(2**k)) for d in (-1, 0, 1)
    ]
    around += [2**k + d for k in (8, 11, 24, 53) for d in (-1, 0, 1)]
    fractions = [0.5, -0.5, 1.5, 0.1, 255.5, -0.0, 65504, 65520, 448, 449, 1e-40, 1e300, -1e300]
    dtype = dtype_named(name)
    if name == "bool" or name in INTEGERS:
        least, most = (0, 1) if name == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return np.array([x for x in around if least <= x <= most] or [0, 1], dtype)
    with np.errstate(all="ignore"):
        return np.array([*map(float, around), *fractions, np.inf, -np.inf, np.nan]).astype(dtype)


def cases(name: str) -> Any:
    return np.concatenate([edges(name), numbers(name)])


def exact(x: Any) -> Any:
    """The value of an element as a number of Python, whose comparisons are exact."""
    return int(x) if x.dtype.name == "bool" or x.dtype.name in INTEGERS else float(x)


def is_kept(x: Any, made: Any, target: str) -> bool:
    """Whether a dtype has the value of an element, whose nearest number of a float is `made`."""
    value = exact(x)
    if target == "bool":
        return bool(value in (0, 1))
    if target in INTEGERS:
        limits = np.iinfo(target)
        return bool(value % 1 == 0 and limits.min <= value <= limits.max)
    return bool(value != value or exact(made) == value)


def kept(values: Any, target: str) -> Any:
    with np.errstate(all="ignore"):
        made = values if target == "bool" or target in INTEGERS else expected(values, target)
    return np.array([is_kept(x, y, target) for x, y in zip(values, made)])


def same(got: Any, values: Any, target: str) -> None:
    with np.errstate(all="ignore"):
        assert_same(
            got, expected(values, target)
        ) if target in FLOATS else np.testing.assert_array_equal(got, values.astype(got.dtype))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, at an overflow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_pair_of_dtypes(extension: Any, source: str, target: str) -> None:
    function = getattr(extension, f"by_value_{target}")
    values = cases(source)
    fits = kept(values, target) if source != target else np.ones(len(values), bool)
    got = array_of(function(tensor(values[fits], source)), target)
    assert got.dtype == dtype_named(target)
    same(got, values[fits], target)
    for x in values[~fits]:
        with pytest.raises(
            TypeError, match=rf"got \S+ at \[0\] of {source}\[1\] .*: value differs"
        ):
            function(tensor(np.array([x]), source))


@pytest.mark.skipif(not HAS_SAME_VALUE, reason="this NumPy has no casting='same_value'")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("target", [each for each in TARGETS[1:] if each not in FLOATS[1:]])
def test_numpy_has_the_same_rules(target: str) -> None:
    """Except for bool, to which NumPy converts every number. NumPy 2.4 refuses two values that no
    cast changes: -0.0 of float16 as an integer, and 65504, the largest float16, as one."""

    def numpy_keeps(x: Any) -> bool:
        try:
            np.array([x]).astype(target, casting="same_value")
        except ValueError:
            return False
        return True

    for source in ("bool", *INTEGERS, "float16", "float32", "float64"):
        values = cases(source)
        if source == "float16":
            values = values[(values != 0) | ~np.signbit(values)]
        if target == "float16":
            values = values[values != 65504]
        by_numpy = [numpy_keeps(x) for x in values]
        assert kept(values, target).tolist() == by_numpy, source


@pytest.mark.parametrize("target", COMPLEX)
@pytest.mark.parametrize("source", [*SOURCES, *COMPLEX])
def test_complex_numbers_receive_every_dtype(extension: Any, source: str, target: str) -> None:
    if source in COMPLEX:
        real = cases("float32" if source == "complex64" else "float64")
        values = np.stack([real, real[::-1]], 1).ravel().view(source)
    else:
        values = cases(source)
    with np.errstate(all="ignore"):
        wanted = np.asarray(values.astype(np.float32) if source in FLOATS else values).astype(
            target
        )
    got = getattr(extension, f"converted_{target}")(
        tensor(values, source) if source in SOURCES else values
    )
    with np.errstate(all="ignore"):  # NumPy 1 warns when it compares NaN
        np.testing.assert_array_equal(np.asarray(got), wanted)


def test_complex_numbers_by_value(extension: Any) -> None:
    function = extension.by_value_complex64
    assert function(np.array([1 + 0.5j, np.nan])).tolist()[0] == 1 + 0.5j
    assert function(np.array([1, 2**24])).tolist() == [1, 2**24]
    with pytest.raises(TypeError, match=r"got 0.1-2j at \[1\] of complex128\[2\] on cpu: value"):
        function(np.array([1, 0.1 - 2j]))
    with pytest.raises(TypeError, match=r"dtype differs. Pass its real part"):
        extension.by_value_float64(np.array([1 + 0j]))


def test_an_array_without_elements_has_every_dtype(extension: Any) -> None:
    """np.array([]) is of float64, and stands for no indices."""
    for shape in ((0,), (0, 3)):
        got = array_of(extension.by_value_uint32(np.zeros(shape)), "uint32")
        assert got.shape == shape and got.dtype == np.uint32


def test_the_first_element_that_changes_is_named(extension: Any) -> None:
    x = np.arange(24).reshape(4, 6)
    x[2, 1] = x[3, 5] = 300
    for layout in (x, np.asfortranarray(x), x.repeat(2, 1)[:, ::2], x[::-1][::-1]):
        with pytest.raises(TypeError, match=re.escape("got 300 at [2, 1] of int64[4, 6] on cpu")):
            extension.by_value_uint8(layout)
    with pytest.raises(TypeError, match=re.escape("got 300 at [1, 0] of int64[2, 1] on cpu")):
        extension.sum_columns_by_value(np.array([[3], [300]]))
    assert extension.sum_columns_by_value(np.array([[3], [4]])) == 43
    with pytest.raises(TypeError, match=re.escape("got 1.5 at [] of float64[] on cpu")):
        extension.by_value_int32(np.array(1.5))
    with pytest.raises(TypeError, match=re.escape("got -1 at [70000] of int32[70001] on cpu")):
        extension.by_value_uint32(np.append(np.zeros(70000, np.int32), np.int32(-1)))


OF_GATHER = (
    "gather(): argument 'at': expected int32[*] on cpu, converted by value, integers from "
    "-2147483648 to 2147483647; got 3000000000 at [1] of int64[2] on cpu: value differs. Pass "
    "integers within these limits"
)


def test_a_refusal_names_function_and_argument(extension: Any) -> None:
    x = np.array([1, 2, 3], np.float32)
    assert extension.gather(x, np.array([2, 0])).tolist() == [3, 1]
    assert extension.gather(x, np.array([2.0, 0.0])).tolist() == [3, 1]
    with pytest.raises(TypeError) as refused:
        extension.gather(x, np.array([0, 3_000_000_000]))
    assert str(refused.value) == OF_GATHER


def test_masks(extension: Any) -> None:
    mask = np.array([[1, 0, 1], [0, 0, 1]])
    for dtype in ("bool", "int64", "uint8", "float32"):
        assert extension.count_mask(mask.astype(dtype)) == 3
    assert extension.count_mask(mask.astype(bool).tolist()) == 3
    assert extension.count_mask(mask.tolist()) == extension.count_mask([list(mask[0])]) + 1 == 3
    for element in (2, 0.5):
        text = f"expected a number that keeps its value as bool; got {element}"
        with pytest.raises(TypeError, match=rf"\[0\]\[1\]: {text}"):
            extension.count_mask([[True, element]])
    assert extension.count_mask(None) == -1
    with pytest.raises(TypeError, match=r"got 2 at \[1, 0\] .* Pass 0 and 1, or compare it with 0"):
        extension.count_mask(np.array([[1, 0], [2, 3]]))
    assert extension.count_mask(np.array([[1, 0], [2, 3]]) != 0) == 3


LISTS: list[Any] = [
    [1, 0, 1], [1.0, 0.0], [True, False], [1, 2.0], [[1, 2], [3.0, 4]], [1.5], [-1], [300.0], [0.1],
    [2**24 + 1], [2**53 + 1], [2**63 - 1], [float("nan"), float("inf")], [1j], [1 + 2j, 0.5], [],
    0, 1.0, 2, -0.0, [np.True_, np.int64(1)], [np.float32(0.5)], [np.int64(2**53 + 1)],
]  # fmt: skip
LISTED = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("dtype", LISTED)
@pytest.mark.parametrize("x", LISTS, ids=repr)
def test_a_list_is_read_as_its_array(extension: Any, x: Any, dtype: str) -> None:
    listed = getattr(extension, "listed_" + dtype)
    try:
        expected = getattr(extension, "by_value_" + dtype)(np.array(x))
    except TypeError:
        with pytest.raises(TypeError, match=r"^listed_\w+\(\): argument 'x': .*expected"):
            listed(x)
    else:
        result = listed(x)
        assert type(result) is np.ndarray and result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_a_number_that_changes_is_named_with_its_position(extension: Any) -> None:
    for function, x, text in (
        ("count_mask", [[1, 0], [2, 3]], "[1][0]: expected a number that keeps its value as bool; "
                                         "got 2"),
        ("listed_int32", [1, 1.5], "[1]: expected a number that keeps its value as int32; got 1.5"),
        ("listed_int32", 1.5, "expected a number that keeps its value as int32; got 1.5"),
        ("listed_int32", [1, 2**31], "[1]: expected an integer of 32 bits, signed; got 2147483648"),
        ("listed_float32", [0.1], "[0]: expected a number that keeps its value as float32; got "
                                  "0.1"),
        ("listed_complex64", [0.1j], "[0]: expected a number that keeps its value as complex64; "
                                     "got 0.1j"),
        ("listed_uint64", [2**63, "1"], "[1]: expected a float; got str"),
    ):  # fmt: skip
        with pytest.raises(TypeError) as refused:
            getattr(extension, function)(x)
        assert str(refused.value).endswith(text)
    assert extension.count_mask([[1, 0.0], [True, 1.0]]) == 3


def test_containers_overloads_and_plain_functions(extension: Any) -> None:
    small, large = np.array([1, 2]), np.array([1, 300])
    assert extension.sum_list_by_value([small, small.astype(float)]) == 6
    with pytest.raises(TypeError, match=r"argument 'xs', element 1: .* got 300 at \[1\]"):
        extension.sum_list_by_value([small, large])
    assert [extension.kind_by_value(each) for each in (small, large)] == [0, 1]
    assert [extension.smallest(each) for each in (small, large)] == ["uint8", "int32"]
    with pytest.raises(TypeError, match=r"(?s)no overload .*integers from 0 to 255.*to 2147483647"):
        extension.smallest(np.array([1, 2**40]))
    assert extension.plain_sum_by_value(small) == 3
    with pytest.raises(TypeError):
        extension.plain_sum_by_value(large)
    assert extension.fast_sum_by_value(small) == 3
    with pytest.raises(
        TypeError, match=r"fast_sum_by_value\(\): argument 'x': .* got 300 at \[1\]"
    ):
        extension.fast_sum_by_value(large)
    assert '"uint8[*] on cpu, converted by value"' in extension.fast_sum_by_value.__doc__


class Rotation:
    def __complex__(self) -> complex:
        return 2 - 1j


def test_lists_of_complex_numbers(extension: Any) -> None:
    given: list[Any] = [1, 2.5, 1 - 2j, True, np.complex64(3 + 1j), np.float32(0.5), Rotation()]
    assert extension.conjugate(given).tolist() == [complex(each).conjugate() for each in given]
    for x in (np.arange(3), np.array([1 + 1j]), np.array([0.1], np.float32)):
        np.testing.assert_array_equal(extension.conjugate(x), x.astype(complex).conj())
    assert extension.copied_complex64(2**24 + 1 + 2j).tolist() == 2**24 + 2j
    assert extension.copied_complex64([[1j], [2]]).tolist() == [[1j], [2]]
    with pytest.raises(TypeError, match=r"argument 'x': \[1\]: expected a complex number; got str"):
        extension.conjugate([1, "2"])
    with pytest.raises(TypeError, match=r"expected a float; got complex"):
        extension.negated(1 + 2j)
    assert "SupportsDLPack | typing.SupportsComplex | " in extension.conjugate.__doc__
    assert (
        '"complex128[*] on cpu, converted from real and complex dtypes"'
        in extension.conjugate.__doc__
    )


ANY = {
    "float64": np.arange(6.0).reshape(2, 3),
    "complex64": np.ones((2, 3), np.complex64),
    "bool": np.array([[True, False], [True, True]]),
    "0-d": np.array(3),
    "empty": np.ones((0, 3)),
}


@pytest.mark.parametrize("name", ANY)
def test_any_dtype_is_copied_if_not_row_major(extension: Any, name: str) -> None:
    x = ANY[name]
    other = np.asfortranarray(x)
    for given in (x, other):
        for function in (extension.row_major_argument, extension.row_major_tensor):
            got = np.asarray(function(given))
            assert got.flags.c_contiguous and got.dtype == x.dtype
            np.testing.assert_array_equal(got, x)
    if x.size:  # NumPy 1 gives an empty array an address
        assert extension.row_major_address(x) == x.ctypes.data
    if not other.flags.c_contiguous:
        assert extension.row_major_address(other) not in (x.ctypes.data, other.ctypes.data)
    assert extension.sum_of_bytes(other) == sum(x.tobytes())


def test_row_major_with_other_parameters(extension: Any) -> None:
    assert extension.row_major_address(None) == 0
    assert extension.row_major_buffer(b"abc") == sum(b"abc")
    assert extension.row_major_buffer(array.array("h", [1, 2])) == 3
    strided = memoryview(bytes(range(8)))[::2]
    assert extension.row_major_buffer(strided) == 0 + 2 + 4 + 6
    x = np.ones((2, 3), np.float32)
    kinds = [extension.layout_of(each) for each in (x.astype(float).T, x, x.T)]
    assert kinds == ["double", "row-major", "copied"]
    assert (
        '"any dtype[...], row-major, copied from other layouts"' in extension.sum_of_bytes.__doc__
    )


def test_several_dtypes_row_major(extension: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    for given in (x, np.asfortranarray(x), x.astype("f"), x.repeat(2, 0)[::2]):
        assert extension.number_of(given) == extension.number_or_zero(given) == 12345
    assert extension.number_of(x.T) == 31425
    assert extension.number_or_zero(x.data) == 12345
    assert extension.number_or_zero(None) == 0
    mask = np.array([[True, False], [True, True]])
    assert np.shares_memory(extension.row_major_bools(mask), mask)
    copied = extension.row_major_bools(mask.T)
    assert copied.flags.c_contiguous and copied.tolist() == mask.T.tolist()
    with pytest.raises(TypeError, match=r"got int64\[2, 2\] on cpu: dtype differs$"):
        extension.row_major_bools(mask.astype(np.int64).T)
    expected = "float32 or float64 [*, *] on cpu, row-major, copied from other layouts"
    assert f'"{expected}"' in extension.number_of.__doc__
    for refused, got in (
        (x.astype("i").T, "int32[3, 2] on cpu: dtype differs"),
        (x.astype("e"), "float16[2, 3] on cpu: dtype differs"),
        (x.ravel()[::2], "float64[3] on cpu: rank differs"),
    ):
        with pytest.raises(TypeError) as raised:
            extension.number_of(refused)
        assert str(raised.value) == f"number_of(): argument 'x': expected {expected}; got {got}"
    p = Producer(shape=(2, 3), strides=(1, 2), device=(2, 0))
    with pytest.raises(TypeError, match=r"Copy it to the CPU first"):
        extension.number_of(p)


def test_a_device_is_read_as_it_is_or_refused(extension: Any) -> None:
    p = Producer(shape=(2, 3), device=(8, 0))
    assert extension.row_major_address(p) != 0
    other = Producer(shape=(2, 3), strides=(1, 2), device=(8, 0))
    with pytest.raises(TypeError, match=r"on metal:0 with strides \[1, 2\]: layout differs"):
        extension.row_major_address(other)


def test_packed_elements(extension: Any) -> None:
    packed = dlbridge.as_tensor(np.arange(4, dtype=np.uint8).reshape(2, 2)).view("float4_e2m1fnx2")
    assert extension.sum_of_bytes(packed) == 6
    assert extension.sum_of_bytes(packed.T) == 6
