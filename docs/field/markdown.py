# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of Markdown that the survey's pages have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dlbridge.tools.libraries import LIBRARIES

FOLDER = "field"
BACK = "Part of the [survey of DLPack support](../field.md), which is generated.\n"
MOST_SHOWN = 240  # characters of a message in a cell


def title(library: str) -> str:
    return LIBRARIES[library].title if library in LIBRARIES else library


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that are hidden until a reader opens them."""
    yield f"<details><summary>{summary}</summary>\n"
    yield from lines
    yield "</details>\n"


def inline(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def shortened(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 4]} ..."
