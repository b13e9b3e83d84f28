"""The inspection as HTML: for a notebook, and as a page of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dlbridge.tools.inspection import facts, picture
from dlbridge.tools.inspection.text import LEVELS, outcome_style
from dlbridge.tools.inspection.verdicts import SAID

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection

# Colours that stand on white and on black alike; nothing outside the class is touched.
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


def as_html(inspection: Inspection) -> str:
    """A block that a notebook shows."""
    parts = [_head(inspection), _roads(inspection), _memory(inspection)]
    parts += [_oddities(inspection), _verdicts(inspection)]
    return f'<div class="dlbridge-inspection"><style>{STYLE}</style>{"".join(parts)}</div>'


def as_page(inspection: Inspection) -> str:
    """A page that stands alone."""
    title = escape(inspection.title or inspection.subject.type)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="color-scheme" content="light dark">'
        f'<body style="margin: 2rem">{as_html(inspection)}</body></html>\n'
    )


def _tag(text: str, style: str) -> str:
    return f'<span class="tag {"note" if style == "faint" else style}">{escape(text)}</span>'


def _head(inspection: Inspection) -> str:
    title = f' <code class="faint">{escape(inspection.title)}</code>' if inspection.title else ""
    rows = "".join(
        f'<tr><th>{escape(name)}</th><td class="mono">{escape(text)}</td></tr>'
        for name, text in facts.facts(inspection)
    )
    return (
        f"<h3>{escape(inspection.subject.type)}{title}</h3>"
        f"<div>{escape(facts.headline(inspection))}</div><h4>What it is</h4><table>{rows}</table>"
    )


def _roads(inspection: Inspection) -> str:
    rows, absent = [], []
    for road, came, differs in facts.road_rows(inspection):
        if road.outcome == "absent" and not road.said:
            absent.append(road.title)
            continue
        style = {"raised": "fair", "unreadable": "bad", "skipped": "faint"}.get(road.outcome)
        said = escape(came) if style is None else f"{_tag(road.outcome, style)} {escape(came)}"
        rows.append(
            f"<tr><td><code>{escape(road.title)}</code></td><td>{said}</td>"
            f'<td>{escape(differs)}</td><td class="took">{facts.took(road.seconds)}</td></tr>'
        )
    none = f'<div class="faint">None of: {escape(", ".join(absent))}</div>' if absent else ""
    head = "<tr><th>road</th><th>what came</th><th>beside the others</th><th></th></tr>"
    return f"<h4>What it says, by every road</h4><table>{head}{''.join(rows)}</table>{none}"


def _memory(inspection: Inspection) -> str:
    drawn = picture.draw(inspection.tensor, 8)
    if drawn is None:
        return ""
    legend = "<br>".join(escape(_redrawn(said)) for said in drawn.legend)
    return (
        f'<h4>Its memory</h4><div class="scroll">{inspection.svg}</div>'
        f'<div class="faint">{legend}</div>'
    )


# How the picture says in a drawing what it says with letters in a terminal.
DRAWN = {
    "The first element is in [ ].": "The first element has a thick edge; an arrow goes on from it.",
    "A dot is": "A dashed box is",
    "A plus:": "A double edge:",
}


def _redrawn(said: str) -> str:
    for letters, drawing in DRAWN.items():
        said = said.replace(letters, drawing)
    return said


def _oddities(inspection: Inspection) -> str:
    rows = []
    for odd in inspection.oddities:
        who = f'<br><span class="faint">&rarr; {escape(odd.who)}</span>' if odd.who else ""
        rows.append(
            f"<tr><td>{_tag(odd.level, LEVELS[odd.level])}</td>"
            f"<td>{escape(odd.what + facts.where(odd, inspection))}{who}</td></tr>"
        )
    body = f"<table>{''.join(rows)}</table>" if rows else "<div>Nothing.</div>"
    return f"<h4>What is odd</h4>{body}"


def _verdicts(inspection: Inspection) -> str:
    rows = "".join(
        f'<tr><td title="{escape(row.call, quote=True)}">{escape(row.title)}</td>'
        f"<td>{_tag(SAID[row.outcome], outcome_style(row))}</td><td>{escape(row.text)}</td></tr>"
        for row in inspection.verdicts
    )
    seen = ", ".join(f"{row.title} {row.version}" for row in inspection.verdicts)
    return (
        f'<h4>Who takes it <span class="faint">{facts.summary(inspection)}</span></h4>'
        f"<table>{rows}</table>"
        f'<div class="faint">Seen with {escape(seen)}.</div>'
    )
