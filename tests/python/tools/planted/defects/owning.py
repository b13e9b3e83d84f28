# SPDX-License-Identifier: BSD-3-Clause
"""Defects in what from_dlpack owns: refusals, deleters, views of the result, its re-export."""

from __future__ import annotations

import ctypes as C
from typing import Any, Callable

from dlbridge.tools.structs import READ_ONLY
from planted import array as arrays
from planted import consumer, elements, producer
from planted.array import Array, row_major
from planted.native import LEGACY, STRUCTS, VERSIONED, Deleter, Memory, Waiting, malloc
from planted.planting import change, defect
from planted.producer import Export

# Refusals ----------------------------------------------------------------------------------------


def _leak_refused(where: Callable[[Any], bool]) -> None:
    """Never frees a refused tensor: `where` gets its DLTensor."""

    def refuse(original: Any, managed: Any, memory: Memory) -> None:
        if where(managed.tensor):
            memory.hold()
        original(managed, memory)

    change(consumer, "refuse", refuse)


def _is_major_2(managed: Any) -> bool:
    return isinstance(managed, STRUCTS[VERSIONED]) and managed.version.major != 1


def _free_refused_twice(where: Callable[[Any], bool]) -> None:
    """Calls the deleter of a refused managed tensor a second time."""

    def refuse(original: Any, managed: Any, memory: Memory) -> None:
        deleter = managed.deleter if where(managed) else None
        original(managed, memory)
        if deleter:
            Deleter(deleter)(C.addressof(managed))

    change(consumer, "refuse", refuse)


@defect("C-04", known=True)
def major_2_leaks() -> None:
    """A tensor of major version 2 is refused and never freed."""

    def refuse(original: Any, managed: Any, memory: Memory) -> None:
        if _is_major_2(managed):
            memory.hold()
        original(managed, memory)

    change(consumer, "refuse", refuse)


@defect("C-04")
def major_2_freed_twice() -> None:
    """A tensor of major version 2 is refused and freed twice."""
    _free_refused_twice(_is_major_2)


@defect("C-21", "C-04", "C-07", known=True)
def refused_after_renaming() -> None:
    """A refused tensor is never freed, as its capsule was renamed."""
    change(consumer, "refuse", lambda original, managed, memory: (memory.hold(), None)[1])


@defect("C-21", "C-07")
def refused_device_leaks() -> None:
    """A tensor of an unsupported device is never freed."""
    _leak_refused(lambda tensor: tensor.device.type != 1)


@defect("C-21")
def refused_element_type_leaks() -> None:
    """A tensor of an unsupported element type is never freed."""
    _leak_refused(
        lambda tensor: (
            (tensor.dtype.code, tensor.dtype.bits) not in elements.BY_DLPACK
            and tensor.device.type == 1
        )
    )


@defect("C-21")
def refused_lanes_leak() -> None:
    """A tensor of several lanes is never freed."""
    _leak_refused(lambda tensor: tensor.dtype.lanes > 1)


@defect("C-21")
def refused_rank_leaks() -> None:
    """A tensor of more than 64 dimensions is never freed."""
    _leak_refused(lambda tensor: tensor.ndim > consumer.MOST_DIMENSIONS)


@defect("C-21")
def refused_legacy_leaks() -> None:
    """A legacy tensor that is refused is never freed."""

    def refuse(original: Any, managed: Any, memory: Memory) -> None:
        if isinstance(managed, STRUCTS[LEGACY]):
            memory.hold()
        original(managed, memory)

    change(consumer, "refuse", refuse)


@defect("C-21", "C-07")
def refused_tensors_freed_twice() -> None:
    """A permitted tensor that is refused is freed twice."""
    _free_refused_twice(lambda managed: not _is_major_2(managed))


@defect("C-21")
def refused_legacy_freed_twice() -> None:
    """A legacy tensor of an unsupported element type is freed twice."""
    _free_refused_twice(
        lambda managed: (
            isinstance(managed, STRUCTS[LEGACY])
            and (managed.tensor.dtype.code, managed.tensor.dtype.bits) not in elements.BY_DLPACK
        )
    )


@defect("C-21")
def second_refusal_leaks() -> None:
    """Of several refused tensors, only the first is freed."""
    count: list[int] = []

    def refuse(original: Any, managed: Any, memory: Memory) -> None:
        count.append(1)
        if len(count) > 1:
            memory.hold()
        original(managed, memory)

    change(consumer, "refuse", refuse)


@defect("C-22")
def negative_extents_leak() -> None:
    """A tensor with a negative extent is refused and never freed."""
    _leak_refused(
        lambda tensor: (
            0 < tensor.ndim < 64
            and bool(tensor.shape)
            and min(consumer.extents(tensor.shape, tensor.ndim)) < 0
        )
    )


@defect("C-22")
def invalid_ndim_leaks() -> None:
    """A tensor with a negative ndim is refused and never freed."""
    _leak_refused(lambda tensor: tensor.ndim < 0)


