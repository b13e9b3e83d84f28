# SPDX-License-Identifier: BSD-3-Clause
"""Python's buffer protocol by ctypes: the fields of Py_buffer as the exporter filled them."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from typing import Any

from .elements import span

FULL_READ_ONLY = 0x011C  # PyBUF_FULL_RO: any layout, with strides and format


class View(C.Structure):
    """Py_buffer."""

    _fields_ = [
        ("buf", C.c_void_p),
        ("obj", C.c_void_p),
        ("len", C.c_ssize_t),
        ("itemsize", C.c_ssize_t),
        ("readonly", C.c_int),
        ("ndim", C.c_int),
        ("format", C.c_char_p),
        ("shape", C.POINTER(C.c_ssize_t)),
        ("strides", C.POINTER(C.c_ssize_t)),
        ("suboffsets", C.POINTER(C.c_ssize_t)),
        ("internal", C.c_void_p),
    ]


_get = C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(View), C.c_int)(
    ("PyObject_GetBuffer", C.pythonapi)
)
_release = C.PYFUNCTYPE(None, C.POINTER(View))(("PyBuffer_Release", C.pythonapi))
_has = C.PYFUNCTYPE(C.c_int, C.py_object)(("PyObject_CheckBuffer", C.pythonapi))


def offered(x: Any) -> bool:
    """Whether an object implements the protocol."""
    return bool(_has(x))


def get(x: Any) -> View:
    """Requests a full view, which the caller must release. Passes the exporter's exceptions on."""
    view = View()
    _get(x, C.byref(view), FULL_READ_ONLY)
    return view


def release(view: View) -> None:
    _release(C.byref(view))


@dataclass(frozen=True)
class Buffer:
    """The memory that an exporter describes."""

    address: int
    nbytes: int
    itemsize: int
    readonly: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes

    @property
    def reach(self) -> tuple[int, int]:
        """The addresses that the elements span, the end excluded."""
        if self.nbytes == 0:
            return self.address, self.address
        lowest, highest = span(self.shape, self.strides)
        return self.address + lowest, self.address + highest + self.itemsize


def buffer_of(x: Any) -> Buffer | None:
    """Returns the memory that an object describes, None where it exports no buffer."""
    try:
        view = get(x)
    except Exception:
        return None
    try:
        shape = tuple(view.shape[: view.ndim]) if view.shape else ()
        strides = tuple(view.strides[: view.ndim]) if view.strides else ()
        address = int(view.buf or 0)
        return Buffer(address, view.len, view.itemsize, bool(view.readonly), shape, strides)
    finally:
        release(view)
