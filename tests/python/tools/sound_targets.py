"""Targets that follow the specifications in unusual ways: no rule may call them broken."""

from __future__ import annotations

import ctypes as C
import itertools
import mmap

from planted.array import Array, of_elements, row_major
from planted.elements import TYPES, number
from planted.library import make as plain
from planted.native import Deleter, Memory, address_of

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
