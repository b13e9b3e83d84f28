# SPDX-License-Identifier: BSD-3-Clause
"""Defects of from_dlpack that need two conditions at once, or many elements."""

from __future__ import annotations

from typing import Any

from planted import consumer
from planted.array import Array, row_major
from planted.native import Memory
from planted.planting import change, defect

# Large tensors -----------------------------------------------------------------------------------


@defect("C-10")
def large_tensors_as_compact() -> None:
    """A tensor of more than 4096 elements is read as row-major."""

    def read_strides(
        original: Any, tensor: Any, shape: tuple[int, ...], is_versioned: bool
    ) -> tuple[int, ...]:
        right: tuple[int, ...] = original(tensor, shape, is_versioned)
        return row_major(shape) if _size(shape) > 1 << 12 else right

    change(consumer, "read_strides", read_strides)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


# device and copy ---------------------------------------------------------------------------------


@defect("C-19")
def copy_false_copies_with_a_device() -> None:
    """copy=False copies where device is passed too."""
    _with_a_device(lambda array, copy: array.copy() if copy is False else array)


@defect("C-19", "S-15")
def copy_false_not_passed_with_a_device() -> None:
    """copy=False is not passed on where device is passed too."""
    _words(lambda words: {k: v for k, v in words.items() if k != "copy" or v})


@defect("S-14")
def copy_true_not_passed_with_a_device() -> None:
    """copy=True is neither passed on nor obeyed where device is passed too."""
    _words(lambda words: {k: v for k, v in words.items() if k != "copy" or not v})


@defect("S-15")
def copy_false_raises_key_error_with_a_device() -> None:
    """A refused copy raises KeyError where device is passed too."""

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        try:
            return original(x, words)
        except BufferError as error:
            if words.get("copy") is False and "dl_device" in words:
                raise KeyError("copy") from error
            raise

    change(consumer, "call", call)


def _words(wrong: Any) -> None:
    """Replaces the keywords of a request with dl_device and copy."""

    def keywords(original: Any, device: Any, copy: Any) -> dict[str, Any]:
        words: dict[str, Any] = original(device, copy)
        return words if device is None or copy is None else wrong(words)

    change(consumer, "keywords", keywords)


def _with_a_device(wrong: Any) -> None:
    """Replaces the results of imports with device and copy."""

    def from_dlpack(original: Any, x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
        array: Array = original(x, device=device, copy=copy)
        return array if device is None else wrong(array, copy)

    change(consumer, "from_dlpack", from_dlpack)


# Deleters ----------------------------------------------------------------------------------------


def _never_freed(where: Any) -> None:
    def own(original: Any, managed: Any, address: int) -> Memory:
        return Memory(address, 0) if where(managed.tensor) else original(managed, address)

    change(consumer, "own", own)


@defect("C-07")
def int16_never_freed() -> None:
    """The deleter of tensors of int16 is never called."""
    _never_freed(lambda tensor: (tensor.dtype.code, tensor.dtype.bits) == (0, 16))


@defect("C-07", "C-21")
def complex_never_freed() -> None:
    """The deleter of tensors of complex numbers is never called."""
    _never_freed(lambda tensor: tensor.dtype.code == 5)


@defect("C-07")
def large_tensors_never_freed() -> None:
    """The deleter of tensors with an extent of more than 100 is never called."""
    _never_freed(
        lambda tensor: tensor.ndim == 2 and max(consumer.extents(tensor.shape, tensor.ndim)) > 100
    )
