# SPDX-License-Identifier: BSD-3-Clause
"""Runs mypy and pyright on stubs and on programs that use them.

basedpyright is pyright as a package that contains node, which pyright's own package downloads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

# Overloads that differ in dtype or rank alone are the same function for type checkers.
MYPY = ["--strict", "--no-error-summary", "--disable-error-code=overload-cannot-match"]
PYRIGHT = {
    "typeCheckingMode": "standard",
    "reportOverlappingOverload": False,
    "reportMissingModuleSource": False,  # the stubs lie beside no module
}


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, "MYPYPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


def mypy(folder: Path, *arguments: str, settings: str = "[mypy]\n") -> list[str]:
    """The lines of mypy's output, such as "caller.py:3: error: ..."."""
    (folder / "mypy.ini").write_text(settings)
    return run(folder, "mypy", *MYPY, *arguments).splitlines()


def pyright(folder: Path, *files: str) -> list[str]:
    """Pyright's errors in the same form, each with the name of its rule."""
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    options = ["--outputjson", "--level=error", "--pythonpath", sys.executable]
    found = json.loads(run(folder, "basedpyright", *options, *files))["generalDiagnostics"]
    return [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: error: "
        f"{each['message']} ({each.get('rule', '')})"
        for each in found
    ]
