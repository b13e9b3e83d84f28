# SPDX-License-Identifier: BSD-3-Clause
"""Prints tables in a terminal: with rich where it is installed, in plain text otherwise."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import Callable

from dlbridge.tools import output

try:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ImportError:
    Console = None  # type: ignore[assignment,misc]

NARROWEST = 40  # columns, of a terminal that states fewer, or 0


def show(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Callable[[str], str] = lambda cell: "",
) -> None:
    """Prints a table with a title; cells are wrapped to the width of the terminal.

    style returns rich's style of a cell by its text; plain text ignores it.
    """
    rows = [[output.printable(cell) for cell in row] for row in rows]
    if Console is None:
        print(plain(title, header, rows, width()))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=style(cell)) for cell in row))
    console = Console(width=width())
    console.print(title, style="bold", highlight=False)
    console.print(table)


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
    emit = output.line_printer(columns)
    emit((title, "bold"))
    for line in (*lines, ""):
        emit((line, ""))


def count(number: int, noun: str, plural: str = "") -> str:
    """Formats a number of things.

    >>> count(1, "pair"), count(2, "library", "libraries")
    ('1 pair', '2 libraries')
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def width() -> int:
    """Returns the width of a table in columns of text."""
    own = shutil.get_terminal_size((100, 24)).columns if Console is None else Console().width
    return max(NARROWEST, own)


def plain(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Formats the table as text. The last column gets the remaining width, and wraps."""
    natural = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    remainder = width - sum(natural[:-1]) - 2 * (len(header) - 1)
    widths = [*natural[:-1], max(20, min(natural[-1], remainder))]
    lines: list[str] = [title, ""]
    for number, row in enumerate((header, *rows)):
        last = textwrap.wrap(row[-1], widths[-1]) or [""]
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        lines.append("  ".join([*cells[:-1], last[0]]).rstrip())
        indent = " " * (sum(widths[:-1]) + 2 * (len(header) - 1))
        lines.extend(indent + more for more in last[1:])
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join([*lines, ""])
