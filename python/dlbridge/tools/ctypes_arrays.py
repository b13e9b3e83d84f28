# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and views of any layout, as capsules of ctypes tensors, for libraries that create none."""

from __future__ import annotations

import collections
import ctypes
from typing import Any, Callable

from . import abi, elements

_FREED = 0xA5  # written over the memory of a freed tensor
_KEPT = 16  # freed tensors whose memory stays, so that a late read or a second free is visible
_freed: collections.deque[abi.CtypesTensor] = collections.deque()


def array(values: elements.Nested, dtype: str) -> Any:
    """Returns a capsule on new memory. The deleter overwrites it, so that a late read is visible.

    Raises KeyError for a dtype that dtypes.py cannot encode.
    """
    content = elements.encode(values, dtype)
    shape = elements.shape_of(values)
    owner = [abi.block_of(content or bytes(1))]
    data = owner[0][1]
    tensor = abi.make(
        data=data, shape=shape, strides=elements.row_major(shape), dtype=elements.DTYPES[dtype][0]
    )

    def overwrite() -> None:
        ctypes.memset(data, _FREED, len(content))

    _delete_by(tensor, overwrite, owner)
    return tensor.capsule()


def _delete_by(tensor: abi.CtypesTensor, delete: Callable[[], None], owner: list[Any]) -> None:
    """Lets the deleter do that, and free the oldest of the tensors that were deleted."""

    def on_delete() -> None:
        delete()
        if tensor.calls > 1:
            return
        _freed.append(tensor)
        while len(_freed) > _KEPT:
            abi.forget(_freed.popleft())

    on_delete.owner = owner  # type: ignore[attr-defined]  # as long as the tensor
    tensor.on_delete = on_delete


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
    _delete_by(tensor, owner.clear, owner)
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
