# SPDX-License-Identifier: BSD-3-Clause
"""any_of of the C++ headers: parameters that accept one of several dtypes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from test_signatures import BINDINGS, module_of

import dlbridge

FLOATS = "float32 or float64 [*, *] on cpu"
SQUARE = np.arange(9.0).reshape(3, 3)
TRACE = 12


@pytest.fixture(params=BINDINGS)
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def by_def(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_dtype_is_accepted(extension: Any, dtype: str) -> None:
    x = SQUARE.astype(dtype)
    read_only = x.copy()
    read_only.flags.writeable = False
    for each in (x, x.T, x[::-1, ::-1], read_only, torch.from_numpy(x), dlbridge.from_dlpack(x),
                 x.view(type("Subclass", (np.ndarray,), {}))):  # fmt: skip
        assert extension.sum_diagonal(each) == TRACE
        assert extension.sum_diagonal_or_zero(each) == TRACE
    assert extension.sum_diagonals([x, torch.from_numpy(SQUARE)]) == 2 * TRACE
    assert extension.sum_diagonal_or_zero(None) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_result_of_the_callers_library(extension: Any, dtype: str) -> None:
    for x in (SQUARE.astype(dtype), torch.from_numpy(SQUARE.astype(dtype))):
        result = extension.copied_choice(x)
        assert (type(result), result.dtype, result.tolist()) == (type(x), x.dtype, x.tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_result_of_the_arguments_dtype(extension: Any, dtype: str) -> None:
    for x in (np.ones(3, dtype), torch.from_numpy(np.ones(3, dtype))):
        result = extension.running_total(x)
        assert (type(result), result.dtype, result.tolist()) == (type(x), x.dtype, [1, 2, 3])


def test_a_list_needs_its_dtype(extension: Any) -> None:
    """NumPy makes int64 of whole numbers."""
    with pytest.raises(TypeError, match=r"Pass numpy\.asarray\(\) of it"):
        extension.sum_diagonal([[1, 2], [3, 4]])
    with pytest.raises(TypeError, match=f"expected {re.escape(FLOATS)}; got int64"):
        extension.sum_diagonal(np.asarray([[1, 2], [3, 4]], "int64"))
    assert extension.sum_diagonal(np.asarray([[1, 2], [3, 4]], "float32")) == 5


def test_a_choice_that_owns_its_tensor(extension: Any, by_def: Any) -> None:
    for x in (SQUARE, SQUARE.astype("f"), torch.from_numpy(SQUARE)):
        kept = extension.kept_choice(x)
        assert (type(kept), kept.dtype) == (type(x), x.dtype)
        assert np.shares_memory(np.asarray(kept), np.asarray(x))
        assert by_def.trace_without_gil(x) == by_def.cast_choice(x) == TRACE
        assert by_def.plain_kept_or_none(x) and not by_def.plain_kept_or_none(None)
    x = np.ones((2, 2), "i")
    with pytest.raises(
        TypeError, match=r"'x': expected float32 or float64 \[\*, \*\] on cpu; got int"
    ):
        extension.kept_choice(x)
    with pytest.raises(
        (TypeError, BufferError), match=r"x.*float32 or float64 \[\*, \*\] on cpu; got int"
    ):
        by_def.cast_choice(x)


def test_elements_are_written(extension: Any) -> None:
    for x in (np.zeros((2, 2), "u1"), np.zeros(3, "H"), np.zeros(3, "f")):
        extension.paint(x, 3.0)
        assert (x == 3).all()
    t = torch.zeros(2)
    extension.paint(t, 3)
    assert t.tolist() == [3, 3]
    x = np.zeros(3, "f")
    x.flags.writeable = False
    message = (
        r"uint8, uint16 or float32 \[\.\.\.\] on cpu, writable; got float32\[3\] on cpu, read-only"
    )
    with pytest.raises(TypeError, match=f"'x': expected {message}"):
        extension.paint(x, 1)


REFUSED: list[tuple[Any, str]] = [
    (np.ones((2, 2), "i"), f"expected {FLOATS}; got int32[2, 2] on cpu: dtype differs"),
    (torch.ones((2, 2), dtype=torch.int32),
     f"expected {FLOATS}; got int32[2, 2] on cpu: dtype differs"),
    (np.ones(3, "f"), f"expected {FLOATS}; got float32[3] on cpu: rank differs"),
    (np.ones(3, "i"), f"expected {FLOATS}; got int32[3] on cpu: dtype, rank differ"),
    ([[1.0]], "not a DLPack producer"),
]  # fmt: skip


@pytest.mark.parametrize(("x", "reason"), REFUSED, ids=lambda each: str(each)[:20])
def test_a_refusal_names_the_dtypes(extension: Any, x: Any, reason: str) -> None:
    for name in ("sum_diagonal", "sum_diagonal_or_zero"):
        with pytest.raises(TypeError) as raised:
            getattr(extension, name)(x)
        assert f"{name}(): argument 'x': {reason}" in str(raised.value)
    with pytest.raises(TypeError) as raised:
        extension.sum_diagonals([SQUARE, x])
    assert f"sum_diagonals(): argument 'x', element 1: {reason}" in str(raised.value)


def test_the_signature_states_the_dtypes(extension: Any) -> None:
    annotation = f'typing.Annotated[SupportsDLPack, "{FLOATS}"]'
    assert f"sum_diagonal(x: {annotation}) -> float" in extension.sum_diagonal.__doc__
    assert '"uint8, uint16 or float32 [...] on cpu, writable"' in extension.paint.__doc__


def test_constraints(extension: Any) -> None:
    """Also with a complex dtype, which PyTorch's table does not lend."""
    for x in (SQUARE, torch.ones(2, dtype=torch.complex64), np.ones((2, 3), "F")):
        assert extension.is_rows(x) == x.ndim
    with pytest.raises(TypeError, match=r"float64 or complex64 \[\.\.\.\] on cpu, row-major; got"):
        extension.is_rows(SQUARE.T)
    conjugate = torch.tensor([1j], dtype=torch.complex64).conj()
    with pytest.raises(TypeError, match="argument 'x'"):
        extension.is_rows(conjugate)


