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
from planted.planting import change, defect
from planted.producer import Export


def _destructor(function: Any, where: Callable[[Export], bool] = lambda export: True) -> None:
    """Replaces the capsules' destructor; None: they have none."""
    address = None if function is None else address_of(function)
    change(
        producer,
        "destructor",
        lambda original, export: address if where(export) else original(export),
    )


def _deleter(
    legacy: Any, versioned: Any, where: Callable[[Export], bool] = lambda export: True
) -> None:
    """Replaces the deleters."""
    change(
        producer,
        "deleter",
        lambda original, export: (
            address_of(versioned if export.versioned else legacy)
            if where(export)
            else original(export)
        ),
    )


def _keep(wrong: Callable[[Export], int], where: Callable[[Export], bool]) -> None:
    """Replaces the holder of the memory, which the deleter drops."""
    change(
        producer,
        "keep",
        lambda original, export: wrong(export) if where(export) else original(export),
    )


def _is_legacy(export: Export) -> bool:
    return not export.versioned


def _is_versioned(export: Export) -> bool:
    return export.versioned


# Destructors -------------------------------------------------------------------------------------


@defect("X-01", "X-08", known=True)
def no_destructor() -> None:
    """A capsule that was not consumed is not freed."""
    _destructor(None)


@defect("X-01", "X-08")
def no_destructor_of_versioned() -> None:
    """A versioned capsule that was not consumed is not freed."""
    _destructor(None, _is_versioned)


@defect("X-01", "X-08")
def no_destructor_of_legacy() -> None:
    """A legacy capsule that was not consumed is not freed."""
    _destructor(None, _is_legacy)


@defect("X-01", "X-08")
def no_destructor_of_copies() -> None:
    """The capsule of a copy that was not consumed is not freed."""
    _destructor(None, lambda export: export.copied)


@defect("X-01", "X-08", known=True)
def destructor_frees_twice() -> None:
    """A capsule that was not consumed is freed twice."""
    _destructor(library.destroy_twice)
    _deleter(library.delete_nothing, library.delete_nothing)  # safe to call twice


@defect("X-01", "X-08")
def destructor_frees_legacy_twice() -> None:
    """A legacy capsule that was not consumed is freed twice."""
    _destructor(library.destroy_twice, _is_legacy)
    _deleter(library.delete_nothing, None, _is_legacy)


@defect("X-02", known=True)
def destructor_clears_the_exception() -> None:
    """The destructor clears a pending exception."""
    _destructor(library.destroy_and_clear)


@defect("X-02")
def versioned_destructor_clears_the_exception() -> None:
    """The destructor of versioned capsules clears a pending exception."""
    _destructor(library.destroy_and_clear, _is_versioned)


@defect("X-03", "X-01", "X-08", known=True)
def destructor_does_not_see_the_name() -> None:
    """The destructor also frees a capsule that was consumed."""
    _destructor(library.destroy_blindly)
    _deleter(library.delete_nothing, library.delete_nothing)


@defect("X-03", "X-01", "X-08")
def legacy_destructor_does_not_see_the_name() -> None:
    """The destructor of legacy capsules also frees one that was consumed."""
    _destructor(library.destroy_blindly, _is_legacy)
    _deleter(library.delete_nothing, None, _is_legacy)


# Deleters ----------------------------------------------------------------------------------------

# The rules whose probes free exports without the GIL, which ends the process at the two defects
# below.
FREEING = (
    *("P-03", "P-10", "P-11", "P-12", "P-13", "P-16", "P-23", "P-24"),
    *("P-38", "P-39", "P-40", "P-44", "P-53", "P-54"),
)


@defect(
    "X-04", "P-32", "X-01", "X-03", "X-05", "X-07", "X-08", "X-10", "X-12", *FREEING, known=True
)
def deleter_needs_the_gil() -> None:
    """The deleter ends the process where the thread does not hold the GIL."""
    _deleter(library.delete_legacy_with_gil, library.delete_versioned_with_gil)


@defect("X-04", "P-32", "X-01", "X-03", "X-05", "X-07", "X-08", "X-10", "X-12", *FREEING)
def legacy_deleter_needs_the_gil() -> None:
    """The deleter of the legacy struct ends the process without the GIL."""
    _deleter(library.delete_legacy_with_gil, None, _is_legacy)


@defect("X-05", "X-08", known=True)
def deleter_needs_python() -> None:
    """The deleter is a Python function, which cannot run after the interpreter's end."""
    _deleter(_python_deleters[0], _python_deleters[1])


@defect("X-05", "X-08")
def versioned_deleter_needs_python() -> None:
    """The deleter of versioned exports is a Python function."""
    _deleter(None, _python_deleters[1], _is_versioned)


for _function in (library.delete_legacy, library.delete_versioned):
    _function.argtypes = [C.c_void_p]
_python_deleters = [
    Deleter(lambda managed: library.delete_legacy(managed)),
    Deleter(lambda managed: library.delete_versioned(managed)),
]


# Leaks -------------------------------------------------------------------------------------------


@defect("X-08", "X-01", known=True)
def exports_leak() -> None:
    """Every export allocates 64 KiB that its deleter does not free."""

    def fill(original: Any, export: Export) -> None:
        original(export)
        C.memset(malloc(1 << 16), 1, 1 << 16)

    change(producer, "fill", fill)


@defect("X-08")
def deleter_frees_no_struct() -> None:
    """The deleter drops the memory, and frees neither the struct nor its shape."""
    _deleter(library.delete_legacy_but_the_struct, library.delete_versioned_but_the_struct)


