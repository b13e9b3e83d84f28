# SPDX-License-Identifier: BSD-3-Clause
"""The tables of README.md, and the lines of code that they state."""

from __future__ import annotations

import re
from pathlib import Path

ROW = re.compile(r"^\| (.+?) \| (\S+) \| (\S+) \|$", re.MULTILINE)


def rows_of(page: Path, heading: str) -> dict[str, list[str]]:
    """The rows of the table below a heading."""
    section = page.read_text().split(f"{heading}\n")[1].split("\n## ")[0]
    return {row: cells for row, *cells in ROW.findall(section)}


def lines_of_code(source: Path) -> str:
    lines = [re.sub(r"//.*", "", line).strip() for line in source.read_text().splitlines()]
    return str(sum(1 for line in lines if line))
