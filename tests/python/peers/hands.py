"""Arrays made by hand, of every layout and dtype: memory of nobody's, whose release is counted."""

from __future__ import annotations

import copy
from typing import Any

from dlbridge.tools import abi, ctypes_arrays, elements
from dlbridge.tools.libraries import Library


class Hand:
    """An array of structs and nothing else, which gives its tensors by the book of 2023.12."""

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
        self.given: list[abi.CtypesTensor] = []

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
            raise BufferError("made by hand, and not copied")
        made = abi.make(
            data=self.memory,
            shape=self.shape,
            strides=self.strides,
            dtype=elements.DTYPES[self.dtype][0],
            byte_offset=self.byte_offset,
            version=(1, 0) if max_version else None,
            flags=self.flags,
        )
        self.given.append(made)
        return made.capsule()

    @property
    def address(self) -> int:
        return self.memory + self.byte_offset

    @property
    def frees(self) -> list[int]:
        """How often each tensor that was given has been freed."""
        return [made.calls for made in self.given]

    def _with(self, **changed: Any) -> Hand:
        x = copy.copy(self)
        vars(x).update(changed, given=[])
        return x


def make(values: Any, dtype: str) -> Hand:
    """Row-major, of these values."""
    shape = elements.shape_of(values)
    memory = abi.memory(elements.encode(values, dtype) or bytes(1))
    return Hand(memory, dtype, shape, ctypes_arrays.row_major(shape))


def index(x: Hand, key: slice) -> Hand:
    """A slice of the first dimension: what it skips is a byte offset."""
    start, stop, step = key.indices(x.shape[0])
    skipped = start * x.strides[0] * elements.itemsize(x.dtype)
    return x._with(
        shape=(len(range(start, stop, step)), *x.shape[1:]),
        strides=(x.strides[0] * step, *x.strides[1:]),
        byte_offset=x.byte_offset + skipped,
    )


HANDS = Library(
    "hands",
    "made by hand",
    (),
    array=lambda m, values, dtype: make(values, dtype),
    address=lambda m, x: x.address,
    index=lambda m, x, key: index(x, key),
    transpose=lambda m, x: x._with(shape=x.shape[::-1], strides=x.strides[::-1]),
    broadcast=lambda m, x, shape: x._with(shape=shape, strides=(0, *x.strides)),
    read_only=lambda m, x: x._with(flags=abi.READ_ONLY),
)
