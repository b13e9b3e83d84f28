# SPDX-License-Identifier: BSD-3-Clause
"""Drops an object while its capsule is alive: shape, strides and values must stay.

The caller passes a function that creates the object anew, so that nothing else refers to it. Freed
memory is read by a system call, which cannot crash; a capsule of freed memory is never destroyed.
"""

from __future__ import annotations

import ctypes as C
import gc
from collections.abc import Callable, Iterator
from typing import Any

from ... import abi
from .description import Description, of_contents
from .elements import first_difference
from .exports import is_safe_to_drop, leak
from .memory import with_memory
from .protocols import Raised, guarded
from .signs import Sign
from .together import PLAIN

BLOCKS = 64  # of each size, to reuse memory that was freed
LARGEST = 1 << 20  # bytes of a block
FILL = 0xA5


def examine(make: Callable[[], Any]) -> list[Sign]:
    """Creates, exports and drops an object for each kind of capsule."""
    signs: list[Sign] = []
    for name, keywords in PLAIN.items():
        signs += _drop(make, name, keywords)
    return signs


def _drop(make: Callable[[], Any], name: str, keywords: dict[str, Any]) -> Iterator[Sign]:
    x = make()
    if abi.is_capsule(x):
        return
    try:
        capsule = guarded(lambda: x.__dlpack__(**keywords))
    except Raised:
        return
    before = _described(capsule) if abi.is_capsule(capsule) else None
    if before is None:
        return
    x = None
    gc.collect()
    _reuse(before)
    found = list(_changes(name, before, _described(capsule)))
    if found or not is_safe_to_drop(capsule):
        leak(capsule)
    yield from found


def _described(capsule: Any) -> Description | None:
    try:
        return with_memory(of_contents(abi.read(capsule)))
    except abi.Unreadable:
        return None


def _changes(name: str, before: Description, after: Description | None) -> Iterator[Sign]:
    if after is None:
        yield Sign("memory freed with its object", (name,), {"what": "the managed tensor"})
        return
    for facet in ("shape", "strides", "data", "byte_offset", "dtype", "device"):
        values = getattr(before, facet), getattr(after, facet)
        if values[0] != values[1]:
            now = "not readable" if values[1] is None else str(values[1])
            words = {"what": facet, "first": str(values[0]), "second": now}
            yield Sign("changes with its object", (name,), words)
            return
    if before.elements and not after.elements:
        yield Sign("memory freed with its object", (name,), {"what": "the elements"})
        return
    difference = first_difference(before.elements, after.elements)
    if difference is not None:
        numbers = [str(each.elements[difference[0]]) for each in (before, after)]
        words = {"what": "an element", "first": numbers[0], "second": numbers[1]}
        yield Sign("changes with its object", (name,), words)


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
