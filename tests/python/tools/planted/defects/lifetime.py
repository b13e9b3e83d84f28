# SPDX-License-Identifier: BSD-3-Clause
"""Defects in the lifetime of exports: destructors, deleters, what is kept and what is freed."""

from __future__ import annotations

import ctypes as C
from typing import Any, Callable

from planted import library as target
from planted import producer
from planted.array import Array
from planted.elements import TYPES
from planted.native import Deleter, Memory, address_of, library, malloc
from planted.planting import change, defect, instead_of, through
from planted.producer import Export
from planted.spoiling import (
    Where,
    is_copy,
    is_empty,
    is_large,
    is_legacy,
    is_of,
    is_versioned,
    spoil,
)


def _destructor(function: Any, where: Where) -> None:
    """Replaces the capsules' destructor; None: they have none."""
    address = None if function is None else address_of(function)

    def destructor(original: Any, export: Export) -> Any:
        return address if where(export) else original(export)

    change(producer, "destructor", destructor)


def _deleter(function: Any, where: Where) -> None:
    """Replaces the deleter."""

    def deleter(original: Any, export: Export) -> Any:
        return address_of(function) if where(export) else original(export)

    change(producer, "deleter", deleter)


# Destructors -------------------------------------------------------------------------------------


@defect("X-01", "X-08")
def no_destructor_of_versioned() -> None:
    """A versioned capsule that was not consumed is not freed."""
    _destructor(None, is_versioned)


@defect("X-01", "X-08")
def no_destructor_of_legacy() -> None:
    """A legacy capsule that was not consumed is not freed."""
    _destructor(None, is_legacy)


@defect("X-01", "X-08")
def no_destructor_of_copies() -> None:
    """The capsule of a copy that was not consumed is not freed."""
    _destructor(None, is_copy)


@defect("X-01", "X-08")
def destructor_frees_legacy_twice() -> None:
    """A legacy capsule that was not consumed is freed twice."""
    _destructor(library.destroy_twice, is_legacy)
    _deleter(library.delete_nothing, is_legacy)


@defect("X-02")
def versioned_destructor_clears_the_exception() -> None:
    """The destructor of versioned capsules clears a pending exception."""
    _destructor(library.destroy_and_clear, is_versioned)


@defect("X-03", "X-01", "X-08")
def legacy_destructor_does_not_see_the_name() -> None:
    """The destructor of legacy capsules also frees one that was consumed."""
    _destructor(library.destroy_blindly, is_legacy)
    _deleter(library.delete_nothing, is_legacy)


# Deleters ----------------------------------------------------------------------------------------

# The rules whose probes free exports without the GIL, which ends the process at the next defect.
FREEING = (
    *("P-03", "P-10", "P-11", "P-12", "P-13", "P-16", "P-23", "P-24"),
    *("P-38", "P-39", "P-40", "P-44", "P-53", "P-54"),
)


@defect("X-04", "P-32", "X-01", "X-03", "X-05", "X-07", "X-08", "X-10", "X-12", *FREEING)
def legacy_deleter_needs_the_gil() -> None:
    """The deleter of the legacy struct ends the process without the GIL."""
    _deleter(library.delete_legacy_with_gil, is_legacy)


@defect("X-05", "X-08")
def versioned_deleter_needs_python() -> None:
    """The deleter of versioned exports is a Python function."""
    _deleter(_python_deleter, is_versioned)


library.delete_versioned.argtypes = [C.c_void_p]
_python_deleter = Deleter(lambda managed: library.delete_versioned(managed))


# Leaks -------------------------------------------------------------------------------------------


def _leak(size: int = 64) -> None:
    C.memset(malloc(size), 1, size)


def _leaks(*where: Where) -> None:
    """Allocates memory with an export, which its deleter does not free."""
    spoil(lambda export, tensor: _leak(), *where)


