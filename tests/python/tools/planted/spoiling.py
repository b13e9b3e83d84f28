# SPDX-License-Identifier: BSD-3-Clause
"""Helps defects to spoil requests, and managed tensors after the library has filled them."""

from __future__ import annotations

from typing import Any, Callable

from planted import producer
from planted.array import Array, row_major
from planted.planting import change
from planted.producer import Export

Where = Callable[[Export], bool]

# Requests ----------------------------------------------------------------------------------------


def request() -> dict[str, Any]:
    """Returns the keywords of the request in progress; empty where there is none."""
    current: dict[str, Any] = {}

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        current.update(words)
        try:
            return original(array, **words)
        finally:
            current.clear()

    change(producer, "dlpack", dlpack)
    return current


def replace_copy(copy: Any, where: Callable[[Array, dict[str, Any]], Any]) -> None:
    """Replaces the keyword copy of a request where a condition holds."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        return original(array, **{**words, "copy": copy} if where(array, words) else words)

    change(producer, "dlpack", dlpack)


# Managed tensors ---------------------------------------------------------------------------------


def spoil(function: Callable[[Export, Any], None], *where: Where) -> None:
    """Calls a function with each export, and its DLTensor, where all conditions hold."""

    def fill(original: Callable[[Export], None], export: Export) -> None:
        original(export)
        if all(each(export) for each in where):
            function(export, export.managed.tensor)

    change(producer, "fill", fill)


def is_view(export: Export) -> bool:
    return export.array.base is not None


def is_copy(export: Export) -> bool:
    return export.copied


def is_legacy(export: Export) -> bool:
    return not export.versioned


def is_versioned(export: Export) -> bool:
    return export.versioned


def is_empty(export: Export) -> bool:
    return export.array.size == 0


def is_filled(export: Export) -> bool:
    return export.array.size > 0


def is_large(export: Export) -> bool:
    return export.array.size > 1 << 12


def is_of(*dtypes: str) -> Where:
    """Returns a condition: the elements are of these types."""
    return lambda export: export.array.dtype in dtypes


def has_rank(*ranks: int) -> Where:
    return lambda export: export.array.ndim in ranks


def retype(code: int, bits: int, lanes: int = 1) -> Callable[[Export, Any], None]:
    """Returns a spoiler that writes another dtype."""

    def write_dtype(export: Export, tensor: Any) -> None:
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, lanes

    return write_dtype


def restride(strides: Callable[[Array], tuple[int, ...]], *where: Where) -> None:
    """Writes other strides where all conditions hold."""
    spoil(lambda export, tensor: producer.write(tensor.strides, strides(export.array)), *where)


def compact(array: Array) -> tuple[int, ...]:
    """Returns the strides of a compact array of this shape."""
    return row_major(array.shape)


def reshape(shape: tuple[int, ...], strides: tuple[int, ...], tensor: Any) -> None:
    """Writes a shape and strides of at most the rank that the export has room for."""
    tensor.ndim = len(shape)
    producer.write(tensor.shape, shape)
    producer.write(tensor.strides, strides)
