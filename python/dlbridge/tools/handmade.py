"""Arrays and views made by hand, for the libraries that make none: capsules of any layout."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from dlbridge.tools import abi, elements

_SPOILT = 0xA5  # what is written over memory that nobody holds any more


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor without gaps, in elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def array(values: elements.Nested, dtype: str) -> Any:
    """A capsule on new memory. What is left of it when it is freed is spoilt, not the process.

    Raises KeyError for a dtype that has no row in elements.DTYPES.
    """
    content = elements.encode(values, dtype)
    shape = elements.shape_of(values)
    data = abi.memory(content or bytes(1))
    made = abi.make(
        data=data, shape=shape, strides=row_major(shape), dtype=elements.DTYPES[dtype][0]
    )

    def spoil() -> None:
        ctypes.memset(data, _SPOILT, len(content))

    made.on_delete = spoil
    return made.capsule()


def view(
    capsule: Any,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    skipped: int = 0,
    version: tuple[int, int] | None = (1, 0),
) -> Any:
    """A capsule on the memory of another, which lives as long; `skipped` counts elements."""
    contents = abi.read(capsule)
    _, bits, lanes = contents.dtype
    kept = [capsule]
    made = abi.make(
        data=contents.first + skipped * (bits * lanes // 8),
        shape=shape,
        strides=strides,
        dtype=contents.dtype,
        device=contents.device,
        version=version,
        flags=contents.flags & abi.READ_ONLY,
    )
    made.on_delete = kept.clear
    return made.capsule()


def _layout(capsule: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    contents = abi.read(capsule)
    assert contents.shape is not None
    return contents.shape, contents.strides or row_major(contents.shape)


def index(capsule: Any, key: slice) -> Any:
    """A slice of the first dimension."""
    shape, strides = _layout(capsule)
    start, stop, step = key.indices(shape[0])
    count = len(range(start, stop, step))
    return view(capsule, (count, *shape[1:]), (strides[0] * step, *strides[1:]), start * strides[0])


def transpose(capsule: Any) -> Any:
    """The dimensions in reverse."""
    shape, strides = _layout(capsule)
    return view(capsule, shape[::-1], strides[::-1])


def broadcast(capsule: Any, shape: tuple[int, ...]) -> Any:
    """New first dimensions, along which nothing moves."""
    strides = _layout(capsule)[1]
    return view(capsule, shape, (0,) * (len(shape) - len(strides)) + strides)
