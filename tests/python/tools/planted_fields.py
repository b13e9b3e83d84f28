"""Defects of managed tensors: wrong fields, what they keep, what they leave, their deleters."""

from __future__ import annotations

import ctypes as C
import struct
import threading
from typing import Any, Callable

from planted_array import (
    DELETERS,
    SPOILED,
    Managed,
    Memory,
    Request,
    allocate,
    forever,
    live,
    release,
    row_major,
)

from dlbridge.tools import abi

# Fields that are wrong ----------------------------------------------------------------------------


def _shift(managed: Managed, elements: int) -> None:
    tensor = managed.struct.tensor
    if tensor.data:
        tensor.data += elements * managed.x.itemsize


def _is_view(request: Request) -> bool:
    return bool(request.x.state.get("view"))


def _compact_views(managed: Managed, request: Request) -> None:
    x = managed.x
    if _is_view(request) and not request.copy:
        managed.describe(x.first, x.shape, row_major(x.shape))


def _base_pointer(managed: Managed, request: Request) -> None:
    if _is_view(request) and not request.copy and managed.x.size:
        managed.struct.tensor.data = managed.x.memory.first


def _wrong_transpose(managed: Managed, request: Request) -> None:
    x = managed.x
    if len(x.shape) == 2 and x.strides[0] == 1 and x.shape[1] > 1:
        managed.describe(x.first, x.shape[::-1], x.strides[::-1])


def _strides_in_bytes(managed: Managed, request: Request) -> None:
    x = managed.x
    managed.describe(x.first, x.shape, tuple(s * x.itemsize for s in x.strides))


def _flag(flag: int) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        if request.is_versioned:
            managed.struct.flags |= flag

    return spoil


def _unflag(flag: int, of_views: bool = False) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        if request.is_versioned and (not of_views or _is_view(request)):
            managed.struct.flags &= ~flag

    return spoil


def _version(make: Callable[[Any], tuple[int, int]]) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        if request.is_versioned:
            managed.struct.version = abi.Version(*make(request.version))

    return spoil


def _dtype(name: str, triple: tuple[int, int, int]) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        if managed.x.dtype == name:
            managed.struct.tensor.dtype = abi.DataType(*triple)

    return spoil


def _device(type_: int, index: int) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        managed.struct.tensor.device = abi.Device(type_, index)

    return spoil


def _sticky_copied(managed: Managed, request: Request) -> None:
    """Marks every export after a copy."""
    state = request.x.state
    if request.copy:
        state["copied"] = True
    if request.is_versioned and "copied" in state:
        managed.struct.flags |= abi.IS_COPIED


def _copy_marked_read_only(managed: Managed, request: Request) -> None:
    if request.copy and request.is_versioned:
        managed.struct.flags |= abi.READ_ONLY


def _lent_shape(managed: Managed, request: Request) -> None:
    """The shape is that of the array, and dies with it."""
    x = request.x
    if "extents" not in x.state and x.shape:
        x.state["extents"] = Memory(struct.pack(f"={len(x.shape)}q", *x.shape))
    if x.shape:
        managed.struct.tensor.shape = x.state["extents"].first
    managed.owner = managed.x.memory


def _lent_strides(managed: Managed, request: Request) -> None:
    x = managed.x
    if "steps" not in x.state and x.shape:
        x.state["steps"] = Memory(struct.pack(f"={len(x.shape)}q", *x.strides))
    if x.shape:
        managed.struct.tensor.strides = x.state["steps"].first
    managed.owner = x.memory


_one_shape = allocate(512)


def _static_shape(managed: Managed, request: Request) -> None:
    shape = managed.x.shape
    C.memmove(_one_shape, (C.c_int64 * len(shape))(*shape), 8 * len(shape))
    managed.struct.tensor.shape = _one_shape


def _keeps_nothing(kind: bool | None, what: str) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        is_it = {"view": _is_view(request), "copy": bool(request.copy), "all": True}[what]
        if is_it and kind in (None, request.is_versioned):
            managed.owner = None

    return spoil


def _permitted_offset(managed: Managed, request: Request) -> None:
    tensor = managed.struct.tensor
    if tensor.data:
        tensor.data, tensor.byte_offset = tensor.data - 256, 256


def _offset_twice(managed: Managed, request: Request) -> None:
    tensor = managed.struct.tensor
    if _is_view(request) and tensor.data:
        tensor.byte_offset = managed.x.first - managed.x.memory.first


def _huge_offset(managed: Managed, request: Request) -> None:
    managed.struct.tensor.byte_offset = 1 << 40


def _no_strides(managed: Managed, request: Request) -> None:
    if managed.x.strides == row_major(managed.x.shape):
        managed.struct.tensor.strides = None


def _no_strides_old(managed: Managed, request: Request) -> None:
    _no_strides(managed, request)
    if request.is_versioned:
        managed.struct.version = abi.Version(1, 1)


