# SPDX-License-Identifier: BSD-3-Clause
"""The matrix as an HTML page: one self-contained file, readable without scripts."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from . import causes, summary
from .exchange import ARRIVED, OUTCOMES
from .summary import COUNTED, MARKS

TEMPLATE = Path(__file__).with_name("page.html")
_DARK = ("wrong", "hung", "crashed")  # colours that need light letters


def render(report: dict[str, Any]) -> str:
    """Returns the whole page."""
    names = list(report["libraries"])
    pairs = summary.by_pair(report)
    counts = summary.count(summary.own(report))
    total = sum(counts.values()) - counts.get("impossible", 0)
    versions = summary.versions(report)
    number = len(report["cases"])
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        date=report["date"],
        subtitle=f"{report['date']} &middot; {len(names)} libraries, {total} exchanges &middot; "
        f"{escape(report['platform'])} &middot; dlbridge {escape(report['dlbridge'])}"
        f"{_remark(report)}",
        number_of_cases=number,
        hint="Select a cell for its outcomes.",
        colours="\n".join(map(_colour, OUTCOMES)),
        legend="".join(_legend(outcome, counts.get(outcome, 0)) for outcome in OUTCOMES),
        options="".join(f"<option>{escape(case)}</option>" for case in report["cases"]),
        toggle='<label><input type="checkbox" id="via"> with dlbridge in between where it fails '
        "otherwise</label>"
        if report["via"]
        else "",
        heads="".join(
            f"<th{_ours(name)} scope=col><span>{escape(name)}</span></th>" for name in names
        ),
        rows="\n".join(_row(name, names, versions[name], pairs) for name in names),
        causes=_causes(report),
        rescued=_rescued(report),
        pairs="\n".join(_pair(*pair, exchanges) for pair, exchanges in pairs.items()),
        environments="".join(map(_environment, report["environments"])),
        data=_data(pairs),
    )


def _remark(report: dict[str, Any]) -> str:
    return f" &middot; {escape(summary.remark(report))}" if summary.remark(report) else ""


def _ours(*names: str) -> str:
    return ' class="ours"' if "dlbridge" in names else ""


def _id(producer: str, consumer: str) -> str:
    return escape(f"{producer}-to-{consumer}")


def _colour(outcome: str) -> str:
    ink = "; color: var(--on-dark)" if outcome in _DARK else ""
    return f".{outcome} {{ background: var(--{outcome}){ink} }}"


def _glyph(outcome: str, count: int = 0) -> str:
    label = str(count) if count and outcome in COUNTED else ""
    return f"{MARKS[outcome].glyph}{label}"


def _legend(outcome: str, count: int) -> str:
    return (
        f'<li><span class="glyph {outcome}">{_glyph(outcome)}</span><b>{count} {outcome}</b>'
        f"<small>{escape(OUTCOMES[outcome])}</small></li>"
    )


def _in_counts(exchanges: list[summary.Exchange]) -> str:
    return ", ".join(f"{n} {outcome}" for outcome, n in summary.count(exchanges).items())


def _row(name: str, names: list[str], version: str, pairs: dict[Any, Any]) -> str:
    cells = "".join(_cell(name, other, pairs.get((name, other))) for other in names)
    head = f"<th{_ours(name)} scope=row>{escape(name)}<small>{escape(version)}</small></th>"
    return f"<tr>{head}{cells}</tr>"


def _cell(producer: str, consumer: str, exchanges: list[summary.Exchange] | None) -> str:
    if exchanges is None:
        return '<td><span title="not in one environment"></span></td>'
    outcome, count = summary.worst(exchanges)
    pair = _id(producer, consumer)
    title = escape(f"{producer} to {consumer}: {_in_counts(exchanges)}")
    return (
        f'<td{_ours(producer, consumer)}><a class="glyph {outcome}" href="#{pair}" '
        f'data-pair="{pair}" title="{title}" aria-label="{title}">{_glyph(outcome, count)}</a></td>'
    )


def _cases(cases: Any) -> str:
    return "".join(f'<span class="case">{escape(case)}</span>' for case in cases)


def _item(group: summary.Group, outcome: str, more: str = "") -> str:
    return (
        f'<li><span class="glyph {outcome}">{_glyph(outcome)}</span><div><p>{_cases(group.cases)}'
        f"</p><p>{escape(group.words)}</p>{more}</div></li>"
    )


def _pair(producer: str, consumer: str, exchanges: list[summary.Exchange]) -> str:
    outcome, count = summary.worst(exchanges)
    items = [_item(group, group.outcome) for group in summary.groups(exchanges)]
    for each in summary.groups_via(exchanges):
        items.append(
            f'<li><span class="glyph {each.outcome}">{_glyph(each.outcome)}</span>'
            f'<div class="via"><p>{_cases(each.cases)}</p>'
            f"<p>with dlbridge in between: {escape(each.words)}</p></div></li>"
        )
    return (
        f'<details id="{_id(producer, consumer)}"><summary><span class="glyph {outcome}">'
        f"{_glyph(outcome, count)}</span><b>{escape(producer)} to {escape(consumer)}</b>"
        f'<span class="counts">{_in_counts(exchanges)}</span></summary>'
        f'<ul class="groups">{"".join(items)}</ul></details>'
    )


def _causes(report: dict[str, Any]) -> str:
    """Each fault once, with the number of exchanges that it spoils."""
    found = causes.of(report, summary.own(report))
    found = [cause for cause in found if cause.is_fault or cause.is_silent]
    notes = "".join(f"<p>{escape(text)}</p>" for text in summary.by_way_of(report))
    if not found:
        return notes
    rows = "".join(
        f"<tr><td>{escape(cause.library)}, as {cause.side}</td><td>{cause.outcome}: "
        f"{escape(cause.text)}</td><td>{len(cause.exchanges)}</td>"
        f"<td>{_cases(cause.cases)}</td></tr>"
        for cause in found
    )
    return (
        f'{notes}<h2>Faults and losses</h2><div class="scroll"><table class="plain" '
        'style="margin: .5rem 0.8rem"><thead><tr><th>Library</th><th>Fault</th>'
        "<th>Exchanges</th><th>Arrays</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _rescued(report: dict[str, Any]) -> str:
    if not report["via"]:
        return ""
    tried, works = len(summary.tried_again(report)), len(summary.rescued(report))
    rows = "".join(
        f"<tr><td>{escape(group.producer)} to {escape(group.consumer)}</td>"
        f"<td><code>{escape(group.words)}</code></td><td>{_cases(group.cases)}</td></tr>"
        for group in summary.groups_via(summary.rescued(report))
    )
    return (
        f"<h2>Through dlbridge</h2><p><b>{works} of {tried}</b> failing exchanges "
        "succeed with dlbridge in between.</p>"
        "<details><summary>The pairs and the calls</summary>"
        '<div class="scroll"><table class="plain" style="margin: .5rem .8rem"><thead><tr><th>Pair'
        f"</th><th>Argument of the consumer</th><th>Arrays</th></tr></thead><tbody>{rows}</tbody>"
        "</table></div></details>"
    )


def _environment(environment: dict[str, Any]) -> str:
    libraries = ", ".join(f"{name} {v}" for name, v in environment["libraries"].items())
    cells = (environment["name"], environment["python"], libraries)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _data(pairs: dict[tuple[str, str], list[summary.Exchange]]) -> str:
    """Returns the data of the page's script, escaped for a script element."""
    cells = {
        f"{producer}-to-{consumer}": {
            each["case"]: [each["outcome"], each["via"]["outcome"]]
            if each.get("via", each)["outcome"] in ARRIVED and "via" in each
            else each["outcome"]
            for each in exchanges
        }
        for (producer, consumer), exchanges in pairs.items()
    }
    marks = {outcome: mark.glyph for outcome, mark in MARKS.items()}
    order = list(OUTCOMES)
    text = json.dumps({"marks": marks, "order": order, "counted": COUNTED, "cells": cells})
    return text.replace("<", "\\u003c")
