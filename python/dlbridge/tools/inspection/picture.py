"""A picture of the memory: a grid of places, in order of address, with the element at each.

The picture is of the layout; nothing is read to draw it. text.py and svg.py draw the grid.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from dlbridge.tools.inspection.description import Description
from dlbridge.tools.inspection.layout import Layout

MOST_ROWS = 9
FEWEST = 3  # cells in a row
Kind = Literal["element", "gap", "data", "more"]


@dataclass(frozen=True)
class Cell:
    """One place in memory, or, as `more`, those that are left out."""

    kind: Kind
    place: int = 0  # in elements from the first one
    label: str = ""  # the index of the element
    index: tuple[int, ...] = ()
    is_first: bool = False
    is_shared: bool = False


@dataclass(frozen=True)
class Row:
    """Some places side by side. No cells: rows are left out here."""

    label: str  # where it begins, in bytes from the data pointer
    cells: tuple[Cell, ...] = ()
    begins_plane: bool = False  # of the third dimension or a higher one


@dataclass(frozen=True)
class Picture:
    rows: tuple[Row, ...]
    legend: tuple[str, ...]


def _label(layout: Layout, index: tuple[int, ...]) -> str:
    if not index:
        return "()"
    return ",".join(":" if i in layout.broadcast else str(n) for i, n in enumerate(index))


def label_width(x: Description) -> int:
    """Of the longest label of a cell, with what may be put around it."""
    assert x.shape is not None
    return max(4, len(",".join(str(n - 1) for n in x.shape)) + 2)


def _steps(layout: Layout) -> list[int]:
    """The distances that moving leads over, the shortest first."""
    return sorted({abs(layout.strides[i]) for i in layout.moving} - {0})


def _row_length(layout: Layout, columns: int) -> int:
    """How many places stand in a row: those between two rows of the tensor, if it has such."""
    rows = [step for step in _steps(layout)[1:] if step > 2]
    return rows[0] if rows else columns


def _cell(layout: Layout, place: int, data: int | None) -> Cell:
    found = list(itertools.islice(layout.at(place), 2))
    if not found:
        return Cell("data" if place == data else "gap", place, "data" if place == data else ".")
    return Cell(
        "element",
        place,
        _label(layout, found[0]),
        found[0],
        is_first=place == 0,
        is_shared=len(found) > 1 or bool(layout.broadcast),
    )


def _chosen(count: int, most: int) -> list[int | None]:
    """Which of so many to show: all, or the first ones, None, and the last ones.

    >>> _chosen(3, 5), _chosen(100, 5)
    ([0, 1, 2], [0, 1, None, 98, 99])
    """
    if count <= most:
        return list(range(count))
    last = 2 if most > 4 else 1
    return [*range(most - last - 1), None, *range(count - last, count)]


def draw(x: Description | None, columns: int) -> Picture | None:
    """A picture with rows of at most so many cells; None where there is nothing to draw, or where
    so few cells would show nothing."""
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
            Cell("more", label="...") if i is None else _cell(layout, start + i, data)
            for i in _chosen(within, columns)
        ]
        opens = bool(planes) and row > 0 and (row * length) % planes[0] == 0
        rows.append(Row(row_label(x, start), tuple(cells), opens))
    return Picture(tuple(rows), tuple(_legend(x, layout, rows)))


def row_label(x: Description, place: int) -> str:
    """How far a place is from the data pointer."""
    if x.is_packed:
        return f"#{place}"
    offset = place * x.element_bytes + x.byte_offset
    return f"{offset:+d}" if offset else "0"


def _legend(x: Description, layout: Layout, rows: list[Row]) -> list[str]:
    cells = [cell for row in rows for cell in row.cells]
    said = [
        "Left: elements from the first one, which is in [ ]."
        if x.is_packed
        else "Left: bytes from the data pointer. The first element is in [ ]."
    ]
    if any(cell.kind == "gap" for cell in cells):
        said.append("A dot is memory in between, of which the tensor has no element.")
    if layout.broadcast:
        said.append("A colon stands for every index: those elements share one place.")
    if any(cell.is_shared for cell in cells) and not layout.broadcast:
        said.append("A plus: more than one element is at this place.")
    return said + directions(x, layout)


def directions(x: Description, layout: Layout) -> list[str]:
    """Where a step in each dimension leads."""
    steps, unit = x.stride_bytes, "byte"
    if steps is None:
        steps, unit = layout.strides, "element"
    parts = []
    for i in layout.moving:
        if steps[i] == 0:
            parts.append(f"in dimension {i} nowhere")
        else:
            many = "s" if abs(steps[i]) != 1 else ""
            way = "back" if steps[i] < 0 else "on"
            parts.append(f"in dimension {i} {abs(steps[i])} {unit}{many} {way}")
    return [f"A step leads {', '.join(parts)}."] if parts else []