def _rank_0_as_vector(managed: Managed, request: Request) -> None:
    if not managed.x.shape:
        managed.describe(managed.x.first, (1,), (1,))


def _size_0_wrong(managed: Managed, request: Request) -> None:
    if managed.x.size == 0:
        managed.describe(None, (0,), (1,))


def _data_of_empty(managed: Managed, request: Request) -> None:
    managed.struct.tensor.data = managed.x.memory.first


def _stale(managed: Managed, request: Request) -> None:
    """Shows the numbers of the first export."""
    x = request.x
    frozen = x.state.setdefault("frozen", x.copied())
    managed.describe(frozen.first, frozen.shape, frozen.strides)
    managed.owner = (x, frozen)


def _leaks_reference(managed: Managed, request: Request) -> None:
    forever.append(request.x)


def _leaks_memory(size: int) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        allocate(size)

    return spoil


def _leaks_copies(managed: Managed, request: Request) -> None:
    if request.copy:
        forever.append(managed.owner)


def _leaks_views(managed: Managed, request: Request) -> None:
    if _is_view(request):
        forever.append(managed.x.memory)


SPOILED.update(
    {
        "views_compact": _compact_views,
        "views_of_base": _base_pointer,
        "one_element_off": lambda managed, request: _shift(managed, 1),
        "one_before": lambda managed, request: _shift(managed, -1),
        "transposed_wrongly": _wrong_transpose,
        "strides_in_bytes": _strides_in_bytes,
        "reserved_flags": _flag(1 << 20),
        "copied_on_shared": _flag(abi.IS_COPIED),
        "read_only_on_writable": _flag(abi.READ_ONLY),
        "copied_missing": _unflag(abi.IS_COPIED),
        "copied_sticks": _sticky_copied,
        "read_only_missing": _unflag(abi.READ_ONLY),
        "read_only_lost_on_views": _unflag(abi.READ_ONLY, of_views=True),
        "copy_read_only": _copy_marked_read_only,
        "absurd_minor": _version(lambda asked: (1, 4711)),
        "echoed_version": _version(lambda asked: asked),
        "double_as_float": _dtype("float64", (2, 32, 1)),
        "uint8_as_int8": _dtype("uint8", (0, 8, 1)),
        "complex_by_part": _dtype("complex64", (5, 32, 1)),
        "bool_as_uint8": _dtype("bool", (1, 8, 1)),
        "no_lanes": _dtype("float32", (2, 32, 0)),
        "capsule_on_cuda": _device(2, 0),
        "capsule_pinned": _device(3, 0),
        "capsule_index_1": _device(1, 1),
        "shape_lent": _lent_shape,
        "strides_lent": _lent_strides,
        "shape_static": _static_shape,
        "legacy_keeps_nothing": _keeps_nothing(False, "all"),
        "versioned_keeps_nothing": _keeps_nothing(True, "all"),
        "views_keep_nothing": _keeps_nothing(None, "view"),
        "copies_keep_nothing": _keeps_nothing(None, "copy"),
        "offset_twice": _offset_twice,
        "huge_offset": _huge_offset,
        "no_strides": _no_strides,
        "rank_0_as_vector": _rank_0_as_vector,
        "size_0_wrong": _size_0_wrong,
        "data_of_empty": _data_of_empty,
        "stale": _stale,
        "reference_leaked": _leaks_reference,
        "memory_leaked": _leaks_memory(24),
        "much_memory_leaked": _leaks_memory(1 << 18),
        "copies_leaked": _leaks_copies,
        "views_leaked": _leaks_views,
        "permitted_offset": _permitted_offset,
        "permitted_no_strides": _no_strides_old,
        "permitted_minor_0": _version(lambda asked: (1, 0)),
        "permitted_newer_minor": _version(lambda asked: (1, 4)),
    }
)


# Deleters; True: nothing else is to be freed ------------------------------------------------------


def _free_struct_only(managed: Managed) -> bool:
    forever.append(managed.owner)
    release(managed.address, managed.size)
    return True


def _never_drop(managed: Managed) -> bool:
    forever.append(managed.owner)
    return False


_creator = threading.get_ident()


def _own_thread_only(managed: Managed) -> bool:
    if threading.get_ident() == _creator:
        return False
    live[managed.address] = managed
    return True


def _free_newest(managed: Managed) -> bool:
    """Frees the tensor that was created last, whichever it is asked to free."""
    if not live:
        return False
    newest = next(reversed(live.values()))
    if newest.planted != managed.planted or newest.name != managed.name:
        return False
    del live[newest.address]
    live[managed.address] = managed
    newest.owner = None
    release(newest.address, newest.size)
    return True


DELETERS.update(
    {
        "struct_only": _free_struct_only,
        "never_dropped": _never_drop,
        "own_thread_only": _own_thread_only,
        "frees_newest": _free_newest,
    }
)
