"""The wheel of the package: built once for the sources that are there, and installed everywhere."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import machine

SOURCES = ("CMakeLists.txt", "LICENSE", "LICENSES", "NOTICE", "README.md", "cmake", "include",
           "pyproject.toml", "python")  # fmt: skip
WHEELS = machine.STATE / "wheels"


def _files() -> list[Path]:
    found: list[Path] = []
    for name in SOURCES:
        path = machine.CHECKOUT / name
        found += [path] if path.is_file() else path.rglob("*")
    return sorted(each for each in found if each.is_file() and "__pycache__" not in each.parts)


def _digest(environment: dict[str, str]) -> str:
    """Of all that a build depends on: another one is another wheel."""
    digest = hashlib.sha256(repr((sys.version, sorted(environment.items()))).encode())
    for file in _files():
        content = file.read_bytes()
        digest.update(f"{file.relative_to(machine.CHECKOUT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def build() -> Path:
    """The folder with the wheel of these very sources, which pip can be told to look into."""
    environment = machine.build_environment(machine.find_gcc())
    folder = WHEELS / _digest(environment)
    if not list(folder.glob("*.whl")):
        shutil.rmtree(WHEELS, ignore_errors=True)  # those of other sources
        machine.say("building the wheel of the package")
        python = machine.TOOLS / "bin" / "python"
        command = [python, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder]
        subprocess.run([*map(str, command), str(machine.CHECKOUT)], check=True,
                       env={**os.environ, **environment})  # fmt: skip
    return folder
