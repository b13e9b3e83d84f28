# SPDX-License-Identifier: BSD-3-Clause
"""The stubs that pybind11-stubgen generates for an extension: readable, and accepted by mypy and
pyright."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from type_checkers import mypy, pyright

MODULES = os.environ["DLBRIDGE_TEST_MODULES"]
VECTOR = 'typing.Annotated[SupportsDLPack, "float32[*] on cpu{}"]'

# CPython 3.13 states a text signature for every function without arguments. The generator prefers
# it to the docstring, and it has no result.
DEVICE = "" if sys.version_info >= (3, 13) else " -> tuple[int, int]"

# A stub file, and a line of it.
SIGNATURES: list[tuple[str, str]] = [
    ("by_fast.pyi",
     'def rgb(x: typing.Annotated[SupportsDLPack, "uint8[*, *, 3] on cpu"]) '
     "-> int:"),
    ("by_def.pyi",
     "def float_or_double(x: typing.Annotated[SupportsDLPack, "
     '"float32 or float64 [...] on cpu"]) -> int:'),
    ("by_def.pyi", f"def doubled(x: {VECTOR.format('')}) -> typing.Any:"),
    ("by_library.pyi", f"def optional_owned(x: {VECTOR.format('')} | None) -> int:"),
    ("fast.pyi",
     f"def axpy(a: float, x: {VECTOR.format('')}, y: {VECTOR.format(', writable')}) -> None:"),
    ("__init__.pyi", f"    def __dlpack_device__(self){DEVICE}:"),
]  # fmt: skip

USER = """
import numpy as np
import dlbridge
import extension

x = np.zeros(3, dtype=np.float32)
extension.scale(x, 2.0)
total: float = extension.join(x, y=dlbridge.from_dlpack(x))
extension.fast.axpy(1.0, x, x)
product: float = extension.Image(1, 3).dot(np.zeros((1, 3), dtype=np.float32))
same: int = extension.by_def.optional_owned(None)
shared = np.from_dlpack(dlbridge.from_dlpack(x))
shared.sum()
"""
WRONG = """
import extension

extension.scale(3, 2.0)
extension.by_def.owned(None)
extension.fast.axpy("1", 2, 3)
"""


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    generator = [sys.executable, "-m", "pybind11_stubgen", "extension", "-o", str(folder)]
    no_expressions = "<Row.*|std::.*|:(less|allocator)<.*"  # of Python
    generator += ["--ignore-invalid-expressions", no_expressions]
    path = os.pathsep.join([MODULES, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*generator, "--exit-code"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


# What pybind11 and its stub generator themselves write: *args without types, a list without its
# elements, a callable without its parameters, the __eq__ of an operator and the __hash__ of a class
# that has one; from CPython 3.12 on __buffer__, and no result of a method of Python's C API.
OWN_FORMS = """[mypy]
[mypy-extension.members]
disable_error_code = no-untyped-def, type-arg, override, assignment
[mypy-extension.dtypes]
disable_error_code = type-arg
[mypy-extension.exits]
disable_error_code = no-untyped-def
[mypy-extension.packs]
disable_error_code = no-untyped-def
[mypy-extension.visible]
disable_error_code = no-untyped-def
"""
if not DEVICE:
    OWN_FORMS += "[mypy-extension]\ndisable_error_code = no-untyped-def\n"


@pytest.mark.parametrize("file, line", SIGNATURES, ids=lambda each: str(each)[:20])
def test_signatures(stubs: Path, file: str, line: str) -> None:
    assert line in (stubs / "extension" / file).read_text().splitlines()


def test_overloads(stubs: Path) -> None:
    text = (stubs / "extension" / "__init__.pyi").read_text()
    assert text.count("def kind(") == 4
    assert text.count("    def add(") == 2


def test_the_stubs_have_no_internal_attributes(stubs: Path) -> None:
    for stub in stubs.rglob("*.pyi"):
        assert "__dlbridge" not in stub.read_text()


def test_mypy_accepts_the_stubs(stubs: Path) -> None:
    assert mypy(stubs, "-p", "extension", settings=OWN_FORMS) == []


def test_type_checkers_accept_correct_calls(stubs: Path) -> None:
    (stubs / "user.py").write_text(USER)
    assert mypy(stubs, "user.py", settings=OWN_FORMS) == []
    assert pyright(stubs, "user.py") == []


def test_type_checkers_report_wrong_calls(stubs: Path) -> None:
    (stubs / "wrong.py").write_text(WRONG)
    outputs = mypy(stubs, "wrong.py", settings=OWN_FORMS), pyright(stubs, "wrong.py")
    for output, reason in zip(outputs, ("Argument 1", "(reportArgumentType)")):
        for line in (4, 5, 6):
            found = [each for each in output if each.startswith(f"wrong.py:{line}: error: ")]
            assert any(reason in each for each in found), (line, output)
