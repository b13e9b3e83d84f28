# SPDX-License-Identifier: BSD-3-Clause
"""HTML: a block for notebooks of an inspection or of a Tensor, and a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ..conclusions.findings import Findings
from ..conclusions.verdicts import Verdict
from ..reading.description import Description
from . import facts, picture, svg
from .facts import LEVEL_STYLES, OUTCOMES, outcome_style

# Colours for light and dark backgrounds; the styles apply to this class only.
STYLE = """
.dlbridge-inspection { font: 14px/1.45 system-ui, sans-serif; max-width: 62rem; }
.dlbridge-inspection h3 { font-size: 1.15em; margin: 0 0 .1em; font-weight: 600; }
.dlbridge-inspection h4 { font-size: 1em; margin: 1.2em 0 .3em; font-weight: 600;
  border-bottom: 1px solid rgba(128, 128, 128, .35); padding-bottom: .15em; }
.dlbridge-inspection code, .dlbridge-inspection .mono { font: 12.5px ui-monospace, monospace; }
.dlbridge-inspection table { border-collapse: collapse; }
.dlbridge-inspection th, .dlbridge-inspection td { text-align: left; vertical-align: baseline;
  padding: .15em 1em .15em 0; border: 0; background: none; font-weight: normal; }
.dlbridge-inspection th { opacity: .65; white-space: nowrap; }
.dlbridge-inspection td.took { text-align: right; white-space: nowrap; opacity: .65; padding: 0; }
.dlbridge-inspection .faint { opacity: .65; font-weight: normal; }
.dlbridge-inspection .tag { display: inline-block; border-radius: .7em; padding: 0 .7em;
  font-size: .85em; white-space: nowrap; border: 1px solid transparent; }
.dlbridge-inspection .good { background: rgba(46, 160, 67, .18); border-color: rgb(46, 160, 67); }
.dlbridge-inspection .fair { background: rgba(210, 153, 34, .18); border-color: rgb(210, 153, 34); }
.dlbridge-inspection .bad { background: rgba(218, 54, 51, .2); border-color: rgb(218, 54, 51);
  font-weight: 600; }