def _hold(where: Where) -> None:
    """Holds the memory of an array twice, and drops it once."""

    def keep(original: Any, export: Export) -> Any:
        if where(export):
            export.array.memory.hold()
        return original(export)

    change(producer, "keep", keep)


def _keeps_references(where: Callable[[Array, bool], bool]) -> None:
    """Keeps references to what is exported: where(array, copied)."""
    kept: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if where(array, copied):
            kept.append(array)
        return original(array, versioned, copied)

    change(producer, "build", build)


def _after_refusals(
    leave: Callable[[Array], Any], where: Callable[[Array, dict[str, Any]], bool]
) -> None:
    """Does something where a request is refused."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        try:
            return original(array, **words)
        except Exception:
            if where(array, words):
                leave(array)
            raise

    change(producer, "dlpack", dlpack)


@defect("X-08", "X-01", known=True)
@through(spoil)
def exports_leak(export: Export, tensor: Any) -> None:
    """Every export allocates 64 KiB that its deleter does not free."""
    _leak(1 << 16)


@defect("X-08")
def float64_leaks() -> None:
    """An export of float64 leaves 64 bytes."""
    _leaks(is_of("float64"))


@defect("X-08")
def negative_strides_leak() -> None:
    """An export with a negative stride leaves 64 bytes."""
    _leaks(lambda export: min(export.array.strides, default=0) < 0)


@defect("X-08")
def large_arrays_leak() -> None:
    """An export of more than 4096 elements leaves 64 bytes."""
    _leaks(is_large)


@defect("X-08")
def versioned_deleter_frees_no_struct() -> None:
    """The deleter of the versioned struct frees neither the struct nor its shape."""
    _deleter(library.delete_versioned_but_the_struct, is_versioned)


@defect("X-08")
def memory_never_freed_after_a_legacy_export() -> None:
    """The legacy deleter does not drop the memory."""
    _hold(is_legacy)


@defect("X-08")
def empty_arrays_leak() -> None:
    """The deleter of an array of size 0 does not drop the memory."""
    _hold(is_empty)


@defect("X-08")
@through(_hold)
def memory_of_transposed_arrays_never_freed(export: Export) -> bool:
    """The memory of a column-major array lives for ever once it was exported."""
    strides = export.array.strides
    return len(strides) == 2 and strides[0] == 1 < strides[1]


@defect("X-08")
def reference_leaked_by_read_only_exports() -> None:
    """Every export of read-only memory keeps a reference to the array object."""
    _keeps_references(lambda array, copied: array.readonly)


@defect("X-08")
def reference_leaked_by_copies() -> None:
    """copy=True keeps a reference to the source."""
    _keeps_references(lambda array, copied: copied)


@defect("X-08")
def refused_streams_leak() -> None:
    """A refused stream leaves 64 bytes."""
    _after_refusals(lambda array: _leak(), lambda array, words: words["stream"] is not None)


@defect("X-08")
def refused_legacy_keeps_a_reference() -> None:
    """A legacy capsule that is refused for read-only memory keeps a reference to the array."""
    kept: list[Array] = []
    _after_refusals(kept.append, lambda array, words: array.readonly)


# What dies too early -----------------------------------------------------------------------------


def _reuse_memory(exported: Callable[[Array, bool], Array | None]) -> None:
    """Overwrites the memory of some of the factory's arrays when they die, as a reuse would.

    exported(array, versioned) returns the array for whose memory an export does not care.
    """

    def make(original: Any, *arguments: Any, **keywords: Any) -> Array:
        result: Array = original(*arguments, **keywords)
        # The memory itself may end first, where both are garbage of a cycle.
        result.held = result.memory.hold()  # type: ignore[attr-defined]
        return result

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        owner = None if copied else exported(array, versioned)
        if owner is not None:
            owner.is_exported = True  # type: ignore[attr-defined]
        return original(array, versioned, copied)

    def forget(self: Array) -> None:
        if hasattr(self, "held"):
            if hasattr(self, "is_exported"):
                C.memset(self.data, 0xEE, self.nbytes)
            library.block_drop(self.held)

    change(target, "make", make)
    change(producer, "build", build)
    Array.__del__ = forget  # type: ignore[attr-defined]


@defect("X-07", "P-03", "P-44")
def memory_of_legacy_exports_dies() -> None:
    """The memory is freed, and reused, with the array object where it was exported as legacy."""
    _reuse_memory(lambda array, versioned: None if versioned else array)


@defect("X-07")
def memory_not_kept() -> None:
    """An export keeps other memory than that of the array, or of the copy, that it describes."""
    change(producer, "keep", lambda original, export: Memory.of(bytes(8))[0].hold())


@defect("X-07", "P-38")
def views_do_not_keep_the_memory() -> None:
    """The memory is freed, and reused, with the base where only an export of a view lives."""
    _reuse_memory(lambda array, versioned: array.base)


def _extents_in_the_array(where: Where = lambda export: True, shape: bool = True) -> None:
    rooms: dict[int, int] = {}  # memory that stays, so that reading it is no crash

    def fill(original: Any, export: Export) -> None:
        original(export)
        array, tensor = export.array, export.managed.tensor
        if not where(export) or export.copied or not array.ndim:
            return
        room = rooms.setdefault(id(array), malloc(16 * array.ndim))
        producer.write(room, array.shape + array.strides)
        tensor.strides = room + 8 * array.ndim
        if shape:
            tensor.shape = room

    def forget(self: Array) -> None:
        room = rooms.pop(id(self), None)
        if room is not None:
            producer.write(room, (-0x1111111111111112,) * 2 * self.ndim)

    change(producer, "fill", fill)
    Array.__del__ = forget  # type: ignore[attr-defined]


@defect("X-07", "X-08", "P-11", "P-13", "P-38")
def legacy_shape_dies_with_the_source() -> None:
    """Shape and strides of the legacy struct are those of the array object."""
    _extents_in_the_array(is_legacy)


@defect("X-07", "X-08", "P-38", "P-13")
def strides_die_with_the_source() -> None:
    """The strides are those of the array object, and are freed with it; the shape is not."""
    _extents_in_the_array(shape=False)


@defect("X-07", "P-32")
def extents_in_a_static_buffer() -> None:
    """Shape and strides are in one static buffer, which the next export overwrites."""
    room = malloc(16 * 64)

    def move(export: Export, tensor: Any) -> None:
        tensor.shape, tensor.strides = room, room + 8 * tensor.ndim
        producer.write(room, export.array.shape + export.array.strides)

    spoil(move)


# Pickles and copies of the object ----------------------------------------------------------------


@defect("X-11", known=True)
@instead_of(Array, "__reduce__")
def pickles_addresses(original: Any, self: Array) -> Any:
    """A pickle contains the address of the memory."""
    return _revived, (self.data, self.shape, self.strides, self.dtype)


def _revived(data: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Array:
    return Array(Memory(0, 0), data, shape, strides, TYPES[dtype])


@defect("X-11")
def deepcopy_shares_the_memory() -> None:
    """copy.deepcopy returns another object over the same memory."""
    change(Array, "__deepcopy__", lambda original, self, memo: self[...])


@defect("X-11", "P-32")
def copies_share_the_next_capsule() -> None:
    """An export also prepares the capsule of the next one, which a copy of the object shares."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        key, prepared = getattr(array, "prepared", ("", None))
        result = prepared if key == repr(words) else original(array, **words)
        array.prepared = (repr(words), original(array, **words))  # type: ignore[attr-defined]
        return result

    def shallow(original: Any, self: Array) -> Array:
        result = object.__new__(Array)
        result.__dict__.update(self.__dict__)
        return result

    change(producer, "dlpack", dlpack)
    change(Array, "__copy__", shallow)
