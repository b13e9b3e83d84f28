# SPDX-License-Identifier: BSD-3-Clause
"""A module with the array API's functions asarray and from_dlpack."""

from __future__ import annotations

from array import array
from typing import Any

import dlbridge

int8, uint8, float32, float64 = "b", "B", "f", "d"
_Nested = Any


def _flat(values: _Nested) -> list[Any]:
    return [one for part in values for one in _flat(part)] if isinstance(values, list) else [values]


def asarray(values: _Nested, *, dtype: str = float32) -> dlbridge.Tensor:
    """A Tensor over an array of Python's, of two dimensions."""
    flat: Any = memoryview(array(dtype, _flat(values)))
    return dlbridge.as_tensor(flat.cast("B").cast(flat.format, (len(values), len(values[0]))))


def from_dlpack(x: Any) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(x)
