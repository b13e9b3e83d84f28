# SPDX-License-Identifier: BSD-3-Clause
"""Targets that follow the specifications in unusual ways: no rule may call them broken."""

from __future__ import annotations

import collections
import ctypes as C
import functools
import itertools
import mmap
import os
import queue
import threading
import time
import types
from typing import Any, Callable

from planted import consumer, library, native, producer
from planted.array import Array, of_elements, row_major
from planted.elements import TYPES, number
from planted.library import make as plain
from planted.native import LEGACY, STRUCTS, VERSIONED, Deleter, Memory, address_of, new_capsule

from dlbridge.tools import abi

Shape = tuple[int, ...]


def _as(type_: type[Array], shape: Shape, dtype: str) -> Array:
    array = plain(shape, dtype)
    return type_(array.memory, array.data, array.shape, array.strides, array.kind)


def _factory(type_: type[Array]) -> Callable[..., Array]:
    """Returns a factory of arrays of a type."""

    def make(shape: Shape = (2, 3), dtype: str = "float32") -> Array:
        return _as(type_, shape, dtype)

    return make


# Memory ------------------------------------------------------------------------------------------

_mappings: dict[int, mmap.mmap] = {}  # by address


_unmap = Deleter(lambda address: _mappings.pop(address).close())


def mapped(shape: Shape = (2, 3), dtype: str = "float32") -> Array:
    """In memory that is unmapped together with the array."""
    array = plain(shape, dtype)
    mapping = mmap.mmap(-1, max(array.nbytes, 1 << 16))
    address = C.addressof(C.c_char.from_buffer(mapping))
    _mappings[address] = mapping
    C.memmove(address, array.data, array.nbytes)
    memory = Memory(address, address_of(_unmap))
    return Array(memory, address, array.shape, array.strides, array.kind)


class Large(Array):
    """Has only DLPack, which is fast."""

    tolist = __array_interface__ = __getitem__ = None  # type: ignore[assignment]

    def copy(self) -> Array:
        memory, data = Memory.of(C.string_at(self.data, self.nbytes))
        return Large(memory, data, self.shape, self.strides, self.kind)


def large() -> Array:
    """More elements than the checks compare."""
    shape = (1 << 11, 1 << 10)
    memory, data = Memory.of(bytes(4 << 21))
    return Large(memory, data, shape, row_major(shape), TYPES["float32"])


# Content -----------------------------------------------------------------------------------------

_counter = itertools.count(1)


def changing(shape: Shape = (2, 3), dtype: str = "float32") -> Array:
    """Other elements with every call, as random numbers have."""
    kind, size = TYPES[dtype], plain(shape, dtype).size
    start = next(_counter)
    return of_elements([number(kind, start + i) for i in range(size)], shape, dtype)


class Padded(Array):
    """Elements of 4 bits in bytes whose other bits are undefined; in copies they are 0."""

    tolist = __array_interface__ = __getitem__ = None  # type: ignore[assignment]

    def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
        if not producer.wants_versioned(max_version):
            raise BufferError("a legacy capsule cannot mark padded elements")
        capsule = super().__dlpack__(max_version=max_version, **keywords)
        struct = abi.STRUCTS[VERSIONED.decode()].from_address(abi.read(capsule).address)
        struct.flags |= abi.SUBBYTE_PADDED
        struct.tensor.dtype = abi.DataType(1, 4, 1)
        return capsule

    def copy(self) -> Array:
        result = super().copy()
        content = C.string_at(result.data, result.nbytes)
        C.memmove(result.data, bytes(each & 15 for each in content), result.nbytes)
        return result


def padded(shape: Shape = (2, 3)) -> Array:
    array = plain(shape, "uint8")
    C.memmove(array.data, bytes((37 * i + 90) % 256 for i in range(array.size)), array.size)
    return Padded(array.memory, array.data, shape, array.strides, array.kind)


_fixed = plain((2, 3))


def fixed() -> Array:
    """The same array with every call."""
    return _fixed


def repeated(shape: Shape = (2, 3), dtype: str = "float32") -> Array:
    """One element in every place, which may be written: it changes in every place."""
    one = plain((), dtype)
    return Array(one.memory, one.data, shape, (0,) * len(shape), one.kind)


# Release -----------------------------------------------------------------------------------------

_exported: dict[int, tuple[Array, int]] = {}  # the array and the own deleter, by the struct


def _free(address: int) -> None:
    _, deleter = _exported.pop(address)
    Deleter(deleter)(address)


def _with_deleter(array: Array, capsule: Any, deleter: Any) -> Any:
    """Replaces the deleter of a capsule's tensor, which then keeps the array until _free()."""
    contents = abi.read(capsule)
    _exported[contents.address] = array, contents.deleter
    struct = abi.STRUCTS[contents.name].from_address(contents.address)
    struct.deleter = address_of(deleter)
    return capsule


