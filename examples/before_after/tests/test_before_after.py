"""Runs both modules, and holds README.md to what they do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import after
import before
import numpy as np
import pytest
import torch

import foreign

HERE = Path(__file__).resolve().parents[1]


def raised(f, *arguments):
    try:
        f(*arguments)
    except Exception as e:
        return e
    return None


def reads_numpy_and_torch(m):
    a = np.arange(6, dtype="float32").reshape(2, 3)
    return m.mean(a) == m.mean(torch.from_numpy(a)) == 2.5


def writes_into_the_callers_memory(m):
    a = np.ones((2, 3), "float32")
    m.scale(a, 2)
    m.scale(torch.from_numpy(a), 2)
    return bool((a == 4).all())


def follows_strides(m):
    a = np.zeros((4, 6), "float32")
    m.scale(a[::2, ::-2].T, 2)
    a[1::2] = 3
    return m.mean(a[1::2, ::3].T) == 3


def takes_null_strides(m):
    return m.mean(foreign.Producer(2, 3)) == 2.5


def refuses_device_memory(m):
    return raised(m.mean, foreign.Producer(2, 3, device=2)) is not None


def frees_what_it_used(m):
    x = foreign.Producer(2, 3)
    m.mean(x)
    m.scale(x, 1)
    m.normalized(x)
    return (x.handed_out, x.owed) == (3, 0)


def frees_what_it_refused(m):
    x = foreign.Producer(6)
    assert raised(m.mean, x) is not None
    return x.owed == 0


def frees_when_it_throws(m):
    x = foreign.Producer(1, 1)  # a zero
    assert isinstance(raised(m.normalized, x), ValueError)
    return x.owed == 0


def honours_byte_offset(m):
    return m.mean(foreign.Producer(2, 3, before=4)) == 2.5


def reads_read_only_memory(m):
    frozen = np.ones((2, 3), "float32")
    frozen.flags.writeable = False
    return raised(m.mean, frozen) is None


def takes_versioned_capsules(m):
    return raised(m.mean, foreign.Producer(2, 3, only_versioned=True)) is None


def takes_a_parameter(m):
    return raised(m.mean, torch.nn.Parameter(torch.ones(2, 3))) is None


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


def survives_a_fake_tensor(m):
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


def gives_the_callers_own_type(m):
    a = np.ones((2, 3), "float32")
    return type(m.normalized(a)) is np.ndarray and isinstance(
        m.normalized(torch.from_numpy(a)), torch.Tensor
    )


def says_what_came(m):
    said = str(raised(m.mean, np.zeros(3)))
    return "float32[*, *]" in said and "float64[3]" in said


def names_function_and_argument(m):
    return str(raised(m.mean, [1, 2])).startswith("mean(): argument 'x'")


def has_a_signature_that_tells(m):
    return "float32[*, *] on cpu" in m.mean.__doc__


CHECKS = {
    "takes NumPy and PyTorch": reads_numpy_and_torch,
    "writes into the caller's memory": writes_into_the_callers_memory,
    "follows strides, also negative ones": follows_strides,
    "takes tensors without strides": takes_null_strides,
    "refuses device memory": refuses_device_memory,
    "frees what it used": frees_what_it_used,
    "frees what it refused": frees_what_it_refused,
    "frees its arguments when it throws": frees_when_it_throws,
    "honours `byte_offset`": honours_byte_offset,
    "reads read-only memory": reads_read_only_memory,
    "takes versioned capsules": takes_versioned_capsules,
    "takes a `torch.nn.Parameter`": takes_a_parameter,
    "uses PyTorch's exchange table": uses_the_exchange_table,
    "survives a `FakeTensor`": survives_a_fake_tensor,
    "gives back the caller's own type": gives_the_callers_own_type,
    "says what came instead": says_what_came,
    "names function and argument": names_function_and_argument,
    "has a signature that tells": has_a_signature_that_tells,
}
ROW = re.compile(r"^\| (.+?) \| (\S+) \| (\S+) \|$", re.MULTILINE)
ROWS = {what: cells for what, *cells in ROW.findall((HERE / "README.md").read_text())}
LINES = "lines of code"


@pytest.mark.parametrize("what", CHECKS)
def test_row(what):
    held = ["yes" if CHECKS[what](module) else "no" for module in (before, after)]
    assert held == ROWS[what]


def test_each_row_has_a_check():
    assert ROWS.keys() - {LINES, ":--", "What it does"} == set(CHECKS)


def lines_of_code(source):
    text = (HERE / "src" / source).read_text()
    lines = [re.sub(r"//.*", "", line).strip() for line in text.splitlines()]
    return str(sum(1 for line in lines if line))


def test_lines_of_code():
    assert [lines_of_code("before.cpp"), lines_of_code("after.cpp")] == ROWS[LINES]


def test_both_compute_the_same():
    a = np.array([[1, -4], [2, 3]], dtype="float32")
    assert np.array_equal(torch.from_dlpack(before.normalized(a)), after.normalized(a))
