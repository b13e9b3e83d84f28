# SPDX-License-Identifier: BSD-3-Clause
"""Drops an object while its capsule is alive: shape, strides and values must stay.

The caller passes a function that creates the object anew, so that nothing else refers to it. Freed
memory is read by a system call, which cannot crash; a capsule of freed memory is never destroyed.
"""

from __future__ import annotations

import ctypes as C
import gc
from collections.abc import Callable
from typing import Any

from ... import abi
from ...conformance.judgement import memory
from .description import Description
from .exports import described, drop
from .protocols import quietly
from .signs import Sign, signs_of
from .together import PLAIN

BLOCKS = 64  # of each size, to reuse memory that was freed
LARGEST = 1 << 20  # bytes of a block
FILL = 0xA5


def examine(make: Callable[[], Any]) -> list[Sign]:
    """Creates, exports and drops an object for each kind of capsule."""
    texts = {name: _drop(make, keywords) for name, keywords in PLAIN.items()}
    return [sign for name, text in texts.items() for sign in signs_of("X-07", text, name)]


def _drop(make: Callable[[], Any], keywords: dict[str, Any]) -> str | None:
    x = make()
    if abi.is_capsule(x):
        return None
    capsule = quietly(lambda: x.__dlpack__(**keywords))
    before = described(capsule) if abi.is_capsule(capsule) else None
    if before is None or before.contents is None:
        return None
    x = None
    gc.collect()
    _reuse(before)
    after = described(capsule)
    now = None if after is None else after.contents
    found = memory.outlives(before.contents, now, before.raw, after.raw if after else None)
    drop(capsule, keep=bool(found))
    return found


def _reuse(x: Description) -> None:
    """Allocates and fills blocks of the sizes that the object may have freed."""
    sizes = {max(8, 8 * x.ndim), max(16, 16 * x.ndim), C.sizeof(abi.ManagedVersioned)}
    if x.layout is not None:
        sizes.add(min(LARGEST, max(8, x.layout.size * x.element_bytes)))
    process = C.CDLL(None)
    process.malloc.restype, process.malloc.argtypes = C.c_void_p, [C.c_size_t]
    process.free.argtypes = [C.c_void_p]
    kept: list[object] = []  # until all are allocated, so that no two are the same block
    taken = []
    for size in sizes:
        for _ in range(BLOCKS):
            kept.append(C.create_string_buffer(bytes([FILL]) * size, size))
            address = process.malloc(size)
            if address:
                C.memset(address, FILL, size)
                taken.append(address)
    for address in taken:
        process.free(address)
