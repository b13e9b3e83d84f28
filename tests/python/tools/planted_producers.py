"""A producer in pure Python with planted defects, and with permitted differences.

The target "planted_producers:PLANTED.NAME" has one of them; "planted_producers:PLANTED.sound" has
none. Memory, structs and extents come from malloc, and are overwritten before they are freed, so
that a late read shows.
"""

from __future__ import annotations

import ctypes as C
import enum
import itertools
import math
import struct
import threading
from collections.abc import Iterator
from typing import Any, Callable

from dlbridge.tools import abi
from dlbridge.tools.conformance.child import run_probe
from dlbridge.tools.conformance.helpers import memory
from dlbridge.tools.conformance.probes import in_order

_libc = C.CDLL(None)
_libc.malloc.restype, _libc.malloc.argtypes = C.c_void_p, [C.c_size_t]
_libc.free.restype, _libc.free.argtypes = None, [C.c_void_p]
DTYPES = {
    "float32": ((2, 32, 1), "f"),
    "float64": ((2, 64, 1), "d"),
    "int8": ((0, 8, 1), "b"),
    "int64": ((0, 64, 1), "q"),
    "uint8": ((1, 8, 1), "B"),
    "bool": ((6, 8, 1), "?"),
    "complex64": ((5, 64, 1), "ff"),
}
CPU = (1, 0)
VERSION = (1, 2)
FREED = 0xEE


class Kind(enum.Enum):
    CPU = 1


def allocate(size: int) -> int:
    return int(_libc.malloc(max(1, size)))


def release(address: int, size: int) -> None:
    C.memset(address, FREED, size)
    _libc.free(address)


