"""The small library as a target of the conformance tool: small_library:make and from_dlpack."""

from __future__ import annotations

import itertools
import struct

from small_consumer import from_dlpack
from small_memory import Memory
from small_producer import DTYPES, Array, row_major

__all__ = ["from_dlpack", "make"]


def make(shape: tuple[int, ...], dtype: str, readonly: bool = False) -> Array:
    """Returns 0, 1, 2, ... in an array of this shape. Raises KeyError for an unknown dtype."""
    *_, form = DTYPES[dtype]
    size = 1
    for extent in shape:
        size *= extent
    numbers = itertools.chain.from_iterable(
        (i, 0)[: len(form)] if dtype != "bool" else (bool(i),) for i in range(size)
    )
    memory, data = Memory.of(struct.pack(f"={form * size}", *numbers))
    return Array(memory, data, shape, row_major(shape), dtype, readonly)
