"""Targets that follow the specifications in unusual ways: no rule may call them broken."""

from __future__ import annotations

import collections
import ctypes as C
import functools
import itertools
import mmap
import queue
import threading
import time
from typing import Any

from planted.array import Array, of_elements, row_major
from planted.elements import TYPES, number
from planted.library import make as plain
from planted.native import Deleter, Memory, address_of

from dlbridge.tools import abi

Shape = tuple[int, ...]

# Memory ------------------------------------------------------------------------------------------

_mappings: dict[int, mmap.mmap] = {}  # by address


_unmap = Deleter(lambda address: _mappings.pop(address).close())


def mapped(shape: Shape = (2, 3), dtype: str = "float32") -> Array:
    """In memory that is unmapped together with the array."""
    mapping = mmap.mmap(-1, 1 << 16)
    address = C.addressof(C.c_char.from_buffer(mapping))
    _mappings[address] = mapping
    array = plain(shape, dtype)
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


def freed_later(shape: Shape = (2, 3), dtype: str = "float32") -> Array:
    return _as(FreedLater, shape, dtype)


def _as(type_: type[Array], shape: Shape, dtype: str) -> Array:
    array = plain(shape, dtype)
    return type_(array.memory, array.data, array.shape, array.strides, array.kind)


class Slow(Array):
    """Every export takes a while, as of an array in another process."""

    __getitem__ = None  # type: ignore[assignment]

    def __dlpack__(self, **keywords: Any) -> Any:
        time.sleep(0.1)
        return super().__dlpack__(**keywords)


def slow() -> Array:
    return _as(Slow, (2, 3), "float32")
