# SPDX-License-Identifier: BSD-3-Clause
"""Compiled functions called with the arrays of each library: they import the arrays without a copy,
and return arrays of the same type."""

from __future__ import annotations

from typing import Any

import pytest
from callers import LIBRARIES, Library, is_array_of, values

import dlbridge
from bindings import BINDINGS, function


@pytest.mark.parametrize(
    "kind", ["span_to_read", "owned", "argument", "any_tensor", "managed_tensor", "optional_owned"]
)
@pytest.mark.parametrize("binding", BINDINGS)
def test_arguments_are_imported_without_a_copy(library: Library, binding: str, kind: str) -> None:
    x = library.make([1, 2, 3, 4], "float32")
    assert function(binding, kind)(x) == library.address(x)


@pytest.mark.parametrize("binding", BINDINGS)
def test_results_have_the_type_of_the_argument(library: Library, binding: str) -> None:
    x = library.make([1, 2, 3], "float32")
    for name, expected in [
        ("doubled", [2, 4, 6]),
        ("same", [1, 2, 3]),
        ("counted_like", [0, 1, 2]),
    ]:
        y = function(binding, name)(x)
        # Plain pybind11 converts a managed_tensor without the arguments of the call.
        no_origin = binding.endswith("by_library") and name == "counted_like"
        assert is_array_of(LIBRARIES["dlbridge"] if no_origin else library, y)
        assert values(y) == expected


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_returned_argument_shares_memory(library: Library, binding: str) -> None:
    x = library.make([1, 2, 3], "float32")
    assert library.address(function(binding, "same")(x)) == library.address(x)


def test_a_result_of_another_dtype(extension: Any, library: Library) -> None:
    x = library.make([[1, 2], [3, 4], [5, 6]], "float32")
    if not library.has_float64:
        with pytest.raises(BufferError, match=r"expected float64\[3, 2\] on cpu, as the function"):
            extension.by_def.widened(x)
        return
    y = extension.by_def.widened(x)
    assert is_array_of(library, y)
    t = dlbridge.from_dlpack(y)
    assert (t.dtype, t.shape) == ("float64", (3, 2))


def test_values(extension: Any, library: Library) -> None:
    x = library.make([1.5, 2.5, 4], "float32")
    assert {function(binding, "sum")(x) for binding in BINDINGS} == {8}
    assert extension.Image(1, 2).dot(library.make([[1, 2]], "float32")) == 0


def test_overloads(extension: Any, library: Library) -> None:
    assert extension.kind(library.make([1], "float32")) == "float32"


def test_returns_selects_the_library(extension: Any, library: Library) -> None:
    if library.name != "array_api_strict":  # not in dlbridge::library
        result = getattr(extension.returns, library.name)(3)
        assert is_array_of(library, result)
        assert values(result) == [0, 1, 2]
