"""The inspection in a terminal: one layout of lines, plain or with rich's colours."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dlbridge.tools.inspection import facts
from dlbridge.tools.inspection.picture import Cell, draw, label_width, row_label
from dlbridge.tools.inspection.verdicts import SAID, Verdict

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection

NARROWEST, WIDEST = 60, 120
LABELS = 16  # columns of the names of facts
# Styles of rich, by what is said.
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
OUTCOMES = {
    "shares": "good",
    "copies": "fair",
    "depends": "fair",
    "refuses": "fair",
    "unknown": "faint",
    "wrong": "bad",
    "breaks": "bad",
    "crashes": "bad",
}
LEVELS = {"defect": "bad", "risk": "fair", "note": "faint"}

Line = list[tuple[str, str]]  # texts with a name of STYLES, or with ""


def outcome_style(verdict: Verdict) -> str:
    """By its outcome; what goes well but deserves a word is not all good."""
    style = OUTCOMES[verdict.outcome]
    return "fair" if style == "good" and verdict.text else style


def terminal_width() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((80, 24)).columns))


def as_plain(inspection: Inspection, width: int) -> str:
    lines = ("".join(text for text, _ in line).rstrip() for line in _lines(inspection, width))
    return "\n".join(lines)


def show(inspection: Inspection) -> None:
    """Prints it, in colours where rich is there and a terminal listens."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        print(as_plain(inspection, terminal_width()))
        return
    console = Console(highlight=False)
    width = max(NARROWEST, min(WIDEST, console.width))
    for line in _lines(inspection, width):
        parts = [(text, STYLES.get(style, "")) for text, style in line]
        console.print(Text.assemble(*parts), soft_wrap=True)


def _wrapped(head: Line, indent: int, text: str, width: int, style: str = "") -> Iterator[Line]:
    """The head, then a text that goes on below itself."""
    parts = textwrap.wrap(text, max(20, width - indent), break_on_hyphens=False) or [""]
    yield [*head, (parts[0], style)]
    for part in parts[1:]:
        yield [(" " * indent, ""), (part, style)]


def _lines(inspection: Inspection, width: int) -> Iterator[Line]:
    yield from _top(inspection, width)
    yield from _roads(inspection, width)
    yield from _picture(inspection, width)
    yield from _oddities(inspection, width)
    yield from _verdicts(inspection, width)


def _top(inspection: Inspection, width: int) -> Iterator[Line]:
    yield from _wrapped([], 0, inspection.subject.type, width, "title")
    if inspection.title:
        yield from _wrapped([], 0, inspection.title, width, "faint")
    yield from _wrapped([], 0, facts.headline(inspection), width)
    if inspection.tensor is not None:
        yield []
    for name, text in facts.facts(inspection):
        yield from _wrapped([(f"  {name.ljust(LABELS)}", "name")], LABELS + 2, text, width)


def _short(title: str) -> str:
    """Keywords alone, below the bare call."""
    inner = title[len("__dlpack__(") : -1]
    return f"  {inner}" if title.startswith("__dlpack__(") and inner else title


def _roads(inspection: Inspection, width: int) -> Iterator[Line]:
    rows = [
        (_short(road.title), came, differs, facts.took(road.seconds), road.outcome)
        for road, came, differs in facts.road_rows(inspection)
        if road.outcome != "absent" or road.said
    ]
    absent = [road.title for road in inspection.roads if road.outcome == "absent" and not road.said]
    yield []
    yield [("What it says, by every road", "title")]
    if rows:
        left = max(len(row[0]) for row in rows) + 4
        clock = 9 if width >= 72 else 0
        for title, came, differs, took, outcome in rows:
            text = f"{came}; {differs}" if differs else came
            style = {"raised": "fair", "unreadable": "bad", "skipped": "faint"}.get(outcome, "")
            lines = list(
                _wrapped([(f"  {title}".ljust(left), "name")], left, text, width - clock, style)
            )
            if clock and took:
                used = sum(len(part) for part, _ in lines[0])
                lines[0].append((took.rjust(width - used), "faint"))
            yield from lines
    if absent:
        yield from _wrapped([("  no ", "faint")], 5, ", ".join(absent), width, "faint")


def _picture(inspection: Inspection, width: int) -> Iterator[Line]:
    tensor = inspection.tensor
    if tensor is None or tensor.layout is None:
        return
    yield []
    yield [("Its memory", "title")]
    if not tensor.layout.size:
        yield [("  no elements", "faint")]
        return
    left = max(len(row_label(tensor, place)) for place in tensor.layout.reach) + 2
    cell_width = label_width(tensor) + 1
    picture = draw(tensor, (width - left - 2) // cell_width)
    if picture is None:
        yield [("  too wide to be drawn here", "faint")]
        return
    for row in picture.rows:
        if row.begins_plane:
            yield []
        if row.cells:
            head: Line = [(row.label.rjust(left) + "  ", "faint")]
            yield head + [part for cell in row.cells for part in _cell(cell, cell_width)]
        else:
            yield [(" " * (left + 2) + f"... {row.label}", "faint")]
    for said in picture.legend:
        yield from _wrapped([("  ", "")], 2, said, width, "faint")


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


def _oddities(inspection: Inspection, width: int) -> Iterator[Line]:
    found = inspection.oddities
    yield []
    yield [("What is odd", "title")]
    if not found:
        yield [("  nothing", "good")]
    for odd in found:
        head: Line = [(f"  {odd.level.ljust(8)}", LEVELS[odd.level])]
        text = odd.what + facts.where(odd, inspection)
        yield from _wrapped(head, 10, text, width)
        if odd.who:
            yield from _wrapped([(" " * 10, "")], 10, f"-> {odd.who}", width, "faint")


def _verdicts(inspection: Inspection, width: int) -> Iterator[Line]:
    yield []
    head: Line = [("Who takes it  ", "title")]
    yield from _wrapped(head, 14, facts.summary(inspection), width, "faint")
    rows = inspection.verdicts
    left = max(len(row.title) for row in rows) + 4
    for row in rows:
        said = SAID[row.outcome]
        text = f"{said}: {row.text}" if row.text else said
        style = outcome_style(row)
        yield from _wrapped([(f"  {row.title}".ljust(left), "name")], left, text, width, style)
    seen = ", ".join(f"{row.title} {row.version}" for row in rows)
    yield from _wrapped([("  ", "")], 2, f"Seen with {seen}.", width, "faint")
