# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the copies of __dlpack__ and asarray: missing ones, shared ones, wrong ones."""

from __future__ import annotations

import ctypes as C
from typing import Any

from dlbridge.tools.structs import IS_COPIED
from planted import library, producer
from planted.array import Array, row_major
from planted.native import Memory
from planted.planting import change, defect, instead_of
from planted.spoiling import replace_copy


def _unmarked(copy: bool | None) -> None:
    """Copies where copy has this value, unmarked, and the array does not tell its address."""
    replace_copy(True, lambda array, words: words["copy"] is copy)
    change(producer, "flags", lambda original, export: original(export) & ~IS_COPIED)
    del Array.__array_interface__


def _snapshots(copy: bool | None) -> None:
    """Exports one copy of an array that tells its address, unmarked, where copy is this."""
    snapshots: dict[int, tuple[Array, Array]] = {}

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        if words["copy"] is copy and array.kind.typestr and not array.readonly:
            _, array = snapshots.setdefault(id(array), (array, array.copy()))
        return original(array, **words)

    change(producer, "dlpack", dlpack)


# copy=False --------------------------------------------------------------------------------------


@defect("P-23")
def copy_false_copies_views() -> None:
    """copy=False copies a view that is not compact."""
    replace_copy(
        True,
        lambda array, words: words["copy"] is False and array.strides != row_major(array.shape),
    )


@defect("P-23")
def copy_false_copies_in_legacy() -> None:
    """copy=False copies where a legacy capsule was requested."""
    replace_copy(True, lambda array, words: words["copy"] is False and not words["max_version"])


@defect("P-23")
def copy_false_copies_on_its_device() -> None:
    """copy=False copies where dl_device is passed."""
    replace_copy(True, lambda array, words: words["copy"] is False and words["dl_device"])


@defect("P-23", "P-39")
def copy_false_without_interface_copies() -> None:
    """copy=False copies, unmarked, and the array does not tell its address."""
    _unmarked(False)


@defect("P-23", "P-40", "P-44")
def copy_false_shares_a_snapshot() -> None:
    """Every copy=False exports the first copy of the array that was made."""
    _snapshots(False)


@defect("P-23", "X-08", "X-07", "P-24", "P-38", "P-39")
def snapshot_of_the_first_export() -> None:
    """Every export shares a snapshot, taken at the first one, that later writes do not reach."""
    snapshots: dict[int, tuple[Array, Array]] = {}

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if not copied:
            _, array = snapshots.setdefault(id(array), (array, array.copy()))
        return original(array, versioned, copied)

    change(producer, "build", build)


# The default -------------------------------------------------------------------------------------


@defect("P-54")
def copies_by_default() -> None:
    """Every export is a copy, unless copy=False; the copies are marked IS_COPIED."""
    replace_copy(True, lambda array, words: words["copy"] is None)


@defect("P-54")
def copies_by_default_on_its_device() -> None:
    """An export with dl_device is a copy, unless copy=False; it is marked as one."""
    replace_copy(True, lambda array, words: words["copy"] is None and words["dl_device"])


@defect("P-54", "P-39")
def copies_by_default_without_interface() -> None:
    """Every export is a copy, unless copy=False, unmarked; the array does not tell its address."""
    _unmarked(None)


@defect("P-54", "P-39", "P-24", "P-38")
def the_default_shares_a_snapshot() -> None:
    """Every export without copy is of the first copy of the array that was made, unmarked."""
    _snapshots(None)


# copy=True ---------------------------------------------------------------------------------------


@defect("P-24", "P-40", "P-44", known=True)
def copy_true_shares() -> None:
    """copy=True exports the same memory, marked as a copy."""
    change(producer, "source", lambda original, array: array)


@defect("P-24")
def copy_ignored_with_a_device() -> None:
    """copy=True shares the memory where dl_device is passed too."""
    replace_copy(None, lambda array, words: words["dl_device"])


