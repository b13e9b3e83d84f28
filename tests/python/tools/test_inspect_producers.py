# SPDX-License-Identifier: BSD-3-Clause
"""What inspect reports for arrays of real libraries, compared with those libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

import dlbridge
from dlbridge.tools import libraries
from dlbridge.tools.inspection.inspection import Inspection
from dlbridge.tools.libraries import CASES, Case, Library
from rows import JAX_IS_VERSIONED

LIBRARIES = libraries.LIBRARIES
# The faults that a look finds in the newest releases; nothing else may be reported.
KNOWN = {
    "torch": {"P-39"},
    "tvm_ffi": {"P-24"},
    "jax": {"P-42"} if JAX_IS_VERSIONED else set(),
}
LEGACY_OF_READ_ONLY = "P-49"  # which no standard forbids
READABLE = [case for case in CASES.values() if not case.dtype.startswith(("complex", "bfloat"))]


def flat(values: Any) -> list[Any]:
    return [one for part in values for one in flat(part)] if isinstance(values, list) else [values]


def shape_of(values: Any) -> tuple[int, ...]:
    return (len(values), *shape_of(values[0] if values else 0)) if isinstance(values, list) else ()


def test_arrays_of_a_library_are_described(library: Library) -> None:
    module = library.load()
    count = 0
    for case in READABLE:
        try:
            x = case.make(library, module)
        except Exception:  # the library has no such array
            continue
        compare(library, module, case, x)
        count += 1
    assert count >= (len(READABLE) if library.module == "numpy" else 6)


def compare(library: Library, module: Any, case: Case, x: Any) -> None:
    inspection = dlbridge.inspect(x)
    description = inspection.tensor
    assert description is not None and description.layout is not None
    assert description.shape == shape_of(case.values)
    assert description.dtype_text == case.dtype
    expected = flat(case.values)[:6]
    assert [_as_text(value) for value in expected] == list(description.sample)
    if expected and library.address is not None:
        assert description.first == library.address(module, x)
    kinds = {sign.kind for sign in inspection.signs}
    assert kinds <= {LEGACY_OF_READ_ONLY, *KNOWN.get(library.module, ())}
    is_exported = bool(expected) and inspection.description("bare", "1.0") is not None
    assert inspection.comparison.truth or not is_exported or library.module == "tvm_ffi"
    restored = Inspection.from_dict(inspection.to_dict())
    assert restored == inspection and restored.text(80)


def _as_text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def verdict(x: Any, consumer: str) -> str:
    (row,) = (v for v in dlbridge.inspect(x).verdicts if v.consumer == consumer)
    return row.outcome


def test_numpy() -> None:
    a = np.arange(12, dtype="float32").reshape(3, 4)
    inspection = dlbridge.inspect(a[::-1, 1:])
    descriptions = {
        each.name: each.description for each in inspection.responses if each.description
    }
    modern = {"1.0", "1.3", "copy", "1.0 copy"} if np.__version__ >= "2.1" else set()
    assert set(descriptions) == {"bare", "buffer", "array", *modern}
    for name, description in descriptions.items():
        if "copy" not in name:
            assert description.first == a[::-1, 1:].ctypes.data
            assert description.stride_bytes == (-16, 4)
            assert description.read_only in ((None,) if name == "bare" else (False,))
    assert bool(inspection.differences) == bool(modern)
    assert all(each.expected for each in inspection.differences)
    a.flags.writeable = False
    assert dlbridge.inspect(a).response("bare").raised == "BufferError"  # type: ignore[union-attr]
    assert verdict(a, "torch") == ("shares" if modern else "refuses")
    refused = not (modern and JAX_IS_VERSIONED)  # a copy where the memory is not aligned to 64
    assert verdict(a, "jax") in (["refuses"] if refused else ["shares", "copies"])


def test_numpy_is_sound() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    frozen = a.copy()
    frozen.flags.writeable = False
    arrays = [
        a, a.T, a[:, ::2, 1:], a[::-1], frozen, np.broadcast_to(a[0], a.shape), a[:1, :, :1],
        np.ones(()), np.ones((0, 3)), np.array([np.nan, np.inf]),
        np.ma.array([1.0, 2.0]), np.arange(10**6).reshape(1000, -1)[:, ::-3],
        np.zeros(3, dtype=[("a", "f4"), ("b", "i1")])["a"], np.zeros(2, dtype="longdouble"),
        np.zeros(2, dtype="clongdouble"), np.frombuffer(bytes(33), "u1")[1:].view("f8"),
        *(np.arange(6).astype(kind).reshape(2, 3) for kind in "?bBhHiIqQefdFD"),
    ]  # fmt: skip
    for x in arrays:
        inspection = dlbridge.inspect(x)
        assert inspection.sound and not inspection.signs, inspection
        is_compared = inspection.response("bare").raised == "" and x.size > 0  # type: ignore[union-attr]
        assert bool(inspection.comparison.truth) >= is_compared, inspection


def test_a_device_of_numpy_integers_is_sound() -> None:
    class Producer:
        array = np.arange(3.0)

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self) -> Any:
            return (np.int32(1), np.int64(0))

    assert dlbridge.inspect(Producer()).sound


def test_numpy_dtypes_that_dlpack_has_not() -> None:
    swapped = dlbridge.inspect(np.arange(3).astype(">i4"))
    assert swapped.tensor is not None and swapped.tensor.dtype is None
    assert {v.outcome for v in swapped.verdicts} <= {"refuses", "unknown"}
    dates = dlbridge.inspect(np.zeros(3, dtype="datetime64[s]"))
    assert dates.response("bare").raised == "BufferError"  # type: ignore[union-attr]
    fields = np.zeros(3, dtype=[("a", "f4"), ("b", "i1")])["a"]  # strides of 5 bytes
    odd = dlbridge.inspect(fields)
    assert odd.tensor is not None and odd.tensor.strides is None
    assert odd.tensor.byte_strides == (5,)
    assert odd.text()
