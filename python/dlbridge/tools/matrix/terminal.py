# SPDX-License-Identifier: BSD-3-Clause
"""Prints the matrix in a terminal."""

from __future__ import annotations

import sys
from typing import Any

from .. import core, tables
from ..output import plural, printable
from . import causes, summary
from .exchange import ARRIVED, OUTCOMES
from .summary import COUNTED, MARKS


def _glyphs() -> dict[str, str]:
    """Returns the symbol of each outcome; plain letters where the output is not Unicode."""
    try:
        "".join(mark.glyph for mark in MARKS.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return {outcome: mark.plain for outcome, mark in MARKS.items()}
    return {outcome: mark.glyph for outcome, mark in MARKS.items()}


def _style(glyphs: dict[str, str], cell: str) -> str:
    for outcome, glyph in glyphs.items():
        if cell == glyph or (cell.startswith(glyph) and cell[len(glyph) :].isdigit()):
            return MARKS[outcome].style
    return ""


def cell(glyphs: dict[str, str], exchanges: list[summary.Exchange]) -> str:
    """Returns the text of a cell: the worst outcome of a pair, with a count for failures."""
    if not exchanges:
        return ""
    outcome, how_often = summary.worst(exchanges)
    return glyphs[outcome] + (str(how_often) if outcome in COUNTED else "")


def show(report: dict[str, Any], *, verbose: bool = False) -> None:
    """Prints the table, its legend, the faults and the successes through dlbridge.

    verbose: also every refusal and every reason.
    """
    glyphs = _glyphs()
    _show_table(report, glyphs, tables.width())
    _show_counts(report, glyphs)
    _show_causes(report, verbose)
    if verbose:
        changed = [each for each in report["exchanges"] if each["outcome"] not in _AS_SENT]
        _show_groups("Exchanges that did not preserve the array", report, summary.groups(changed))
        absent = [each for each in report["exchanges"] if each["outcome"] == "impossible"]
        _show_groups("Impossible exchanges", report, summary.groups(absent))
    if summary.tried_again(report):
        tried, works = summary.tried_again(report), summary.rescued(report)
        print(f"{len(works)} of {len(tried)} failing exchanges succeed through dlbridge.\n")
        _show_groups("Through dlbridge", report, summary.groups_via(summary.rescued(report)))
        if verbose:
            _show_groups(
                "Also failing through dlbridge", report, summary.groups_via(summary.lost(report))
            )
    for name, each in summary.faults_of_judged(report):
        where = f"{each['producer']} to {each['consumer']}, {each['case']}"
        print(f"With {name} itself: {where}: {printable(summary.in_words(each))}")
    for sentence in summary.remarks_on_libraries(report):
        print(printable(sentence))
    if summary.remark(report):
        print(summary.remark(report))


_AS_SENT = (*ARRIVED, "impossible")
_GAP = 3  # between columns
_CELL = 3  # columns of text that a cell needs


def _show_table(report: dict[str, Any], glyphs: dict[str, str], width: int) -> None:
    """Consumers get numbers where their names do not fit, and several tables where needed."""
    versions = summary.versions(report)
    names = list(report["libraries"])
    labels = [f"{name} {versions[name]}".strip() for name in names]
    longest = max(map(len, labels), default=0)
    if longest + _GAP + sum(len(name) + _GAP for name in names) < width:
        heads, each_time = names, max(1, len(names))
    else:
        heads = [str(number) for number in range(1, len(names) + 1)]
        labels = [f"{head:>2} {label}" for head, label in zip(heads, labels)]
        each_time = max(4, (width - longest - 3 - _GAP) // (_CELL + _GAP))
    pairs = summary.by_pair(report)
    title = "Arrays of each library (rows) in each other library (columns)"
    for start in range(0, len(names), each_time):
        across = slice(start, start + each_time)
        rows = [
            [label, *(cell(glyphs, pairs.get((name, other), [])) for other in names[across])]
            for label, name in zip(labels, names)
        ]
        tables.show(title, ["", *heads[across]], rows, style=lambda text: _style(glyphs, text))
        title = "continued"


def _show_counts(report: dict[str, Any], glyphs: dict[str, str]) -> None:
    exchanges = summary.own(report)
    counts = summary.count(exchanges)
    total = sum(counts.values()) - counts.get("impossible", 0)
    width = len(str(max(counts.values(), default=0)))
    pairs = len({(each["producer"], each["consumer"]) for each in exchanges})
    print(
        f"{plural(total, 'exchange')} in {plural(pairs, 'pair')}. "
        "A cell shows the worst outcome of its pair."
    )
    for sentence in summary.by_way_of(report):
        print(sentence)
    print()
    for outcome, meaning in OUTCOMES.items():
        if outcome in counts:
            print(f"  {glyphs[outcome]} {counts[outcome]:{width}} {outcome}: {meaning}")
    print()


def _show_causes(report: dict[str, Any], verbose: bool) -> None:
    """Prints each cause once; refusals only where verbose is set."""
    found = causes.of(report, summary.own(report))
    groups = {
        "Faults": [cause for cause in found if cause.is_fault],
        "Lost without an error, which no rule forbids": [each for each in found if each.is_silent],
        "Refusals, which are permitted": [
            cause for cause in found if verbose and not cause.is_fault and not cause.is_silent
        ],
    }
    for title, chosen in groups.items():
        if chosen:
            tables.show_items(
                title,
                [(f"{each.library}, {each.side}, {each.outcome}", _cause(each)) for each in chosen],
            )


def _cause(cause: causes.Cause) -> str:
    known = f"; known: {core.COMMAND} explain {cause.defect}" if cause.defect else ""
    where = plural(len(cause.exchanges), "exchange")
    return f"{cause.text} [{where}: {', '.join(cause.cases)}{known}]"


def _show_groups(title: str, report: dict[str, Any], groups: list[summary.Group]) -> None:
    order = list(report["libraries"]).index
    groups = sorted(groups, key=lambda group: (order(group.producer), order(group.consumer)))
    items = [
        (f"{group.producer} to {group.consumer}: {', '.join(group.cases)}", group.words)
        for group in groups
    ]
    if items:
        tables.show_items(title, items)
