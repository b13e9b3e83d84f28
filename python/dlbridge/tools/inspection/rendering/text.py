# SPDX-License-Identifier: BSD-3-Clause
"""The inspection in a terminal: plain, or in colours."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator

from ... import output
from ...output import printable
from ..conclusions.findings import Findings
from . import facts
from .facts import LEVEL_STYLES, OUTCOMES, outcome_style
from .picture import Cell, draw, label_width, row_label

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
    lines = ("".join(text for text, _ in line).rstrip() for line in _escaped(findings, width))
    return "\n".join(lines)


def show(findings: Findings) -> None:
    """Prints it, in colours where output.shows_colours()."""
    width = terminal_width()
    emit = output.line_printer()
    for line in _escaped(findings, width):
        emit(*((text, STYLES.get(style, "")) for text, style in line))


def _wrapped(head: Line, indent: int, text: str, width: int, style: str = "") -> Iterator[Line]:
    """Yields the head, then a text with a hanging indent."""
    parts = textwrap.wrap(text, max(20, width - indent), break_on_hyphens=False) or [""]
    yield [*head, (parts[0], style)]
    for part in parts[1:]:
        yield [(" " * indent, ""), (part, style)]


def _escaped(findings: Findings, width: int) -> Iterator[Line]:
    for line in _lines(findings, width):
        yield [(printable(text), style) for text, style in line]


def _lines(findings: Findings, width: int) -> Iterator[Line]:
    yield from _top(findings, width)
    yield from _responses(findings, width)
    yield from _picture(findings, width)
    yield from _oddities(findings, width)
    yield from _verdicts(findings, width)


def _top(findings: Findings, width: int) -> Iterator[Line]:
    yield from _wrapped([], 0, findings.subject.type, width, "title")
    if findings.title:
        yield from _wrapped([], 0, findings.title, width, "faint")
    yield from _wrapped([], 0, facts.headline(findings), width)
    if findings.tensor is not None:
        yield []
    for name, text in facts.properties(findings):
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


def _picture(findings: Findings, width: int) -> Iterator[Line]:
    tensor = findings.tensor
    if tensor is None or tensor.layout is None:
        return
    yield []
    yield [("Memory", "title")]
    if not tensor.layout.size:
        yield [("  no elements", "faint")]
        return
    indent = max(len(row_label(tensor, place)) for place in tensor.layout.reach) + 2
    cell_width = label_width(tensor) + 1
    picture = draw(tensor, (width - indent - 2) // cell_width)
    if picture is None:
        yield [("  too wide for this terminal", "faint")]
        return
    for row in picture.rows:
        if row.begins_plane:
            yield []
        if row.cells:
            head: Line = [(row.label.rjust(indent) + "  ", "faint")]
            yield head + [part for cell in row.cells for part in _cell(cell, cell_width)]
        else:
            yield [(" " * (indent + 2) + f"... {row.label}", "faint")]
    for legend in picture.legend:
        yield from _wrapped([("  ", "")], 2, legend, width, "faint")


def _cell(cell: Cell, width: int) -> Line:
    text = cell.label
    if cell.is_shared and ":" not in text:
        text += "+"
    if cell.is_first:
        text = f"[{text}]"
    style = "first" if cell.is_first else "element" if cell.kind == "element" else "faint"
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
