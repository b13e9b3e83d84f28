"""Compiled functions called with the arrays of each library: they import the arrays without a copy,
and return arrays of the same type."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Callable

import pytest

import dlbridge
import extension
import foreign
from bindings import BINDINGS, function


@dataclass(frozen=True)
class Library:
    """A library: how to make an array of a list, how to read its address, and the array type."""

    name: str
    make: Callable[[list[Any], str], Any]
    address: Callable[[Any], int]
    type: str
    float64: str = "float64"  # the dtype of an imported float64 array; JAX narrows it by default


def from_numpy(call: Callable[[Any, Any], Any]) -> Callable[[list[Any], str], Any]:
    """A function that makes an array by a call with the module numpy and a NumPy array."""

    def make(values: list[Any], dtype: str) -> Any:
        numpy = importlib.import_module("numpy")
        return call(numpy, numpy.array(values, dtype=dtype))

    return make


def module(name: str) -> Any:
    return importlib.import_module(name)


def tensorflow_address(x: Any) -> int:
    """The address in a capsule of the array: an EagerTensor has no attribute for it."""
    return foreign.consume(module("tensorflow.experimental.dlpack").to_dlpack(x)).data


def of_dlbridge(values: list[Any], dtype: str) -> Any:
    array = module("array").array(
        {"float32": "f", "uint8": "B", "float64": "d"}[dtype], flat(values)
    )
    return dlbridge.as_tensor(memoryview(array).cast("B").cast(array.typecode, shape(values)))


def shape(values: Any) -> list[int]:
    return [len(values), *shape(values[0])] if isinstance(values, list) else []


def flat(values: Any) -> list[Any]:
    return [each for row in values for each in flat(row)] if isinstance(values, list) else [values]


LIBRARIES = {
    each.name: each
    for each in [
        Library("dlbridge", of_dlbridge, lambda x: x.data_ptr, "Tensor"),
        Library("numpy", from_numpy(lambda _, a: a), lambda x: x.ctypes.data, "ndarray"),
        Library(
            "torch",
            from_numpy(lambda _, a: module("torch").from_numpy(a)),
            lambda x: x.data_ptr(),
            "Tensor",
        ),
        Library(
            "jax",
            from_numpy(lambda _, a: module("jax.numpy").array(a)),
            lambda x: x.unsafe_buffer_pointer(),
            "ArrayImpl",
            "float32",
        ),
        Library(
            "tvm_ffi",
            from_numpy(lambda _, a: module("tvm_ffi").from_dlpack(a)),
            lambda x: x.data_ptr(),
            "Tensor",
        ),
        Library(
            "array_api_strict",
            from_numpy(lambda _, a: module("array_api_strict").asarray(a)),
            lambda x: x._array.ctypes.data,
            "Array",
        ),
        Library(
            "tensorflow",
            from_numpy(lambda _, a: module("tensorflow").constant(a)),
            tensorflow_address,
            "EagerTensor",
        ),
    ]
}


def values(x: Any) -> Any:
    return memoryview(dlbridge.as_tensor(x)).tolist()  # as_tensor accepts read-only arrays


def is_array_of(library: Library, x: Any) -> bool:
    cls = type(x)
    root = cls.__module__.partition(".")[0]
    return cls.__name__ == library.type and root in (library.name, f"{library.name}lib")


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
        no_origin = binding == "by_pybind11" and name == "counted_like"
        assert is_array_of(LIBRARIES["dlbridge"] if no_origin else library, y)
        assert values(y) == expected


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_returned_argument_shares_memory(library: Library, binding: str) -> None:
    x = library.make([1, 2, 3], "float32")
    assert library.address(function(binding, "same")(x)) == library.address(x)


def test_a_result_of_another_dtype(library: Library) -> None:
    x = library.make([[1, 2], [3, 4], [5, 6]], "float32")
    y = extension.by_def.widened(x)
    assert is_array_of(library, y)
    t = dlbridge.from_dlpack(y)
    assert (t.dtype, t.shape) == (library.float64, (3, 2))


def test_values(library: Library) -> None:
    x = library.make([1.5, 2.5, 4], "float32")
    assert [function(binding, "sum")(x) for binding in BINDINGS] == [8, 8, 8]
    assert extension.Image(1, 2).dot(library.make([[1, 2]], "float32")) == 0


def test_the_message_of_a_refusal(library: Library) -> None:
    with pytest.raises(TypeError) as raised:
        extension.by_def.sum(library.make([[1], [2]], "uint8"))
    assert str(raised.value) == (
        "sum(): argument 'x': expected float32[*] on cpu; got uint8[2, 1] on cpu: dtype, rank "
        "differ"
    )


def test_overloads(library: Library) -> None:
    assert extension.kind(library.make([1], "float32")) == "float32"


def test_returns_selects_the_library(library: Library) -> None:
    if library.name != "array_api_strict":  # not in dlbridge::library
        result = getattr(extension.returns, library.name)(3)
        assert is_array_of(library, result)
        assert values(result) == [0, 1, 2]