@defect("C-22")
def null_shape_freed_twice() -> None:
    """A tensor whose shape is NULL is refused and freed twice."""
    _free_refused_twice(
        lambda managed: (
            not _is_major_2(managed) and managed.tensor.ndim > 0 and not managed.tensor.shape
        )
    )


# Deleters ----------------------------------------------------------------------------------------


def _own(wrong: Callable[[Any, int], Memory | None]) -> None:
    """Replaces the owner of a tensor; None: the original one."""

    def own(original: Any, managed: Any, address: int) -> Memory:
        return wrong(managed, address) or original(managed, address)

    change(consumer, "own", own)


@defect("C-07", "*")
def dropped_tensors_wait_for_500_others() -> None:
    """A dropped tensor is freed when 500 others were dropped."""
    Waiting.most = 500
    change(
        consumer,
        "own",
        lambda original, managed, address: Waiting(address, managed.deleter or 0),
    )


@defect("C-07", "C-04", "C-21", known=True)
def never_freed() -> None:
    """The deleter is never called."""
    _own(lambda managed, address: Memory(address, 0))


@defect("C-07")
def legacy_never_freed() -> None:
    """The deleter of legacy tensors is never called."""
    _own(
        lambda managed, address: (
            Memory(address, 0) if isinstance(managed, STRUCTS[LEGACY]) else None
        )
    )


@defect("C-07")
def empty_tensors_never_freed() -> None:
    """The deleter of tensors whose data is NULL is never called."""
    _own(
        lambda managed, address: (
            Memory(address, 0) if not _is_major_2(managed) and not managed.tensor.data else None
        )
    )


@defect("C-07")
def read_only_tensors_never_freed() -> None:
    """The deleter of read-only tensors is never called."""
    _own(
        lambda managed, address: (
            Memory(address, 0)
            if isinstance(managed, STRUCTS[VERSIONED]) and managed.flags & READ_ONLY
            else None
        )
    )


@defect("C-07", "S-14", known=True)
def freed_early() -> None:
    """The deleter is called while the memory is in use."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        array: Array = original(managed, name, memory)
        memory.release()
        array.memory = Memory(0, 0)
        return array

    change(consumer, "read", read)


@defect("C-07")
def freed_with_the_first_view() -> None:
    """The deleter is called when a view of the result dies, although the result lives."""
    _release_with(lambda array: array.base is not None)


@defect("C-07")
def freed_twice() -> None:
    """The deleter is called when the result dies, and once more."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        array: Array = original(managed, name, memory)
        if managed.deleter:
            array.second = (managed.deleter, C.addressof(managed))  # type: ignore[attr-defined]
        return array

    def forget(self: Array) -> None:
        deleter, address = getattr(self, "second", (0, 0))
        if deleter:
            self.memory.release()
            Deleter(deleter)(address)

    change(consumer, "read", read)
    Array.__del__ = forget  # type: ignore[attr-defined]


def _release_with(where: Callable[[Array], bool]) -> None:
    """Releases imported memory with the first object that fulfils a condition."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        array: Array = original(managed, name, memory)
        memory.is_imported = True  # type: ignore[attr-defined]
        return array

    def forget(self: Array) -> None:
        if hasattr(self.memory, "is_imported") and where(self):
            self.memory.release()

    change(consumer, "read", read)
    Array.__del__ = forget  # type: ignore[attr-defined]


@defect("X-06", known=True)
def null_deleter_called() -> None:
    """A NULL deleter is called."""
    _own(lambda managed, address: None if managed.deleter else Memory(address, 8))


@defect("X-06")
def null_deleter_of_legacy_called() -> None:
    """The NULL deleter of a legacy tensor is called."""
    _own(
        lambda managed, address: (
            None
            if managed.deleter or isinstance(managed, STRUCTS[VERSIONED])
            else Memory(address, 8)
        )
    )


@defect("C-32")
def null_deleter_refused() -> None:
    """A tensor with a NULL deleter is refused."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        if not managed.deleter:
            raise BufferError("the tensor has no deleter")
        result: Array = original(managed, name, memory)
        return result

    change(consumer, "read", read)