_handed_over: queue.SimpleQueue[int] = queue.SimpleQueue()
_hand_over = Deleter(_handed_over.put)


def _free_those() -> None:
    while True:
        _free(_handed_over.get())


@functools.cache
def _start_thread() -> None:
    threading.Thread(target=_free_those, daemon=True).start()


class FreedOnAThread(Array):
    """The deleter hands the tensor over to a thread of the library, which frees it at once."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return _with_deleter(self, super().__dlpack__(**keywords), _hand_over)


def freed_on_a_thread(shape: Shape = (2, 3), dtype: str = "float32") -> Array:
    _start_thread()
    return _as(FreedOnAThread, shape, dtype)


_waiting: collections.deque[int] = collections.deque()


def _wait(address: int) -> None:
    _waiting.append(address)
    while len(_waiting) > 64:
        _free(_waiting.popleft())


_wait_deleter = Deleter(_wait)


class FreedLater(Array):
    """The deleter lets at most 64 tensors wait before it frees the oldest one."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return _with_deleter(self, super().__dlpack__(**keywords), _wait_deleter)


freed_later = _factory(FreedLater)


# Requests ----------------------------------------------------------------------------------------


class NothingToCopy(Array):
    """With copy=True an array of size 0 is exported like any other: there is no element to copy."""

    def __dlpack__(self, *, copy: Any = None, **keywords: Any) -> Any:
        return super().__dlpack__(copy=copy if self.size else None, **keywords)


def nothing_to_copy(shape: Shape = (2, 3), dtype: str = "float32", readonly: bool = False) -> Array:
    array = plain(shape, dtype, readonly)
    return NothingToCopy(
        array.memory, array.data, array.shape, array.strides, array.kind, array.readonly
    )


class Permanent(Array):
    """In static memory: its two structs have no deleter, and are in every capsule."""

    def __copy__(self) -> Array:
        return self

    def __dlpack__(
        self,
        *,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
        stream: Any = None,
    ) -> Any:
        if copy:
            raise BufferError("the array is never copied")
        producer.check_device(dl_device)
        producer.check_stream(stream)
        name = VERSIONED if producer.wants_versioned(max_version) else LEGACY
        addresses = vars(self).setdefault("addresses", {})
        if name not in addresses:
            export = producer.build(self, name == VERSIONED, False)
            export.managed.deleter = None
            addresses[name] = export.address
        return new_capsule(addresses[name], name, None)


_permanent = Permanent(*vars(_fixed).values())


def permanent() -> Array:
    return _permanent


class Counted(Array):
    """Its exports of one kind share a managed tensor, which counts its consumers."""

    def __dlpack__(self, *, copy: Any = None, **keywords: Any) -> Any:
        if copy:
            return super().__dlpack__(copy=True, **keywords)
        versioned = producer.wants_versioned(keywords.get("max_version"))
        found = _shared.get((id(self), versioned))
        if found is None:
            capsule = super().__dlpack__(copy=copy, **keywords)
            address = abi.read(capsule).address
            _shared[id(self), versioned] = address
            _consumers[address] = 1, (id(self), versioned)
            return _with_deleter(self, capsule, _count_down)
        producer.check_device(keywords.get("dl_device"))
        producer.check_stream(keywords.get("stream"))
        count, key = _consumers[found]
        _consumers[found] = count + 1, key
        export = producer.Export(self, versioned, False, found)
        return producer.enclose(export)


_shared: dict[tuple[int, bool], int] = {}  # the struct of each array and kind
_consumers: dict[int, tuple[int, tuple[int, bool]]] = {}  # by the struct


def _free_the_last(address: int) -> None:
    count, key = _consumers.pop(address)
    if count > 1:
        _consumers[address] = count - 1, key
        return
    del _shared[key]
    _free(address)


_count_down = Deleter(_free_the_last)


counted = _factory(Counted)


class NeverExported(Array):
    """Every request is refused, as of a tensor that requires a gradient."""

    def __dlpack__(self, *, max_version: Any = None, **_: Any) -> Any:
        raise BufferError("the array requires a gradient")


never_exported = _factory(NeverExported)


class Compressed(Array):
    """Has no memory to share: every export is a copy, which may be written."""

    __array_interface__ = __setitem__ = None  # type: ignore[assignment]

    def __dlpack__(self, *, copy: Any = None, **keywords: Any) -> Any:
        if copy is False:
            raise BufferError("the array has no memory to share")
        return super().__dlpack__(copy=True, **keywords)


def compressed(shape: Shape = (2, 3), dtype: str = "float32", readonly: bool = False) -> Array:
    array = _as(Compressed, shape, dtype)
    array.readonly = readonly
    return array


