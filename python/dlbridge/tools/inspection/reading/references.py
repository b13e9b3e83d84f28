"""Counts the references to an object that its exports leave behind or drop; on CPython only."""

from __future__ import annotations

import contextlib
import ctypes as C
import gc
import sys
from collections.abc import Iterator
from typing import Any

COUNTED = sys.implementation.name == "cpython"
LENT = 512  # more than the exports of one inspection
FEWEST = 8  # fewer references that are missing were dropped by someone else


@contextlib.contextmanager
def lent(x: Any) -> Iterator[None]:
    """Adds references to an object, so that exports which drop one too many do not free it.

    They are taken back at the end, except for those that are missing by then.
    """
    if not COUNTED:
        yield
        return
    before = sys.getrefcount(x)
    for _ in range(LENT):
        C.pythonapi.Py_IncRef(C.py_object(x))
    try:
        yield
    finally:
        if sys.getrefcount(x) < before + LENT:
            gc.collect()  # garbage may refer to the object, and would hide how many are missing
        missing = max(0, before + LENT - sys.getrefcount(x))
        for _ in range(LENT if missing < FEWEST else max(0, LENT - missing)):
            C.pythonapi.Py_DecRef(C.py_object(x))
