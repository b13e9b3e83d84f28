# SPDX-License-Identifier: BSD-3-Clause
"""dlbridge.show and its result: the properties of a tensor, and a picture of its memory."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from ... import dtypes
from ..reading.alive import described
from ..reading.description import Description
from ..reading.elements import is_decodable
from ..reading.memory import value_at
from . import facts
from .html import block
from .svg import as_svg
from .text import Line, head_lines, memory_lines, plain, terminal_width

# The properties that a notebook shows below the drawing; its heading has the others.
BELOW = ("first element", "memory", "access")


@dataclass(frozen=True)
class MemoryPicture:
    """A picture of a tensor's memory: text in a terminal, and a drawing in a notebook.

    It has the values at the time of show(), and keeps no reference to the tensor.
    """

    lines: list[Line]  # of the text, with the styles of text.py
    html: str
    svg: str

    def __repr__(self) -> str:
        return plain(self.lines)

    def _repr_html_(self) -> str:
        return self.html


def show(x: Any, *, width: int | None = None, title: str = "") -> MemoryPicture:
    """Draws the memory of an object. See dlbridge.show; `width`: of the text, in columns."""
    width = terminal_width() if width is None else width
    with described(x) as (subject, tensor):
        is_marked = any(subject.own_marks.values())
        headline = facts.of_tensor_in_short(tensor, is_marked)
        value, note = functools.partial(value_at, tensor), _about_values(tensor)
        rows = facts.of_tensor(tensor, is_marked)
        head = head_lines(subject.type, title, headline, rows, width)
        lines = [*head, *memory_lines(tensor, width, value, note)]
        svg = as_svg(tensor, value)
    notes = [note] if note else []
    notes += [f"{name.capitalize()}: {text}." for name, text in rows if name in BELOW]
    return MemoryPicture(lines, block(f"{subject.type}: {headline}", tensor, svg, notes), svg)


def _about_values(x: Description) -> str:
    """Says what the picture shows in place of numbers; "" where it shows them."""
    if not x.is_host:
        return f"No values: the memory is on {x.device_text}."
    if x.dtype is None or not x.readable:
        why = "no dtype of DLPack describes them" if x.dtype is None else "they are not readable"
        return f"No values: {why}."
    code, bits, lanes = x.dtype
    if is_decodable(x.dtype) or (bits < 8 and code in (dtypes.INT, dtypes.UINT)):
        return ""
    return "Values: bits." if bits < 8 and lanes == 1 else "Values: bytes in hexadecimal."
