"""doctor: what it says of this machine, to people and to programs."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dlbridge
from dlbridge import _core
from dlbridge.tools import doctor


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "dlbridge", "doctor", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_for_programs() -> None:
    found: dict[str, Any] = json.loads(run("--json"))
    assert found["dlbridge"] == dlbridge.__version__
    assert found["python"] == platform.python_version()
    assert found["dlpack.h"].startswith("1.")
    assert (Path(found["include"]) / "dlbridge" / "dlbridge.hpp").exists()
    assert found["libraries"]["numpy"].count(".") == 2
    assert set(found["drivers"]) == {"cuda", "rocm"}
    for driver in found["drivers"].values():
        assert set(driver) in ({"why"}, {"library", "version", "devices"})


def test_for_people(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    known = {
        "cuda": {"library": "libcuda.so.1", "version": 13000, "devices": ["First", "Second"]},
        "rocm": {"why": "there is none"},
    }
    monkeypatch.setattr(_core, "_drivers", lambda: known)
    monkeypatch.setenv("COLUMNS", "200")
    assert doctor.run(argparse.Namespace(json=False)) == 0
    said = capsys.readouterr().out
    assert "libcuda.so.1, version 13000; 0: First, 1: Second" in said
    assert "there is none" in said


def test_a_program_that_hangs_or_fails_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "g++").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "nvcc").write_text("no program\n")
    for each in tmp_path.iterdir():
        each.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(doctor, "SECONDS_PER_COMPILER", 0.1)
    found = doctor.examine()["compilers"]
    assert "timed out" in found["g++"]
    assert str(tmp_path / "nvcc") in found["nvcc"]
    assert "hipcc" not in found or found["hipcc"]
