# SPDX-License-Identifier: BSD-3-Clause
"""The libraries whose arrays the tests pass to compiled functions."""

from __future__ import annotations

import importlib
import struct
from dataclasses import dataclass
from typing import Any, Callable

import dlbridge
import foreign


@dataclass(frozen=True)
class Library:
    """A library: how to make an array of a list, how to read its address, and the array type."""

    name: str
    make: Callable[[list[Any], str], Any]
    address: Callable[[Any], int]
    type: str
    has_float64: bool = True  # by default


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


TYPECODES = {
    "float32": "f", "float64": "d", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
}  # fmt: skip


def of_dlbridge(values: list[Any], dtype: str) -> Any:
    if dtype == "float16":  # for which the module array has no typecode
        numbers = flat(values)
        flat_tensor = dlbridge.as_tensor(bytearray(struct.pack(f"{len(numbers)}e", *numbers)))
        return flat_tensor.view("float16").reshape(shape(values))
    array = module("array").array(TYPECODES[dtype], flat(values))
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
            has_float64=False,
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
    view = memoryview(dlbridge.as_tensor(x))  # as_tensor accepts read-only arrays
    if view.format == "e" and view.ndim == 1:  # for which memoryview has tolist since Python 3.12
        return [number for (number,) in struct.iter_unpack("e", view.tobytes())]
    return view.tolist()


def is_array_of(library: Library, x: Any) -> bool:
    cls = type(x)
    root = cls.__module__.partition(".")[0]
    return cls.__name__ == library.type and root in (library.name, f"{library.name}lib")
