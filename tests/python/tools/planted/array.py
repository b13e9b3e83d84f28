# SPDX-License-Identifier: BSD-3-Clause
"""The library's array: elements in memory, views, and the protocols that describe both."""

from __future__ import annotations

import ctypes as C
import itertools
import math
import operator
from types import ModuleType
from typing import Any

from planted import elements, producer
from planted.native import Memory


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a compact array, in elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


class Array:
    """Elements at an address, with strides that count elements. Views share the memory."""

    def __init__(
        self,
        memory: Memory,
        data: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        kind: elements.Type,
        readonly: bool = False,
        base: Array | None = None,
    ) -> None:
        self.memory, self.data, self.shape, self.strides = memory, data, shape, strides
        self.kind, self.readonly = kind, readonly
        self.base = base  # the array that this one is a view of

    @property
    def dtype(self) -> str:
        return self.kind.name

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.kind.size

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    # Elements ----------------------------------------------------------------------------------

    def address(self, index: tuple[int, ...]) -> int:
        return self.data + self.itemsize * sum(i * s for i, s in zip(index, self.strides))

    def get(self, index: tuple[int, ...]) -> Any:
        return elements.unpack(self.kind, C.string_at(self.address(index), self.itemsize))

    def put(self, index: tuple[int, ...], value: Any) -> None:
        C.memmove(self.address(index), elements.pack(self.kind, value), self.itemsize)

    def indices(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*map(range, self.shape)))

    def tolist(self) -> Any:
        if self.ndim == 0:
            return self.get(())
        *outer, extent = self.shape

        def row(index: tuple[int, ...]) -> list[Any]:
            begin, step = self.address((*index, 0)), self.strides[-1] * self.itemsize
            if step == self.itemsize:  # the tool watches every call, so there should be few
                return elements.unpack_all(self.kind, C.string_at(begin, extent * step))
            parts = [C.string_at(begin + i * step, self.itemsize) for i in range(extent)]
            return elements.unpack_all(self.kind, b"".join(parts))

        def part(index: tuple[int, ...]) -> list[Any]:
            if len(index) == len(outer):
                return row(index)
            return [part((*index, i)) for i in range(outer[len(index)])]

        return part(())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Returns a view, or the element where every dimension has an index."""
        part = view_of(self, key)
        return part.get(()) if part.ndim == 0 and self.ndim else part

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.readonly:
            raise ValueError("the array is read-only")
        part = view_of(self, key)
        for index in part.indices():
            part.put(index, value)

    def _only(self) -> Any:
        if self.size != 1:
            raise TypeError(f"expected one element; the array has {self.size}")
        return self.get((0,) * self.ndim)

    def __float__(self) -> float:
        return float(self._only())

    def __int__(self) -> int:
        return int(self._only())

    def __bool__(self) -> bool:
        return bool(self._only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def __add__(self, other: Array) -> Array:
        if not isinstance(other, Array) or other.shape != self.shape:
            return NotImplemented
        result = self.copy()
        for index in self.indices():
            result.put(index, self.get(index) + other.get(index))
        return result

    # Views and copies --------------------------------------------------------------------------

    @property
    def T(self) -> Array:
        return self.transpose()

    def transpose(self) -> Array:
        return share(self, self.data, self.shape[::-1], self.strides[::-1])

    def broadcast_to(self, shape: tuple[int, ...]) -> Array:
        """Returns a read-only view with strides of 0 where an extent is repeated."""
        added = len(shape) - self.ndim
        strides = (0,) * added + tuple(
            0 if own == 1 != wanted else stride
            for own, wanted, stride in zip(self.shape, shape[added:], self.strides)
        )
        view = share(self, self.data, shape, strides)
        view.readonly = True
        return view

    def copy(self) -> Array:
        """Returns the same elements in new memory, writable and row-major."""
        content = b"".join(C.string_at(self.address(i), self.itemsize) for i in self.indices())
        memory, data = Memory.of(content)
        return type(self)(memory, data, self.shape, row_major(self.shape), self.kind)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Array:
        return self.copy()

    def __reduce__(self) -> Any:
        flat = [self.get(index) for index in self.indices()]
        return of_elements, (flat, self.shape, self.dtype)

    # Protocols ---------------------------------------------------------------------------------

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self.kind.typestr:
            raise AttributeError(f"__array_interface__ has no {self.dtype}")
        order = "|" if self.itemsize == 1 else "<"
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": order + self.kind.typestr,
            "data": (self.data, self.readonly),
            "strides": tuple(s * self.itemsize for s in self.strides),
        }

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        from planted import library

        return library

    def __dlpack_device__(self) -> tuple[int, int]:
        return producer.CPU

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return producer.dlpack(
            self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


def share(array: Array, data: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Returns a view that keeps the memory of an array."""
    base = array if array.base is None else array.base
    return type(array)(array.memory, data, shape, strides, array.kind, array.readonly, base)


def view_of(array: Array, key: Any) -> Array:
    """Returns the view that an index, a slice, `...` or a tuple of these selects."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if ... in keys:
        at = keys.index(...)
        keys[at : at + 1] = [slice(None)] * (array.ndim - len(keys) + 1)
    if len(keys) > array.ndim:
        raise IndexError(f"{len(keys)} indices for {array.ndim} dimensions")
    keys += [slice(None)] * (array.ndim - len(keys))
    data, shape, strides = array.data, [], []
    for each, extent, stride in zip(keys, array.shape, array.strides):
        if isinstance(each, slice):
            chosen = range(extent)[each]
            data += chosen.start * stride * array.itemsize if len(chosen) else 0
            shape.append(len(chosen))
            strides.append(chosen.step * stride)
        else:
            data += range(extent)[operator.index(each)] * stride * array.itemsize
    return share(array, data, tuple(shape), tuple(strides))


def of_elements(
    flat: list[Any], shape: tuple[int, ...], dtype: str, readonly: bool = False
) -> Array:
    """Returns an array of these elements, in row-major order. Raises KeyError for the dtype."""
    kind = elements.TYPES[dtype]
    memory, data = Memory.of(b"".join(elements.pack(kind, value) for value in flat))
    return Array(memory, data, shape, row_major(shape), kind, readonly)