.dlbridge-inspection .note { border-color: rgba(128, 128, 128, .5); opacity: .8; }
.dlbridge-inspection .scroll { overflow-x: auto; }
"""
# In each cell: notebooks align cells to the right, and some leave out style sheets.
LEFT = 'style="text-align: left"'


def as_html(findings: Findings) -> str:
    """Returns a block for a notebook."""
    parts = [_head(findings), _responses(findings), _memory(findings)]
    parts += [_oddities(findings), _verdicts(findings)]
    return f'<div class="dlbridge-inspection"><style>{STYLE}</style>{"".join(parts)}</div>'


def as_page(findings: Findings) -> str:
    """Returns a complete page."""
    title = escape(findings.title or findings.subject.type)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="color-scheme" content="light dark">'
        f'<body style="margin: 2rem">{as_html(findings)}</body></html>\n'
    )


def _tag(text: str, style: str) -> str:
    return f'<span class="tag {"note" if style == "faint" else style}">{escape(text)}</span>'


def _head(findings: Findings) -> str:
    title = f' <code class="faint">{escape(findings.title)}</code>' if findings.title else ""
    rows = "".join(
        f'<tr><th {LEFT}>{escape(name)}</th><td {LEFT} class="mono">{escape(text)}</td></tr>'
        for name, text in facts.properties(findings)
    )
    return (
        f"<h3>{escape(findings.subject.type)}{title}</h3>"
        f"<div>{escape(facts.headline(findings))}</div><h4>Tensor</h4><table>{rows}</table>"
    )


def _responses(findings: Findings) -> str:
    rows, absent = [], []
    for response, text, difference in facts.response_rows(findings):
        if response.outcome == "absent" and not response.said:
            absent.append(response.title)
            continue
        style = {"raised": "fair", "unreadable": "bad", "skipped": "faint"}.get(response.outcome)
        text = escape(text) if style is None else f"{_tag(response.outcome, style)} {escape(text)}"
        rows.append(
            f"<tr><td {LEFT}><code>{escape(response.title)}</code></td><td {LEFT}>{text}</td>"
            f"<td {LEFT}>{escape(difference)}</td>"
            f'<td class="took">{facts.duration(response.seconds)}</td></tr>'
        )
    none = f'<div class="faint">None of: {escape(", ".join(absent))}</div>' if absent else ""
    names = ("protocol", "response", "differences", "")
    head = "".join(f"<th {LEFT}>{name}</th>" for name in names)
    table = f"<table><tr>{head}</tr>{''.join(rows)}</table>"
    return f"<h4>Responses by protocol</h4>{table}{none}"


def _memory(findings: Findings) -> str:
    drawing = picture.draw(findings.tensor, 8)
    if drawing is None:
        return ""
    return (
        f'<h4>Memory</h4><div class="scroll">{svg.as_svg(findings.tensor)}</div>'
        f'<div class="faint">{legend_lines(drawing.legend)}</div>'
    )


# The legend of the terminal's picture, translated to the drawing.
DRAWN = {
    "The first element is in [ ].": "The first element has a thick edge.",
    "A dot is": "A dashed box is",
    "A plus:": "A double edge:",
}


def legend_lines(legend: tuple[str, ...]) -> str:
    """Returns the legend of a picture, in the terms of its SVG drawing."""
    return "<br>".join(escape(_redrawn(text)) for text in legend)


def _redrawn(text: str) -> str:
    for letters, drawing in DRAWN.items():
        text = text.replace(letters, drawing)
    return text


def _oddities(findings: Findings) -> str:
    rows = []
    for odd in findings.oddities:
        who = f'<br><span class="faint">&rarr; {escape(odd.who)}</span>' if odd.who else ""
        repair = f"<br>Repair: {escape(odd.repair)}" if odd.repair else ""
        quote = f'<br><span class="faint">{escape(facts.source_of(odd))}</span>' if odd.rule else ""
        rows.append(
            f"<tr><td {LEFT}>{_tag(odd.level, LEVEL_STYLES[odd.level])}</td>"
            f"<td {LEFT}>{escape(facts.oddity_text(odd, findings))}{who}{repair}{quote}</td></tr>"
        )
    body = f"<table>{''.join(rows)}</table>" if rows else "<div>None.</div>"
    return f"<h4>Oddities</h4>{body}"


def _consumer(row: Verdict) -> str:
    return f'<span title="{escape(row.call)}">{escape(row.title)}</span>'


def _verdicts(findings: Findings) -> str:
    rows = "".join(
        f"<tr><td {LEFT}>{_tag(OUTCOMES[row.outcome][0], outcome_style(row))}</td>"
        f"<td {LEFT}>{', '.join(map(_consumer, (row, *others)))}</td>"
        f"<td {LEFT}>{escape(row.text)}</td></tr>"
        for row, *others in facts.equal_verdicts(findings)
    )
    return (
        f'<h4>Consumers <span class="faint">{facts.summary(findings)}</span></h4>'
        f"<table>{rows}</table>"
        f'<div class="faint">Verified with {escape(facts.versions(findings))}.</div>'
    )


def block(heading: str, x: Description, drawn: str, notes: Sequence[str]) -> str:
    """Returns a heading, the drawing of the memory, its legend, and notes."""
    drawing = picture.draw(x, 8)
    lines = legend_lines((*(drawing.legend if drawing else ()), *notes))
    scrolled = f'<div style="overflow-x: auto; margin: .3em 0">{drawn}</div>' if drawing else ""
    return (
        f"<div><div><code>{escape(heading)}</code></div>{scrolled}"
        f'<div style="opacity: .65">{lines}</div></div>'
    )


def tensor_html(t: Any) -> str:
    """Returns an HTML block, for Tensor._repr_html_()."""
    from .memory_picture import show

    return show(t).html
