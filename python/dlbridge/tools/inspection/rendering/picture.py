# SPDX-License-Identifier: BSD-3-Clause
"""A picture of the memory: a grid of cells in the order of addresses, with the element at each.

Arrows beside the grid, each in a lane of its own, lead from the first element to the next one in
each dimension. The layout is enough; the caller may give the values. text.py and svg.py render it.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Callable, Literal

from ...output import one_line
from ..reading.description import Description
from ..reading.layout import Layout

MOST_ROWS, MOST_COLUMNS = 9, 16
FEWEST = 3  # cells in a row
MOST_DOWN = 2  # arrows from row to row
MOST_LETTERS = (20, 12)  # of a value, where there is room, and else
Value = Callable[[int], str]  # the value at an offset in elements, or ""
Kind = Literal["element", "gap", "data", "more"]


@dataclass(frozen=True)
class Cell:
    """The memory of one element; a cell of kind `more` stands for several that are omitted."""

    kind: Kind
    offset: int = 0  # in elements from the first one
    label: str = ""  # the index of the element
    index: tuple[int, ...] = ()
    is_first: bool = False
    is_shared: bool = False
    value: str = ""


@dataclass(frozen=True)
class Row:
    """Adjacent cells. Without cells it stands for rows that are omitted."""

    label: str  # its offset in bytes from the data pointer
    cells: tuple[Cell, ...] = ()
    begins_plane: bool = False  # whether an index of a higher dimension changes here


@dataclass(frozen=True)
class Arrow:
    """The step in one dimension, from the first element; the ends are a row and a cell in it."""

    label: str
    begin: tuple[int, int]
    end: tuple[int, int]

    @property
    def is_down(self) -> bool:
        """Whether it leads to another row, up or down."""
        return self.begin[0] != self.end[0]


@dataclass(frozen=True)
class Picture:
    rows: tuple[Row, ...]
    legend: tuple[str, ...]
    across: tuple[Arrow, ...]
    down: tuple[Arrow, ...]

    @property
    def has_values(self) -> bool:
        return any(cell.value for row in self.rows for cell in row.cells)


def _label(layout: Layout, index: tuple[int, ...]) -> str:
    if not index:
        return "()"
    return ",".join(":" if i in layout.broadcast else str(n) for i, n in enumerate(index))


def label_width(x: Description) -> int:
    """Returns the length of the longest label of a cell, with its brackets."""
    assert x.shape is not None
    return max(4, len(",".join(str(n - 1) for n in x.shape)) + 2)


def _steps(layout: Layout) -> list[int]:
    """Returns the distinct strides, the shortest first."""
    return sorted({abs(layout.strides[i]) for i in layout.moving} - {0})


def _row_length(layout: Layout, columns: int) -> int:
    """Returns the number of places in a row: the tensor's second-smallest stride, if any."""
    rows = [step for step in _steps(layout)[1:] if step > 2]
    return rows[0] if rows else columns


def _cell(layout: Layout, offset: int, data: int | None, value: Value) -> Cell:
    indices = list(itertools.islice(layout.at(offset), 2))
    if not indices:
        return Cell("data" if offset == data else "gap", offset, "data" if offset == data else ".")
    return Cell(
        "element",
        offset,
        _label(layout, indices[0]),
        indices[0],
        is_first=offset == 0,
        is_shared=len(indices) > 1 or bool(layout.broadcast),
        value=value(offset),
    )


def _chosen(count: int, most: int) -> list[int | None]:
    """Selects the items to show: all, or the first ones, None, and the last ones.

    >>> _chosen(3, 5), _chosen(100, 5)
    ([0, 1, 2], [0, 1, None, 98, 99])
    """
    if count <= most:
        return list(range(count))
    last = 2 if most > 4 else 1
    return [*range(most - last - 1), None, *range(count - last, count)]


_NONE = (Cell("gap"),)  # for the longest of no cells


def no_value(offset: int) -> str:
    return ""


