# SPDX-License-Identifier: BSD-3-Clause
"""Builds the wheels of dlbridge, dlbridge-headers and dlbridge-tools once for the current sources;
all sessions install them. packaging/from_artefacts.py gives them those of a release instead."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import machine

SOURCES = ("CMakeLists.txt", "LICENSE", "LICENSES", "NOTICE", "README.md", "cmake", "include",
           "packaging/headers", "packaging/tools", "pyproject.toml", "python")  # fmt: skip
WHEELS = machine.STATE / "wheels"
INDEX = machine.STATE / "index"
# A folder with the folders dlbridge, headers and tools, each of which has one wheel.
ARTEFACTS = os.environ.get("DLBRIDGE_ARTEFACTS")


def _files() -> list[Path]:
    found: list[Path] = []
    for name in SOURCES:
        path = machine.CHECKOUT / name
        found += [path] if path.is_file() else path.rglob("*")
    return sorted(each for each in found if each.is_file() and "__pycache__" not in each.parts)


def _digest(environment: dict[str, str]) -> str:
    """A digest of what a wheel depends on: the Python, the environment and the sources."""
    return _digest_of(repr((sys.version, sorted(environment.items()))))


def sources_digest() -> str:
    """A digest of the sources alone. It is stored beside each wheel, in the file `sources`."""
    return _digest_of("")


def _digest_of(more: str) -> str:
    digest = hashlib.sha256(more.encode())
    for file in _files():
        content = file.read_bytes()
        digest.update(f"{file.relative_to(machine.CHECKOUT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def build(*settings: str) -> Path:
    """Builds the wheel of the current sources unless it exists. Returns its folder, which
    --find-links accepts. `settings` are settings of the build backend."""
    if ARTEFACTS and not settings:
        return Path(ARTEFACTS, "dlbridge")
    environment = machine.build_environment(machine.find_gcc())
    digest = _digest({**environment, "settings": repr(settings)})
    folder = WHEELS / (f"{digest}-with-settings" if settings else digest)
    with machine.locked("wheels"):
        if not list(folder.glob("*.whl")):
            for other in WHEELS.glob("*-with-settings" if settings else f"*{'[0-9a-f]' * 16}"):
                shutil.rmtree(other)  # a wheel of other sources
            machine.say("building the wheel of the package")
            _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder,
                 *(f"--config-settings={each}" for each in settings), machine.CHECKOUT)  # fmt: skip
            if not settings:
                (folder / "sources").write_text(sources_digest())
    return folder


def headers() -> Path:
    """Builds the wheel of dlbridge-headers unless it exists. Returns its folder."""
    return _of_every_python("headers")


def tools() -> Path:
    """Builds the wheel of dlbridge-tools, without a compiler. Returns its folder."""
    return _of_every_python("tools", CC="false", CXX="false")


def _of_every_python(name: str, **variables: str) -> Path:
    """Builds the wheel of a project in the folder packaging unless it exists."""
    if ARTEFACTS:
        return Path(ARTEFACTS, name)
    folder = WHEELS / f"{_digest_of(name)}-{name}"
    with machine.locked("wheels"):
        if not list(folder.glob("*.whl")):
            for other in WHEELS.glob(f"*-{name}"):
                shutil.rmtree(other)
            machine.say(f"building the wheel of the {name}")
            _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder,
                 machine.CHECKOUT / "packaging" / name, **variables)  # fmt: skip
    return folder


def index(*requirements: str) -> Path:
    """A folder of wheels from which extensions are built without any index: those of dlbridge, and
    the build requirements. `--no-index --find-links` accepts it."""
    wheels = [*build().glob("*.whl"), *headers().glob("*.whl")]
    with machine.locked("index"):
        INDEX.mkdir(exist_ok=True)
        for old in INDEX.glob("dlbridge*"):
            old.unlink()
        for wheel in wheels:
            shutil.copy(wheel, INDEX)
        _pip("download", "--only-binary=:all:", "--dest", INDEX, *requirements)
    return INDEX


def _pip(command: str, *arguments: str | Path, **variables: str) -> None:
    variables = {**machine.build_environment(machine.find_gcc()), **variables}
    tools = machine.build_tools()
    variables["PATH"] = os.pathsep.join([str(tools), os.environ["PATH"]])
    arguments = (tools / "python", "-m", "pip", command, "-q", *arguments)
    subprocess.run([*map(str, arguments)], check=True, env={**os.environ, **variables})
