# SPDX-License-Identifier: BSD-3-Clause
"""vectorize of the C++ headers, compared with NumPy and PyTorch."""

from __future__ import annotations

import array
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from test_signatures import BINDINGS, module_of

import dlbridge

SHAPES: list[tuple[int, ...]] = [
    (), (1,), (3,), (0,), (1, 1), (2, 1), (1, 3), (2, 3), (0, 3), (4, 2, 3), (4, 1, 3), (1, 2, 1),
    (4, 1, 1, 3), (2, 4, 2, 3),
]  # fmt: skip
REAL = ["?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d"]


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


def arrays(shape: tuple[int, ...], dtype: str = "d") -> Iterator[Any]:
    """Compact in both orders and with permuted dimensions, backwards, with gaps, repeated."""
    x = (7 + np.arange(np.prod(shape, dtype=int)) * 3 % 11).reshape(shape).astype(dtype)
    backwards: Any = (..., *(slice(None, None, -1) for _ in shape))
    every_second: Any = (..., *(slice(None, None, 2) for _ in shape))
    gaps = np.zeros([2 * n for n in shape], dtype)[every_second]
    gaps[...] = x
    yield from (x, np.array(x, order="F"), x[backwards], gaps)
    if len(shape) > 2:
        yield np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)
    if x.size > 0:
        yield np.broadcast_to(x[..., :1] if shape else x, shape)


@pytest.mark.parametrize("one", SHAPES, ids=str)
def test_every_pair_of_shapes_and_strides(extension: Any, one: tuple[int, ...]) -> None:
    for other in SHAPES:
        try:
            shape = np.broadcast_shapes(one, other)
        except ValueError:
            with pytest.raises(BufferError, match=r"expected extents that broadcast with \["):
                extension.difference(np.ones(one), np.ones(other))
            continue
        for x, y in itertools.product(arrays(one), arrays(other)):
            result = extension.difference(x, y)
            assert type(result) is (np.ndarray if shape else float)
            assert np.shape(result) == shape
            np.testing.assert_array_equal(result, np.subtract(x, y))


@pytest.mark.parametrize("dtype", REAL)
def test_operands_are_converted(extension: Any, dtype: str) -> None:
    expected = np.vectorize(lambda x, y, z: 100 * float(x) + 10 * float(y) + float(z))
    for x, y in itertools.product(arrays((3, 2, 4), dtype), arrays((2, 1), "b")):
        z = np.asfortranarray(np.arange(24).reshape(3, 2, 4))
        np.testing.assert_array_equal(extension.mixed(x, y, z), expected(x, y, z))
        assert extension.mixed(x, y, 3).dtype == np.float64


def test_four_operands(extension: Any) -> None:
    """Of which none is hoisted out of the loop, as more loops would be compiled."""
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    np.testing.assert_array_equal(extension.weighted(a, b, 1, b[::-1]), a + 2 * b + 4 + 8 * b[::-1])
    np.testing.assert_array_equal(extension.weighted(a, a, a, a), 15 * a)


def test_numbers_give_a_number_of_python(extension: Any) -> None:
    for x in (3, 3.0, np.float32(3), np.int8(3), np.array(3.0), torch.tensor(3)):
        result = extension.hypot(x, 4)
        assert (type(result), result) == (float, 5)
    assert type(extension.small(5)) is int
    assert extension.inverted(False) is True
    assert complex(extension.conjugate(np.array(1 + 2j))) == 1 - 2j
    half = extension.halves(np.float32(2.5).reshape(()))  # Python has no such number
    assert (half.dtype, half.shape, half.tolist()) == (np.float16, (), 2.5)


def test_lists_and_buffers(extension: Any) -> None:
    result = extension.hypot([[3, 5], (8, 0)], array.array("d", [4, 12]))
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, np.hypot([[3, 5], [8, 0]], [4, 12]))
    assert extension.hypot([], 1).shape == (0,)
    assert extension.hypot(range(3), y=[4, 4, 4]).tolist() == np.hypot(range(3), 4).tolist()


