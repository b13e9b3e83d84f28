# SPDX-License-Identifier: BSD-3-Clause
"""Checks every row of the second table in README.md with both versions of the library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import library
import numpy as np
import pytest
import torch
from tables import lines_of_code, rows_of

import foreign

HERE = Path(__file__).resolve().parents[1]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
FLOAT32, TEXT = DTYPES.index("float32"), len(DTYPES)


class Way:
    """The functions of before.cpp, or those of after.cpp."""

    def __init__(self, after):
        self.after = after

    def imported(self, x, **keywords):
        return library.from_capsule(x.__dlpack__(**keywords), self.after)

    def exported(self, array):
        return Exported(array, self.after)


class Exported:
    """A producer that exports an array of the library."""

    def __init__(self, array, after):
        self.array, self.after = array, after

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        return library.to_capsule(self.array, self.after)


def refusal_of(m, x):
    try:
        m.imported(x, max_version=(1, 3))
    except Exception as e:
        return str(e)
    return None


class Changed(foreign.Producer):
    """A producer that changes a field of its struct."""

    def __init__(self, *shape, change, **options):
        super().__init__(*shape, **options)
        self.change = change

    def __dlpack__(self, **keywords):
        capsule = super().__dlpack__(**keywords)
        self.change(self.structs[-1])
        return capsule


def refuses(m, change, *shape):
    x = Changed(*shape, change=change)
    return refusal_of(m, x) is not None


def exports_each_dtype(m):
    def read(type, name):
        a = library.zeros([2, 3], type)
        t = torch.from_dlpack(m.exported(a))
        assert name == "bfloat16" or np.from_dlpack(m.exported(a)).dtype == name
        return str(t.dtype) == f"torch.{name}" and t.data_ptr() == a.address

    return all(read(type, name) for type, name in enumerate(DTYPES))


def imports_each_dtype(m):
    def read(name):
        t = torch.ones(2, 3, dtype=getattr(torch, name))
        a = m.imported(t, max_version=(1, 3))
        return torch.equal(torch.from_dlpack(m.exported(a)), t) and a.address == t.data_ptr()

    return all(read(name) for name in DTYPES)


def exchanges_strides(m):
    x = np.arange(60, dtype="int32").reshape(5, 3, 4)[:, ::-2].T
    a = m.imported(x, max_version=(1, 3))
    back, expected = np.from_dlpack(m.exported(a.transposed().reversed())), x.T[::2][::-1]
    return np.array_equal(back, expected) and back.ctypes.data == expected.ctypes.data


def marks_read_only(m):
    a = library.zeros([3], FLOAT32)
    x = np.ones(3)
    x.flags.writeable = False
    return (
        np.from_dlpack(m.exported(a)).flags.writeable
        and not np.from_dlpack(m.exported(a.read_only())).flags.writeable
        and not m.imported(x, max_version=(1, 3)).writable
    )


def keeps_exported_memory(m):
    a = library.zeros([3], FLOAT32)
    x = np.from_dlpack(m.exported(a))
    alive = a.owners
    del x
    return (alive, a.owners) == (2, 1)


def frees_imported_memory(m):
    x = foreign.Producer(2, 3)
    a = m.imported(x, max_version=(1, 3))
    view = a.transposed()
    del a
    alive = x.alive
    del view
    return (alive, x.alive) == (1, 0)


def imports_legacy(m):
    x = foreign.Producer(2, 3)
    return np.from_dlpack(m.exported(m.imported(x))).tolist() == [[0, 1, 2], [3, 4, 5]]


def imports_null_strides_and_offset(m):
    x = foreign.Producer(2, 3, before=4)
    return np.from_dlpack(m.exported(m.imported(x, max_version=(1, 3)))).tolist() == [
        [0, 1, 2],
        [3, 4, 5],
    ]


def imports_second_cpu(m):
    return not refuses(m, lambda s: setattr(s.tensor, "device_id", 1), 2, 3)


def refuses_to_export(m, array):
    try:
        m.exported(array).__dlpack__()
    except Exception:
        return True
    return False


def refuses_text(m):
    return refuses_to_export(m, library.zeros([2], TEXT))


def refuses_fields_of_records(m):
    return refuses_to_export(m, library.field_of_records())


def refuses_other_devices(m):
    return refusal_of(m, foreign.Producer(2, 3, device=8)) is not None


def frees_refused(m):
    x = foreign.Producer(2, 3, device=8)
    assert refusal_of(m, x) is not None
    return x.alive == 0


def refuses_lanes(m):
    return refuses(m, lambda s: setattr(s.tensor, "lanes", 4), 2, 3)


def refuses_wrong_bits(m):
    def change(s):
        s.tensor.code, s.tensor.bits = 6, 32  # a bool of 32 bits

    return refuses(m, change, 2, 3)


def refuses_versions(m):
    return refuses(m, lambda s: setattr(s, "major", 2), 2, 3)


def refuses_padded(m):
    return refuses(m, lambda s: setattr(s.tensor, "bits", 4), 2, 3)


def refuses_null_data(m):
    return refuses(m, lambda s: setattr(s.tensor, "data", None), 2, 3)


def survives(m, change):
    program = f"""
