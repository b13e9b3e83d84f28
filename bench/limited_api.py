# SPDX-License-Identifier: BSD-3-Clause
"""Measures what the limited API of CPython costs a call of an extension.

Compiles bench/modules/limited_dlbridge.cpp for this CPython alone, and with the limited API of
3.11. Times the same calls of both modules in turn, and prints the least nanoseconds of each. The
environment variable CXX names the compiler.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
ROUNDS, CALLS = 15, 50_000


def compiled(folder: Path, suffix: str, *options: str) -> Any:
    """The module, compiled with further options."""
    path = folder / f"limited{suffix}"
    dlpack = subprocess.check_output([sys.executable, "-m", "dlbridge", "--include-dir"], text=True)
    includes = (HERE.parent / "include", dlpack.strip(), sysconfig.get_path("include"))
    subprocess.run(
        [os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-shared", "-fPIC",
         "-fvisibility=hidden", *(f"-I{each}" for each in includes), *options,
         str(HERE / "modules" / "limited_dlbridge.cpp"), "-o", str(path)], check=True
    )  # fmt: skip
    spec = importlib.util.spec_from_file_location("limited", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls_of(module: Any) -> dict[str, timeit.Timer]:
    array = module.Array()
    arguments = {
        "def_fast(ndarray)": (module.read, np.ones(8, "float32")),
        "def_fast(torch)": (module.read, torch.ones(8)),
        "def_fast(torch), written to": (module.write, torch.ones(8)),
        "def_fast(Tensor)": (module.read, module.same(array)),
    }
    timers = {
        name: timeit.Timer("f(x)", globals={"f": function, "x": x})
        for name, (function, x) in arguments.items()
    }
    timers["__dlpack__(max_version)"] = timeit.Timer(
        "f(max_version=v)", globals={"f": array.__dlpack__, "v": (1, 3)}
    )
    return timers


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        modes = [
            calls_of(compiled(folder, ".full.so")),
            calls_of(compiled(folder, ".abi3.so", "-DPy_LIMITED_API=0x030B0000")),
        ]
        print(f"{'nanoseconds':30}{'full':>8}{'limited':>9}{'ratio':>8}")
        for call in modes[0]:
            rounds = [[each[call].timeit(CALLS) for each in modes] for _ in range(ROUNDS)]
            full, limited = (min(times) / CALLS * 1e9 for times in zip(*rounds))
            print(f"{call:30}{full:8.1f}{limited:9.1f}{limited / full:8.2f}")


if __name__ == "__main__":
    main()
