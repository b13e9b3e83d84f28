# SPDX-License-Identifier: BSD-3-Clause
"""The tools as they are installed: dlbridge-tools alone, dlbridge alone, or both.

pytest runs it in the environment of which it speaks. The examined library needs only Python.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "examples" / "conformance"
HAS_DLBRIDGE = importlib.util.find_spec("dlbridge") is not None
PACKAGES = [each for each in ("dlbridge", "dlbridge_tools") if importlib.util.find_spec(each)]
TARGET = "plain:Plain"
each_package = pytest.mark.parametrize("package", PACKAGES)


def run(program: str, *arguments: str, folder: Path = LIBRARY) -> subprocess.CompletedProcess[str]:
    """Runs a console script of this environment, or a module where `program` has no such script."""
    script = Path(sys.executable).with_name(program)
    start = [str(script)] if script.exists() else [sys.executable, "-m", program]
    environment = {name: text for name, text in os.environ.items() if "PYTEST" not in name}
    return subprocess.run(
        [*start, *arguments], capture_output=True, text=True, timeout=300, cwd=folder,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def test_the_versions_are_the_same_and_nothing_is_required() -> None:
    names = {each.replace("_", "-") for each in PACKAGES}
    versions = {importlib.metadata.version(each) for each in names}
    versions |= {run(each, "--version").stdout.strip() for each in (*PACKAGES, *names)}
    assert len(versions) == 1
    required = [line for each in names for line in importlib.metadata.requires(each) or []]
    assert [line for line in required if "extra ==" not in line] == []


@each_package
def test_conformance_needs_only_python(package: str) -> None:
    process = run(package, "conformance", TARGET, "--json")
    assert (process.returncode, process.stderr) == (0, "")
    report = json.loads(process.stdout)
    assert report["counts"]["pass"] > 50 and report["counts"]["crash"] == 0
    assert report["dlbridge"] == importlib.metadata.version(package.replace("_", "-"))


@each_package
def test_other_commands(package: str) -> None:
    script = package.replace("_", "-")
    assert "on cpu" in run(script, "inspect", "array:array('d', [1, 2])").stdout
    assert run(script, "matrix", "--only=array", "--case=vector").returncode == 0
    shown = run(script, "doctor", "--fast").stdout
    assert shown.startswith(f"{script} ")
    assert "is not installed" not in shown.partition("Advice")[2]
    assert ("without the package dlbridge" in shown) == (not HAS_DLBRIDGE)
    words = " ".join(run(script, "--help").stdout.split())
    assert ("; needs dlbridge" in words) == (script != "dlbridge")


@each_package
def test_what_is_missing_is_named(package: str) -> None:
    demo = run(package, "demo", "--only=array")
    through = run(package, "matrix", "--only=array", "--case=vector", "--via=dlbridge")
    missing = [each.stderr for each in (demo, through) if "install dlbridge with" in each.stderr]
    assert len(missing) == (0 if HAS_DLBRIDGE else 2)
    assert [demo.returncode, through.returncode] == ([0, 0] if HAS_DLBRIDGE else [2, 2])


def test_pytest_loads_one_plugin(tmp_path: Path) -> None:
    """Of two plugins with one name pytest loads the first; two would define each option twice."""
    shown = run(
        "pytest", "-p", "no:cacheprovider", f"{TARGET}::P-04", "-q",
        "--trace-config", f"--basetemp={tmp_path / 'base'}",
    )  # fmt: skip
    assert "1 passed" in shown.stdout, shown.stdout + shown.stderr
    assert shown.stdout.count("PLUGIN registered: <module 'dlbridge") == 1, shown.stdout


def test_pytest_collects_nothing_unasked(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    shown = run("pytest", "-p", "no:cacheprovider", "-v", folder=tmp_path)
    assert "collected 1 item" in shown.stdout
