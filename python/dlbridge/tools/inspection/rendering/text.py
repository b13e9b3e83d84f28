# SPDX-License-Identifier: BSD-3-Clause
"""The inspection in a terminal: plain, or in colours."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from ... import output
from ...output import printable
from ..conclusions.findings import Findings
from ..reading.description import Description
from . import facts
from .facts import LEVEL_STYLES, OUTCOMES, outcome_style
from .picture import MOST_DOWN, Cell, Picture, Value, fit, no_value, row_label

NARROWEST, WIDEST = 60, 120
LABELS = 16  # columns of the names of properties
# Styles, by the meaning of a text.
STYLES = {
    "title": "bold",
    "name": "dim",
    "good": "green",
    "fair": "yellow",
    "bad": "bold red",
    "faint": "dim",
    "first": "bold reverse",
    "element": "cyan",
}
Line = list[tuple[str, str]]  # texts with a key of STYLES, or with ""


def terminal_width() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))


def as_plain(findings: Findings, width: int) -> str:
    return plain(_lines(findings, width))


def plain(lines: Iterable[Line]) -> str:
    """Returns lines without colours."""
    return "\n".join(printable("".join(text for text, _ in line)).rstrip() for line in lines)


def show(findings: Findings) -> None:
    """Prints it, in colours where output.shows_colours()."""
    emit_lines(_lines(findings, terminal_width()))


def emit_lines(lines: Iterable[Line]) -> None:
    """Prints lines, in colours where output.shows_colours()."""
    emit = output.line_printer()
    for line in lines:
        emit(*((printable(text), STYLES.get(style, "")) for text, style in line))


def _wrapped(head: Line, indent: int, text: str, width: int, style: str = "") -> Iterator[Line]:
    """Yields the head, then a text with a hanging indent."""
    parts = textwrap.wrap(text, max(20, width - indent), break_on_hyphens=False) or [""]
    yield [*head, (parts[0], style)]
    for part in parts[1:]:
        yield [(" " * indent, ""), (part, style)]


def _lines(findings: Findings, width: int) -> Iterator[Line]:
    yield from _top(findings, width)
    yield from _responses(findings, width)
    yield from memory_lines(findings.tensor, width)
    yield from _oddities(findings, width)
    yield from _verdicts(findings, width)


def _top(findings: Findings, width: int) -> Iterator[Line]:
    rows = facts.properties(findings)
    headline = facts.headline(findings)
    yield from head_lines(findings.subject.type, findings.title, headline, rows, width)


def head_lines(
    type_: str, title: str, headline: str, rows: Sequence[tuple[str, str]], width: int
) -> Iterator[Line]:
    """Yields the type of an object, how the caller named it, and its properties."""
    yield from _wrapped([], 0, type_, width, "title")
    if title:
        yield from _wrapped([], 0, title, width, "faint")
    yield from _wrapped([], 0, headline, width)
    if rows:
        yield []
    for name, text in rows:
        yield from _wrapped([(f"  {name.ljust(LABELS)}", "name")], LABELS + 2, text, width)


def _short(title: str) -> str:
    """Shortens a call to its keywords, which are listed below the bare call."""
    inner = title[len("__dlpack__(") : -1]
    return f"  {inner}" if title.startswith("__dlpack__(") and inner else title


def _responses(findings: Findings, width: int) -> Iterator[Line]:
    absent = [
        response.title
        for response in findings.responses
        if response.outcome == "absent" and not response.said
    ]
    rows = [row for row in facts.response_rows(findings) if row[0].title not in absent]
    yield []
    yield [("Responses by protocol", "title")]
    indent = max((len(_short(response.title)) for response, *_ in rows), default=0) + 4
    clock = 9 if width >= 72 else 0
    for response, *texts in rows:
        head: Line = [(f"  {_short(response.title)}".ljust(indent), "name")]
        style = {"raised": "fair", "unreadable": "bad", "skipped": "faint"}
        text = "; ".join(filter(None, texts))
        lines = list(_wrapped(head, indent, text, width - clock, style.get(response.outcome, "")))
        duration = facts.duration(response.seconds)
        if clock and duration:
            length = sum(len(part) for part, _ in lines[0])
            lines[0].append((duration.rjust(width - length), "faint"))
        yield from lines
    if absent:
        yield from _wrapped([("  not supported: ", "faint")], 17, ", ".join(absent), width, "faint")


def memory_lines(
    x: Description | None, width: int, value: Value = no_value, note: str = ""
) -> Iterator[Line]:
    """Yields the picture of the memory under a heading, and the note below it."""
    if x is None or x.layout is None:
        return
    yield []
    yield [("Memory", "title")]
    if not x.layout.size:
        yield [("  no elements", "faint")]
        return
    labels = [row_label(x, place) for place in x.layout.reach]
    steps = (max(map(abs, x.stride_bytes or x.layout.strides), default=0)) if x.shape else 0
    indent = max(*map(len, labels), len(f"dim 0 +{steps}")) + 2
    lanes = (indent + 1) * min(MOST_DOWN, max(1, len(x.layout.moving) - 1)) if x.shape else 0
    found = fit(x, width - indent - 2 - lanes, value, lambda letters: letters + 1)
    if found is None:
        yield [("  too wide for this terminal", "faint")]
        return
    picture, cell_width = found
    grid = [*_grid(picture, indent, cell_width)]
    yield from _with_arrows_down(picture, grid)
    for legend in (*picture.legend, *filter(None, [note])):
        yield from _wrapped([("  ", "")], 2, legend, width, "faint")


def _grid(picture: Picture, indent: int, width: int) -> Iterator[tuple[int | None, Line]]:
    """Yields the lines above and in the grid, each with the number of the row that it begins."""
    for arrow in picture.across:
        ends = [
            indent + 2 + place[1] * width + width // 2 - 1 for place in (arrow.begin, arrow.end)
        ]
        line = "-" * (max(ends) - min(ends))
        line = f"{line}>" if ends[0] < ends[1] else f"<{line}" if line else "o"
        label = arrow.label.rjust(indent)
        yield None, [(label + " " * (min(ends) - indent), "faint"), (line, "")]
    for number, row in enumerate(picture.rows):
        if row.begins_plane:
            yield None, []
        if not row.cells:
            yield number, [(" " * (indent + 2) + f"... {row.label}", "faint")]
            continue
        head = row.label.rjust(indent) + "  "
        indices = [part for cell in row.cells for part in _cell(cell, width, picture.has_values)]
        if not picture.has_values:
            yield number, [(head, "faint"), *indices]
            continue
        values = "".join(cell.value.center(width - 1) + " " for cell in row.cells)
        yield number, [(head, "faint"), (values, "element")]
        yield None, [(" " * len(head), ""), *indices]


def _with_arrows_down(picture: Picture, grid: list[tuple[int | None, Line]]) -> Iterator[Line]:
    """Yields the grid with the arrows of picture.down at the right, below their labels."""
    if not picture.down:
        yield from (line for _, line in grid)
        return
    at = max(sum(len(text) for text, _ in line) for _, line in grid) + 2
    lines = {number: place for place, (number, _) in enumerate(grid) if number is not None}
    if not picture.across:
        grid.insert(0, (None, []))
        lines = {number: place + 1 for number, place in lines.items()}
    labels = "  ".join(arrow.label for arrow in picture.down)
    for place, (_, line) in enumerate(grid):
        lane = labels if place == max(0, len(picture.across) - 1) else ""
        for number, arrow in enumerate(picture.down):
            begin, end = lines[arrow.begin[0]], lines[arrow.end[0]]
            if min(begin, end) <= place <= max(begin, end):
                sign = "|" if place != end else "v" if begin < end else "^"
                before = sum(len(each.label) + 2 for each in picture.down[:number])
                lane = lane.ljust(before + len(arrow.label) // 2) + sign
        filled = sum(len(text) for text, _ in line)
        yield [*line, (" " * (at - filled) + lane, "")] if lane else line


def _cell(cell: Cell, width: int, is_below: bool) -> Line:
    """The index of an element, centred; faint where its value is above it."""
    text = cell.label
    if cell.is_shared and ":" not in text:
        text += "+"
    if cell.is_first:
        text = f"[{text}]"
    is_plain = cell.kind == "element" and not is_below
    style = "first" if cell.is_first else "element" if is_plain else "faint"
    filled = text.center(width - 1)
    space = len(filled) - len(filled.lstrip())
    return [(filled[:space], ""), (filled.strip(), style),
            (" " * (width - space - len(filled.strip())), "")]  # fmt: skip


def _oddities(findings: Findings, width: int) -> Iterator[Line]:
    oddities = findings.oddities
    yield []
    yield [("Oddities", "title")]
    if not oddities:
        yield [("  none", "good")]
    for odd in oddities:
        head: Line = [(f"  {odd.level.ljust(8)}", LEVEL_STYLES[odd.level])]
        text = facts.oddity_text(odd, findings)
        yield from _wrapped(head, 10, text, width)
        if odd.who:
            yield from _wrapped([(" " * 10, "")], 10, f"-> {odd.who}", width, "faint")
        if odd.repair:
            yield from _wrapped([(" " * 10, "")], 10, f"Repair: {odd.repair}", width)
        if odd.rule:
            yield from _wrapped([(" " * 10, "")], 10, facts.source_of(odd), width, "faint")


def _verdicts(findings: Findings, width: int) -> Iterator[Line]:
    yield []
    head: Line = [("Consumers  ", "title")]
    yield from _wrapped(head, 11, facts.summary(findings), width, "faint")
    rows = findings.verdicts
    indent = max(len(OUTCOMES[row.outcome][0]) for row in rows) + 4
    for row, *others in facts.equal_verdicts(findings):
        titles = ", ".join(each.title for each in (row, *others))
        front = f"  {OUTCOMES[row.outcome][0]}".ljust(indent)
        text = f"{titles}: {row.text}" if row.text else titles
        yield from _wrapped([(front, outcome_style(row))], indent, text, width)
    verified = f"Verified with {facts.versions(findings)}."
    yield from _wrapped([("  ", "")], 2, verified, width, "faint")
