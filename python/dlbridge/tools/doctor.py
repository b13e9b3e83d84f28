"""The doctor: what this machine has that bears on exchanging tensors, and what it lacks.

Nothing is imported but dlbridge, and no device is touched beyond being asked for its name.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import dlbridge
from dlbridge import _core
from dlbridge.tools import tables
from dlbridge.tools.libraries import LIBRARIES

SUMMARY = "what this machine has: drivers and their devices, headers, compilers, libraries"
COMPILERS = ["c++", "g++", "clang++", "nvcc", "hipcc", "icpx", "cmake"]
SECONDS_PER_COMPILER = 10


def _say_version(program: str) -> str | None:
    """The line in which a program names its version, or None when there is no such program."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=SECONDS_PER_COMPILER
        )
    except (OSError, subprocess.TimeoutExpired) as reason:
        return f"{path}: {reason}"
    lines = [line for line in done.stdout.splitlines() if re.search(r"\d+[.]\d+", line)]
    return lines[0].strip() if lines else path


def _header_version(directory: Path) -> str | None:
    """The version that a dlpack.h states, or None when there is no such header."""
    header = directory / "dlpack" / "dlpack.h"
    if not header.exists():
        return None
    pattern = r"#define DLPACK_(?:MAJOR|MINOR)_VERSION (\d+)"
    return ".".join(re.findall(pattern, header.read_text(errors="replace"))) or "before 1.0"


def examine() -> dict[str, Any]:
    """What was found, as plain values: what --json prints."""
    include = Path(dlbridge.get_include())
    compilers = {name: _say_version(name) for name in COMPILERS}
    chosen = os.environ.get("CXX")
    if chosen:
        compilers = {f"CXX={chosen}": _say_version(chosen), **compilers}
    return {
        "dlbridge": dlbridge.__version__,
        "dlpack": ".".join(map(str, dlbridge.DLPACK_VERSION)),
        "include": str(include),
        "dlpack.h": _header_version(include),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "drivers": _core._drivers(),
        "compilers": {name: said for name, said in compilers.items() if said is not None},
        "libraries": {
            row.module: row.version
            for row in LIBRARIES.values()
            if row.version is not None and row.module != "dlbridge"
        },
    }


def _show_driver(found: dict[str, Any]) -> str:
    if "why" in found:
        return str(found["why"])
    devices = ", ".join(f"{i}: {name}" for i, name in enumerate(found["devices"]))
    return f"{found['library']}, version {found['version']}; {devices or 'no device'}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(given: argparse.Namespace) -> int:
    """Prints what was found. Returns the exit status, which is 0: lacking something is no error."""
    found = examine()
    if given.json:
        print(json.dumps(found, indent=2))
        return 0
    rows = [
        ("dlbridge", f"{found['dlbridge']}, which speaks DLPack {found['dlpack']}"),
        ("headers", f"{found['include']}, with dlpack.h {found['dlpack.h'] or 'missing'}"),
        ("Python", f"{found['python']} on {found['platform']}"),
        *((f"driver of {name.upper()}", _show_driver(it)) for name, it in found["drivers"].items()),
        *found["compilers"].items(),
        *found["libraries"].items(),
    ]
    tables.show("What there is on this machine", ("what", "which"), rows)
    return 0