@defect("X-08")
def imports_leak() -> None:
    """Every import leaves 16 KiB behind."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        C.memset(malloc(1 << 14), 1, 1 << 14)
        result: Array = original(managed, name, memory)
        return result

    change(consumer, "read", read)


@defect("X-08", "C-07")
def producers_are_kept() -> None:
    """Every import keeps a reference to the producer, which nothing drops."""
    kept: list[Any] = []

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        kept.append(x)
        return original(x, words)

    change(consumer, "call", call)


@defect("X-08")
def capsules_are_kept() -> None:
    """Every import keeps a reference to the capsule, which nothing drops."""
    kept: list[Any] = []

    def take(original: Any, capsule: Any) -> Array:
        kept.append(capsule)
        result: Array = original(capsule)
        return result

    change(consumer, "take", take)


# Views of the result -----------------------------------------------------------------------------


@defect("C-29")
def views_do_not_keep_the_import() -> None:
    """A view of an imported array does not keep its memory."""

    def share(original: Any, array: Array, *layout: Any) -> Array:
        result: Array = original(array, *layout)
        result.base, result.is_view = None, True  # type: ignore[attr-defined]
        return result

    change(arrays, "share", share)
    _release_with(lambda array: not hasattr(array, "is_view"))


@defect("C-29")
def transposed_does_not_keep_the_import() -> None:
    """A transposed array of an imported one does not keep its memory."""
    _forget_memory("transpose")


@defect("C-29")
def slices_do_not_keep_the_import() -> None:
    """A slice of an imported array does not keep its memory."""
    _forget_memory("__getitem__")


def _forget_memory(method: str) -> None:
    def without_memory(original: Any, self: Array, *arguments: Any) -> Any:
        result = original(self, *arguments)
        if isinstance(result, Array):
            result.memory, result.base = Memory(0, 0), None
        return result

    change(Array, method, without_memory)


@defect("C-13", "P-22")
def views_are_writable() -> None:
    """A view of read-only memory is writable."""

    def share(original: Any, array: Array, *layout: Any) -> Array:
        result: Array = original(array, *layout)
        result.readonly = False
        return result

    change(arrays, "share", share)


@defect("C-13")
def transposed_imports_are_writable() -> None:
    """A transposed array of an imported read-only one is writable."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        array: Array = original(managed, name, memory)
        array.is_imported = True  # type: ignore[attr-defined]
        return array

    def transpose(original: Any, self: Array) -> Array:
        result: Array = original(self)
        result.readonly = self.readonly and not hasattr(self, "is_imported")
        return result

    change(consumer, "read", read)
    change(Array, "transpose", transpose)


# The re-export of the result ---------------------------------------------------------------------


def _spoil_imports(function: Callable[[Export, Any], None]) -> None:
    """Spoils the exports of imported arrays, and of views of them."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        array: Array = original(managed, name, memory)
        memory.imported = managed  # type: ignore[attr-defined]
        return array

    def fill(original: Any, export: Export) -> None:
        original(export)
        if hasattr(export.array.memory, "imported"):
            function(export, export.managed.tensor)

    change(consumer, "read", read)
    change(producer, "fill", fill)


@defect("C-13", "P-22")
def re_export_loses_read_only() -> None:
    """The versioned export of an imported read-only array is not marked READ_ONLY."""

    def clear(export: Export, tensor: Any) -> None:
        if export.versioned:
            export.managed.flags &= ~READ_ONLY

    _spoil_imports(clear)


@defect("C-30")
def re_export_forgets_the_offset() -> None:
    """An imported array is exported with the data pointer of the imported tensor alone."""

    def forget(export: Export, tensor: Any) -> None:
        if export.array.size:
            tensor.data = export.array.memory.imported.tensor.data  # type: ignore[attr-defined]

    _spoil_imports(forget)


@defect("C-30")
def re_export_as_compact() -> None:
    """An imported array is exported with the strides of a compact one."""
    _spoil_imports(
        lambda export, tensor: producer.write(tensor.strides, row_major(export.array.shape))
    )


@defect("C-30")
def re_export_as_float32() -> None:
    """An imported array is exported as float32, whatever its element type is."""

    def write(export: Export, tensor: Any) -> None:
        tensor.dtype.code, tensor.dtype.bits = 2, 32

    _spoil_imports(write)


@defect("C-30")
def re_export_of_bool_as_uint8() -> None:
    """Imported booleans are exported as uint8."""

    def write(export: Export, tensor: Any) -> None:
        if tensor.dtype.code == 6:
            tensor.dtype.code = 1

    _spoil_imports(write)


@defect("C-30")
def re_export_with_another_device() -> None:
    """An imported array is exported as pinned memory."""

    def write(export: Export, tensor: Any) -> None:
        tensor.device.type = 3

    _spoil_imports(write)


@defect("C-30", "C-07")
def re_export_keeps_nothing() -> None:
    """The export of an imported array does not keep the imported tensor."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        array: Array = original(managed, name, memory)
        memory.is_imported = True  # type: ignore[attr-defined]
        return array

    def keep(original: Any, export: Export) -> int:
        if hasattr(export.array.memory, "is_imported") and not export.copied:
            return Memory(0, 0).hold()
        return int(original(export))

    change(consumer, "read", read)
    change(producer, "keep", keep)


@defect("C-30")
def re_export_twice_from_one_owner() -> None:
    """Each export of an imported array ends the array's own hold of the tensor."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Array:
        array: Array = original(managed, name, memory)
        memory.is_imported = True  # type: ignore[attr-defined]
        return array

    def keep(original: Any, export: Export) -> int:
        block = int(original(export))
        memory = export.array.memory
        if hasattr(memory, "is_imported"):
            memory.release()
        return block

    change(consumer, "read", read)
    change(producer, "keep", keep)
