# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the copies of __dlpack__ and asarray: missing ones, shared ones, wrong ones."""

from __future__ import annotations

import ctypes as C
from typing import Any

from dlbridge.tools.structs import IS_COPIED
from planted import library, producer
from planted.array import Array, row_major
from planted.native import Memory
from planted.planting import change, defect
from planted.producer import Export


def _request(wrong: Any) -> None:
    """Replaces the keywords of a request."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        return original(array, **wrong(array, words))

    change(producer, "dlpack", dlpack)


def _source(wrong: Any) -> None:
    """Replaces the copy that is exported: wrong(array, copy) returns another one."""

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if not copied:
            return original(array, versioned, False)
        chosen = wrong(array)
        export = Export(chosen, versioned, True)
        producer.allocate(export)
        if versioned:
            export.managed.version.major, export.managed.version.minor = producer.version()
            export.managed.flags = producer.flags(export)
        export.managed.manager_ctx = producer.keep(export)
        export.managed.deleter = producer.deleter(export)
        producer.fill(export)
        return export

    change(producer, "build", build)


def _unmarked_copies(is_copied: Any) -> None:
    """Copies where is_copied(copy), and marks no copy IS_COPIED."""
    _request(lambda array, words: {**words, "copy": is_copied(words["copy"])})
    change(producer, "flags", lambda original, export: original(export) & ~IS_COPIED)


def _snapshots(is_snapshot: Any) -> None:
    """Exports one copy of an array that tells its address, unmarked, where is_snapshot(copy)."""
    snapshots: dict[int, tuple[Array, Array]] = {}

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        if is_snapshot(words["copy"]) and array.kind.typestr and not array.readonly:
            _, array = snapshots.setdefault(id(array), (array, array.copy()))
        return original(array, **words)

    change(producer, "dlpack", dlpack)


@defect("P-23", "P-40", known=True)
def copy_false_copies() -> None:
    """copy=False copies."""
    _request(lambda array, words: {**words, "copy": True} if words["copy"] is False else words)


@defect("P-23")
def copy_false_copies_views() -> None:
    """copy=False copies a view that is not compact."""

    def words_of(array: Array, words: dict[str, Any]) -> dict[str, Any]:
        is_compact = array.strides == row_major(array.shape)
        return words if words["copy"] is not False or is_compact else {**words, "copy": True}

    _request(words_of)


@defect("P-23")
def copy_false_copies_in_legacy() -> None:
    """copy=False copies where a legacy capsule was requested."""
    _request(
        lambda array, words: (
            {**words, "copy": True}
            if words["copy"] is False and words["max_version"] is None
            else words
        )
    )


@defect("P-23", "P-39")
def copy_false_without_interface_copies() -> None:
    """copy=False copies, unmarked, and the array does not tell its address."""
    _unmarked_copies(lambda copy: copy is not None)
    del Array.__array_interface__


@defect("P-23", "P-40", "P-44")
def copy_false_shares_a_snapshot() -> None:
    """Every copy=False exports the first copy of the array that was made."""
    _snapshots(lambda copy: copy is False)


@defect("P-23", "X-08", "X-07", "P-24", "P-38", "P-39")
def snapshot_of_the_first_export() -> None:
    """Every export shares a snapshot, taken at the first one, that later writes do not reach."""
    snapshots: dict[int, tuple[Array, Array]] = {}

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if not copied:
            _, array = snapshots.setdefault(id(array), (array, array.copy()))
        return original(array, versioned, copied)

    change(producer, "build", build)


@defect("P-54")
def copies_by_default() -> None:
    """Every export is a copy, unless copy=False; the copies are marked IS_COPIED."""
    _request(lambda array, words: {**words, "copy": words["copy"] is not False})


@defect("P-54", "P-39")
def copies_by_default_without_interface() -> None:
    """Every export is a copy, unless copy=False, unmarked; the array does not tell its address."""
    _unmarked_copies(lambda copy: copy is not False)
    del Array.__array_interface__


@defect("P-54", "P-39", "P-24", "P-38")
def the_default_shares_a_snapshot() -> None:
    """Every export without copy is of the first copy of the array that was made, unmarked."""
    _snapshots(lambda copy: copy is None)


@defect("P-24", "P-40", "P-44", known=True)
def copy_true_shares() -> None:
    """copy=True exports the same memory, marked as a copy."""
    _source(lambda array: array)


@defect("P-24", "P-44", "P-39")
def copy_true_ignored() -> None:
    """copy is ignored: copy=True exports the same memory, unmarked."""
    _request(lambda array, words: {**words, "copy": None})


@defect("P-24")
def copy_ignored_with_a_device() -> None:
    """copy=True shares the memory where dl_device is passed too."""
    _request(lambda array, words: words if words["dl_device"] is None else {**words, "copy": None})


@defect("P-24")
def copy_ignored_in_legacy() -> None:
    """copy=True shares the memory where a legacy capsule was requested."""
    _request(
        lambda array, words: words if words["max_version"] is not None else {**words, "copy": None}
    )


@defect("P-24", "P-39", "P-40")
def copies_only_what_is_not_compact() -> None:
    """copy=True shares the memory of arrays that are compact already, marked as a copy."""
    _source(lambda array: array if array.strides == row_major(array.shape) else array.copy())


@defect("P-24", "P-44", "P-40")
def read_only_memory_is_never_copied() -> None:
    """copy=True shares read-only memory, which consumers do not change."""
    _source(lambda array: array if array.readonly else array.copy())


@defect("P-24", "P-38")
def copy_of_a_view_copies_the_base() -> None:
    """A copy of a view has as many elements, from the beginning of its base."""

    def wrong(array: Array) -> Array:
        result = array.copy()
        if array.base is not None:
            C.memmove(result.data, array.base.data, result.nbytes)
        return result

    _source(wrong)


@defect("P-24")
def copies_end_after_64_kib() -> None:
    """A copy of a large array holds its first 64 KiB; zeros follow."""

    def wrong(array: Array) -> Array:
        result = array.copy()
        if result.nbytes > 1 << 16:
            C.memset(result.data + (1 << 16), 0, result.nbytes - (1 << 16))
        return result

    _source(wrong)


@defect("P-24")
def copies_of_views_have_its_strides() -> None:
    """A copy of a view is compact, and described by the strides of the view."""

    def wrong(array: Array) -> Array:
        result = array.copy()
        if min(array.strides, default=0) >= 0:
            room = sum(abs(s) * max(e - 1, 0) for s, e in zip(array.strides, array.shape)) + 1
            memory, data = Memory.of(b"\0" * room * array.itemsize)
            C.memmove(data, result.data, min(result.nbytes, room * array.itemsize))
            result.memory, result.data, result.strides = memory, data, array.strides
        return result

    _source(wrong)


@defect("P-24")
def copies_are_not_filled() -> None:
    """A copy above 8 bytes is allocated, and only its first 8 bytes are copied."""

    def wrong(array: Array) -> Array:
        result = array.copy()
        if result.nbytes > 8:
            C.memset(result.data + 8, 0, result.nbytes - 8)
        return result

    _source(wrong)


@defect("P-44", "P-24", "X-08")
def copies_share_one_buffer() -> None:
    """All copies of an array share the memory of its first copy."""
    copies: dict[int, tuple[Array, Array]] = {}
    _source(lambda array: copies.setdefault(id(array), (array, array.copy()))[1])


@defect("P-44")
def copies_share_a_pool() -> None:
    """A copy goes to one static buffer, which the next copy of this size overwrites."""
    pool: dict[int, tuple[Memory, int]] = {}

    def wrong(array: Array) -> Array:
        result = array.copy()
        memory, data = pool.setdefault(result.nbytes, Memory.of(bytes(result.nbytes)))
        C.memmove(data, result.data, result.nbytes)
        result.memory, result.data = memory, data
        return result

    _source(wrong)


@defect("X-08")
def copies_leak() -> None:
    """The memory of a copy is never freed."""

    def wrong(array: Array) -> Array:
        result = array.copy()
        result.memory.hold()
        return result

    _source(wrong)


@defect("P-24")
def copies_are_freed_at_once() -> None:
    """The memory of a copy is freed, and reused, before the consumer reads it."""

    def wrong(array: Array) -> Array:
        result = array.copy()
        C.memset(result.data, 0xEE, result.nbytes)  # what a reuse of freed memory looks like
        return result

    _source(wrong)


@defect("P-39", "P-40", "P-54")
def copies_by_default_unmarked() -> None:
    """Every export is a copy, unless copy=False; the copies are not marked IS_COPIED."""
    _request(lambda array, words: {**words, "copy": words["copy"] is not False})
    change(producer, "flags", lambda original, export: original(export) & ~IS_COPIED)


# asarray -----------------------------------------------------------------------------------------


@defect("S-16")
def asarray_copy_true_shares() -> None:
    """asarray(x, copy=True) returns x."""
    change(library, "asarray", lambda original, x, **words: original(x, **{**words, "copy": None}))


@defect("S-16")
def asarray_copy_false_copies() -> None:
    """asarray(x, copy=False) returns a copy."""
    change(
        library,
        "asarray",
        lambda original, x, **words: original(x, **{**words, "copy": words.get("copy") is False}),
    )


@defect("S-16")
def asarray_copy_true_returns_a_view() -> None:
    """asarray(x, copy=True) returns another object over the memory of x."""
    change(
        library,
        "asarray",
        lambda original, x, **words: (
            x[...] if words.get("copy") and isinstance(x, Array) else original(x, **words)
        ),
    )