def fit(
    x: Description | None, room: int, value: Value, narrowest: Callable[[int], int]
) -> tuple[Picture, int] | None:
    """Returns a picture in this room, and the width of a cell, which fits its longest text.

    `narrowest` returns the width, in the unit of the room, of a cell with so many letters. Values
    are abridged as far as needed. None as for draw().
    """
    if x is None or x.shape is None:
        return None
    for most in MOST_LETTERS:
        letters = label_width(x)
        clipped = functools.partial(_clipped, value, most)
        while picture := draw(x, min(MOST_COLUMNS, room // narrowest(letters)), clipped):
            longest = max(len(cell.value) for row in picture.rows for cell in row.cells or _NONE)
            if longest <= letters:
                return picture, narrowest(letters)
            letters = longest
    return None


def _clipped(value: Value, most: int, offset: int) -> str:
    return one_line(value(offset), most)


def draw(x: Description | None, columns: int, value: Value = no_value) -> Picture | None:
    """Returns a picture with rows of at most `columns` cells; None for a tensor without elements
    and for too few columns."""
    layout = None if x is None else x.layout
    if x is None or layout is None or layout.size == 0 or columns < FEWEST:
        return None
    lowest, highest = layout.reach
    size = x.element_bytes
    data = -(x.byte_offset // size) if size and x.byte_offset % size == 0 else None
    length = _row_length(layout, columns)
    begin = lowest
    if data is not None and lowest - 2 * length <= data < lowest:
        begin = data
    count = -(-(highest - begin + 1) // length)
    planes = [step for step in _steps(layout) if step > length and step % length == 0]
    rows = []
    for row in _chosen(count, MOST_ROWS):
        if row is None:
            rows.append(Row(f"{count - MOST_ROWS + 1} more rows"))
            continue
        start = begin + row * length
        within = min(length, highest - start + 1)
        cells = [
            Cell("more", label="...") if i is None else _cell(layout, start + i, data, value)
            for i in _chosen(within, columns)
        ]
        opens = bool(planes) and row > 0 and (row * length) % planes[0] == 0
        rows.append(Row(row_label(x, start), tuple(cells), opens))
    arrows = _arrows(x, layout, rows)
    across = tuple(each for each in arrows if not each.is_down)
    down = tuple(each for each in arrows if each.is_down)[:MOST_DOWN]
    return Picture(tuple(rows), tuple(_legend(x, layout, rows)), across, down)


def _arrows(x: Description, layout: Layout, rows: list[Row]) -> list[Arrow]:
    """Returns the steps that the picture contains, the shortest first."""
    places = {
        cell.offset: (number, column)
        for number, row in enumerate(rows)
        for column, cell in enumerate(row.cells)
        if cell.kind == "element"
    }
    steps = layout.strides if x.stride_bytes is None else x.stride_bytes
    return [
        Arrow(f"dim {i} {steps[i]:+d}", places[0], places[layout.strides[i]])
        for i in sorted(layout.moving, key=lambda i: abs(layout.strides[i]))
        if 0 in places and layout.strides[i] in places
    ]


def row_label(x: Description, offset: int) -> str:
    """Returns the distance of an offset in elements from the data pointer, in bytes."""
    if x.is_packed or not x.element_bits:
        return f"#{offset}"
    distance = offset * x.element_bytes + x.byte_offset
    return f"{distance:+d}" if distance else "0"


def _legend(x: Description, layout: Layout, rows: list[Row]) -> list[str]:
    cells = [cell for row in rows for cell in row.cells]
    lines = [
        "Left: elements from the first one, which is in [ ]."
        if x.is_packed or not x.element_bits
        else "Left: bytes from the data pointer. The first element is in [ ]."
    ]
    if any(cell.kind == "gap" for cell in cells):
        lines.append("A dot is memory between the elements of the tensor.")
    if layout.broadcast:
        lines.append("A colon stands for every index: those elements share their memory.")
    if any(cell.is_shared for cell in cells) and not layout.broadcast:
        lines.append("A plus: more than one element is at this address.")
    return lines + directions(x, layout)


def directions(x: Description, layout: Layout) -> list[str]:
    """Describes the step in each dimension."""
    steps, unit = x.stride_bytes, "byte"
    if steps is None:
        steps, unit = layout.strides, "element"
    parts = []
    for i in layout.moving:
        if steps[i] == 0:
            parts.append(f"0 in dimension {i}")
        else:
            sign = "-" if steps[i] < 0 else "+"
            parts.append(f"{sign}{abs(steps[i])} in dimension {i}")
    return [f"Strides in {unit}s: {', '.join(parts)}."] if parts else []
