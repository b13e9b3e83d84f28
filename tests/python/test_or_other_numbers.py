# SPDX-License-Identifier: BSD-3-Clause
"""or_other<P, numbers> of the C++ headers: parameters that accept numbers and lists of them beside
DLPack producers."""

from __future__ import annotations

import array
import fractions
import gc
import sys
from typing import Any

import numpy as np
import pytest
import torch
from test_signatures import BINDINGS, module_of

import dlbridge


@pytest.fixture(params=BINDINGS)
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def by_def(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


class Row(list[Any]):
    pass


LISTS = [
    [1, 2.5, 3],
    (1, 2, 3),
    range(4),
    range(3, 0, -1),
    [],
    Row([1, 2]),
    [True, 2],
    [np.float32(1.5), np.int8(2), np.float64(3)],
    [fractions.Fraction(1, 2), torch.tensor(2.0), np.array(3)],
    [[1, 2], [3, 4]],
    [(1, 2, 3), range(3)],
    [[[1], [2]]],
    [[], []],
    3.5,
    7,
    True,
    np.float32(1.5),
    np.int64(2),
]


@pytest.mark.parametrize("x", LISTS, ids=repr)
def test_numbers_are_copied_to_an_array(extension: Any, x: Any) -> None:
    expected = np.asarray(x, dtype=np.float64)
    result = extension.negated(x)
    assert (type(result), result.dtype) == (np.ndarray, np.float64)
    assert np.array_equal(result, -expected) and result.shape == expected.shape
    copied = extension.copied_numbers(x)
    assert (type(copied), copied.dtype) == (np.ndarray, np.float32)
    assert np.array_equal(copied, expected.astype("float32"))


def test_the_library_of_the_result(extension: Any) -> None:
    assert type(extension.negated(1)) is type(extension.negated(Row([1]))) is np.ndarray
    other = extension.negated(fractions.Fraction(1, 2))
    assert isinstance(other, dlbridge.Tensor) and other.item() == -0.5


def test_producers_are_accepted_as_before(extension: Any) -> None:
    x = np.array([1, 3, 5], np.int32)
    assert extension.running_mean(x).tolist() == [1, 2, 3]
    result = extension.running_mean(torch.tensor([1.0, 3]))
    assert isinstance(result, torch.Tensor) and result.tolist() == [1, 2]
    assert isinstance(extension.negated(dlbridge.from_dlpack(x)), dlbridge.Tensor)
    assert extension.negated(torch.tensor(2)).shape == ()
    assert extension.copied_numbers(x.astype("float32")).ctypes.data != x.ctypes.data
    with pytest.raises(TypeError, match=r"got int32\[3\] on cpu: dtype differs"):
        extension.copied_numbers(x)  # no conversion


HALFWAY = 2**60 + 2**36  # between two floats; the even one is below


@pytest.mark.parametrize("below", [HALFWAY, -HALFWAY - 1, 2**100 + 2**76, 10**30])
def test_an_integer_is_rounded_once(extension: Any, below: int) -> None:
    """To float32, as an array of int64 is; by way of a double, the even number would be nearest."""
    for number in (below - 1, below, below + 1):
        near = np.float32(below)  # with its neighbors, the candidates
        candidates = [np.nextafter(near, np.float32(to)) for to in (-np.inf, np.inf)] + [near]
        nearest = min(candidates, key=lambda x: (abs(int(x) - number), int(x.view("u4")) & 1))
        assert extension.copied_numbers(number) == nearest
        assert extension.copied_numbers([number, [number][0]]).tolist() == [nearest] * 2
        if abs(number) < 2**63:
            assert extension.copied_numbers([np.int64(number)]).tolist() == [nearest]
            assert np.array(number).astype("float32") == nearest
            assert extension.copied_numbers([torch.tensor(number)]).tolist() == [nearest]
    assert extension.copied_numbers(np.uint64(2**63 + 2**39 + 1)) == 2**63 + 2**40
    assert extension.copied_numbers(np.array(16777217.0, "float64").item()) == 16777216


def test_shapes_layouts_and_dtypes(extension: Any) -> None:
    assert extension.sum_points([(1, 2, 3), (1, 0, 0)]) == 322
    assert extension.sum_columns([[1], [2]]) == extension.sum_columns([[1, 9], [2, 9]]) == 21
    assert extension.count_true([True, False, np.bool_(True)]) == 2
    assert extension.sum_indices([2**40, -1]) == extension.sum_indices((2**40, np.int8(-1)))
    assert extension.sum_indices(range(5)) == 10
    assert extension.sum_bytes_or_numbers([1, 255]) == extension.sum_bytes_or_numbers(b"\1\xff")
    assert extension.sum_bytes_or_numbers(array.array("B", [1, 2])) == 3
    assert extension.sum_numbers_or_zero(None) == 0 and extension.sum_numbers_or_zero([1, 2]) == 3
    assert extension.sum_lists([[1, 2], np.ones(2), (3,)]) == 8
    assert [extension.kind_of_numbers(x) for x in ([1.0], "text")] == [0, 1]
    assert extension.weigh_numbers([1, 2], np.array([1.0, 1])) == 23


POINTS = "float32[*, 3] on cpu"
VECTOR = "float64[*] on cpu, converted from real dtypes"


def test_a_list_of_rows_is_stacked(extension: Any) -> None:
    x = [np.array([1, 2, 3], "f4"), np.array([4, 5, 6], "f4")]
    with pytest.raises(TypeError) as raised:
        extension.sum_points(x)
    text, _, remedy = str(raised.value).rpartition(". Pass ")
    assert text.endswith("[0]: expected a float; got numpy.ndarray")
    stacked = eval(remedy, {"numpy": np, "x": x})
    assert extension.sum_points(stacked) == extension.sum_points(np.stack(x))


@pytest.mark.parametrize(
    ("function", "x", "reason"),
    [
        ("sum_points", [(1, 2)], f"expected {POINTS}; got float32[1, 2] on cpu: extents differ"),
        ("sum_points", [1, 2], f"expected {POINTS}; got float32[2] on cpu: rank differs"),
        ("running_mean", 2.5, f"expected {VECTOR}; got float64[] on cpu: rank differs"),
        ("running_mean", [1, "x"], "[1]: expected a float; got str"),
        ("running_mean", [1, None], "[1]: expected a float; got NoneType"),
        ("running_mean", [1, np.complex64(2)], "[1]: expected a float; got numpy.complex64"),
        ("running_mean", [np.complex128(2)], "[0]: expected a float; got numpy.complex128"),
        ("running_mean", [np.array(1j)], "[0]: expected a float; got numpy.ndarray"),
        ("running_mean", [1, [2]], "[1]: expected a float; got list"),
        ("sum_points", [[1, 2, 3], 4], "[1]: expected a list of 3 elements; got int"),
        ("sum_points", [[1, 2, 3], [4]], "[1]: expected a list of 3 elements; got one of 1"),
        ("negated", [[[1], [2]], [[3], ["4"]]], "[1][1][0]: expected a float; got str"),
        ("sum_indices", [1, 2.0], "[1]: expected an int; got float"),
        ("count_true", [True, 1], "[1]: expected a bool; got int"),
    ],
)
def test_refusals(extension: Any, function: str, x: Any, reason: str) -> None:
    with pytest.raises(TypeError) as refusal:
        getattr(extension, function)(x)
    assert str(refusal.value) == f"{function}(): argument 'x': {reason}"


def test_an_integer_out_of_range_is_refused(extension: Any) -> None:
    with pytest.raises(TypeError, match=r"OverflowError: \[1\]: expected an integer of 64 bits"):
        extension.sum_indices([1, 2**63])


def test_other_objects_are_refused(extension: Any) -> None:
    for x in ("12", {1: 2}, {1, 2}, None, object(), b"12", iter([1, 2])):
        with pytest.raises(TypeError) as refusal:
            extension.running_mean(x)
        assert str(refusal.value).startswith(
            "running_mean(): argument 'x': not a DLPack producer: expected an object with "
            "__dlpack__ and __dlpack_device__, a number, or a list of numbers; got one of type "
            f"{type(x).__name__}"
        )


def test_a_refusal_names_all_that_a_parameter_accepts(extension: Any) -> None:
    with pytest.raises(TypeError) as refusal:
        extension.sum_bytes_or_numbers("text")
    others = (
        "__dlpack_device__, a number, a list of numbers, a buffer, an object with __array__, or an "
        "Arrow array; got one of type str"
    )
    assert others in str(refusal.value)


def test_a_used_capsule_is_refused_as_such(extension: Any) -> None:
    for capsule in (np.ones(3).__dlpack__(), torch.ones(3).double().__dlpack__()):
        assert extension.negated(capsule).tolist() == [-1, -1, -1]
        with pytest.raises(TypeError) as refusal:
            extension.negated(capsule)
        assert str(refusal.value) == (
            "negated(): argument 'x': ValueError: capsule already used: expected a capsule named "
            "'dltensor' or 'dltensor_versioned'; got one named 'used_dltensor'. A capsule is "
            "consumed once; ask the producer for a new one"
        )


def test_an_object_that_raises_for_dlpack_is_refused_with_its_exception(extension: Any) -> None:
    class Failing:
        @property
        def __dlpack__(self) -> Any:
            raise OSError("no memory is mapped")

    with pytest.raises(TypeError, match="argument 'x': OSError: no memory is mapped"):
        extension.running_mean(Failing())


def test_lists_without_end_are_refused(extension: Any) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TypeError, match="expected lists of at most 64 levels"):
        extension.negated(endless)
    deep: Any = 1.0
    for _ in range(64):
        deep = [deep]
    assert extension.negated(deep).ndim == 64
    with pytest.raises(TypeError, match="expected lists of at most 64 levels"):
        extension.negated([deep])