def test_each_dtype_has_its_alignment(extension: Any) -> None:
    """A float32 at a multiple of 4 is aligned, a float64 there is not."""
    memory = np.zeros(10)
    floats = memory.view("f")[1:5].reshape(2, 2)
    assert floats.ctypes.data % 8 == 4
    assert extension.sum_diagonal(floats) == 0
    doubles = memory.view("b")[4:36].view("d").reshape(2, 2)
    with pytest.raises(
        TypeError, match=r"aligned to 8 bytes; got .*aligned to 4 bytes.*Pass an aligned copy"
    ):
        extension.sum_diagonal(doubles)
    assert extension.sum_diagonal(doubles.copy()) == 0


def test_overloads_and_casters(by_def: Any) -> None:
    assert by_def.kind_of_choice(SQUARE) == by_def.kind_of_choice(SQUARE.astype("f")) == "floats"
    assert by_def.kind_of_choice(np.ones(2, "i")) == "integers"
    assert by_def.kind_of_choice(torch.ones(2, dtype=torch.int64)) == "integers"
    with pytest.raises(
        TypeError, match=r"(?s)no overload takes these arguments:.*int32 or int64 \[\.\.\.\]"
    ):
        by_def.kind_of_choice(np.ones(2, "b"))
    assert by_def.plain_trace(SQUARE) == by_def.plain_trace_or_zero(SQUARE) == TRACE
    assert by_def.plain_trace_or_zero(None) == 0
    with pytest.raises(TypeError):
        by_def.plain_trace(np.ones((2, 2), "i"))
