# SPDX-License-Identifier: BSD-3-Clause
"""Examines this machine apart from its libraries: Python, compilers, dlpack.h, drivers."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import children, core

COMPILERS = ["c++", "g++", "clang++", "nvcc", "hipcc", "icpx", "cmake"]
SECONDS_PER_PROGRAM = 10
SECONDS_FOR_DRIVERS = 60.0
OLDEST_HEADER = (1, 0)  # the oldest that dlbridge supports (spec 1.1)


def python() -> dict[str, Any]:
    """Describes the interpreter, which extensions must match."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "abi": sysconfig.get_config_var("SOABI") or "unknown",
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "gil": bool(gil),
        "platform": platform.platform(),
    }


# Compilers -------------------------------------------------------------------------------------


def _output(*command: str) -> str:
    """Runs a program and returns its output. Raises OSError and subprocess.TimeoutExpired."""
    process = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", timeout=SECONDS_PER_PROGRAM,
    )  # fmt: skip
    return process.stdout


def _version_of(program: str) -> str | None:
    """Returns the line in which a program prints its version, or None when it is not installed."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        output = _output(path, "--version")
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path}: {error}"
    lines = [line for line in output.splitlines() if re.search(r"\d+[.]\d+", line)]
    return lines[0].strip() if lines else path


def compilers() -> dict[str, str]:
    """Returns the versions of the compilers on the path, and of the one in the variable CXX."""
    names = [*COMPILERS]
    if os.environ.get("CXX"):
        names.insert(0, os.environ["CXX"])
    output = {name: _version_of(name) for name in names}
    return {name: version for name, version in output.items() if version is not None}


# Headers ---------------------------------------------------------------------------------------


def header_version(include: Path) -> str | None:
    """Returns the version of the dlpack.h below a directory, or None when there is none.

    Headers before 1.0 state one number, whose last digit is ignored: 60 is 0.6.
    """
    try:
        text = (include / "dlpack" / "dlpack.h").read_text(errors="replace")
    except OSError:
        return None
    numbers = re.findall(r"#define\s+DLPACK_(?:MAJOR|MINOR)_VERSION\s+(\d+)", text)
    if numbers:
        return ".".join(numbers)
    single_number = re.search(r"#define\s+DLPACK_VERSION\s+(\d+)", text)
    return (
        f"{int(single_number[1]) // 100}.{int(single_number[1]) // 10 % 10}"
        if single_number
        else "unknown"
    )


def is_too_old(version: str) -> bool:
    """Whether dlbridge rejects a header of this version."""
    numbers = re.findall(r"\d+", version)
    return not numbers or tuple(map(int, numbers)) < OLDEST_HEADER


def _searched_by_compiler() -> list[str]:
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if compiler is None:
        return []
    try:
        output = _output(compiler, "-E", "-v", "-x", "c++", os.devnull)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^ (/\S.*?)(?: \(.*\))?$", output.partition("search starts here")[2], re.M)


def _of_tvm_ffi() -> list[Path]:
    """Returns the directories that `tvm-ffi-config --dlpack-includedir` would print."""
    try:
        spec = importlib.util.find_spec("tvm_ffi")
    except (ImportError, ValueError):
        return []
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    below = ["include", "3rdparty/dlpack/include"]
    return [root / each for root in roots for each in below]


def _prefixes() -> Iterator[tuple[str, Path]]:
    for name in ("CMAKE_PREFIX_PATH", "dlpack_DIR", "dlpack_ROOT", "DLPACK_ROOT", "CONDA_PREFIX"):
        for each in filter(None, os.environ.get(name, "").split(os.pathsep)):
            root = Path(each)
            # dlpack_DIR is PREFIX/lib/cmake/dlpack
            yield name, root.parents[2] if name == "dlpack_DIR" and len(root.parts) > 3 else root
    yield "sys.prefix", Path(sys.prefix)


def own_include() -> str | None:
    """Returns the include directory of dlbridge; None where dlbridge is not installed."""
    try:
        import dlbridge
    except ImportError:
        return None
    return dlbridge.get_include()


def _include_directories() -> Iterator[tuple[str, Path]]:
    if include := own_include():
        yield "dlbridge", Path(include)
    for each in _of_tvm_ffi():
        yield "tvm-ffi", each
    if os.environ.get("DLPACK_INCLUDE_DIR"):
        yield "DLPACK_INCLUDE_DIR", Path(os.environ["DLPACK_INCLUDE_DIR"])
    for name in _searched_by_compiler():
        yield "the compiler", Path(name)
    for name, prefix in _prefixes():
        yield name, prefix / "include"


def headers() -> list[dict[str, Any]]:
    """Finds every dlpack/dlpack.h that a build may include, and the settings that lead to it."""
    rows: dict[Path, dict[str, Any]] = {}
    for source, include in _include_directories():
        version = header_version(include)
        if version is None:
            continue
        row = {
            "version": version, "include": str(include), "found_by": [],
            "too_old": is_too_old(version),
        }  # fmt: skip
        finders = rows.setdefault(include.resolve(), row)["found_by"]
        if source not in finders:
            finders.append(source)
    return list(rows.values())


# Drivers ---------------------------------------------------------------------------------------


def drivers() -> dict[str, Any]:
    """Reports CUDA's and ROCm's drivers and devices; in a child process, as a driver may hang."""
    if reason := core.why_missing():
        error = f"not examined: {reason}"
        return {name: {"why": error} for name in ("cuda", "rocm")}
    answer = children.call("dlbridge._core:_drivers", seconds=SECONDS_FOR_DRIVERS)
    if answer.outcome == "returned":
        return dict(answer.value)
    reason = f"the driver query {answer.outcome}: {answer.message}"
    return {name: {"why": reason} for name in ("cuda", "rocm")}
