# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the build of the Python package requires of packages, CMake and Python.

docs/howto/builds.md names the same requirements as pyproject.toml. If the system's CMake is too
old, pip fetches another one, and without build isolation scikit-build-core states the version that
it needs.

    check_requirements.py CHECKOUT
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

SKIPPED = 77
OLD_CMAKE = """#!/bin/sh
echo '{"version": {"string": "3.22.1"}}'
"""


def differences(checkout: Path) -> list[str]:
    """What docs/howto/builds.md and the CMake files state otherwise than pyproject.toml."""
    project = (checkout / "pyproject.toml").read_text(encoding="utf-8")
    page = (checkout / "docs" / "howto" / "builds.md").read_text(encoding="utf-8")
    build = (checkout / "CMakeLists.txt").read_text(encoding="utf-8")
    python = (checkout / "cmake" / "python.cmake").read_text(encoding="utf-8")

    def value(pattern: str) -> str:
        found = re.search(pattern, project, re.MULTILINE)
        assert found is not None, f"pyproject.toml has no {pattern}"
        return found[1]

    required = value(r"^requires = \[(.+)\]").replace(",", "")
    carrier = value(r'^build.requires = \["(.+)"\]')
    cmake = value(r'^cmake.version = ">=(.+)"')
    least = value(r'^requires-python = ">=(.+)"')
    command = f'pip download --dest packages {required} "{carrier}" "cmake>={cmake}" ninja'
    wanted = (
        ("docs/howto/builds.md", page, command),
        ("docs/howto/builds.md", page, f"| Python before {least} |"),
        ("CMakeLists.txt", build, f"cmake_minimum_required(VERSION {cmake})"),
        ("cmake/python.cmake", python, f"find_package(Python {least} COMPONENTS"),
        ("cmake/python.cmake", python, f"Python_VERSION VERSION_LESS {least}"),
        ("cmake/python.cmake", python, f"needs Python {least} or newer"),
    )
    return [f"{file} lacks: {text}" for file, content, text in wanted if text not in content]


def with_old_cmake(backend: Any, checkout: Path) -> list[str]:
    """What is wrong with the messages on a system whose CMake is too old."""
    os.chdir(checkout)
    sys.modules["cmake"] = None  # type: ignore[assignment]  # the package, which has a CMake too
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "cmake"
        program.write_text(OLD_CMAKE, encoding="utf-8")
        program.chmod(0o755)
        os.environ["PATH"] = folder
        faults = []
        fetched = backend.get_requires_for_build_wheel()
        if "cmake>=3.24" not in fetched:
            faults.append(f"pip fetches no CMake, only {fetched}")
        try:
            backend.build_wheel(folder)
            faults.append("a wheel is built with an old CMake")
        except Exception as error:
            if "Could not find CMake with version >=3.24" not in str(error):
                faults.append(f"with an old CMake: {error!r}")
    return faults


def main() -> int:
    checkout = Path(sys.argv[1]).resolve()
    faults = differences(checkout)
    try:
        backend = importlib.import_module("scikit_build_core.build")
    except ImportError:
        backend = None
    if backend is not None:
        faults += with_old_cmake(backend, checkout)
    print("\n".join(faults) or "the requirements agree")
    if not faults and backend is None:
        print("skipped: scikit-build-core is not installed, so no old CMake was tried")
        return SKIPPED
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
