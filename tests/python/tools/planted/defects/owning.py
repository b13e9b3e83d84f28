# SPDX-License-Identifier: BSD-3-Clause
"""Defects in what from_dlpack owns: refusals, deleters, views of the result, its re-export."""

from __future__ import annotations

import ctypes as C
import itertools
from typing import Any, Callable

from dlbridge.tools.structs import READ_ONLY
from planted import array as arrays
from planted import consumer, elements, producer
from planted.array import Array, row_major
from planted.native import LEGACY, STRUCTS, Deleter, Memory, Waiting, malloc
from planted.planting import change, defect, instead_of, through
from planted.producer import Export
from planted.spoiling import spoil

# Refusals ----------------------------------------------------------------------------------------


def _leak_refused(where: Callable[[Any], Any]) -> None:
    """Never frees a refused managed tensor, where a condition holds."""

    def refuse(original: Any, managed: Any, memory: Memory) -> None:
        if where(managed):
            memory.hold()
        original(managed, memory)

    change(consumer, "refuse", refuse)


def _free_refused_twice(where: Callable[[Any], Any]) -> None:
    """Calls the deleter of a refused managed tensor a second time."""

    def refuse(original: Any, managed: Any, memory: Memory) -> None:
        deleter = managed.deleter if where(managed) else None
        original(managed, memory)
        if deleter:
            Deleter(deleter)(C.addressof(managed))

    change(consumer, "refuse", refuse)


def _is_legacy(managed: Any) -> bool:
    return isinstance(managed, STRUCTS[LEGACY])


def _is_major_2(managed: Any) -> bool:
    return not _is_legacy(managed) and managed.version.major != 1


@defect("C-04", known=True)
def major_2_leaks() -> None:
    """A tensor of major version 2 is refused and never freed."""
    _leak_refused(_is_major_2)


@defect("C-04")
def major_2_freed_twice() -> None:
    """A tensor of major version 2 is refused and freed twice."""
    _free_refused_twice(_is_major_2)


@defect("C-21", "C-07")
def refused_device_leaks() -> None:
    """A tensor of an unsupported device is never freed."""
    _leak_refused(lambda managed: managed.tensor.device.type != 1)


@defect("C-21")
@through(_leak_refused)
def refused_element_type_leaks(managed: Any) -> bool:
    """A tensor of an unsupported element type is never freed."""
    dtype, device = managed.tensor.dtype, managed.tensor.device
    return (dtype.code, dtype.bits) not in elements.BY_DLPACK and device.type == 1


@defect("C-21")
def refused_legacy_leaks() -> None:
    """A legacy tensor that is refused is never freed."""
    _leak_refused(_is_legacy)


@defect("C-21", "C-07")
def refused_tensors_freed_twice() -> None:
    """A permitted tensor that is refused is freed twice."""
    _free_refused_twice(lambda managed: not _is_major_2(managed))


@defect("C-21")
def second_refusal_leaks() -> None:
    """Of several refused tensors, only the first is freed."""
    count = itertools.count()
    _leak_refused(lambda managed: next(count))


@defect("C-22")
@through(_leak_refused)
def negative_extents_leak(managed: Any) -> bool:
    """A tensor with a negative extent is refused and never freed."""
    shape, ndim = managed.tensor.shape, managed.tensor.ndim
    return bool(shape) and 0 < ndim < 64 and min(consumer.extents(shape, ndim)) < 0


@defect("C-22")
@through(_free_refused_twice)
def null_shape_freed_twice(managed: Any) -> bool:
    """A tensor whose shape is NULL is refused and freed twice."""
    return not _is_major_2(managed) and managed.tensor.ndim > 0 and not managed.tensor.shape


# Deleters ----------------------------------------------------------------------------------------


def _never_free(where: Callable[[Any], Any], release: int = 0) -> None:
    """Does not call the deleter where a condition on the managed tensor holds."""

    def own(original: Any, managed: Any, address: int) -> Any:
        return Memory(address, release) if where(managed) else original(managed, address)

    change(consumer, "own", own)


@defect("C-07", "*")
@instead_of(consumer, "own")
def dropped_tensors_wait_for_500_others(original: Any, managed: Any, address: int) -> Any:
    """A dropped tensor is freed when 500 others were dropped."""
    Waiting.most = 500
    return Waiting(address, managed.deleter or 0)


@defect("C-07")
def legacy_never_freed() -> None:
    """The deleter of legacy tensors is never called."""
    _never_free(_is_legacy)


@defect("C-07")
def empty_tensors_never_freed() -> None:
    """The deleter of tensors whose data is NULL is never called."""
    _never_free(lambda managed: not _is_major_2(managed) and not managed.tensor.data)


@defect("C-07")
def read_only_tensors_never_freed() -> None:
    """The deleter of read-only tensors is never called."""
    _never_free(lambda managed: not _is_legacy(managed) and managed.flags & READ_ONLY)


@defect("C-07")
def int16_never_freed() -> None:
    """The deleter of tensors of int16 is never called."""
    _never_free(lambda managed: (managed.tensor.dtype.code, managed.tensor.dtype.bits) == (0, 16))