def test_dtypes_of_results(extension: Any) -> None:
    assert extension.inverted(np.array([True, False])).tolist() == [False, True]
    x = np.array([1 + 2j, 3j])
    assert extension.conjugate(x).tolist() == x.conj().tolist()
    half = extension.halves(np.arange(3, dtype="f"))
    assert (half.dtype, half.tolist()) == (np.float16, [0, 1, 2])
    assert extension.small(np.arange(3, dtype="b")).dtype == np.int8


def test_the_library_of_the_first_array(extension: Any) -> None:
    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(3, dtype=torch.float64)
    for given in ((x, y), (x, 2.0), (2.0, x), ([1, 2, 3], x), (x, np.ones(3)), (x.T, x.T)):
        result = extension.difference(*given)
        assert isinstance(result, torch.Tensor)
        first, second = (torch.as_tensor(each, dtype=torch.float64) for each in given)
        assert torch.equal(result, first - second)
    assert type(extension.difference(np.ones(3), x)) is np.ndarray
    assert type(extension.difference(dlbridge.from_dlpack(y), 1)) is dlbridge.Tensor


def test_the_library_is_jax(extension: Any) -> None:
    jax = pytest.importorskip("jax")
    assert isinstance(extension.halves(jax.numpy.ones(3)), jax.Array)
    result = extension.halves(jax.numpy.ones((2, 3), "float16").T)
    assert (result.shape, isinstance(result, jax.Array)) == ((3, 2), True)


def test_the_order_of_the_dimensions(extension: Any) -> None:
    """That of the first compact operand with all extents, as of NumPy's functions."""
    rows = np.arange(12.0).reshape(3, 4)
    columns = np.asfortranarray(rows)
    for one, other in itertools.product((rows, columns, rows[::-1], 1.0, rows[:1]), repeat=2):
        result = extension.difference(one, other)
        leaders = [x for x in (one, other) if x is rows or x is columns]
        if leaders and np.ndim(result) == 2:
            assert result.strides == leaders[0].strides
    converted = extension.difference(columns.astype("f4", order="F"), 1.0)
    assert converted.strides == rows.strides
    permuted = np.ascontiguousarray(np.zeros((4, 2, 3)).swapaxes(0, 2)).swapaxes(0, 2)
    assert extension.plus_one(permuted).strides == permuted.strides


def test_operands_without_a_copy(extension: Any) -> None:
    """A result has memory of its own, and an operand keeps its values."""
    x = np.arange(6.0)
    x.flags.writeable = False
    result = extension.plus_one(x)
    assert result.flags.writeable and not np.shares_memory(x, result)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_function_that_changes_itself(extension: Any) -> None:
    first = extension.numbered(0)
    assert extension.numbered(np.zeros((2, 2))).tolist() == [
        [first + 1, first + 2],
        [first + 3, first + 4],
    ]
    assert extension.numbered(np.zeros(0)).shape == (0,)
    assert extension.numbered(0) == first + 5


def test_parameters_that_are_passed_on(extension: Any) -> None:
    assert extension.repeated("abc", [1, 2]).tolist() == [3, 6]
    assert extension.repeated(n=2, text="a") == 2
    table = np.array([0.0, 10, 40])
    assert extension.interpolated([0.5, 1.5], table).tolist() == [5, 25]
    assert extension.interpolated(table=table, x=1.0) == 10
    with pytest.raises(TypeError, match=r"argument 'table': expected float64\[\*\] on cpu"):
        extension.interpolated(0.5, table.astype("f"))


def test_a_function_without_a_result(extension: Any) -> None:
    taken: list[float] = []
    assert extension.append_to(taken, np.arange(6).reshape(2, 3)[:, ::2]) is None
    assert extension.append_to(taken, 7) is None
    assert taken == [0, 2, 3, 5, 7]


def test_methods(extension: Any) -> None:
    scale = extension.Scale(3)
    assert scale.apply([1, 2]).tolist() == [3, 6]
    assert scale.apply(x=0.5) == 1.5
    scale.count(np.zeros((2, 3)))
    assert scale.calls == 6


