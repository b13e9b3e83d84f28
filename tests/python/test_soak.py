# SPDX-License-Identifier: BSD-3-Clause
"""Repeats each loop 100,000 times: memory does not grow, and every deleter runs once.

DLBRIDGE_SOAK multiplies the number of rounds.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Any, Callable

import pytest

import dlbridge
import foreign
import producers
from dlbridge._core import _vector as vector

ROUNDS = 100_000 * int(os.environ.get("DLBRIDGE_SOAK", "1"))
SMALLEST_BLOCK = 16  # bytes, of Python's allocator
BYTES_PER_ROUND = SMALLEST_BLOCK // 4
V = (1, 0)


class Plain:
    """A producer with the least overhead."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, *, max_version: Any = None, copy: Any = None) -> object:
        return foreign.tensor().capsule(max_version is not None)


class Old:
    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self) -> object:
        return foreign.tensor().capsule()


PLAIN, OLD = Plain(), Old()
READ_ONLY = producers.Producer(flags=1)
MEMORY = bytearray(64)
REFUSED = foreign.tensor(shape=(-1,))
UNREADABLE = foreign.tensor(version=(2, 0))


def import_versioned() -> None:
    dlbridge.from_dlpack(PLAIN)


def import_legacy() -> None:
    dlbridge.from_dlpack(OLD)


def import_capsule() -> None:
    dlbridge.from_dlpack(foreign.tensor().capsule())


def import_copied() -> None:
    dlbridge.from_dlpack(PLAIN, copy=True)


def consumer_first() -> None:
    t = dlbridge.from_dlpack(PLAIN)
    tensor = foreign.consume(t.__dlpack__(max_version=V))
    tensor.release()
    del t


def producer_first() -> None:
    t = dlbridge.from_dlpack(PLAIN)
    tensor = foreign.consume(t.__dlpack__())
    del t
    tensor.release("nogil")


def never_consumed() -> None:
    dlbridge.from_dlpack(PLAIN).__dlpack__()


def never_consumed_copy() -> None:
    dlbridge.to_dlpack(b"0123456789", copy=True)


def imported_again() -> None:
    t = dlbridge.from_dlpack(PLAIN)
    u = dlbridge.from_dlpack(t)
    del t
    dlbridge.from_dlpack(u.__dlpack__())


def python_owner() -> None:
    foreign.consume(dlbridge.as_tensor(MEMORY).__dlpack__()).release("pending")


def cpp_owner() -> None:
    foreign.consume(vector(4, gc.isenabled).__dlpack__()).release("nogil")


def buffer() -> None:
    memoryview(dlbridge.from_dlpack(PLAIN)).release()


def attributes() -> None:
    t = dlbridge.from_dlpack(PLAIN)
    str((t.shape, t.strides, t.byte_strides, t.dtype.bits, t.device.type, t.version, t))


def pickled() -> None:
    t: Any = dlbridge.as_tensor(MEMORY)
    function, arguments = t.__reduce_ex__(5)
    function(*arguments)
    function, arguments = t.__reduce_ex__(2)
    function(*arguments)


def refuse(call: Callable[[], object], error: type[Exception]) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError("not refused")


def refused_tensor() -> None:
    refuse(lambda: dlbridge.from_dlpack(REFUSED.capsule(True)), BufferError)


def refused_version() -> None:
    refuse(lambda: dlbridge.from_dlpack(UNREADABLE.capsule(True)), BufferError)


def refused_export() -> None:
    t = dlbridge.from_dlpack(PLAIN, readonly=True)
    refuse(t.__dlpack__, BufferError)


def refused_argument() -> None:
    refuse(lambda: dlbridge.from_dlpack(PLAIN, device="nowhere"), ValueError)


def refused_keyword() -> None:
    refuse(lambda: dlbridge.from_dlpack(PLAIN, nowhere=1), TypeError)  # type: ignore[call-arg]


def refused_copy() -> None:
    refuse(lambda: dlbridge.from_dlpack(OLD, copy=False), dlbridge.CopyForbiddenError)


def exception_between() -> None:
    def fail() -> None:
        t = dlbridge.from_dlpack(PLAIN)
        capsule = t.__dlpack__()
        tensor = foreign.consume(t.__dlpack__(max_version=V))
        raise LookupError((t, capsule, tensor))

    refuse(fail, LookupError)


LOOPS = [
    import_versioned, import_legacy, import_capsule, import_copied, consumer_first,
    producer_first, never_consumed, never_consumed_copy, imported_again, python_owner,
    cpp_owner, buffer, attributes, pickled, refused_tensor, refused_version, refused_export,
    refused_argument, refused_keyword, refused_copy, exception_between,
]  # fmt: skip


class MallInfo(ctypes.Structure):
    """The result of glibc's mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def allocated() -> int:
    """The bytes that are allocated now, those of Python's own allocator by its smallest block.

    The resident size would not do: a leak first fills memory that earlier tests freed.
    """
    process = ctypes.CDLL(None)
    if hasattr(process, "__sanitizer_get_current_allocated_bytes"):
        of_asan = process["__sanitizer_get_current_allocated_bytes"]
        of_asan.restype = ctypes.c_size_t
        return int(of_asan())
    process.mallinfo2.restype = MallInfo
    info = process.mallinfo2()
    return int(info.uordblks + info.hblkhd + SMALLEST_BLOCK * sys.getallocatedblocks())


def growth(loop: Callable[[], None], rounds: int) -> int:
    """The growth of the allocated bytes over these rounds; a warm-up fills the caches."""
    for _ in range(1000):
        loop()
    gc.collect()
    before = allocated()
    for _ in range(rounds):
        loop()
    gc.collect()
    return allocated() - before


def leaks(loop: Callable[[], None]) -> bool:
    """Whether the memory grows in each of three runs; caches grow in one of them only."""
    return all(growth(loop, ROUNDS) > BYTES_PER_ROUND * ROUNDS for _ in range(3))


@pytest.mark.parametrize("loop", LOOPS, ids=[loop.__name__ for loop in LOOPS])
def test_soak(loop: Callable[[], None]) -> None:
    gc.collect()
    exports, calls = foreign.accounts()
    alive = len(gc.get_objects())
    assert not leaks(loop)
    now = foreign.accounts()
    assert now[0] - exports == now[1] - calls
    assert len(gc.get_objects()) - alive < 1000


def leaks_the_smallest_object() -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(object()))


def test_the_smallest_leak_is_detected() -> None:
    """The negative control."""
    assert leaks(leaks_the_smallest_object)
