# SPDX-License-Identifier: BSD-3-Clause
"""Prints sections of rows in a terminal: aligned, wrapped, with headings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from . import output

Section = tuple[str, Sequence[tuple[str, ...]]]  # a heading, and rows; the last cell wraps
NARROWEST, WIDEST = 40, 100  # columns: longer lines are hard to read
NARROW = 30  # columns: if the last cell would get fewer, it is printed on lines of its own, and
# also if one of its words, such as a path, is longer than the columns that it would get


def _wrap(text: str, width: int) -> list[str]:
    """Wraps at spaces only, so that paths can be copied."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def lines(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Formats the rows: the columns are aligned, and the last one is wrapped."""
    rows = [tuple(map(output.printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows))]
    indent = 2 + sum(each + 2 for each in widths)
    text_lines = []
    for row in rows:
        cells = "".join(cell.ljust(each + 2) for cell, each in zip(row, widths))
        longest = max(map(len, row[-1].split()), default=0)
        if width - indent < max(NARROW, longest):
            text_lines.append(f"  {cells}".rstrip())
            text_lines += [" " * 6 + line for line in _wrap(row[-1], width - 6)]
            continue
        wrapped = _wrap(row[-1], width - indent) or [""]
        text_lines.append(f"  {cells}{wrapped[0]}".rstrip())
        text_lines += [" " * indent + more for more in wrapped[1:]]
    return text_lines


def show(parts: Sequence[Section]) -> None:
    """Prints sections; one without rows is a heading. Rows that begin with ! are highlighted."""
    width = output.columns(NARROWEST, WIDEST)
    emit = output.line_printer()
    for heading, rows in parts:
        style = "bold"
        for line in [heading, *lines(rows, width), ""]:
            emit((line, style))
            style = "yellow" if rows and rows[0][0] == "!" else ""
