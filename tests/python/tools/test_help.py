# SPDX-License-Identifier: BSD-3-Clause
"""The help of each command ends with examples, which work as they stand."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dlbridge.__main__ import parser
from dlbridge.tools.command_line import TOOLS


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    python, *arguments = shlex.split(line, comments=True)
    assert python == "python"
    paths = [each for each in sys.path if each and Path(each).exists()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def examples() -> list[str]:
    """The lines after "examples:" in the help of the main command and of each tool."""
    main = parser()
    (action,) = (each for each in main._actions if each.dest == "tool")
    assert action.choices is not None and {*action.choices} == {*TOOLS}
    parsers = [main, *dict(action.choices).values()]
    lines: list[str] = []
    for each in parsers:
        found = each.format_help().partition("\nexamples:\n")[2].splitlines()
        assert 2 <= len(found) <= 4, each.prog
        assert all(len(line) <= 80 for line in found)
        lines += map(str.strip, found)
    return lines


@pytest.mark.parametrize("line", examples())
def test_an_example_works_as_it_stands(line: str, tmp_path: Path) -> None:
    process = run(line, tmp_path)
    assert (process.returncode, bool(process.stdout)) == (0, True), process.stderr
    assert {each.name for each in tmp_path.iterdir()} <= {*shlex.split(line)}
