# SPDX-License-Identifier: BSD-3-Clause
"""The library as a target of the conformance tool: planted.library:make, from_dlpack, asarray."""

from __future__ import annotations

import math
import os
from typing import Any

from planted import consumer, exchange, planting
from planted.array import Array, of_elements
from planted.elements import TYPES, number

__array_api_version__ = "2025.12"


def make(
    shape: tuple[int, ...], dtype: str = "float32", readonly: bool = False, device: str = "cpu"
) -> Array:
    """Returns 0, 1, 2, ... in an array. Raises KeyError or ValueError for what it does not have."""
    if device != "cpu":
        raise ValueError(f"expected device 'cpu'; got {device!r}")
    kind = TYPES[dtype]
    return of_elements([number(kind, i) for i in range(math.prod(shape))], shape, dtype, readonly)


def asarray(x: Any, /, *, dtype: str | None = None, copy: bool | None = None) -> Array:
    """Returns an array of x, another array or nested lists of numbers."""
    if isinstance(x, Array):
        if dtype not in (None, x.dtype):
            raise ValueError("asarray converts no elements")
        return x.copy() if copy else x
    if hasattr(x, "__dlpack__"):
        return from_dlpack(x, copy=copy)
    if copy is False:
        raise ValueError("numbers must be copied")
    return _of_lists(x, dtype or "float32")


def _of_lists(x: Any, dtype: str) -> Array:
    shape, flat = [], [x]
    while flat and isinstance(flat[0], (list, tuple)):
        shape.append(len(flat[0]))
        flat = [each for part in flat for each in part]
    return of_elements(flat, tuple(shape), dtype)


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """Returns an array over the memory of any producer on the CPU."""
    return consumer.from_dlpack(x, device=device, copy=copy)


exchange.install()
planting.plant(os.environ.get("DLBRIDGE_PLANTED", ""))