import ctypes, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import foreign, library
x = foreign.Producer(2, 3)
capsule = x.__dlpack__(max_version=(1, 3))
{change}
try:
    library.from_capsule(capsule, {m.after})
except Exception:
    pass
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def survives_null_deleter(m):
    return survives(m, "x.structs[-1].deleter = foreign.Deleter(0)")


def survives_negative_rank(m):
    return survives(m, "x.structs[-1].tensor.ndim = -1")


def describes(m):
    text = refusal_of(m, foreign.Producer(2, 3, device=8)) or ""
    other = refusal_of(m, Changed(2, 3, change=lambda s: setattr(s.tensor, "lanes", 4))) or ""
    return "metal" in text and "float32x4" in other


CHECKS = {
    "exports each dtype of the library": exports_each_dtype,
    "imports each of them, without a copy": imports_each_dtype,
    "converts strides of bytes, also negative ones": exchanges_strides,
    "exports and imports read-only memory as such": marks_read_only,
    "keeps exported memory alive": keeps_exported_memory,
    "frees imported memory with its last array": frees_imported_memory,
    "imports legacy tensors": imports_legacy,
    "imports without strides and with `byte_offset`": imports_null_strides_and_offset,
    "imports from a second CPU device": imports_second_cpu,
    "refuses to export a dtype that DLPack lacks": refuses_text,
    "refuses a device that the library lacks": refuses_other_devices,
    "refuses to export steps that are no whole elements": refuses_fields_of_records,
    "refuses elements of several lanes": refuses_lanes,
    "refuses 32-bit bool": refuses_wrong_bits,
    "refuses 4-bit elements": refuses_padded,
    "refuses an unknown major version": refuses_versions,
    "refuses missing data": refuses_null_data,
    "survives a null deleter": survives_null_deleter,
    "survives a negative rank": survives_negative_rank,
    "frees refused tensors": frees_refused,
    "error messages describe the received tensor": describes,
}
LINES = "lines of code"
ROWS = rows_of(HERE / "README.md", "## An array library")


@pytest.mark.parametrize("row", CHECKS)
def test_row(row):
    results = ["yes" if CHECKS[row](m) else "no" for m in (Way(False), Way(True))]
    assert results == ROWS[row]


def test_each_row_has_a_check():
    assert ROWS.keys() - {LINES, ":--", "Property"} == set(CHECKS)


def test_lines_of_code():
    files = [HERE / "library" / name for name in ("before.cpp", "after.cpp")]
    assert [lines_of_code(each) for each in files] == ROWS[LINES]
