# SPDX-License-Identifier: BSD-3-Clause
"""Helps defects to spoil a managed tensor after the library has filled it."""

from __future__ import annotations

from typing import Any, Callable

from planted import producer
from planted.planting import change
from planted.producer import Export


def spoil(
    function: Callable[[Export, Any], None], where: Callable[[Export], bool] = lambda export: True
) -> None:
    """Calls a function with each export, and its DLTensor, where a condition holds."""

    def fill(original: Callable[[Export], None], export: Export) -> None:
        original(export)
        if where(export):
            function(export, export.managed.tensor)

    change(producer, "fill", fill)


def is_view(export: Export) -> bool:
    return export.array.base is not None


def is_legacy(export: Export) -> bool:
    return not export.versioned


def is_versioned(export: Export) -> bool:
    return export.versioned


def is_empty(export: Export) -> bool:
    return export.array.size == 0


def is_of(*dtypes: str) -> Callable[[Export], bool]:
    """Returns a condition: the elements are of these types."""
    return lambda export: export.array.dtype in dtypes


def retype(code: int, bits: int, lanes: int = 1) -> Callable[[Export, Any], None]:
    """Returns a spoiler that writes another dtype."""

    def write_dtype(export: Export, tensor: Any) -> None:
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, lanes

    return write_dtype


def restride(
    strides: Callable[[Export], tuple[int, ...]],
) -> Callable[[Export, Any], None]:
    """Returns a spoiler that writes other strides."""
    return lambda export, tensor: producer.write(tensor.strides, strides(export))


def reshape(shape: tuple[int, ...], strides: tuple[int, ...], tensor: Any) -> None:
    """Writes a shape and strides of at most the rank that the export has room for."""
    tensor.ndim = len(shape)
    producer.write(tensor.shape, shape)
    producer.write(tensor.strides, strides)
