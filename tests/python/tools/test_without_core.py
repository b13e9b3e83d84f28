# SPDX-License-Identifier: BSD-3-Clause
"""The tools in a copy of the package without the compiled module: they need only Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import dlbridge

MODULES = [
    "dlbridge.tools.abi",
    "dlbridge.tools.conformance",
    "dlbridge.tools.demo",
    "dlbridge.tools.doctor",
    "dlbridge.tools.inspection.inspection",
    "dlbridge.tools.known",
    "dlbridge.tools.libraries",
    "dlbridge.tools.matrix",
]


@pytest.fixture(scope="module")
def python_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, without its compiled module and headers."""
    folder = tmp_path_factory.mktemp("python_only")
    ignored = shutil.ignore_patterns("_core*.so", "_core*.pyd", "include", "share", "__pycache__")
    shutil.copytree(Path(dlbridge.__file__).parent, folder / "dlbridge", ignore=ignored)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with the copy first on its path."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        timeout=300,
    )


@pytest.mark.parametrize("module", MODULES)
def test_the_tools_can_be_imported(python_only: Path, module: str) -> None:
    process = run(
        python_only,
        "-c",
        f"import sys, {module}; assert 'dlbridge._core' not in sys.modules",
    )
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.parametrize("name", ["from_dlpack", "as_tensor", "Tensor", "dtype", "DLPACK_VERSION"])
def test_a_compiled_attribute_raises_import_error(python_only: Path, name: str) -> None:
    process = run(python_only, "-c", f"import dlbridge; dlbridge.{name}")
    last = process.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: dlbridge.{name}: the compiled module dlbridge._core is")
    assert "pip install" in last


def test_other_attributes(python_only: Path) -> None:
    process = run(
        python_only,
        "-c",
        "import dlbridge; print(dlbridge.__version__, dlbridge.get_include()); dlbridge.nothing",
    )
    assert str(python_only) in process.stdout
    assert "AttributeError: module 'dlbridge' has no attribute 'nothing'" in process.stderr


def test_inspect_is_available(python_only: Path) -> None:
    process = run(python_only, "-c", "import dlbridge; print(dlbridge.inspect(b'abc').tensor.text)")
    assert process.stdout == "uint8[3] on cpu\n", process.stderr


def test_doctor(python_only: Path) -> None:
    process = run(python_only, "-m", "dlbridge", "doctor", "--fast", "--json")
    report = json.loads(process.stdout)
    assert report["dlbridge"]["dlpack"] == "unknown"
    assert "compiled module" in report["drivers"]["cuda"]["why"]
    assert any("pip install ." in sentence for sentence in report["advice"])


def test_a_module_that_cannot_be_loaded(python_only: Path, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(python_only, folder)
    (folder / "dlbridge" / f"_core{EXTENSION_SUFFIXES[0]}").write_bytes(b"no library")
    reason = "compiled module cannot be loaded ("
    report = json.loads(run(folder, "-m", "dlbridge", "doctor", "--fast", "--json").stdout)
    assert any(reason in sentence for sentence in report["advice"])
    process = run(folder, "-c", "from dlbridge import from_dlpack")
    assert reason in process.stderr and "install dlbridge again" in process.stderr


def test_inspect_command(python_only: Path) -> None:
    process = run(python_only, "-m", "dlbridge", "inspect", "array:array('d', [1, 2])")
    assert process.returncode == 0, process.stderr
    assert "float64[2] on cpu" in process.stdout


def test_conformance(python_only: Path) -> None:
    (python_only / "target.py").write_text(
        "from dlbridge.tools.ctypes_arrays import array\n"
        "class Array:\n"
        "    def __dlpack_device__(self):\n"
        "        return (1, 0)\n"
        "    def __dlpack__(self):\n"
        "        return array([1.0, 2.0], 'float32')\n"
    )
    arguments = ("conformance", "target:Array", "--only", "P-01", "--only", "P-02", "--json")
    process = run(python_only, "-m", "dlbridge", *arguments)
    outcomes = [each["outcome"] for each in json.loads(process.stdout)["results"]]
    assert (process.returncode, outcomes) == (0, ["pass", "pass"])


def test_matrix(python_only: Path) -> None:
    process = run(python_only, "-m", "dlbridge", "matrix", "--only", "array", "--case", "vector")
    assert process.returncode == 0, process.stderr
    assert "1 exchange in 1 pair." in process.stdout
    through = run(python_only, "-m", "dlbridge", "matrix", "--via", "dlbridge")
    assert through.returncode == 2
    assert "the compiled module dlbridge._core is missing" in through.stderr


def test_demo_reports_the_missing_module_in_one_line(python_only: Path) -> None:
    process = run(python_only, "-m", "dlbridge", "demo")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.startswith("dlbridge demo: the compiled module dlbridge._core is missing")
    assert process.stderr.count("\n") == 1
