# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the memory as SVG: cells as boxes, and an arrow for each step beside them."""

from __future__ import annotations

from html import escape

from ..reading.description import Description
from .picture import Arrow, Cell, Picture, Row, Value, fit, no_value

ACROSS = 760  # the width of the grid in pixels
# In pixels: between boxes, between planes, a letter, a lane of an arrow, and a box with one line of
# text and with two.
GAP, PLANE, LETTER, LANE, HEIGHT, HIGH = 4, 12, 7.4, 20, 30, 44
HUES = (210, 28, 140, 285, 50, 340, 180, 90)  # by the first index of an element


def as_svg(x: Description | None, value: Value = no_value) -> str:
    """Returns an SVG element; an empty one where there is nothing to draw."""
    found = fit(x, ACROSS, value, lambda letters: max(44, round(letters * LETTER) + 8) + GAP)
    if x is None or found is None:
        return '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>'
    return _Drawing(*found).element(x)


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="currentColor" {more}>{escape(text)}</text>'


class _Drawing:
    """The places of a picture's parts in pixels. Arrows and their labels are outside the grid."""

    def __init__(self, picture: Picture, pitch: int) -> None:
        self.picture, self.pitch, self.width = picture, pitch, pitch - GAP
        self.height = HIGH if picture.has_values else HEIGHT
        labels = [row.label for row in picture.rows if row.cells]
        labels += [arrow.label for arrow in picture.across]
        self.left = 16 + round(max(map(len, labels)) * LETTER)
        self.lanes = max(len(picture.across), bool(picture.down)) * LANE
        self.right = self.left + max(len(row.cells) for row in picture.rows) * pitch
        self.tops = []
        top = 6 + self.lanes
        for row in picture.rows:
            top += PLANE if row.begins_plane else 0
            self.tops.append(top)
            top += self.height + GAP
        self.bottom = top

    def element(self, x: Description) -> str:
        parts = [self._row(row, top) for row, top in zip(self.picture.rows, self.tops)]
        parts += [self._across(arrow, i) for i, arrow in enumerate(self.picture.across)]
        across = self.right + 10
        for arrow in self.picture.down:
            lane = round(len(arrow.label) * LETTER) + 14
            parts.append(self._down(arrow, across + lane / 2))
            across += lane
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{self.bottom}" '
            f'viewBox="0 0 {across} {self.bottom}" font-family="ui-monospace, monospace" '
            f'font-size="12" role="img" aria-label="{escape(x.text, quote=True)} in memory">'
            f"{ARROWHEAD}{''.join(parts)}</svg>"
        )

    def _middle(self, column: int) -> float:
        return self.left + column * self.pitch + self.width / 2

    def _across(self, arrow: Arrow, lane: int) -> str:
        y = 6 + lane * LANE + LANE / 2
        begin, end = self._middle(arrow.begin[1]), self._middle(arrow.end[1])
        line = f"M{begin:g} {y:g} H{end:g}"
        if begin == end:  # a stride of 0 leads back to the same element
            line = f"M{begin + 6:g} {y + 4:g} a 7 7 0 1 0 -12 0"
        return _text(self.left - 8, y + 4, arrow.label, END) + _arrow(line)

    def _down(self, arrow: Arrow, x: float) -> str:
        begin, end = (self.tops[place[0]] + self.height / 2 for place in (arrow.begin, arrow.end))
        label = _text(x, LANE / 2 + 10, arrow.label, 'text-anchor="middle" opacity="0.6"')
        return label + _arrow(f"M{x:g} {begin:g} V{end:g}")

    def _row(self, row: Row, top: float) -> str:
        middle = top + self.height / 2 + 4
        if not row.cells:
            return _text(self.left, middle, f"… {row.label}", 'opacity="0.6"')
        boxes = [self._box(cell, i, top) for i, cell in enumerate(row.cells)]
        return _text(self.left - 8, middle, row.label, END) + "".join(boxes)

    def _box(self, cell: Cell, column: int, top: float) -> str:
        x, width, height = self.left + column * self.pitch, self.width, self.height
        lines = [(cell.label, 'text-anchor="middle"')]
        if cell.value:
            lines = [(cell.value, f'{lines[0][1]} font-weight="600"'), (cell.label, FAINT)]
        first = top + height / 2 + 4 - 8 * (len(lines) - 1)
        texts = [
            _text(x + width / 2, first + 16 * i, text, more) for i, (text, more) in enumerate(lines)
        ]
        text = "".join(texts)
        if cell.kind == "more":
            return text
        shape = f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{height}" rx="4" '
        if cell.kind != "element":
            dashed = 'fill="none" stroke="currentColor" stroke-opacity="0.35" '
            return f'{shape}{dashed}stroke-dasharray="3 3"/>{text if cell.kind == "data" else ""}'
        hue = HUES[(cell.index[0] if cell.index else 0) % len(HUES)]
        edge = 'stroke="currentColor" stroke-width="2.5"' if cell.is_first else 'stroke-opacity="0"'
        twice = (
            f'<rect x="{x + 3:g}" y="{top + 3:g}" width="{width - 6:g}" height="{height - 6}" '
            f'rx="3" fill="none" stroke="hsl({hue} 70% 40%)" stroke-opacity="0.7"/>'
        )
        filled = f'{shape}fill="hsl({hue} 75% 60%)" fill-opacity="0.35" {edge}/>'
        return f"{filled}{twice if cell.is_shared else ''}{text}"


def _arrow(path: str) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.7" '
        f'stroke-width="1.3" marker-end="url(#dlbridge-arrow)"/>'
    )


END = 'text-anchor="end" opacity="0.6"'
FAINT = 'text-anchor="middle" font-size="10" opacity="0.75"'
ARROWHEAD = (
    '<defs><marker id="dlbridge-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" '
    'fill="currentColor"/></marker></defs>'
)
