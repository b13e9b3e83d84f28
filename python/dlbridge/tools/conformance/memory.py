"""How much memory this process holds, and what the buffer protocol says of an object."""

from __future__ import annotations

import ctypes as C
import gc
import sys
from dataclasses import dataclass
from typing import Any, Callable


class _MallInfo(C.Structure):
    _fields_ = [
        (name, C.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@dataclass(frozen=True)
class Held:
    """What a process holds at one moment."""

    python: int  # blocks of Python's own allocator
    malloc: int  # bytes; 0 where the C library does not tell
    resident: int  # bytes; 0 where the system does not tell


def held() -> Held:
    gc.collect()
    try:
        mallinfo = C.CDLL(None).mallinfo2
        mallinfo.restype = _MallInfo
        found = mallinfo()
        malloc = found.uordblks + found.hblkhd
    except AttributeError:
        malloc = 0
    try:
        with open("/proc/self/statm") as statm:
            resident = int(statm.read().split()[1]) * 4096
    except OSError:
        resident = 0
    return Held(sys.getallocatedblocks(), malloc, resident)


def growth(act: Callable[[], object], times: int) -> str | None:
    """What is left behind by every one of so many calls, in words; None where nothing is.

    A first round fills caches. What grows once and no more is not counted.
    """
    for _ in range(times // 5):
        act()
    said = None
    for _ in range(2):
        before = held()
        for _ in range(times):
            act()
        after = held()
        said = _left(before, after, times)
        if said is None:
            return None
    return said


def _left(before: Held, after: Held, times: int) -> str | None:
    blocks = (after.python - before.python) / times
    bytes_ = (after.malloc - before.malloc) / times
    resident = after.resident - before.resident
    if blocks > 0.5:
        return f"{blocks:.1f} blocks of Python's memory for each"
    if bytes_ > 16:
        return f"{bytes_:.0f} bytes for each"
    if resident > max(8 << 20, 128 * times):
        return f"{resident / times:.0f} bytes of resident memory for each"
    return None


# The buffer protocol ---------------------------------------------------------------------------


class _Buffer(C.Structure):
    _fields_ = [
        ("buf", C.c_void_p),
        ("obj", C.py_object),
        ("len", C.c_ssize_t),
        ("itemsize", C.c_ssize_t),
        ("readonly", C.c_int),
        ("ndim", C.c_int),
        ("format", C.c_char_p),
        ("shape", C.POINTER(C.c_ssize_t)),
        ("strides", C.POINTER(C.c_ssize_t)),
        ("suboffsets", C.c_void_p),
        ("internal", C.c_void_p),
    ]


FULL_RO = 0x011C  # PyBUF_FULL_RO


@dataclass(frozen=True)
class Buffer:
    """What the buffer protocol says of an object."""

    address: int
    nbytes: int
    itemsize: int
    readonly: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes

    @property
    def reach(self) -> tuple[int, int]:
        """The addresses that it spans, the end excluded."""
        if self.nbytes == 0:
            return self.address, self.address
        ends = [(n - 1) * step for n, step in zip(self.shape, self.strides)]
        lowest = self.address + sum(end for end in ends if end < 0)
        return lowest, self.address + sum(end for end in ends if end > 0) + self.itemsize


def buffer_of(x: Any) -> Buffer | None:
    """What the buffer protocol says of an object, None where it offers none."""
    view = _Buffer()
    try:
        C.pythonapi.PyObject_GetBuffer(C.py_object(x), C.byref(view), FULL_RO)
    except Exception:
        return None
    try:
        shape = tuple(view.shape[: view.ndim]) if view.shape else ()
        strides = tuple(view.strides[: view.ndim]) if view.strides else ()
        address = int(view.buf or 0)
        return Buffer(address, view.len, view.itemsize, bool(view.readonly), shape, strides)
    finally:
        C.pythonapi.PyBuffer_Release(C.byref(view))