def test_extras_of_def(extension: Any) -> None:
    assert isinstance(extension.hypot_by_default(np.array([3.0])), torch.Tensor)
    assert extension.hypot_by_default(3) == 5
    assert "The hypotenuse." in extension.hypot_by_default.__doc__


def test_overloads(extension: Any) -> None:
    """An operand is first tried as it is."""
    for dtype, bits in (("f", 32), ("d", 64), ("i", 32)):
        assert extension.element_bits(np.zeros(2, dtype)).tolist() == [bits, bits]


def test_the_gil(extension: Any) -> None:
    for x in (0.0, np.zeros(2), [1, 2], torch.zeros(2, 2)):
        assert np.asarray(extension.holds_gil(x)).all()
        assert not np.asarray(extension.releases_gil(x)).any()


def test_an_exception_ends_the_call(extension: Any) -> None:
    assert extension.root([4, 9]).tolist() == [2, 3]
    with pytest.raises(ValueError, match="the root of a negative number"):
        extension.root(np.array([4.0, -1.0]))


REFUSED: list[tuple[Any, str]] = [
    ("a", r"'x': not a DLPack producer: .*, a number, a list of numbers, a buffer, .*; got .* str"),
    (np.ones(2, complex), r"'x': expected float64\[\.\.\.\] on cpu, converted from real dtypes; "
                          r"got complex128\[2\] on cpu: dtype differs\. Pass its real part"),
    ([1, "a"], r"'x': \[1\]: expected a float; got str"),
    (None, "'x': not a DLPack producer"),
]  # fmt: skip


@pytest.mark.parametrize(("x", "message"), REFUSED, ids=lambda each: str(each)[:20])
def test_refused_operands(extension: Any, x: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        extension.hypot(x, 1.0)


def test_operands_by_value(extension: Any) -> None:
    """Of integers and bools, as NumPy's own dtype of integers is int64."""
    for x in (np.array([1, 2]), np.array([1.0, 2.0]), np.array([1, 2], "e"), [1, 2.0], (1, 2)):
        result = extension.small(x)
        assert (result.dtype, result.tolist()) == (np.int8, [1, 2])
    for one in (1, 1.0, True, np.float32(1), np.int64(1), np.array(1.0)):
        assert (type(extension.small(one)), extension.small(one)) == (int, 1)
        assert extension.inverted(one) is False
    assert extension.repeated("abc", np.array([1, 2])).tolist() == [3, 6]
    for x in (np.array([0, 1, 0]), np.array([0.0, 1.0, 0.0]), [False, 1, 0.0]):
        assert extension.inverted(x).tolist() == [True, False, True]
    for given in (np.array([1, 2]), np.array([1, 2], "f"), [1, 2 + 0j]):
        assert extension.conjugate(given).tolist() == [1, 2]
    assert complex(extension.conjugate(2j)) == -2j


def test_no_operand_is_truncated(extension: Any) -> None:
    limits = r"expected int8\[\.\.\.\] on cpu, converted by value, integers from -128 to 127; "
    for x, message in (
        (np.array([1, 300]), limits + r"got 300 at \[1\] of int64\[2\] on cpu: value differs"),
        (np.array([[1.5]]), limits + r"got 1\.5 at \[0, 0\] of float64\[1, 1\] on cpu"),
        ([1, 1.5], r"\[1\]: expected a number that keeps its value as int8; got 1\.5"),
        (300, r"expected an integer of 8 bits, signed; got 300"),
        (np.ones(2, complex), r"dtype differs\. Pass its real part"),
    ):
        with pytest.raises(TypeError, match=rf"^small\(\): argument 'x': .*{message}"):
            extension.small(x)
    for x, message in (
        (np.array([1, 2]), r"got 2 at \[1\] of int64\[2\] .* Pass 0 and 1"),
        (2, r"expected a number that keeps its value as bool; got 2"),
    ):
        with pytest.raises(TypeError, match=rf"^inverted\(\): argument 'x': .*{message}"):
            extension.inverted(x)
