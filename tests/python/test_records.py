# SPDX-License-Identifier: BSD-3-Clause
"""Vectors of structs as one strided tensor for each field, beside structured arrays of NumPy."""

from __future__ import annotations

import gc
from typing import Any

import pytest

np = pytest.importorskip("numpy")

LAYOUT = [("x", "f8"), ("y", "f8"), ("mass", "f4"), ("id", "i4")]


def test_fields_of_structs_are_strided_views(extension: Any) -> None:
    fields = extension.records.fields(4)
    assert {name: (a.dtype.str, a.strides) for name, a in fields.items()} == {
        name: ("<" + kind, (24,)) for name, kind in LAYOUT
    }
    assert fields["x"].tolist() == [0, 1, 2, 3]
    assert fields["y"].tolist() == [0, 0.5, 1, 1.5]
    assert fields["mass"].tolist() == [1, 1, 1, 1]
    assert fields["id"].tolist() == [0, 1, 2, 3]
    start = min(a.ctypes.data for a in fields.values())  # the offsets are those of the struct
    assert {name: a.ctypes.data - start for name, a in fields.items()} == {
        "x": 0, "y": 8, "mass": 16, "id": 20,
    }  # fmt: skip
    x = fields.pop("x")
    del fields
    gc.collect()
    assert x.tolist() == [0, 1, 2, 3]  # each field keeps the vector
    assert extension.records.fields(0)["id"].shape == (0,)


def test_fields_of_a_structured_array_are_written_in_place(extension: Any) -> None:
    records = np.zeros(3, np.dtype(LAYOUT))
    records["mass"] = [1, 2, 4]
    extension.records.advance(records["x"], records["y"], records["mass"], by=4)
    assert records["x"].tolist() == records["y"].tolist() == [4, 2, 1]
    fields = extension.records.fields(2)
    extension.records.advance(fields["x"], fields["y"], fields["mass"], 1)
    assert fields["x"].tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"argument 'mass': .*with n = 3 as in 'x'"):
        extension.records.advance(records["x"], records["y"], records["mass"][:2], by=4)


def test_what_dlpack_cannot_carry_is_refused(extension: Any) -> None:
    records = np.zeros(3, np.dtype(LAYOUT))
    with pytest.raises(TypeError, match=r"argument 'x': "):
        extension.records.advance(records, records["y"], records["mass"], by=4)
    packed = np.zeros(3, np.dtype([("x", "f8"), ("flag", "u1")]))  # 9 bytes: no stride of float64
    with pytest.raises(TypeError, match=r"argument 'x': "):
        extension.records.advance(packed["x"], records["y"], records["mass"], by=4)
    copied = packed["x"].copy()
    extension.records.advance(copied, records["y"].copy(), np.ones(3, "f4"), by=4)
    assert copied.tolist() == [4, 4, 4]
