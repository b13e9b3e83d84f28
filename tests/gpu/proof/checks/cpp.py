# SPDX-License-Identifier: BSD-3-Clause
"""A program in C++ that includes the headers of the installed package."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import dlbridge
from proof.registry import Skipped, check, require

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "cpp_devices" / "main.cpp"


@check("A program in C++ moves and orders tensors (examples/cpp_devices)", limit=90)
def cpp_example() -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        raise Skipped("there is no C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder, "cpp_devices"))
        options = ["-std=c++17", "-I", dlbridge.get_include(), "-o", program]
        built = subprocess.run(
            [compiler, *options, str(EXAMPLE), "-ldl"], capture_output=True, text=True
        )
        require(built.returncode == 0, built.stderr[-300:])
        done = subprocess.run([program], capture_output=True, text=True, timeout=30)
    said = f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    require(done.returncode == 0, said[:300])
    require(done.stdout.split() == ["done"], said[:300])  # it also states why there is no driver