def test_a_list_that_changes_while_it_is_read(extension: Any) -> None:
    class Clears:
        def __float__(self) -> float:
            numbers.clear()
            return 1.0

    numbers: list[Any] = [Clears(), 2.0, 3.0]
    assert extension.running_mean(numbers).tolist() == [1, 1.5, 2]
    assert numbers == []
    rows: list[Any] = [[Clears()], [2.0]]
    numbers = rows[1]
    with pytest.raises(TypeError, match=r"\[1\]: expected a list of 1 elements; got one of 0"):
        extension.negated(rows)


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_exceptions_of_numbers(extension: Any, kind: type[BaseException]) -> None:
    class Raises:
        def __float__(self) -> float:
            raise kind("no number")

    expected = TypeError if kind is RuntimeError else kind
    with pytest.raises(expected, match="no number") as raised:
        extension.running_mean([1, Raises()])
    assert kind is not RuntimeError or isinstance(raised.value.__cause__, RuntimeError)


def test_no_reference_is_kept(extension: Any) -> None:
    x = Row([1.5, 2.5])
    before = sys.getrefcount(x), sys.getrefcount(x[0])
    result = extension.running_mean(x)
    with pytest.raises(TypeError):
        extension.sum_points(x)
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(x[0])) == before
    x.clear()
    assert result.tolist() == [1.5, 2]


