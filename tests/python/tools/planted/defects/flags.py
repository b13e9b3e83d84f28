# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the flags of versioned capsules."""

from __future__ import annotations

from typing import Any, Callable

from dlbridge.tools.structs import IS_COPIED, READ_ONLY, SUBBYTE_PADDED
from planted import producer
from planted.array import Array
from planted.planting import change, defect
from planted.producer import Export


def _flags(wrong: Callable[[int, Export], int]) -> None:
    change(producer, "flags", lambda original, export: wrong(original(export), export))


@defect("P-22", "C-13", known=True)
def read_only_dropped() -> None:
    """READ_ONLY is never set, and legacy capsules of read-only memory are not refused."""
    _legacy_of_read_only()
    _flags(lambda flags, export: flags & ~READ_ONLY)


@defect("P-22", "C-13")
def read_only_lost_on_views() -> None:
    """A view of read-only memory is not marked READ_ONLY."""
    _flags(lambda flags, export: flags & ~READ_ONLY if export.array.base is not None else flags)


@defect("P-22")
def read_only_lost_on_transposed() -> None:
    """A transposed array of read-only memory is writable and not marked READ_ONLY."""

    def transpose(original: Any, self: Array) -> Array:
        result: Array = original(self)
        result.readonly = False
        return result

    change(Array, "transpose", transpose)


@defect("P-22")
def read_only_only_float32() -> None:
    """READ_ONLY is set for float32 only."""
    _flags(lambda flags, export: flags if export.array.dtype == "float32" else flags & ~READ_ONLY)


@defect("P-22")
def read_only_lost_with_copy_false() -> None:
    """READ_ONLY is not set where copy=False was requested."""
    copies: list[Any] = [None]

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        copies.append(words["copy"])
        return original(array, **words)

    change(producer, "dlpack", dlpack)
    _flags(lambda flags, export: flags & ~READ_ONLY if copies[-1] is False else flags)


@defect("P-49")
def read_only_in_legacy() -> None:
    """Read-only memory is exported in a legacy capsule, without a mark."""
    _legacy_of_read_only()


def _legacy_of_read_only() -> None:
    def check_content(original: Any, array: Array, versioned: bool, copied: bool) -> None:
        original(array, True, copied)

    change(producer, "check_content", check_content)


@defect("P-50")
def always_read_only() -> None:
    """Writable memory is marked READ_ONLY too."""
    _flags(lambda flags, export: flags | READ_ONLY if not export.copied else flags)


@defect("P-50")
def views_always_read_only() -> None:
    """Views of writable memory are marked READ_ONLY."""
    _flags(lambda flags, export: flags | READ_ONLY if export.array.base is not None else flags)


@defect("P-42")
def copies_are_read_only() -> None:
    """Copies are marked READ_ONLY."""
    _flags(lambda flags, export: flags | READ_ONLY if export.copied else flags)


@defect("P-39", known=True)
def copies_are_not_marked() -> None:
    """Copies are not marked IS_COPIED."""
    _flags(lambda flags, export: flags & ~IS_COPIED)


@defect("P-39")
def copies_with_a_device_are_not_marked() -> None:
    """Copies are not marked IS_COPIED where dl_device was passed too."""
    devices: list[Any] = [None]

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        devices.append(words["dl_device"])
        return original(array, **words)

    change(producer, "dlpack", dlpack)
    _flags(lambda flags, export: flags & ~IS_COPIED if devices[-1] is not None else flags)


@defect("P-39")
def read_only_copies_are_not_marked() -> None:
    """Copies of read-only arrays are not marked IS_COPIED."""
    sources: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        sources[:] = [array]
        return original(array, versioned, copied)

    change(producer, "build", build)
    _flags(lambda flags, export: flags & ~IS_COPIED if sources[-1].readonly else flags)


@defect("P-40", "P-23")
def always_marked_as_copies() -> None:
    """Every export is marked IS_COPIED."""
    _flags(lambda flags, export: flags | IS_COPIED)


@defect("P-40", "P-23")
def views_marked_as_copies() -> None:
    """Exports of views are marked IS_COPIED."""
    _flags(lambda flags, export: flags | IS_COPIED if export.array.base is not None else flags)


@defect("P-40", "P-23")
def copy_false_marked_as_copy() -> None:
    """Exports with copy=False are marked IS_COPIED, as copy was passed."""
    copies: list[Any] = [None]

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        copies.append(words["copy"])
        return original(array, **words)

    change(producer, "dlpack", dlpack)
    _flags(lambda flags, export: flags | IS_COPIED if copies[-1] is False else flags)


@defect("P-47")
def reserved_flag() -> None:
    """Flag 8, which DLPack does not have, is set."""
    _flags(lambda flags, export: flags | 8)


@defect("P-47")
def flags_not_initialised() -> None:
    """The upper half of flags is not initialised."""
    _flags(lambda flags, export: flags | 0x55AA << 32)


@defect("P-47")
def padded_before_its_version() -> None:
    """SUBBYTE_PADDED is set in a capsule of version 1.0, which does not define it."""
    producer.VERSION = (1, 0)
    padded_whole_bytes()


@defect("S-06")
def padded_whole_bytes() -> None:
    """SUBBYTE_PADDED is set on elements of whole bytes."""
    _flags(lambda flags, export: flags | SUBBYTE_PADDED)
