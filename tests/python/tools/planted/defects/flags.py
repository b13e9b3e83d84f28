# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the flags of versioned capsules."""

from __future__ import annotations

from typing import Any

from dlbridge.tools.structs import IS_COPIED, READ_ONLY, SUBBYTE_PADDED
from planted import producer
from planted.array import Array
from planted.planting import change, defect, instead_of
from planted.producer import Export
from planted.spoiling import Where, is_copy, is_view, replace_copy, request


def _mark(flags: int, where: Where = lambda export: True, unmark: bool = False) -> None:
    """Sets flags where a condition holds, or clears them."""

    def wrong(original: Any, export: Export) -> int:
        right: int = original(export)
        return right if not where(export) else right & ~flags if unmark else right | flags

    change(producer, "flags", wrong)


def _unmark(flags: int, where: Where = lambda export: True) -> None:
    _mark(flags, where, unmark=True)


def _has_device(words: dict[str, Any]) -> bool:
    return words.get("dl_device") is not None


def _sources() -> list[Array]:
    """Returns a list of the array that is exported, or that was exported last."""
    sources: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        sources[:] = [array]
        return original(array, versioned, copied)

    change(producer, "build", build)
    return sources


@defect("P-22", "C-13")
def read_only_lost_on_views() -> None:
    """A view of read-only memory is not marked READ_ONLY."""
    _unmark(READ_ONLY, is_view)


@defect("P-22")
@instead_of(Array, "transpose")
def read_only_lost_on_transposed(original: Any, self: Array) -> Any:
    """A transposed array of read-only memory is writable and not marked READ_ONLY."""
    result: Array = original(self)
    result.readonly = False
    return result


@defect("P-22")
def read_only_lost_with_copy_false() -> None:
    """READ_ONLY is not set where copy=False was requested."""
    words = request()
    _unmark(READ_ONLY, lambda export: words.get("copy") is False)


@defect("P-22")
def read_only_unmarked_on_its_device() -> None:
    """Read-only memory is not marked READ_ONLY where dl_device is passed."""
    words = request()
    _unmark(READ_ONLY, lambda export: _has_device(words))


@defect("P-49")
def read_only_in_legacy() -> None:
    """Read-only memory is exported in a legacy capsule, without a mark."""
    change(producer, "check_content", lambda original, array, versioned, copied:
           original(array, True, copied))  # fmt: skip


@defect("P-50")
def views_always_read_only() -> None:
    """Views of writable memory are marked READ_ONLY."""
    _mark(READ_ONLY, is_view)


@defect("P-42")
def copies_are_read_only() -> None:
    """Copies are marked READ_ONLY."""
    _mark(READ_ONLY, is_copy)


@defect("P-39")
def read_only_copies_are_not_marked() -> None:
    """Copies of read-only arrays are not marked IS_COPIED."""
    sources = _sources()
    _unmark(IS_COPIED, lambda export: sources[0].readonly)


@defect("P-39")
def copies_of_views_unmarked_on_its_device() -> None:
    """copy=True with dl_device does not mark the copy of a view."""
    words, sources = request(), _sources()
    _unmark(IS_COPIED, lambda export: _has_device(words) and sources[0].base is not None)


@defect("P-39", "P-40", "P-54")
def copies_by_default_unmarked() -> None:
    """Every export is a copy, unless copy=False; the copies are not marked IS_COPIED."""
    replace_copy(True, lambda array, words: words["copy"] is None)
    _unmark(IS_COPIED)


@defect("P-39", "P-54", "P-22")
def copies_by_default_unmarked_on_its_device() -> None:
    """An export with dl_device and without copy is a copy, which is not marked as one."""
    replace_copy(True, lambda array, words: words["dl_device"] and words["copy"] is None)
    words = request()  # as it was passed
    _unmark(IS_COPIED, lambda export: _has_device(words) and words["copy"] is None)


@defect("P-40", "P-23")
def views_marked_as_copies() -> None:
    """Exports of views are marked IS_COPIED."""
    _mark(IS_COPIED, is_view)


@defect("P-40", "P-23")
def copy_false_marked_as_copy() -> None:
    """Exports with copy=False are marked IS_COPIED, as copy was passed."""
    words = request()
    _mark(IS_COPIED, lambda export: words.get("copy") is False)


@defect("P-40", "P-23")
def shared_memory_marked_on_its_device() -> None:
    """An export with dl_device is marked IS_COPIED, and shares the memory."""
    words = request()
    _mark(IS_COPIED, lambda export: _has_device(words))


@defect("P-47")
def reserved_flag() -> None:
    """Flag 8, which DLPack does not have, is set."""
    _mark(8)


@defect("P-47")
def flags_not_initialised() -> None:
    """The upper half of flags is not initialised."""
    _mark(0x55AA << 32)


@defect("P-47")
def padded_before_its_version() -> None:
    """SUBBYTE_PADDED is set in a capsule of version 1.0, which does not define it."""
    producer.VERSION = (1, 0)
    padded_whole_bytes()


@defect("S-06")
def padded_whole_bytes() -> None:
    """SUBBYTE_PADDED is set on elements of whole bytes."""
    _mark(SUBBYTE_PADDED)