def test_signatures_name_the_numbers(extension: Any) -> None:
    annotation = (
        "typing.Annotated[SupportsDLPack | typing.SupportsFloat | typing.SupportsIndex | "
        'list[typing.Any] | tuple[typing.Any, ...] | range, "float32[*, 3] on cpu"]'
    )
    assert annotation in extension.sum_points.__doc__
    buffer = "typing_extensions.Buffer" if sys.version_info < (3, 12) else "collections.abc.Buffer"
    arrays = "SupportsArray | SupportsArrowArray | SupportsArrowStream"
    assert f" | range | {buffer} | {arrays}, " in extension.sum_bytes_or_numbers.__doc__


def test_named_extents(extension: Any) -> None:
    with pytest.raises(TypeError, match="with n = 2 as in 'x'"):
        extension.weigh_numbers([1, 2], (1, 2, 3))


def test_overloads_and_plain_functions(by_def: Any) -> None:
    assert by_def.kind_of_list([1, 2]) == "integers"
    assert by_def.kind_of_list([1, 2.5]) == by_def.kind_of_list(np.ones(2)) == "numbers"
    with pytest.raises(TypeError, match=r"argument 'x': \[0\]: expected an int; got str"):
        by_def.kind_of_list(["1"])
    assert by_def.plain_sum_numbers([1, 2]) == by_def.plain_sum_numbers(np.ones(3)) == 3
    with pytest.raises(TypeError, match="incompatible function arguments"):
        by_def.plain_sum_numbers(["1"])


def test_broadcasting(by_def: Any) -> None:
    x = np.zeros((2, 2), "float32")
    for y in (1, 1.0, np.float64(1), [1, 1], [[1], [1]], np.ones(2), torch.ones(1, 2)):
        assert by_def.add_to_rows(x, y).tolist() == [[1, 1], [1, 1]]
    with pytest.raises(BufferError, match=r"broadcast to \[2, 2\]; got float32\[3\]"):
        by_def.add_to_rows(x, [1, 2, 3])
