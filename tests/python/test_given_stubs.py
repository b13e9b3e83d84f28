# SPDX-License-Identifier: BSD-3-Clause
"""The stubs that pybind11-stubgen generates, in a type checker without dlbridge: they accept the
callers of NumPy, PyTorch and JAX, and reject wrong uses of arguments and of results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = os.environ["DLBRIDGE_TEST_MODULES"]

RIGHT = """
import jax
import numpy as np
import numpy.typing as npt
import torch
import given_pybind11 as given

Floats = npt.NDArray[np.float32]
x: Floats = np.ones(3, dtype=np.float32)

def objective(at: Floats, slope: Floats) -> float:
    slope[:] = 2 * at
    return float(at.sum())

def doubled(array: torch.Tensor) -> torch.Tensor:
    return 2 * array

value: float = given.descend(x, objective)
y: torch.Tensor = given.applied(torch.ones(3), doubled)
given.same_plain(jax.numpy.ones(3))
z: Floats = given.made_numpy()
fast: Floats = given.fast_numpy()
w: torch.Tensor = given.made_torch()
sums = [each.sum() for each in given.many()]
maybe = given.made_or_none(True)
if maybe is not None:
    print(maybe + 1)
"""

# A line of a program, and what mypy says of it.
WRONG = [
    ("given.same_plain([1.0])", 'incompatible type "list[float]"; expected "SupportsDLPack"'),
    ('given.same_plain("text")', 'incompatible type "str"; expected "SupportsDLPack"'),
    ("n: int = given.made_numpy()", "Incompatible types in assignment"),
    ("d: npt.NDArray[np.uint8] = given.made_numpy()", "Incompatible types in assignment"),
    ("t: npt.NDArray[np.float32] = given.made_torch()", 'expression has type "Tensor"'),
    ("given.made_numpy().missing", 'has no attribute "missing"'),
    ("given.made_or_none(True) + 1", "Unsupported operand types"),
    ('given.applied(np.ones(3), lambda x: "text")', '"Callable[[Any], str]"; expected'),
]


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    generator = [sys.executable, "-m", "pybind11_stubgen", "given_pybind11", "-o", str(folder)]
    done = subprocess.run(
        [*generator, "--exit-code"],
        env={**os.environ, "PYTHONPATH": MODULES},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "dlbridge" not in (folder / "given_pybind11.pyi").read_text()
    return folder


def mypy(stubs: Path, program: str) -> list[str]:
    (stubs / "caller.py").write_text(program)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    options = ["--strict", "--no-error-summary", "--disable-error-code=overload-cannot-match"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "given_pybind11.pyi", "caller.py"],
        env={**environment, "MYPYPATH": str(stubs)},
        cwd=stubs,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_right_uses_are_accepted(stubs: Path) -> None:
    assert mypy(stubs, RIGHT) == []


def test_wrong_uses_are_rejected(stubs: Path) -> None:
    lines = [line for line, _ in WRONG]
    head = ["import numpy as np", "import numpy.typing as npt", "import given_pybind11 as given"]
    output = [each for each in mypy(stubs, "\n".join([*head, *lines])) if ": error: " in each]
    for number, (line, reason) in enumerate(WRONG, start=len(head) + 1):
        found = [each for each in output if each.startswith(f"caller.py:{number}: ")]
        assert any(reason in each for each in found), line