class Memory:
    """Memory of an array, freed with the last reference."""

    def __init__(self, content: bytes) -> None:
        self.size = len(content) + 64
        self.address = allocate(self.size)
        self.first = -(-self.address // 16) * 16
        C.memmove(self.first, content, len(content))

    def __del__(self) -> None:
        release(self.address, self.size)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


class Array:
    """Numbers in memory, with strides that count elements; `planted` names the defect."""

    def __init__(
        self,
        planted: str,
        memory: Memory,
        first: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: str,
        readonly: bool = False,
    ) -> None:
        self.planted, self.memory, self.first = planted, memory, first
        self.shape, self.strides, self.dtype, self.readonly = shape, strides, dtype, readonly
        self.state: dict[str, Any] = {}  # of defects that remember earlier exports

    @classmethod
    def new(cls, planted: str, shape: tuple[int, ...], dtype: str, readonly: bool = False) -> Array:
        form = DTYPES[dtype][1]
        size = math.prod(shape)
        numbers = itertools.chain.from_iterable(_number(i, dtype) for i in range(size))
        memory = Memory(struct.pack(f"={form * size}", *numbers))
        return cls(planted, memory, memory.first, shape, row_major(shape), dtype, readonly)

    @property
    def itemsize(self) -> int:
        return struct.calcsize("=" + DTYPES[self.dtype][1])

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, key: Any) -> Any:
        """Indexes with integers and slices: a view, or a number for integers alone."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if any(not isinstance(each, (int, slice)) for each in keys):
            raise TypeError("expected integers and slices")
        if len(keys) == len(self.shape) and all(isinstance(each, int) for each in keys):
            return self._number(tuple(keys))
        keys += [slice(None)] * (len(self.shape) - len(keys))
        first, shape, strides = self.first, [], []
        for each, extent, stride in zip(keys, self.shape, self.strides):
            if isinstance(each, int):
                first += range(extent)[each] * stride * self.itemsize
                continue
            start, stop, step = each.indices(extent)
            shape.append(len(range(start, stop, step)))
            strides.append(stride * step)
            first += start * stride * self.itemsize
        return self._view(first, tuple(shape), tuple(strides))

    def _view(self, first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        view = Array(self.planted, self.memory, first, shape, strides, self.dtype, self.readonly)
        view.state["view"] = True
        return view

    @property
    def T(self) -> Array:
        if len(self.shape) != 2:
            raise ValueError("expected two dimensions")
        return self._view(self.first, self.shape[::-1], self.strides[::-1])

    def _address(self, index: tuple[int, ...]) -> int:
        return self.first + self.itemsize * sum(i * s for i, s in zip(index, self.strides))

    def _number(self, index: tuple[int, ...]) -> Any:
        raw = C.string_at(self._address(index), self.itemsize)
        parts = struct.unpack("=" + DTYPES[self.dtype][1], raw)
        return parts[0] if len(parts) == 1 else complex(*parts)

    def __setitem__(self, index: tuple[int, ...], value: Any) -> None:
        if self.readonly:
            raise ValueError("the array is read-only")
        parts = (value, 0)[: len(DTYPES[self.dtype][1])]
        raw = struct.pack("=" + DTYPES[self.dtype][1], *parts)
        C.memmove(self._address(index), raw, self.itemsize)

    def tolist(self) -> Any:
        def part(index: tuple[int, ...]) -> Any:
            if len(index) == len(self.shape):
                return self._number(index)
            return [part((*index, i)) for i in range(self.shape[len(index)])]

        return part(())

    @property
    def __array_interface__(self) -> dict[str, Any]:
        letter = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}[DTYPES[self.dtype][0][0]]
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": f"={letter}{self.itemsize}",
            "data": (self.first, self.readonly),
            "strides": tuple(s * self.itemsize for s in self.strides),
        }

    def copied(self) -> Array:
        indices = itertools.product(*map(range, self.shape))
        memory = Memory(b"".join(C.string_at(self._address(i), self.itemsize) for i in indices))
        strides = row_major(self.shape)
        return Array(self.planted, memory, memory.first, self.shape, strides, self.dtype)

    # The protocol --------------------------------------------------------------------------------

    def __dlpack_device__(self) -> Any:
        return REPORTED.get(self.planted, CPU)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        request = Request(self, stream, max_version, dl_device, copy)
        BEFORE.get(self.planted, _checked)(request)
        if self.planted in REPLACED:
            return REPLACED[self.planted](request)
        return request.export()


def _number(i: int, dtype: str) -> tuple[Any, ...]:
    if dtype == "bool":
        return (i % 3 == 0,)
    if dtype == "uint8":
        return (255 - i % 100,)
    if dtype == "complex64":
        return (i % 100 + 1, -i % 100)
    return ((i % 100 + 1) * (-1 if i % 2 else 1),)


class Request:
    """One call of __dlpack__."""

    def __init__(self, x: Array, stream: Any, version: Any, device: Any, copy: Any) -> None:
        self.x, self.stream, self.version, self.device, self.copy = (
            x, stream, version, device, copy,
        )  # fmt: skip
        self.is_versioned = False

    def export(self) -> Any:
        x = self.x.copied() if self.copy else self.x
        managed = Managed(x, self.is_versioned, abi.IS_COPIED if self.copy else 0)
        planted = self.x.planted
        if planted in SPOILED:
            SPOILED[planted](managed, self)
        return managed.capsule()


def _checked(request: Request) -> None:
    x = request.x
    if request.stream is not None:
        raise ValueError(f"expected stream None; got {request.stream!r}")
    version = request.version
    if version is not None and not (
        isinstance(version, tuple) and [type(each) for each in version] == [int, int]
    ):
        raise TypeError(f"expected max_version as (major, minor); got {version!r}")
    request.is_versioned = version is not None and version[0] >= 1
    if request.device is not None:
        _check_device(request.device)
    if request.copy not in (None, True, False) or isinstance(request.copy, (int, float)) != (
        isinstance(request.copy, bool)
    ):
        raise TypeError(f"expected copy True, False or None; got {request.copy!r}")
    if x.readonly and not request.is_versioned and not request.copy:
        raise BufferError("a legacy capsule cannot mark read-only memory")


def _check_device(device: Any) -> None:
    if not isinstance(device, tuple) or len(device) != 2:
        raise TypeError(f"expected dl_device as (type, index); got {device!r}")
    type_ = device[0].value if isinstance(device[0], enum.Enum) else device[0]
    if not isinstance(type_, int):
        raise TypeError(f"expected a device type; got {device[0]!r}")
    if (type_, device[1]) != CPU:
        raise BufferError(f"expected {CPU}; got {device}")


# Managed tensors ----------------------------------------------------------------------------------

_live: dict[int, Managed] = {}  # by the address of the struct
_forever: list[Any] = []  # what defects never free
ROOM = 1024  # bytes for the extents


class Managed:
    """A struct with extents, in one block of memory."""

    def __init__(self, x: Array, is_versioned: bool, flags: int) -> None:
        self.owner: Any = x
        self.planted, self.dtype, self.itemsize = x.planted, x.dtype, x.itemsize
        self.name = abi.VERSIONED if is_versioned else abi.LEGACY
        self.kind = abi.STRUCTS[self.name]
        self.size = C.sizeof(self.kind) + ROOM
        self.address = allocate(self.size)
        C.memset(self.address, 0, self.size)
        self.struct = self.kind.from_address(self.address)
        self.extents = self.address + C.sizeof(self.kind)
        self.struct.deleter = C.cast(_delete, C.c_void_p)
        if is_versioned:
            self.struct.version = abi.Version(*VERSION)
            self.struct.flags = flags | (abi.READ_ONLY if x.readonly else 0)
        self.describe(x.first, x.shape, x.strides)
        tensor = self.struct.tensor
        tensor.device = abi.Device(*CPU)
        tensor.dtype = abi.DataType(*DTYPES[x.dtype][0])
        _live[self.address] = self

    def describe(self, first: int | None, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        tensor = self.struct.tensor
        tensor.data = first if 0 not in shape else None
        tensor.ndim = len(shape)
        tensor.shape, tensor.strides = self.extents, self.extents + 8 * len(shape)
        both = (*shape, *strides)
        C.memmove(self.extents, (C.c_int64 * len(both))(*both), 8 * len(both))

    @property
    def x(self) -> Array:
        """The array, as long as the tensor keeps it."""
        assert isinstance(self.owner, Array)
        return self.owner

    def capsule(self) -> Any:
        name = NAMES.get(self.planted, lambda managed: managed.name)(self)
        destructor = DESTRUCTORS.get(self.planted, _destroy)
        pointer = None if destructor is None else C.cast(destructor, C.c_void_p)
        return abi._new(self.address, abi._permanent(name), pointer)


def _free(address: int) -> None:
    managed = _live.pop(address, None)
    if managed is None:
        return
    if managed.planted in DELETERS and DELETERS[managed.planted](managed):
        return
    managed.owner = None
    release(address, managed.size)


def _destroy_named(capsule: int, times: int = 1) -> None:
    name = abi._name_at(capsule)
    if name is None or name.decode() not in abi.STRUCTS:
        return
    address = abi._pointer_at(capsule, name)
    struct_ = abi.STRUCTS[name.decode()].from_address(address)
    deleter = abi.Deleter(struct_.deleter)
    for _ in range(times):
        deleter(address)


def _destroy_blindly(capsule: int) -> None:
    name = abi._name_at(capsule) or b""
    address = abi._pointer_at(capsule, name)
    abi.Deleter(abi.STRUCTS[name.decode().replace("used_", "")].from_address(address).deleter)(
        address
    )


def _destroy_only_legacy_checked(capsule: int) -> None:
    name = abi._name_at(capsule) or b""
    if name.decode() == abi.USED[abi.LEGACY]:
        return
    _destroy_blindly(capsule)


_delete = abi.Deleter(_free)
_destroy = abi._Destructor(_destroy_named)
NAMES: dict[str, Callable[[Managed], str]] = {
    "named_v1": lambda managed: "dltensor_v1",
    "struct_of_other_name": lambda managed: (
        abi.LEGACY if managed.name == abi.VERSIONED else managed.name
    ),
}
DESTRUCTORS: dict[str, Any] = {
    "no_destructor": None,
    "destructor_twice": abi._Destructor(lambda capsule: _destroy_named(capsule, 2)),
    "destructor_blind": abi._Destructor(_destroy_blindly),
    "destructor_knows_legacy": abi._Destructor(_destroy_only_legacy_checked),
}

# The device ---------------------------------------------------------------------------------------


class Pair(tuple):  # type: ignore[type-arg]
    """A tuple with names, as some libraries return."""


REPORTED: dict[str, Any] = {
    "device_float": (1.0, 0),
    "device_text": ("1", "0"),
    "device_none": (1, None),
    "device_list": [1, 0],
    "device_three": (1, 0, 0),
    "device_zero": (0, 0),
    "device_negative": (1, -1),
    "device_other": (2, 0),
    "device_pinned": (3, 0),
    "device_index_1": (1, 1),
    "permitted_enum": (Kind.CPU, 0),
    "permitted_pair": Pair((1, 0)),
    "enum_refused": (enum.IntEnum("Type", {"CPU": 1}).CPU, 0),  # type: ignore[attr-defined]
}


# What a defect does -------------------------------------------------------------------------------


def _refuse_bare(request: Request) -> None:
    _checked(request)
    if request.version is None:
        raise BufferError("expected max_version (1, 0)")


def _refuse_copies(request: Request) -> None:
    _checked(request)
    if request.copy:
        raise BufferError("no copies")


def _no_copies_by_value_error(request: Request) -> None:
    _checked(request)
    if request.copy:
        raise ValueError("no copies")


def _refuse_copy_false(request: Request) -> None:
    _checked(request)
    if request.copy is False:
        raise BufferError("it may copy")


def _accept_minus_one(request: Request) -> None:
    if request.stream == -1:
        request.stream = None
    _checked(request)


def _always_legacy(request: Request) -> None:
    _checked(request)
    request.is_versioned = False


def _always_versioned(request: Request) -> None:
    _checked(request)
    request.is_versioned = True


def _copy_dropped_for_device(request: Request) -> None:
    _checked(request)
    if request.device is not None:
        request.copy = None


def _copy_dropped_for_version(request: Request) -> None:
    _checked(request)
    if request.is_versioned:
        request.copy = None


def _copy_dropped_for_legacy(request: Request) -> None:
    _checked(request)
    if not request.is_versioned:
        request.copy = None


def _copy_for_false(request: Request) -> None:
    _checked(request)
    if request.copy is False:
        request.copy = True


def _int_device_only(request: Request) -> None:
    if request.device is not None and type(request.device[0]) is not int:
        raise TypeError("expected integers")
    _checked(request)


def _none_is_odd(request: Request) -> None:
    """Takes an explicit max_version=None as a request of the newest version."""
    _checked(request)
    request.is_versioned = True


def _plus(action: Callable[[Request], None]) -> Callable[[Request], None]:
    def check(request: Request) -> None:
        _checked(request)
        action(request)

    return check


def _refuse_newer(request: Request) -> None:
    if request.version is not None and request.version > VERSION:
        raise BufferError("too new")


def _type_error_of_old(request: Request) -> None:
    if request.version is not None and request.version[0] == 0:
        raise TypeError("too old")


def _empties(request: Request) -> None:
    if request.x.size == 0:
        raise BufferError("nothing to export")


def _scalars(request: Request) -> None:
    if not request.x.shape:
        raise BufferError("no dimensions")


def _leak_on_refusal(request: Request) -> None:
    if request.device is not None and request.device != CPU:
        _forever.append(request.x)
    _checked(request)


def _leak_memory_on_refusal(request: Request) -> None:
    if request.device is not None and request.device != CPU:
        allocate(200)
    _checked(request)


def _ignore_device(request: Request) -> None:
    request.device = None
    _checked(request)


def _checked_writable(request: Request) -> None:
    readonly, request.x.readonly = request.x.readonly, False
    try:
        _checked(request)
    finally:
        request.x.readonly = readonly


def _unreachable(request: Request) -> None:
    try:
        _checked(request)
    except BufferError as error:
        raise ValueError(str(error)) from None


BEFORE: dict[str, Callable[[Request], None]] = {
    "permitted_no_bare": _refuse_bare,
    "permitted_no_copies": _refuse_copies,
    "permitted_no_copy_false": _refuse_copy_false,
    "permitted_minus_one": _accept_minus_one,
    "copies_by_value_error": _no_copies_by_value_error,
    "refusals_leak": _leak_on_refusal,
    "refusals_leak_memory": _leak_memory_on_refusal,
    "always_legacy": _always_legacy,
    "always_versioned": _always_versioned,
    "copy_dropped_for_device": _copy_dropped_for_device,
    "copy_dropped_for_version": _copy_dropped_for_version,
    "copy_dropped_for_legacy": _copy_dropped_for_legacy,
    "copy_for_false": _copy_for_false,
    "enum_refused": _int_device_only,
    "newer_refused": _plus(_refuse_newer),
    "older_type_error": _plus(_type_error_of_old),
    "empties_refused": _plus(_empties),
    "scalars_refused": _plus(_scalars),
    "device_ignored": _ignore_device,
    "read_only_in_legacy": _checked_writable,
    "unreachable_value_error": _unreachable,
}


# Exports that are not what was asked for ----------------------------------------------------------

_capsules: dict[Any, Any] = {}


def _cached_capsule(request: Request) -> Any:
    key = (request.x.memory.address, request.is_versioned, request.copy)
    if key not in _capsules:
        _capsules.clear()
        _capsules[key] = request.export()
    return _capsules[key]


def _cached_on_other_threads(request: Request) -> Any:
    if threading.current_thread() is threading.main_thread():
        return request.export()
    return _cached_capsule(request)


def _same_struct(request: Request) -> Any:
    state = request.x.state
    key = (request.is_versioned, request.copy)
    managed = state.get(key)
    if managed is None or managed.address not in _live:
        state[key] = Managed(request.x, request.is_versioned, 0)
    return state[key].capsule()


_shared_copies: dict[Any, Array] = {}


def _shared_copy(request: Request) -> Any:
    """Gives every copy the same memory."""
    x = request.x
    if not request.copy:
        return request.export()
    key = (x.first, x.shape, x.strides)
    if key not in _shared_copies:
        _shared_copies.clear()
        _shared_copies[key] = x.copied()
    return Managed(_shared_copies[key], request.is_versioned, abi.IS_COPIED).capsule()


def _silent_copy(request: Request) -> Any:
    return Managed(request.x.copied(), request.is_versioned, 0).capsule()


def _marked_copy(request: Request) -> Any:
    if request.copy is False:
        raise BufferError("it always copies")
    return Managed(request.x.copied(), request.is_versioned, abi.IS_COPIED).capsule()


def _cached_silent_copy(request: Request) -> Any:
    x = request.x
    if request.copy:
        return request.export()
    copied = x.state.setdefault("copy", x.copied())
    return Managed(copied, request.is_versioned, 0).capsule()


def _kind_sticks(request: Request) -> Any:
    """Once asked for a versioned capsule, it returns no other."""
    if request.is_versioned:
        request.x.state["versioned"] = True
    request.is_versioned = request.is_versioned or "versioned" in request.x.state
    return request.export()


REPLACED: dict[str, Callable[[Request], Any]] = {
    "capsule_cached": _cached_capsule,
    "capsule_cached_on_threads": _cached_on_other_threads,
    "same_struct": _same_struct,
    "shared_copies": _shared_copy,
    "silent_copy": _silent_copy,
    "permitted_marked_copy": _marked_copy,
    "cached_silent_copy": _cached_silent_copy,
    "kind_sticks": _kind_sticks,
    "returns_number": lambda request: 7,
}


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
    _forever.append(request.x)


def _leaks_memory(size: int) -> Callable[[Managed, Request], None]:
    def spoil(managed: Managed, request: Request) -> None:
        allocate(size)

    return spoil


def _leaks_copies(managed: Managed, request: Request) -> None:
    if request.copy:
        _forever.append(managed.owner)


def _leaks_views(managed: Managed, request: Request) -> None:
    if _is_view(request):
        _forever.append(managed.x.memory)


SPOILED: dict[str, Callable[[Managed, Request], None]] = {
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


# Deleters; True: nothing else is to be freed ------------------------------------------------------


def _free_struct_only(managed: Managed) -> bool:
    _forever.append(managed.owner)
    release(managed.address, managed.size)
    return True


def _never_drop(managed: Managed) -> bool:
    _forever.append(managed.owner)
    return False


_creator = threading.get_ident()


def _own_thread_only(managed: Managed) -> bool:
    if threading.get_ident() == _creator:
        return False
    _live[managed.address] = managed
    return True


def _free_newest(managed: Managed) -> bool:
    """Frees the tensor that was created last, whichever it is asked to free."""
    if not _live:
        return False
    newest = next(reversed(_live.values()))
    if newest.planted != managed.planted or newest.name != managed.name:
        return False
    del _live[newest.address]
    _live[managed.address] = managed
    newest.owner = None
    release(newest.address, newest.size)
    return True


DELETERS: dict[str, Callable[[Managed], bool]] = {
    "struct_only": _free_struct_only,
    "never_dropped": _never_drop,
    "own_thread_only": _own_thread_only,
    "frees_newest": _free_newest,
}


# Objects of other forms ---------------------------------------------------------------------------


class NoDeviceMethod:
    def __init__(self, x: Array) -> None:
        self.x = x

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.x.__dlpack__(**keywords)


class NeitherMethod:
    pass


class InstanceMethods:
    """Has the two methods as attributes of the object, as the standard permits."""

    def __init__(self, x: Array) -> None:
        self.__dlpack__ = x.__dlpack__
        self.__dlpack_device__ = x.__dlpack_device__
        self.shape, self.tolist = x.shape, x.tolist


class NoKeywords:
    def __init__(self, x: Array) -> None:
        self.x = x

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.x.__dlpack__()


class AnyKeyword(NoDeviceMethod):
    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, **keywords: Any) -> Any:
        known = ("stream", "max_version", "dl_device", "copy")
        return self.x.__dlpack__(**{k: v for k, v in keywords.items() if k in known})


class NoneIsNewest(AnyKeyword):
    """Takes an explicit max_version=None for a request of the newest version."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("max_version", 0) is None:
            keywords["max_version"] = VERSION
        return self.x.__dlpack__(**keywords)


