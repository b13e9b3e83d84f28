# SPDX-License-Identifier: BSD-3-Clause
"""Defects of exports that were requested with dl_device, the device of the array itself."""

from __future__ import annotations

from typing import Any, Callable

from dlbridge.tools.structs import IS_COPIED, READ_ONLY
from planted import producer
from planted.array import Array, row_major
from planted.defects.spoiling import restride, spoil
from planted.planting import change, defect
from planted.producer import Export


def _requests() -> Callable[[], bool]:
    """Returns a function: whether the request in progress has dl_device."""
    asked: list[bool] = []

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        asked.append(words["dl_device"] is not None)
        try:
            return original(array, **words)
        finally:
            asked.pop()

    change(producer, "dlpack", dlpack)
    return lambda: asked[-1:] == [True]


def _flags(wrong: Callable[[Export, int], int]) -> None:
    """Replaces the flags of exports with dl_device."""
    has_device = _requests()

    def flags(original: Any, export: Export) -> int:
        right: int = original(export)
        return wrong(export, right) if has_device() else right

    change(producer, "flags", flags)


def _words(wrong: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replaces the keywords of requests with dl_device."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        return original(array, **(words if words["dl_device"] is None else wrong(words)))

    change(producer, "dlpack", dlpack)


@defect("P-38", "P-13")
def views_as_compact_on_its_device() -> None:
    """A view is exported with the strides of a compact array where dl_device is passed."""
    has_device = _requests()
    rows = restride(lambda export: row_major(export.array.shape))
    spoil(rows, lambda export: has_device() and export.array.base is not None)


@defect("P-38", "P-13", "P-23", "P-24", "P-39")
def one_element_off_on_its_device() -> None:
    """data points to the second element where dl_device is passed."""
    has_device = _requests()

    def write(export: Export, tensor: Any) -> None:
        tensor.data = export.array.data + export.array.itemsize

    spoil(write, lambda export: has_device() and export.array.size > 0)


@defect("P-22")
def read_only_unmarked_on_its_device() -> None:
    """Read-only memory is not marked READ_ONLY where dl_device is passed."""
    _flags(lambda export, right: right & ~READ_ONLY)


@defect("P-39")
def copies_of_views_unmarked_on_its_device() -> None:
    """copy=True with dl_device does not mark the copy of a view."""
    has_device = _requests()
    sources: list[bool] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Export:
        sources.append(array.base is not None)
        try:
            result: Export = original(array, versioned, copied)
            return result
        finally:
            sources.pop()

    def flags(original: Any, export: Export) -> int:
        right: int = original(export)
        return right & ~IS_COPIED if has_device() and sources[-1:] == [True] else right

    change(producer, "build", build)
    change(producer, "flags", flags)


@defect("P-40", "P-23")
def shared_memory_marked_on_its_device() -> None:
    """An export with dl_device is marked IS_COPIED, and shares the memory."""
    _flags(lambda export, right: right | IS_COPIED)


@defect("P-23")
def copy_false_copies_on_its_device() -> None:
    """copy=False copies where dl_device is passed."""
    _words(lambda words: {**words, "copy": words["copy"] is False or words["copy"]})


@defect("P-54")
def copies_by_default_on_its_device() -> None:
    """An export with dl_device is a copy, unless copy=False; it is marked as one."""
    _words(lambda words: {**words, "copy": words["copy"] is not False})


@defect("P-39", "P-54", "P-22")
def copies_by_default_unmarked_on_its_device() -> None:
    """An export with dl_device and without copy is a copy, which is not marked as one."""
    silent: list[bool] = []

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        silent.append(words["dl_device"] is not None and words["copy"] is None)
        try:
            return original(array, **{**words, "copy": silent[-1] or words["copy"]})
        finally:
            silent.pop()

    def flags(original: Any, export: Export) -> int:
        right: int = original(export)
        return right & ~IS_COPIED if silent[-1:] == [True] else right

    change(producer, "dlpack", dlpack)
    change(producer, "flags", flags)
