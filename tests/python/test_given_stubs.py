# SPDX-License-Identifier: BSD-3-Clause
"""The stubs that pybind11-stubgen and nanobind's stubgen generate, in type checkers: they need no
dlbridge, accept the callers of NumPy, PyTorch and JAX, and reject wrong uses of arguments and of
results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from type_checkers import mypy, pyright

MODULES = os.environ["DLBRIDGE_TEST_MODULES"]
PATTERN = Path(__file__).parents[1] / "extension" / "given_nanobind.pattern"
GENERATORS = {
    "given_pybind11": ["pybind11_stubgen", "given_pybind11", "-o", ".", "--exit-code"],
    "given_nanobind": ["nanobind.stubgen", "-q", "-m", "given_nanobind", "-O", ".", "-p",
                       str(PATTERN)],
}  # fmt: skip

RIGHT = """
# pyright: strict
import typing
import jax
import numpy as np
import numpy.typing as npt
import torch
import {module} as given

Floats = npt.NDArray[np.float32]
x: Floats = np.ones(3, dtype=np.float32)

def objective(at: Floats, slope: Floats) -> float:
    slope[:] = 2 * at
    return float(at.sum())

def doubled(array: torch.Tensor) -> torch.Tensor:
    return 2 * array

def same(array: jax.Array) -> jax.Array:
    result: jax.Array = given.same_plain(array)
    return result

value: float = given.descend(x, objective)
y: torch.Tensor = given.applied(torch.ones(3), doubled)
typing.assert_type(given.made_numpy(), Floats)
typing.assert_type(given.made_torch(), torch.Tensor)
typing.assert_type(given.halved(x), Floats)
typing.assert_type(given.halved(torch.ones(3)), torch.Tensor)
sums = [each.sum() for each in given.many()]
maybe = given.made_or_none(True)
if maybe is not None:
    print(maybe + 1)
"""
FAST = "typing.assert_type(given.fast_numpy(), Floats)\n"  # nanobind's stubgen writes no types

# A line of a program, what mypy says of it, and the rule of pyright.
WRONG = [
    ("given.same_plain([1.0])", 'incompatible type "list[float]"; expected "SupportsDLPack"',
     "reportArgumentType"),
    ('given.same_plain("text")', 'incompatible type "str"; expected "SupportsDLPack"',
     "reportArgumentType"),
    ("n: int = given.made_numpy()", "Incompatible types in assignment", "reportAssignmentType"),
    ("d: npt.NDArray[np.uint8] = given.made_numpy()", "Incompatible types in assignment",
     "reportAssignmentType"),
    ("t: npt.NDArray[np.float32] = given.made_torch()", 'expression has type "Tensor"',
     "reportAssignmentType"),
    ("given.made_numpy().missing", 'has no attribute "missing"', "reportAttributeAccessIssue"),
    ("given.made_or_none(True) + 1", "Unsupported operand types", "reportOptionalOperand"),
    ('given.applied(np.ones(3), lambda x: "text")', '"Callable[[Any], str]"; expected',
     "reportArgumentType"),
    ("given.halved(given.made_torch()).T.missing", '"Tensor" has no attribute',
     "reportAttributeAccessIssue"),
    ("given.halved([1.0])", "No overload variant", "reportCallIssue"),
]  # fmt: skip


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    for generator in GENERATORS.values():
        done = subprocess.run(
            [sys.executable, "-m", *generator],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": MODULES},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("module", GENERATORS)
def test_the_stub_needs_no_dlbridge(stubs: Path, module: str) -> None:
    assert "dlbridge" not in (stubs / f"{module}.pyi").read_text()


@pytest.mark.parametrize("module", GENERATORS)
def test_right_uses_are_accepted(stubs: Path, module: str) -> None:
    settings = "[mypy]\n"
    fast = FAST
    if module == "given_nanobind":
        settings += "[mypy-given_nanobind]\ndisable_error_code = no-untyped-def\n"
        fast = ""
    (stubs / "caller.py").write_text(RIGHT.format(module=module) + fast)
    files = [f"{module}.pyi", "caller.py"]
    assert mypy(stubs, *files, settings=settings) == []
    assert pyright(stubs, *files) == []


@pytest.mark.parametrize("module", GENERATORS)
def test_wrong_uses_are_rejected(stubs: Path, module: str) -> None:
    head = ["import numpy as np", "import numpy.typing as npt", f"import {module} as given"]
    (stubs / "caller.py").write_text("\n".join([*head, *(line for line, *_ in WRONG)]))
    outputs = mypy(stubs, "caller.py"), pyright(stubs, "caller.py")
    for number, (line, *reasons) in enumerate(WRONG, start=len(head) + 1):
        for output, reason in zip(outputs, reasons):
            found = [each for each in output if each.startswith(f"caller.py:{number}: error: ")]
            assert any(reason in each for each in found), (line, found)