@defect("C-07")
@through(_never_free)
def large_tensors_never_freed(managed: Any) -> bool:
    """The deleter of tensors with an extent of more than 100 is never called."""
    tensor = managed.tensor
    return tensor.ndim == 2 and max(consumer.extents(tensor.shape, tensor.ndim)) > 100


@defect("C-07", "S-14", known=True)
@instead_of(consumer, "read")
def freed_early(original: Any, managed: Any, name: bytes, memory: Memory) -> Any:
    """The deleter is called while the memory is in use."""
    array: Array = original(managed, name, memory)
    memory.release()
    array.memory = Memory(0, 0)
    return array


@defect("C-07")
def freed_with_the_first_view() -> None:
    """The deleter is called when a view of the result dies, although the result lives."""

    def forget(self: Array) -> None:
        if hasattr(self.memory, "imported") and self.base is not None:
            self.memory.release()

    _remember_imports()
    Array.__del__ = forget  # type: ignore[attr-defined]


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


@defect("X-06")
def null_deleter_of_legacy_called() -> None:
    """The NULL deleter of a legacy tensor is called."""
    _never_free(lambda managed: _is_legacy(managed) and not managed.deleter, release=8)


@defect("C-32")
@instead_of(consumer, "read")
def null_deleter_refused(original: Any, managed: Any, name: bytes, memory: Memory) -> Any:
    """A tensor with a NULL deleter is refused."""
    if not managed.deleter:
        raise BufferError("the tensor has no deleter")
    return original(managed, name, memory)


@defect("X-08")
@instead_of(consumer, "read")
def imports_leak(original: Any, managed: Any, name: bytes, memory: Memory) -> Any:
    """Every import leaves 16 KiB behind."""
    C.memset(malloc(1 << 14), 1, 1 << 14)
    return original(managed, name, memory)


def _keep(function: str) -> None:
    """Keeps references to the first arguments of a function."""
    kept: list[Any] = []

    def keep(original: Any, *arguments: Any) -> Any:
        kept.append(arguments[0])
        return original(*arguments)

    change(consumer, function, keep)


@defect("X-08", "C-07")
def producers_are_kept() -> None:
    """Every import keeps a reference to the producer, which nothing drops."""
    _keep("call")


@defect("X-08")
def capsules_are_kept() -> None:
    """Every import keeps a reference to the capsule, which nothing drops."""
    _keep("take")


# Views of the result -----------------------------------------------------------------------------


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
@instead_of(arrays, "share")
def views_are_writable(original: Any, array: Array, *layout: Any) -> Any:
    """A view of read-only memory is writable."""
    result: Array = original(array, *layout)
    result.readonly = False
    return result


# The re-export of the result ---------------------------------------------------------------------


def _remember_imports() -> None:
    """Notes the managed tensor in the memory of an imported array."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Any:
        memory.imported = managed  # type: ignore[attr-defined]
        return original(managed, name, memory)

    change(consumer, "read", read)


def _spoil_imports(function: Callable[[Export, Any], None]) -> None:
    """Spoils the exports of imported arrays, and of views of them."""
    _remember_imports()
    spoil(function, lambda export: hasattr(export.array.memory, "imported"))


@defect("C-13", "P-22")
@through(_spoil_imports)
def re_export_loses_read_only(export: Export, tensor: Any) -> None:
    """The versioned export of an imported read-only array is not marked READ_ONLY."""
    if export.versioned:
        export.managed.flags &= ~READ_ONLY


@defect("C-30")
@through(_spoil_imports)
def re_export_forgets_the_offset(export: Export, tensor: Any) -> None:
    """An imported array is exported with the data pointer of the imported tensor alone."""
    if export.array.size:
        tensor.data = export.array.memory.imported.tensor.data  # type: ignore[attr-defined]


@defect("C-30")
@through(_spoil_imports)
def re_export_as_compact(export: Export, tensor: Any) -> None:
    """An imported array is exported with the strides of a compact one."""
    producer.write(tensor.strides, row_major(export.array.shape))


@defect("C-30")
@through(_spoil_imports)
def re_export_of_bool_as_uint8(export: Export, tensor: Any) -> None:
    """Imported booleans are exported as uint8."""
    if tensor.dtype.code == 6:
        tensor.dtype.code = 1


@defect("C-30")
@through(_spoil_imports)
def re_export_with_another_device(export: Export, tensor: Any) -> None:
    """An imported array is exported as pinned memory."""
    tensor.device.type = 3


@defect("C-30", "C-07")
def re_export_keeps_nothing() -> None:
    """The export of an imported array does not keep the imported tensor."""

    def keep(original: Any, export: Export) -> Any:
        is_wrong = hasattr(export.array.memory, "imported") and not export.copied
        return Memory(0, 0).hold() if is_wrong else original(export)

    _remember_imports()
    change(producer, "keep", keep)


@defect("C-30")
def re_export_twice_from_one_owner() -> None:
    """Each export of an imported array ends the array's own hold of the tensor."""

    def keep(original: Any, export: Export) -> Any:
        block = original(export)
        if hasattr(export.array.memory, "imported"):
            export.array.memory.release()
        return block

    _remember_imports()
    change(producer, "keep", keep)