@defect("P-24")
def copy_ignored_in_legacy() -> None:
    """copy=True shares the memory where a legacy capsule was requested."""
    replace_copy(None, lambda array, words: words["max_version"] is None)


@defect("P-24", "P-39", "P-40")
@instead_of(producer, "source")
def copies_only_what_is_not_compact(original: Any, array: Array) -> Any:
    """copy=True shares the memory of arrays that are compact already, marked as a copy."""
    return array if array.strides == row_major(array.shape) else original(array)


@defect("P-24", "P-44", "P-40")
def read_only_memory_is_never_copied() -> None:
    """copy=True shares read-only memory, which consumers do not change."""
    change(producer, "source", lambda original, array: array if array.readonly else original(array))


@defect("P-24", "P-38")
@instead_of(producer, "source")
def copy_of_a_view_copies_the_base(original: Any, array: Array) -> Any:
    """A copy of a view has as many elements, from the beginning of its base."""
    result = original(array)
    if array.base is not None:
        C.memmove(result.data, array.base.data, result.nbytes)
    return result


@defect("P-24")
@instead_of(producer, "source")
def copies_end_after_64_kib(original: Any, array: Array) -> Any:
    """A copy of a large array holds its first 64 KiB; zeros follow."""
    result = original(array)
    if result.nbytes > 1 << 16:
        C.memset(result.data + (1 << 16), 0, result.nbytes - (1 << 16))
    return result


@defect("P-24")
@instead_of(producer, "source")
def copies_of_views_have_its_strides(original: Any, array: Array) -> Any:
    """A copy of a view is compact, and described by the strides of the view."""
    result = original(array)
    if min(array.strides, default=0) >= 0:
        room = sum(abs(s) * max(e - 1, 0) for s, e in zip(array.strides, array.shape)) + 1
        memory, data = Memory.of(b"\0" * room * array.itemsize)
        C.memmove(data, result.data, min(result.nbytes, room * array.itemsize))
        result.memory, result.data, result.strides = memory, data, array.strides
    return result


@defect("P-44", "P-24", "X-08")
def copies_share_one_buffer() -> None:
    """All copies of an array share the memory of its first copy."""
    copies: dict[int, tuple[Array, Array]] = {}

    def source(original: Any, array: Array) -> Array:
        return copies.setdefault(id(array), (array, original(array)))[1]

    change(producer, "source", source)


@defect("P-44")
def copies_share_a_pool() -> None:
    """A copy goes to one static buffer, which the next copy of this size overwrites."""
    pool: dict[int, tuple[Memory, int]] = {}

    def source(original: Any, array: Array) -> Any:
        result = original(array)
        memory, data = pool.setdefault(result.nbytes, Memory.of(bytes(result.nbytes)))
        C.memmove(data, result.data, result.nbytes)
        result.memory, result.data = memory, data
        return result

    change(producer, "source", source)


@defect("X-08")
@instead_of(producer, "source")
def copies_leak(original: Any, array: Array) -> Any:
    """The memory of a copy is never freed."""
    result = original(array)
    result.memory.hold()
    return result


@defect("P-24")
@instead_of(producer, "source")
def copies_are_freed_at_once(original: Any, array: Array) -> Any:
    """The memory of a copy is freed, and reused, before the consumer reads it."""
    result = original(array)
    C.memset(result.data, 0xEE, result.nbytes)  # what a reuse of freed memory looks like
    return result


# asarray -----------------------------------------------------------------------------------------


@defect("S-16")
@instead_of(library, "asarray")
def asarray_copy_false_copies(original: Any, x: Any, **words: Any) -> Any:
    """asarray(x, copy=False) returns a copy."""
    return original(x, **{**words, "copy": words.get("copy") is False})


@defect("S-16")
@instead_of(library, "asarray")
def asarray_copy_true_returns_a_view(original: Any, x: Any, **words: Any) -> Any:
    """asarray(x, copy=True) returns another object over the memory of x."""
    return x[...] if words.get("copy") and isinstance(x, Array) else original(x, **words)