class NoneRefused(AnyKeyword):
    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("stream", 0) is None:
            raise ValueError("expected a stream")
        return self.x.__dlpack__(**keywords)


class BareTypeError(AnyKeyword):
    def __dlpack__(self, **keywords: Any) -> Any:
        if "max_version" not in keywords:
            raise ValueError("expected max_version")
        return self.x.__dlpack__(**keywords)


OBJECTS: dict[str, Callable[[Array], Any]] = {
    "no_device_method": NoDeviceMethod,
    "permitted_neither": lambda x: NeitherMethod(),
    "permitted_instance_methods": InstanceMethods,
    "no_keywords": NoKeywords,
    "unknown_keywords": AnyKeyword,
    "none_is_newest": NoneIsNewest,
    "stream_none_refused": NoneRefused,
    "bare_value_error": BareTypeError,
}


class Planted:
    """Has a factory for every name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def factory(shape: tuple[int, ...], dtype: str, readonly: bool = False) -> Any:
            return OBJECTS.get(name, lambda x: x)(Array.new(name, shape, dtype, readonly))

        return factory


PLANTED = Planted()


def names() -> Iterator[str]:
    """Yields every defect and every permitted difference."""
    for table in (REPORTED, BEFORE, REPLACED, SPOILED, DELETERS, NAMES, DESTRUCTORS, OBJECTS):
        yield from table


def run_quickly(name: str, probe: str) -> dict[str, Any]:
    """Runs a probe on one of the factories, with few repetitions. It may crash this process."""
    memory.SECONDS, memory.FEWEST, memory.SURELY = 0.01, 30, 100
    list(in_order())  # imports every module that registers probes
    return run_probe(f"planted_producers:PLANTED.{name}", None, probe)
