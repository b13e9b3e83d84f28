# SPDX-License-Identifier: BSD-3-Clause
"""Defects that leave memory or references behind some exports only, or behind some refusals."""

from __future__ import annotations

import ctypes as C
from typing import Any, Callable

from planted import producer
from planted.array import Array
from planted.native import malloc
from planted.planting import change, defect
from planted.producer import Export

SOME = 64  # bytes that a leak leaves


def _leak() -> None:
    C.memset(malloc(SOME), 1, SOME)


def _leaks(where: Callable[[Export], bool]) -> None:
    """Allocates memory with an export, which its deleter does not free."""

    def fill(original: Any, export: Export) -> None:
        original(export)
        if where(export):
            _leak()

    change(producer, "fill", fill)


def _hold(where: Callable[[Export], bool]) -> None:
    """Holds the memory of an array twice, and drops it once."""

    def keep(original: Any, export: Export) -> int:
        if where(export):
            export.array.memory.hold()
        result: int = original(export)
        return result

    change(producer, "keep", keep)


def _after_refusals(
    leave: Callable[[Array], Any], where: Callable[[Array, dict[str, Any]], bool]
) -> None:
    """Does something where a request is refused."""

    def dlpack(original: Any, array: Array, **words: Any) -> Any:
        try:
            return original(array, **words)
        except Exception:
            if where(array, words):
                leave(array)
            raise

    change(producer, "dlpack", dlpack)


@defect("X-08")
def float64_leaks() -> None:
    """An export of float64 leaves 64 bytes."""
    _leaks(lambda export: export.array.dtype == "float64")


@defect("X-08")
def memory_of_int8_never_freed() -> None:
    """The memory of int8 lives for ever once it was exported."""
    _hold(lambda export: export.array.dtype == "int8")


@defect("X-08")
def rank_4_leaks() -> None:
    """An export of rank 4 leaves 64 bytes."""
    _leaks(lambda export: export.array.ndim == 4)


@defect("X-08")
def negative_strides_leak() -> None:
    """An export with a negative stride leaves 64 bytes."""
    _leaks(lambda export: min(export.array.strides, default=0) < 0)


@defect("X-08")
def memory_of_transposed_arrays_never_freed() -> None:
    """The memory of a column-major array lives for ever once it was exported."""
    _hold(
        lambda export: (
            export.array.ndim == 2 and export.array.strides[0] == 1 < export.array.strides[1]
        )
    )


@defect("X-08")
def large_arrays_leak() -> None:
    """An export of more than 4096 elements leaves 64 bytes."""
    _leaks(lambda export: export.array.size > 1 << 12)


@defect("X-08")
def refused_streams_leak() -> None:
    """A refused stream leaves 64 bytes."""
    _after_refusals(lambda array: _leak(), lambda array, words: words["stream"] is not None)


@defect("X-08")
def refused_streams_keep_a_reference() -> None:
    """A refused stream keeps a reference to the array."""
    kept: list[Array] = []
    _after_refusals(kept.append, lambda array, words: words["stream"] is not None)


@defect("X-08")
def refused_legacy_leaks() -> None:
    """A legacy capsule that is refused for read-only memory leaves 64 bytes."""
    _after_refusals(lambda array: _leak(), lambda array, words: array.readonly)


@defect("X-08")
def refused_legacy_keeps_a_reference() -> None:
    """A legacy capsule that is refused for read-only memory keeps a reference to the array."""
    kept: list[Array] = []
    _after_refusals(kept.append, lambda array, words: array.readonly)