_room: list[int] = []  # blocks that were freed, the last of which is used first
_give_back = Deleter(_room.append)
ROOM = 4096  # bytes


class Copied(Compressed):
    """Exports a new copy each time, in the memory of the copy that was freed last.

    It refuses legacy capsules, which cannot be marked as copies.
    """

    def __dlpack__(self, *, max_version: Any = None, **keywords: Any) -> Any:
        if not producer.wants_versioned(max_version):
            raise BufferError("expected max_version (1, 0) or newer")
        return super().__dlpack__(max_version=max_version, **keywords)

    def copy(self) -> Array:
        result = super().copy()
        if result.nbytes > ROOM:
            return result
        if not _room:
            block, address = Memory.of(bytes(ROOM))
            _blocks.append(block)
            _room.append(address)
        address = _room.pop()
        C.memmove(address, result.data, result.nbytes)
        memory = Memory(address, address_of(_give_back))
        return Copied(memory, address, result.shape, result.strides, result.kind)


_blocks: list[Memory] = []  # never freed


copied = _factory(Copied)


class Aborting(Array):
    """Ends the process when it is exported."""

    def __dlpack__(self, **_: Any) -> Any:
        os.abort()


def aborting() -> Array:
    return _as(Aborting, (2, 3), "float32")


class DeviceInAList(Array):
    """Breaks P-02, and no other rule."""

    def __dlpack_device__(self) -> Any:
        return [1, 0]


device_in_a_list = _factory(DeviceInAList)


class Slow(Array):
    """Every export takes a while, as of an array in another process."""

    __getitem__ = None  # type: ignore[assignment]

    def __dlpack__(self, **keywords: Any) -> Any:
        time.sleep(0.1)
        return super().__dlpack__(**keywords)


def slow() -> Array:
    return _as(Slow, (2, 3), "float32")


class Claims2022(Array):
    """Of a library that claims an older version of the array API."""

    claim = "2022.12"

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return types.SimpleNamespace(__array_api_version__=self.claim)


class Claims2023(Claims2022):
    claim = "2023.12"


claims_2022, claims_2023 = _factory(Claims2022), _factory(Claims2023)


# Consumers ---------------------------------------------------------------------------------------


def take_on_the_cpu(x: Any, /) -> Array:
    """Refuses other devices with TypeError."""
    if x.__dlpack_device__()[0] != 1:
        raise TypeError("the library has arrays of the CPU only")
    return library.from_dlpack(x)


def take_matrices(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """Refuses tensors of rank 3 and above."""
    array = library.from_dlpack(x, device=device, copy=copy)
    if array.ndim > 2:
        raise BufferError("the library has matrices only")
    return array


class Deepened:
    """An array with an axis more."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def tolist(self) -> Any:
        return [[[each] for each in row] for row in self.array.tolist()]

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        array = self.array
        strides = (*array.strides, 1)
        deeper = Array(array.memory, array.data, (*array.shape, 1), strides, array.kind)
        deeper.readonly = array.readonly
        return deeper.__dlpack__(**keywords)


def take_images(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """Returns images of one channel for matrices, as libraries of images do."""
    array = library.from_dlpack(x, device=device, copy=copy)
    if array.ndim != 2:
        raise BufferError("the library has images only")
    return Deepened(array)


def take_some(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """Refuses tensors without elements."""
    array = library.from_dlpack(x, device=device, copy=copy)
    if not array.size:
        raise BufferError("the library has no empty arrays")
    return array


def take_writable(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """Has no read-only arrays."""
    array = library.from_dlpack(x, device=device, copy=copy)
    array.readonly = False
    return array


class Lazy:
    """Imports at its first use."""

    def __init__(self, x: Any, **keywords: Any) -> None:
        self._load = functools.cache(lambda: library.from_dlpack(x, **keywords))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)


def take_lazily(x: Any, /, *, device: Any = None, copy: Any = None) -> Lazy:
    return Lazy(x, device=device, copy=copy)


def take_a_copy(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """Copies the elements, and leaves the tensor to its capsule, which is never used."""
    words = consumer.keywords(device, copy)
    if copy is False:
        raise BufferError("the library always copies")
    capsule, _ = consumer.request(x, words)
    name = consumer.struct_name(capsule)
    managed = STRUCTS[name].from_address(native.capsule_pointer(capsule, name))
    return consumer.read(managed, name, Memory(0, 0)).copy()


_own_threads: list[int] = []  # that of the first import


def take_on_one_thread(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """Refuses imports on other threads than the first one, and leaves their capsules unused."""
    consumer.request(x, consumer.keywords(device, copy))
    _own_threads[:] = _own_threads or [threading.get_ident()]
    if _own_threads != [threading.get_ident()]:
        raise RuntimeError("the library belongs to one thread")
    return library.from_dlpack(x, device=device, copy=copy)
