"""A sound producer in pure Python, with places where other modules plant defects.

Memory, structs and extents come from malloc, and are overwritten before they are freed, so that a
late read shows.
"""

from __future__ import annotations

import ctypes as C
import enum
import itertools
import math
import struct
from typing import Any, Callable

from dlbridge.tools import abi

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

# Filled by planted_requests.py and planted_fields.py, by the name of the defect.
REPORTED: dict[str, Any] = {}  # results of __dlpack_device__()
BEFORE: dict[str, Callable[[Request], None]] = {}  # in place of checked()
REPLACED: dict[str, Callable[[Request], Any]] = {}  # in place of Request.export()
SPOILED: dict[str, Callable[[Managed, Request], None]] = {}  # change a managed tensor
NAMES: dict[str, Callable[[Managed], str]] = {}  # of the capsule
DESTRUCTORS: dict[str, Any] = {}  # of the capsule; None for none
DELETERS: dict[str, Callable[[Managed], bool]] = {}  # True: nothing else is to be freed


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
        self.state: dict[Any, Any] = {}  # of defects that remember earlier exports

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
        BEFORE.get(self.planted, checked)(request)
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


def checked(request: Request) -> None:
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

live: dict[int, Managed] = {}  # by the address of the struct
forever: list[Any] = []  # what defects never free
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
        live[self.address] = self

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
        name = NAMES[self.planted](self) if self.planted in NAMES else self.name
        destructor = DESTRUCTORS.get(self.planted, _destroy)
        pointer = None if destructor is None else C.cast(destructor, C.c_void_p)
        return abi._new(self.address, abi._permanent(name), pointer)


def _free(address: int) -> None:
    managed = live.pop(address, None)
    if managed is None:
        return
    if managed.planted in DELETERS and DELETERS[managed.planted](managed):
        return
    managed.owner = None
    release(address, managed.size)


def destroy_named(capsule: int, times: int = 1) -> None:
    name = abi._name_at(capsule)
    if name is None or name.decode() not in abi.STRUCTS:
        return
    address = abi._pointer_at(capsule, name)
    struct_ = abi.STRUCTS[name.decode()].from_address(address)
    deleter = abi.Deleter(struct_.deleter)
    for _ in range(times):
        deleter(address)


_delete = abi.Deleter(_free)
_destroy = abi._Destructor(destroy_named)
