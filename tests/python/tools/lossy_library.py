# SPDX-License-Identifier: BSD-3-Clause
"""Libraries on NumPy that lose one property of each array that they import, without an error.

Each is an attribute of this module, by which matrix finds it: "lossy_library:float32_half".
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from dlbridge.tools.libraries import Library

Loss = Callable[[Any], Any]  # NumPy's array to what the library makes of it


@dataclass
class Array:
    """An array of NumPy's, with its export, and without its attributes that tell of access."""

    data: Any

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.data.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _through(wide: str, narrow: str) -> Loss:
    return lambda x: x.astype(narrow).astype(wide) if x.dtype == wide else x


def _as(dtype: str, other: str) -> Loss:
    return lambda x: x.view(other) if x.dtype == dtype else x


def _where(holds: Callable[[Any], bool], change: Loss) -> Loss:
    return lambda x: change(x) if holds(x) else x


def _cleared(x: Any) -> Any:
    result = x.copy()
    result[8:] = 0
    return result


class Owned(np.ndarray):
    """Keeps what it is a view of by address."""

    owner: Any = None


def _writable(x: Any) -> Any:
    """Returns a writable array on the same memory."""
    memory = (ctypes.c_char * x.nbytes).from_address(x.ctypes.data)
    result = np.frombuffer(memory, x.dtype).reshape(x.shape).view(Owned)
    result.owner = x
    return result


# By name: what is lost, and the outcome of each array in which that shows.
LOSSES: dict[str, tuple[Loss, dict[str, str]]] = {
    "nothing": (lambda x: x, {}),
    "float64_single": (_through("float64", "float32"), {"float64": "wrong"}),
    "float32_half": (
        _through("float32", "float16"),
        dict.fromkeys(
            (
                *("row-major", "vector", "transposed", "offset", "unaligned", "stepped"),
                *("backwards", "broadcast", "rank 0", "read-only"),
            ),
            "wrong",
        ),
    ),
    "int64_narrow": (_through("int64", "int32"), {"int64": "wrong"}),
    "int64_float": (_through("int64", "float64"), {"int64": "wrong"}),
    "int32_float": (_through("int32", "float32"), {"int32": "wrong"}),
    "uint64_float": (_through("uint64", "float64"), {"uint64": "wrong"}),
    "complex128_single": (_through("complex128", "complex64"), {"complex128": "wrong"}),
    "float16_brain": (
        _where(lambda x: x.dtype == "float16", lambda x: (x.view("i2") & ~7).view("f2")),
        {"float16": "wrong"},
    ),
    "real_part": (
        _where(lambda x: x.dtype.kind == "c", lambda x: x.real + 0j),
        {"complex64": "wrong", "complex128": "wrong"},
    ),
    "conjugate": (
        _where(lambda x: x.dtype.kind == "c", np.conj),
        {"complex64": "wrong", "complex128": "wrong"},
    ),
    "sign_of_zero": (
        _where(lambda x: x.dtype.kind == "f", lambda x: x + x.dtype.type(0)),
        dict.fromkeys(
            ("vector", "stepped", "backwards", "broadcast", "float16", "float64"), "wrong"
        ),
    ),
    "subnormal": (
        _where(lambda x: x.dtype == "float64", lambda x: np.where(abs(x) < 1e-300, x * 0, x)),
        {"float64": "wrong"},
    ),
    "not_a_number": (
        _where(lambda x: x.dtype == "float64", lambda x: np.where(np.isnan(x), 0, x)),
        {"float64": "wrong"},
    ),
    "infinity": (
        _where(lambda x: x.dtype == "float64", lambda x: np.where(np.isinf(x), -1e308, x)),
        {"float64": "wrong"},
    ),
    "byte_order": (
        _where(lambda x: x.dtype == "int32", lambda x: x.byteswap()),
        {"int32": "wrong"},
    ),
    "unsigned": (_as("int8", "uint8"), {"int8": "converted"}),
    "signed": (_as("uint8", "int8"), {"uint8": "converted"}),
    "signed_64": (_as("uint64", "int64"), {"uint64": "converted"}),
    "boolean": (_as("bool", "uint8"), {"bool": "converted"}),
    "single": (
        _where(lambda x: x.dtype == "float64", lambda x: x.astype("float32")),
        {"float64": "converted"},
    ),
    "extents_of_1": (_where(lambda x: 1 in x.shape, np.squeeze), {"extents of 1": "wrong"}),
    "no_dimensions": (_where(lambda x: x.ndim == 0, lambda x: x.reshape(1)), {"rank 0": "wrong"}),
    "no_elements": (_where(lambda x: x.size == 0, lambda x: x.reshape(-1)), {"size 0": "wrong"}),
    "order_of_axes": (
        _where(lambda x: x.ndim == 2 and x.shape[0] == x.shape[1], np.transpose),
        dict.fromkeys(("row-major", "transposed", "read-only"), "wrong"),
    ),
    "order_in_memory": (
        _where(
            lambda x: x.flags.f_contiguous and x.ndim == 2 and x.size > 0,
            lambda x: x.ravel("K").reshape(x.shape),
        ),
        {"transposed": "wrong"},
    ),
    "negative_stride": (
        _where(lambda x: x.ndim > 0 and x.strides[0] < 0, lambda x: x[::-1]),
        {"backwards": "wrong"},
    ),
    "stride_of_0": (
        _where(lambda x: 0 in x.strides and x.size > 1, lambda x: x.T.ravel().reshape(x.shape)),
        {"broadcast": "wrong"},
    ),
    "the_end": (
        _where(lambda x: x.ndim == 1 and x.size > 8, _cleared),
        dict.fromkeys(("vector", "unaligned", "backwards"), "wrong"),
    ),
    "mark": (
        _where(lambda x: not x.flags.writeable and 0 not in x.strides, _writable),
        {"read-only": "writable"},
    ),
}


def _quietly(loses: Loss, x: Any) -> Any:
    with np.errstate(all="ignore"):  # of values beyond the narrower dtype
        return loses(x)


def row(name: str) -> Library:
    loses, _ = LOSSES[name]
    return Library(
        __name__,
        name.replace("_", " "),
        (),
        array=lambda m, values, dtype: Array(np.array(values, dtype)),
        take=lambda m, x: Array(_quietly(loses, np.from_dlpack(x))),
        address=lambda m, x: x.data.ctypes.data,
        values=lambda m, x: x.data.tolist(),
        index=lambda m, x, key: Array(x.data[key]),
        transpose=lambda m, x: Array(x.data.T),
    )


for _name in LOSSES:
    globals()[_name] = row(_name)
