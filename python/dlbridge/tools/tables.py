# SPDX-License-Identifier: BSD-3-Clause
"""Prints tables in a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import Callable

from . import output

NARROWEST = 40  # columns, of a terminal that states fewer, or 0


def show(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Callable[[str], str] = lambda cell: "",
) -> None:
    """Prints a table with a title. The last column gets the remaining width, and wraps.

    style returns the style of a cell by its text, which colours show.
    """
    rows = [[output.printable(cell) for cell in row] for row in rows]
    natural = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    remainder = width() - sum(natural[:-1]) - 2 * (len(header) - 1)
    widths = [*natural[:-1], max(20, min(natural[-1], remainder))]
    emit = output.line_printer()
    emit((title, "bold"))
    emit()
    for number, row in enumerate((header, *rows)):
        *cells, (last, *more) = *row[:-1], textwrap.wrap(row[-1], widths[-1]) or [""]
        parts: list[tuple[str, str]] = []
        for cell, each in zip(cells, widths):
            parts += [(cell, style(cell)), (" " * (each - len(cell) + 2), "")]
        emit(*parts, (last, style(row[-1])))
        for rest in more:
            emit((" " * (sum(widths[:-1]) + 2 * (len(header) - 1)) + rest, ""))
        if number == 0:
            emit(("  ".join("-" * each for each in widths), ""))
    emit()


def show_items(title: str, items: Sequence[tuple[str, str]]) -> None:
    """Prints a title, and each item: its heading on a line, its text wrapped below."""
    columns = output.columns(NARROWEST, 100)
    lines = []
    for head, text in items:
        indented = "    "
        lines += [
            f"  {output.printable(head)}",
            textwrap.fill(
                output.printable(text),
                columns,
                initial_indent=indented,
                subsequent_indent=indented,
            ),
        ]
    emit = output.line_printer()
    emit((title, "bold"))
    for line in (*lines, ""):
        emit((line, ""))


def width() -> int:
    """Returns the width of a table in columns of text."""
    return max(NARROWEST, shutil.get_terminal_size((100, 24)).columns)