@defect("X-08")
def versioned_deleter_frees_no_struct() -> None:
    """The deleter of the versioned struct frees neither the struct nor its shape."""
    _deleter(None, library.delete_versioned_but_the_struct, _is_versioned)


def _hold_twice(export: Export) -> int:
    export.array.memory.hold()
    return export.array.memory.hold()


@defect("X-08")
def memory_never_freed_after_an_export() -> None:
    """The deleter does not drop the memory: it lives for ever once it was exported."""
    _keep(_hold_twice, lambda export: True)


@defect("X-08")
def memory_never_freed_after_a_legacy_export() -> None:
    """The legacy deleter does not drop the memory."""
    _keep(_hold_twice, _is_legacy)


@defect("X-08")
def memory_of_views_never_freed() -> None:
    """The deleter of a view does not drop the memory."""
    _keep(_hold_twice, lambda export: export.array.base is not None)


@defect("X-08")
def empty_arrays_leak() -> None:
    """The deleter of an array of size 0 does not drop the memory."""
    _keep(_hold_twice, lambda export: export.array.size == 0)


@defect("X-08")
def reference_leaked_by_exports() -> None:
    """Every export keeps a reference to the array object, which nothing drops."""
    kept: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        kept.append(array)
        return original(array, versioned, copied)

    change(producer, "build", build)


@defect("X-08")
def reference_leaked_by_read_only_exports() -> None:
    """Every export of read-only memory keeps a reference to the array object."""
    kept: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if array.readonly:
            kept.append(array)
        return original(array, versioned, copied)

    change(producer, "build", build)


@defect("X-08")
def reference_leaked_by_refusals() -> None:
    """An export that is refused keeps a reference to the array object."""
    kept: list[Array] = []

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        try:
            return original(array, **words)
        except BufferError:
            kept.append(array)
            raise

    change(producer, "dlpack", dlpack)


@defect("X-08")
def reference_leaked_by_copies() -> None:
    """copy=True keeps a reference to the source."""
    kept: list[Array] = []

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if copied:
            kept.append(array)
        return original(array, versioned, copied)

    change(producer, "build", build)


# What dies too early -----------------------------------------------------------------------------


def _reuse_memory(where: Callable[[Array], bool]) -> None:
    """Overwrites the memory of the factory's arrays when they die, as a reuse of it would."""

    def make(original: Any, *arguments: Any, **keywords: Any) -> Array:
        result: Array = original(*arguments, **keywords)
        result.is_own = True  # type: ignore[attr-defined]
        return result

    def forget(self: Array) -> None:
        if getattr(self, "is_own", False) and where(self):
            C.memset(self.data, 0xEE, self.nbytes)

    change(target, "make", make)
    Array.__del__ = forget  # type: ignore[attr-defined]


@defect("X-07", "P-24", "P-38", "P-03", "P-44", known=True)
def memory_dies_with_the_source() -> None:
    """The memory is freed, and reused, with the array object, although exports live."""
    _reuse_memory(lambda array: True)


@defect("X-07", "P-03", "P-44")
def memory_of_legacy_exports_dies() -> None:
    """The memory is freed, and reused, with the array object where it was exported as legacy."""

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        if not versioned and not copied:
            array.is_legacy = True  # type: ignore[attr-defined]
        return original(array, versioned, copied)

    change(producer, "build", build)
    _reuse_memory(lambda array: hasattr(array, "is_legacy"))


@defect("X-07", "P-38")
def views_do_not_keep_the_memory() -> None:
    """The memory is freed, and reused, with the base where only an export of a view lives."""

    def build(original: Any, array: Array, versioned: bool, copied: bool) -> Any:
        base = array.base
        if base is not None and not copied:
            base.is_shared = True  # type: ignore[attr-defined]
        return original(array, versioned, copied)

    change(producer, "build", build)
    _reuse_memory(lambda array: hasattr(array, "is_shared"))


@defect("X-07", "X-08", "P-11", "P-13", "P-38")
def shape_dies_with_the_source() -> None:
    """Shape and strides are those of the array object, and are freed with it."""
    _extents_in_the_array(lambda export: True)


@defect("X-07", "X-08", "P-11", "P-13", "P-38")
def legacy_shape_dies_with_the_source() -> None:
    """Shape and strides of the legacy struct are those of the array object."""
    _extents_in_the_array(_is_legacy)


@defect("X-07", "X-08", "P-38", "P-13")
def strides_die_with_the_source() -> None:
    """The strides are those of the array object, and are freed with it; the shape is not."""
    _extents_in_the_array(lambda export: True, shape=False)


def _extents_in_the_array(where: Callable[[Export], bool], shape: bool = True) -> None:
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


@defect("X-07", "P-32")
def extents_in_a_static_buffer() -> None:
    """Shape and strides are in one static buffer, which the next export overwrites."""
    room = malloc(16 * 64)

    def fill(original: Any, export: Export) -> None:
        original(export)
        array, tensor = export.array, export.managed.tensor
        tensor.shape, tensor.strides = room, room + 8 * array.ndim
        producer.write(room, array.shape + array.strides)

    change(producer, "fill", fill)


# Pickles and copies of the object ----------------------------------------------------------------


@defect("X-11", known=True)
def pickles_addresses() -> None:
    """A pickle contains the address of the memory."""

    def reduce(original: Any, self: Array) -> Any:
        return _revived, (self.data, self.shape, self.strides, self.dtype)

    change(Array, "__reduce__", reduce)


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
