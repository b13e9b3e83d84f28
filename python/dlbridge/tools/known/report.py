# SPDX-License-Identifier: BSD-3-Clause
"""A report of a defect in Markdown, to be filed with its project as it is."""

from __future__ import annotations

from collections.abc import Iterator

from dlbridge.tools.conformance.rules import RULES, Text
from dlbridge.tools.core import ROOT
from dlbridge.tools.known.defect import HELPER, Defect, Kind, helper
from dlbridge.tools.libraries import LIBRARIES

# What the project is asked for, by the kind of the defect.
EXPECTED: dict[Kind, str] = {
    "unsound": "The standards permit this input: the values are right or an exception is raised, "
    "and all memory is freed once.",
    "must": "A standard demands something else:",
    "should": "A standard recommends something else:",
    "hardening": "The input breaks a standard, so this is a request and no breach: an exception, "
    "and memory that is freed once, would be better.",
    "outside": "No standard is concerned, so this is a request and no breach.",
}
UNCLAIMED = (
    "{title} does not claim the array API, whose syntax and semantics DLPack recommends to it."
)


class NothingToReport(ValueError):
    """The behaviour is permitted, or a release has changed it."""


def quote(text: Text) -> str:
    """Quotes a sentence with its place and version.

    >>> quote(Text("dlpack.h", "0.2", "DLTensor.ndim", "Number of dimensions"))
    'dlpack.h, `DLTensor.ndim`, since 0.2: “Number of dimensions”'
    """
    return f"{text.document}, `{text.place}`, since {text.since}: “{text.sentence}”"


def happens(row: Defect) -> str:
    """What the program shows."""
    ends = row.shows.startswith(("SIG", "exit"))
    return f"The program ends by {row.shows}." if ends else f"The program prints `{row.shows}`."


def expected(row: Defect) -> str:
    """What the standards say about the behaviour."""
    usual = EXPECTED.get(row.kind, "")
    if row.is_unclaimed:
        usual = UNCLAIMED.format(title=LIBRARIES[row.library].title)
    return " ".join(filter(None, [row.remark, usual]))


def report(row: Defect, version: str | None = None) -> str:
    """Returns the report; `version` is the installed one, where the program was run.

    Raises NothingToReport for permitted behaviour, and for a defect that a release has fixed.
    """
    if not row.is_fault:
        raise NothingToReport(f"{row.id}: no sentence of a standard forbids it. {row.remark}")
    if row.fixed_in:
        raise NothingToReport(f"{row.id}: {LIBRARIES[row.library].title} {row.fixed_in} fixed it.")
    return "\n".join(_lines(row, version))


def _lines(row: Defect, version: str | None) -> Iterator[str]:
    title = LIBRARIES[row.library].title
    yield f"# DLPack in {title}: {row.what.rstrip('.')}\n"
    yield f"- {title}: {version if version and row.is_in(version) else row.seen}\n"
    yield "## What happens\n"
    yield f"```python\n{row.program}\n```\n"
    yield f"{happens(row)} {row.what}\n"
    yield f"What it affects: {row.breaks}\n"
    yield f"## What is expected\n\n{expected(row)}\n"
    yield from (f"> {quote(text)}\n" for text in row.texts)
    rules = [rule for rule in row.found_by if rule in RULES]
    if rules:
        yield "## A possible change\n"
        yield f"{RULES[rules[0]].fix}\n"
        yield (
            f"After it, `python -m {ROOT} conformance {row.library} --only {rules[0]}` no longer "
            "reports it.\n"
        )
    if HELPER in row.program:
        yield f"<details><summary>{HELPER}.py, which the program imports</summary>\n"
        yield f"```python\n{helper().rstrip()}\n```\n"
        yield "</details>"
