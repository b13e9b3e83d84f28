# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and views of any layout, as capsules of ctypes tensors, for libraries that create none."""

from __future__ import annotations

import ctypes
from typing import Any

from . import abi, elements

_FREED = 0xA5  # written over the memory of a freed tensor


def array(values: elements.Nested, dtype: str) -> Any:
    """Returns a capsule on new memory. The deleter overwrites it, so that a late read is visible.

    Raises KeyError for a dtype that dtypes.py cannot encode.
    """
    content = elements.encode(values, dtype)
    shape = elements.shape_of(values)
    data = abi.memory(content or bytes(1))
    tensor = abi.make(
        data=data, shape=shape, strides=elements.row_major(shape), dtype=elements.DTYPES[dtype][0]
    )

    def overwrite() -> None:
        ctypes.memset(data, _FREED, len(content))

    tensor.on_delete = overwrite
    return tensor.capsule()


def view(
    capsule: Any,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    skipped: int = 0,
    version: tuple[int, int] | None = (1, 0),
) -> Any:
    """Returns a capsule on the memory of another one, kept alive; `skipped` counts elements."""
    contents = abi.read(capsule)
    _, bits, lanes = contents.dtype
    owner = [capsule]
    tensor = abi.make(
        data=contents.first + skipped * (bits * lanes // 8),
        shape=shape,
        strides=strides,
        dtype=contents.dtype,
        device=contents.device,
        version=version,
        flags=contents.flags & abi.READ_ONLY,
    )
    tensor.on_delete = owner.clear
    return tensor.capsule()


def _layout(capsule: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    contents = abi.read(capsule)
    assert contents.shape is not None
    return contents.shape, contents.strides or elements.row_major(contents.shape)


def index(capsule: Any, key: slice) -> Any:
    """Slices the first dimension."""
    shape, strides = _layout(capsule)
    start, stop, step = key.indices(shape[0])
    count = len(range(start, stop, step))
    return view(capsule, (count, *shape[1:]), (strides[0] * step, *strides[1:]), start * strides[0])


def transpose(capsule: Any) -> Any:
    """Reverses the dimensions."""
    shape, strides = _layout(capsule)
    return view(capsule, shape[::-1], strides[::-1])


def broadcast(capsule: Any, shape: tuple[int, ...]) -> Any:
    """Adds first dimensions of stride 0."""
    strides = _layout(capsule)[1]
    return view(capsule, shape, (0,) * (len(shape) - len(strides)) + strides)
