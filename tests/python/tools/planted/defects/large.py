# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the exports of large arrays, and of several arrays at the same time."""

from __future__ import annotations

import time
from typing import Any

from planted import producer
from planted.array import Array, row_major
from planted.defects.spoiling import is_versioned, is_view, restride, spoil
from planted.planting import change, defect
from planted.producer import Export


def _is_large(export: Export) -> bool:
    return export.array.size > 1 << 12


def _column_major(export: Export) -> tuple[int, ...]:
    return row_major(export.array.shape[::-1])[::-1]


@defect("P-38", "P-24")
def strides_of_large_arrays_in_column_major_order() -> None:
    """The strides of arrays of more than 4096 elements are those of column-major order."""
    spoil(restride(_column_major), lambda export: _is_large(export) and not is_view(export))


@defect("P-38", "P-24")
def strides_of_large_views_as_compact() -> None:
    """A view of more than 4096 elements has the strides of a compact array."""
    rows = restride(lambda export: row_major(export.array.shape))
    spoil(rows, lambda export: _is_large(export) and is_view(export))


@defect("P-38")
def offsets_of_16_bits() -> None:
    """The offset of a versioned view from its base is computed in 16 bits."""

    def write(export: Export, tensor: Any) -> None:
        array = export.array
        base = array.data if array.base is None else array.base.data
        tensor.data = base + (array.data - base) % (1 << 16)

    spoil(write, lambda export: is_versioned(export) and export.array.size > 0)


@defect("P-38", "P-24")
def large_arrays_begin_one_element_late() -> None:
    """data of an array of more than 65535 elements points to its second element."""

    def write(export: Export, tensor: Any) -> None:
        tensor.data = export.array.data + export.array.itemsize

    spoil(write, lambda export: export.array.size > (1 << 16) - 1)


@defect("P-32")
def arrays_share_a_variable() -> None:
    """An export keeps its array in a global variable, which another thread may replace."""
    current: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        current[:] = [array]
        time.sleep(1e-5)
        return original(current[0], versioned, copied)

    change(producer, "build", build)


@defect("P-32")
def shapes_share_a_variable() -> None:
    """An export keeps the shape in a global variable, which another thread may replace."""
    current: list[tuple[int, ...]] = []

    def fill(original: Any, export: Export) -> None:
        current[:] = [export.array.shape]
        time.sleep(1e-5)
        original(export)
        if len(current[0]) == export.array.ndim:
            producer.write(export.managed.tensor.shape, current[0])

    change(producer, "fill", fill)
