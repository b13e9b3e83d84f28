"""What is on this machine besides libraries: Python, compilers, every dlpack.h, drivers."""

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

import dlbridge
from dlbridge.tools import children

COMPILERS = ["c++", "g++", "clang++", "nvcc", "hipcc", "icpx", "cmake"]
SECONDS_PER_PROGRAM = 10
SECONDS_FOR_DRIVERS = 60.0
OLDEST_HEADER = (1, 0)  # that dlbridge compiles with (spec 1.1)


def python() -> dict[str, Any]:
    """The interpreter: what its extensions must fit."""
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
    """What a program prints to either stream. Raises OSError and subprocess.TimeoutExpired."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", timeout=SECONDS_PER_PROGRAM,
    )  # fmt: skip
    return done.stdout


def _say_version(program: str) -> str | None:
    """The line in which a program names its version, or None when there is no such program."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        said = _output(path, "--version")
    except (OSError, subprocess.TimeoutExpired) as reason:
        return f"{path}: {reason}"
    lines = [line for line in said.splitlines() if re.search(r"\d+[.]\d+", line)]
    return lines[0].strip() if lines else path


def compilers() -> dict[str, str]:
    """The compilers on the path, and the one that CXX names, each with its own words."""
    names = [*COMPILERS]
    if os.environ.get("CXX"):
        names.insert(0, os.environ["CXX"])
    said = {name: _say_version(name) for name in names}
    return {name: words for name, words in said.items() if words is not None}


# Headers ---------------------------------------------------------------------------------------


def header_version(include: Path) -> str | None:
    """The version that the dlpack.h below a directory states, or None when there is none.

    Headers before 1.0 count in one number, of which the last digit is left out: 60 is 0.6.
    """
    try:
        text = (include / "dlpack" / "dlpack.h").read_text(errors="replace")
    except OSError:
        return None
    found = re.findall(r"#define\s+DLPACK_(?:MAJOR|MINOR)_VERSION\s+(\d+)", text)
    if found:
        return ".".join(found)
    old = re.search(r"#define\s+DLPACK_VERSION\s+(\d+)", text)
    return f"{int(old[1]) // 100}.{int(old[1]) // 10 % 10}" if old else "unknown"


def is_too_old(version: str) -> bool:
    """Whether dlbridge refuses to compile with a header that states this."""
    numbers = re.findall(r"\d+", version)
    return not numbers or tuple(map(int, numbers)) < OLDEST_HEADER


def _searched_by_compiler() -> list[str]:
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if compiler is None:
        return []
    try:
        said = _output(compiler, "-E", "-v", "-x", "c++", os.devnull)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^ (/\S.*?)(?: \(.*\))?$", said.partition("search starts here")[2], re.M)


def _of_tvm_ffi() -> list[Path]:
    """The place that `tvm-ffi-config --dlpack-includedir` prints, without running it."""
    try:
        found = importlib.util.find_spec("tvm_ffi")
    except (ImportError, ValueError):
        return []
    roots = [Path(root) for root in (found.submodule_search_locations or [])] if found else []
    below = ["include", "3rdparty/dlpack/include"]
    return [root / each for root in roots for each in below]


def _prefixes() -> Iterator[tuple[str, Path]]:
    for name in ("CMAKE_PREFIX_PATH", "dlpack_DIR", "dlpack_ROOT", "DLPACK_ROOT", "CONDA_PREFIX"):
        for each in filter(None, os.environ.get(name, "").split(os.pathsep)):
            root = Path(each)
            # dlpack_DIR is PREFIX/lib/cmake/dlpack
            yield name, root.parents[2] if name == "dlpack_DIR" and len(root.parts) > 3 else root
    yield "sys.prefix", Path(sys.prefix)


def _places() -> Iterator[tuple[str, Path]]:
    yield "dlbridge", Path(dlbridge.get_include())
    for each in _of_tvm_ffi():
        yield "tvm-ffi", each
    if os.environ.get("DLPACK_INCLUDE_DIR"):
        yield "DLPACK_INCLUDE_DIR", Path(os.environ["DLPACK_INCLUDE_DIR"])
    for name in _searched_by_compiler():
        yield "the compiler", Path(name)
    for name, prefix in _prefixes():
        yield name, prefix / "include"


def headers() -> list[dict[str, Any]]:
    """Every dlpack/dlpack.h that a build may meet, and who leads there; one place counts once."""
    found: dict[Path, dict[str, Any]] = {}
    for whose, include in _places():
        version = header_version(include)
        if version is None:
            continue
        row = {
            "version": version, "include": str(include), "found_by": [],
            "too_old": is_too_old(version),
        }  # fmt: skip
        finders = found.setdefault(include.resolve(), row)["found_by"]
        if whose not in finders:
            finders.append(whose)
    return list(found.values())


# Drivers ---------------------------------------------------------------------------------------


def drivers() -> dict[str, Any]:
    """CUDA's and ROCm's, with devices, or why not; asked in another process, as they hang too."""
    answer = children.call("dlbridge._core:_drivers", seconds=SECONDS_FOR_DRIVERS)
    if answer.outcome == "returned":
        return dict(answer.value)
    why = f"asking the driver {answer.outcome}: {answer.said}"
    return {name: {"why": why} for name in ("cuda", "rocm")}
