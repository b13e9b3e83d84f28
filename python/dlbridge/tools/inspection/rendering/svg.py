# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the memory as SVG: cells as boxes, and an arrow along the first elements."""

from __future__ import annotations

import math
from html import escape

from ...elements import index_at
from ..reading.description import Description
from .picture import Cell, Picture, Row, draw, label_width

COLUMNS, ACROSS = 16, 900  # the maximal boxes in a row, and the width in pixels
MOST_STEPS = 12  # of the arrow
HEIGHT, GAP, PLANE, LETTER = 30, 4, 12, 7.4  # of a box, between boxes, between planes, of a letter
HUES = (210, 28, 140, 285, 50, 340, 180, 90)  # by the first index of an element


def as_svg(x: Description | None) -> str:
    """Returns an SVG element; an empty one where there is nothing to draw."""
    width = 0 if x is None or x.shape is None else max(44, round(label_width(x) * LETTER) + 8)
    picture = draw(x, min(COLUMNS, ACROSS // (width + GAP)))
    if x is None or picture is None:
        return '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>'
    return _drawn(x, picture, width)


def _drawn(x: Description, picture: Picture, width: int) -> str:
    left = 16 + round(max(len(row.label) for row in picture.rows if row.cells) * LETTER)
    boxes: list[str] = []
    corners: dict[tuple[int, ...], tuple[float, float]] = {}
    top = 6
    for row in picture.rows:
        top += PLANE if row.begins_plane else 0
        boxes += _row(row, left, top, width, corners)
        top += HEIGHT + GAP
    columns = max(len(row.cells) for row in picture.rows)
    across = left + columns * (width + GAP) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{top + 4}" '
        f'viewBox="0 0 {across} {top + 4}" font-family="ui-monospace, monospace" '
        f'font-size="12" role="img" aria-label="{escape(x.text, quote=True)} in memory">'
        f"{ARROWHEAD}{''.join(boxes)}{_arrow(x, corners)}</svg>"
    )


ARROWHEAD = (
    '<defs><marker id="dlbridge-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" '
    'fill="currentColor"/></marker></defs>'
)


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="currentColor" {more}>{escape(text)}</text>'


def _row(
    row: Row, left: int, top: int, width: int, corners: dict[tuple[int, ...], tuple[float, float]]
) -> list[str]:
    middle = top + HEIGHT / 2 + 4
    if not row.cells:
        return [_text(left, middle, f"… {row.label}", 'opacity="0.6"')]
    elements = [_text(left - 8, middle, row.label, 'text-anchor="end" opacity="0.6"')]
    for number, cell in enumerate(row.cells):
        x = left + number * (width + GAP)
        elements.append(_box(cell, x, top, width))
        if cell.kind == "element":
            corners[cell.index] = (x + width - 6, top + HEIGHT - 5)  # clear of the label
    return elements


def _box(cell: Cell, x: float, top: float, width: float) -> str:
    middle = _text(x + width / 2, top + HEIGHT / 2 + 3, cell.label, 'text-anchor="middle"')
    if cell.kind == "more":
        return middle
    shape = f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{HEIGHT}" rx="4" '
    if cell.kind != "element":
        dashed = 'fill="none" stroke="currentColor" stroke-opacity="0.35" stroke-dasharray="3 3"/>'
        return shape + dashed + (middle if cell.kind == "data" else "")
    hue = HUES[(cell.index[0] if cell.index else 0) % len(HUES)]
    edge = 'stroke="currentColor" stroke-width="2.5"' if cell.is_first else "stroke-opacity='0'"
    twice = ""
    if cell.is_shared:
        twice = (
            f'<rect x="{x + 3:g}" y="{top + 3:g}" width="{width - 6:g}" height="{HEIGHT - 6}" '
            f'rx="3" fill="none" stroke="hsl({hue} 70% 40%)" stroke-opacity="0.7"/>'
        )
    return f'{shape}fill="hsl({hue} 75% 60%)" fill-opacity="0.35" {edge}/>{twice}{middle}'


def _arrow(x: Description, corners: dict[tuple[int, ...], tuple[float, float]]) -> str:
    """Draws an arrow along the first elements, in the order of their indices."""
    layout = x.layout
    assert layout is not None
    places = tuple(1 if i in layout.broadcast else n for i, n in enumerate(layout.shape))
    path = []
    for number in range(min(math.prod(places), MOST_STEPS)):
        index = index_at(places, number)
        if index not in corners:
            break
        path.append((index, corners[index]))
    lines = []
    for (here, at), (there, to) in zip(path, path[1:]):
        jumps = here[:-1] != there[:-1]  # to another row: lighter, as it crosses labels
        is_last = there == path[-1][0]
        lines.append(
            f'<line x1="{at[0]:g}" y1="{at[1]:g}" x2="{to[0]:g}" y2="{to[1]:g}" '
            f'stroke="currentColor" stroke-opacity="{0.2 if jumps else 0.6}" stroke-width="1.3"'
            f"{HEAD if is_last else ''}/>"
        )
    return "".join(lines)


HEAD = ' marker-end="url(#dlbridge-arrow)"'
