# SPDX-License-Identifier: BSD-3-Clause
"""What the machine has, and what dlbridge finds of it."""

from __future__ import annotations

import ctypes as C
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import dlbridge
from proof.driver import Gpu
from proof.registry import Figures, check, require

LIBRARIES = ("torch", "cupy-cuda12x", "cupy-cuda13x", "jax", "numba-cuda", "cuda-core", "numpy")


def versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def name_of(gpu: Gpu) -> str:
    """The name of the device."""
    name = C.create_string_buffer(100)
    gpu.call("cuDeviceGetName", name, len(name), 0)
    return name.value.decode()


@check("The driver has every function that dlbridge looks up")
def functions_of_the_driver() -> Figures:
    gpu = Gpu()
    header = Path(dlbridge.get_include()) / "dlbridge" / "runtime" / "cuda.hpp"
    names = set(re.findall(r'"(cu[A-Z]\w+)"', header.read_text()))
    require(len(names) > 10, f"only {len(names)} names in {header.name}")
    missing = sorted(name for name in names if not hasattr(gpu.library, name))
    require(not missing, f"the driver lacks {', '.join(missing)}")
    version = C.c_int()
    gpu.call("cuDriverGetVersion", C.byref(version))
    return {
        "device": name_of(gpu),
        "CUDA version of the driver": f"{version.value // 1000}.{version.value % 1000 // 10}",
        "functions": len(names),
        "Python": sys.version.split()[0],
        "dlbridge": dlbridge.__version__,
        **versions(),
    }


@check("`python -m dlbridge doctor` reports the driver and the device")
def doctor() -> None:
    device = name_of(Gpu())
    done = subprocess.run(
        [sys.executable, "-m", "dlbridge", "doctor"], capture_output=True, text=True, timeout=50
    )
    require(device in done.stdout, f"{device} is missing: {done.stdout[-300:]}{done.stderr[-300:]}")
