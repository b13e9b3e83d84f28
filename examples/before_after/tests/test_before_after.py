# SPDX-License-Identifier: BSD-3-Clause
"""Checks every row of the first table in README.md with both modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import after
import before
import numpy as np
import pytest
import torch
from tables import lines_of_code, rows_of

import foreign

HERE = Path(__file__).resolve().parents[1]


def exception_of(f, *arguments):
    try:
        f(*arguments)
    except Exception as e:
        return e
    return None


def accepts_numpy_and_torch(m):
    a = np.arange(6, dtype="float32").reshape(2, 3)
    return m.mean(a) == m.mean(torch.from_numpy(a)) == 2.5


def writes_into_the_callers_memory(m):
    a = np.ones((2, 3), "float32")
    m.scale(a, 2)
    m.scale(torch.from_numpy(a), 2)
    return bool((a == 4).all())


def applies_strides(m):
    a = np.zeros((4, 6), "float32")
    m.scale(a[::2, ::-2].T, 2)
    a[1::2] = 3
    return m.mean(a[1::2, ::3].T) == 3


def accepts_null_strides(m):
    return m.mean(foreign.Producer(2, 3)) == 2.5


def refuses_device_memory(m):
    return exception_of(m.mean, foreign.Producer(2, 3, device=2)) is not None


def frees_accepted_tensors(m):
    x = foreign.Producer(2, 3)
    m.mean(x)
    m.scale(x, 1)
    m.normalized(x)
    return (x.exported, x.alive) == (3, 0)


def frees_refused_tensors(m):
    x = foreign.Producer(6)
    assert exception_of(m.mean, x) is not None
    return x.alive == 0


def frees_when_it_throws(m):
    x = foreign.Producer(1, 1)  # a zero
    assert isinstance(exception_of(m.normalized, x), ValueError)
    return x.alive == 0


def applies_byte_offset(m):
    return m.mean(foreign.Producer(2, 3, before=4)) == 2.5


def accepts_read_only_memory(m):
    frozen = np.ones((2, 3), "float32")
    frozen.flags.writeable = False
    return exception_of(m.mean, frozen) is None


def accepts_versioned_capsules(m):
    return exception_of(m.mean, foreign.Producer(2, 3, only_versioned=True)) is None


def accepts_a_parameter(m):
    return exception_of(m.mean, torch.nn.Parameter(torch.ones(2, 3))) is None


def uses_the_exchange_table(m):
    calls = 0
    original = torch.Tensor.__dlpack__

    def counted(self, *arguments, **keywords):
        nonlocal calls
        calls += 1
        return original(self, *arguments, **keywords)

    torch.Tensor.__dlpack__ = counted
    try:
        m.mean(torch.ones(2, 3))
    finally:
        torch.Tensor.__dlpack__ = original
    return calls == 0


def refuses_a_fake_tensor(m):
    program = f"""
import torch, {m.__name__}
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    fake = torch.ones(2, 3)
try:
    {m.__name__}.mean(fake)
except TypeError:
    pass
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def returns_the_callers_type(m):
    a = np.ones((2, 3), "float32")
    return type(m.normalized(a)) is np.ndarray and isinstance(
        m.normalized(torch.from_numpy(a)), torch.Tensor
    )


def describes_the_received_tensor(m):
    message = str(exception_of(m.mean, np.zeros(3)))
    return "float32[*, *]" in message and "float64[3]" in message


def names_function_and_argument(m):
    return str(exception_of(m.mean, [1, 2])).startswith("mean(): argument 'x'")


def states_the_requirements(m):
    return "float32[*, *] on cpu" in m.mean.__doc__


CHECKS = {
    "accepts NumPy and PyTorch": accepts_numpy_and_torch,
    "writes into the caller's memory": writes_into_the_callers_memory,
    "applies strides, including negative ones": applies_strides,
    "accepts tensors without strides": accepts_null_strides,
    "refuses device memory": refuses_device_memory,
    "frees accepted tensors": frees_accepted_tensors,
    "frees refused tensors": frees_refused_tensors,
    "frees its arguments when it throws": frees_when_it_throws,
    "applies `byte_offset`": applies_byte_offset,
    "accepts read-only memory": accepts_read_only_memory,
    "accepts versioned capsules": accepts_versioned_capsules,
    "accepts a `torch.nn.Parameter`": accepts_a_parameter,
    "uses PyTorch's exchange table": uses_the_exchange_table,
    "refuses a `FakeTensor` without crashing": refuses_a_fake_tensor,
    "returns the caller's type": returns_the_callers_type,
    "error messages describe the received tensor": describes_the_received_tensor,
    "error messages name function and argument": names_function_and_argument,
    "signatures state the requirements": states_the_requirements,
}
ROWS = rows_of(HERE / "README.md", "## An extension")
LINES = "lines of code"


@pytest.mark.parametrize("row", CHECKS)
def test_row(row):
    results = ["yes" if CHECKS[row](module) else "no" for module in (before, after)]
    assert results == ROWS[row]


def test_each_row_has_a_check():
    assert ROWS.keys() - {LINES, ":--", "Property"} == set(CHECKS)


def test_lines_of_code():
    files = [HERE / "src" / name for name in ("before.cpp", "after.cpp")]
    assert [lines_of_code(each) for each in files] == ROWS[LINES]


def test_both_compute_the_same():
    a = np.array([[1, -4], [2, 3]], dtype="float32")
    assert np.array_equal(torch.from_dlpack(before.normalized(a)), after.normalized(a))
