# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in ctypes, of every layout and dtype, which count the deleter calls of their exports."""

from __future__ import annotations

import copy
from typing import Any

from dlbridge.tools import abi, elements
from dlbridge.tools.libraries import Library


class CtypesTensor:
    """An array on static memory, whose exports follow the array API 2023.12."""

    def __init__(
        self,
        memory: int,
        dtype: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        byte_offset: int = 0,
        flags: int = 0,
    ) -> None:
        self.memory, self.dtype, self.shape, self.strides = memory, dtype, shape, strides
        self.byte_offset, self.flags = byte_offset, flags
        self.exports: list[abi.CtypesTensor] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if copy:
            raise BufferError("a ctypes tensor is not copied")
        export = abi.make(
            data=self.memory,
            shape=self.shape,
            strides=self.strides,
            dtype=elements.DTYPES[self.dtype][0],
            byte_offset=self.byte_offset,
            version=(1, 0) if max_version else None,
            flags=self.flags,
        )
        self.exports.append(export)
        return export.capsule()

    @property
    def address(self) -> int:
        return self.memory + self.byte_offset

    @property
    def frees(self) -> list[int]:
        """The number of deleter calls for each export."""
        return [export.calls for export in self.exports]

    def _with(self, **changed: Any) -> CtypesTensor:
        x = copy.copy(self)
        vars(x).update(changed, exports=[])
        return x


def make(values: Any, dtype: str) -> CtypesTensor:
    """A row-major tensor of these values."""
    shape = elements.shape_of(values)
    memory = abi.memory(elements.encode(values, dtype) or bytes(1))
    return CtypesTensor(memory, dtype, shape, elements.row_major(shape))


def index(x: CtypesTensor, key: slice) -> CtypesTensor:
    """A slice of the first dimension; the skipped elements become a byte offset."""
    start, stop, step = key.indices(x.shape[0])
    skipped = start * x.strides[0] * elements.itemsize(x.dtype)
    return x._with(
        shape=(len(range(start, stop, step)), *x.shape[1:]),
        strides=(x.strides[0] * step, *x.strides[1:]),
        byte_offset=x.byte_offset + skipped,
    )


CTYPES = Library(
    "ctypes_tensors",
    "ctypes",
    (),
    array=lambda m, values, dtype: make(values, dtype),
    address=lambda m, x: x.address,
    index=lambda m, x, key: index(x, key),
    transpose=lambda m, x: x._with(shape=x.shape[::-1], strides=x.strides[::-1]),
    broadcast=lambda m, x, shape: x._with(shape=shape, strides=(0, *x.strides)),
    read_only=lambda m, x: x._with(flags=abi.READ_ONLY),
)
