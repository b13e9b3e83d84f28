# SPDX-License-Identifier: BSD-3-Clause
"""Types for annotations of arguments: tensors, devices, dtypes and streams."""

from __future__ import annotations

import sys
from typing import (
    Any,
    Optional,
    Protocol,
    SupportsComplex,
    SupportsFloat,
    SupportsIndex,
    Union,
    runtime_checkable,
)

if sys.version_info >= (3, 13):
    from types import CapsuleType
else:
    CapsuleType = Any

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    Buffer = Any

__all__ = [
    "Buffer",
    "CapsuleType",
    "ComplexNumbers",
    "DTypeLike",
    "DeviceLike",
    "Numbers",
    "StreamLike",
    "SupportsArray",
    "SupportsArrow",
    "SupportsDLPack",
    "SupportsStream",
]


@runtime_checkable
class SupportsDLPack(Protocol):
    """A DLPack producer (array API): an array of NumPy, PyTorch, JAX, CuPy, TensorFlow, ..."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


@runtime_checkable
class SupportsArray(Protocol):
    """An object that NumPy converts: a column of pandas, an array of xarray, h5py, zarr, ..."""

    def __array__(self) -> Any: ...


class SupportsArrowArray(Protocol):
    """An array of Arrow's PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: Any = ...) -> Any: ...


class SupportsArrowStream(Protocol):
    """A stream of Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: Any = ...) -> Any: ...


class SupportsStream(Protocol):
    """A CUDA stream of any library: __cuda_stream__() returns (0, handle).

    It has no isinstance, which would look at the type alone: a Tensor has the attribute on CUDA
    devices only. hasattr(x, "__cuda_stream__") tells it of an object.
    """

    def __cuda_stream__(self) -> tuple[int, int]: ...


#: A column of pyarrow, polars, pandas, DuckDB, ...
SupportsArrow = Union[SupportsArrowArray, SupportsArrowStream]

#: A name ("cuda:0"), a pair (device type, device id), or a framework's device object.
DeviceLike = Union[str, tuple[SupportsIndex, SupportsIndex], Any]

#: A name ("float32"), a triple (code, bits, lanes), a framework's dtype object, or an object whose
#: __dlpack_data_type__() returns such a triple.
DTypeLike = Union[str, tuple[int, int], tuple[int, int, int], Any]

#: A number, and lists, tuples and ranges of numbers at any depth.
Numbers = Union[SupportsFloat, SupportsIndex, list[Any], tuple[Any, ...], range]

#: The same with complex numbers.
ComplexNumbers = Union[SupportsComplex, Numbers]

#: A stream as an integer of the protocol, or a library's stream object.
StreamLike = Optional[Union[int, SupportsStream, Any]]
