"""Writes docs/defects.md: `python -m dlbridge.tools.known.page > docs/defects.md`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from dlbridge.tools.known import DEFECTS, HELPER, Defect
from dlbridge.tools.libraries import LIBRARIES

HEAD = """\
# Known defects

What other libraries do wrong with DLPack, as far as anybody has shown it. This page is written by
`python -m dlbridge.tools.known.page`; the programs on it are run wherever the tests have the
library, and a library that has been mended, or has fallen ill again, fails them.

`python -m dlbridge doctor` lists the defects of just those versions that you have.

The programs do without dlbridge. Many make capsules by hand; what they import for that is
[`by_hand.py`](../python/dlbridge/tools/known/by_hand.py), which needs Python alone and is shown
[at the end](#by_hand). "Ends by SIGSEGV" is what chance makes of a wild pointer: another signal may
come instead.
"""

KINDS = {
    "crash": "the process ends",
    "wrong": "something else arrives than was sent",
    "writable": "what is read-only is written",
    "freed": "memory is freed too early or too often",
    "leak": "memory is not freed",
    "ignored": "a request is ignored",
    "accepted": "what nobody can read is accepted",
    "refused": "what is right is refused",
    "lost": "an exception is lost",
}


def title(library: str) -> str:
    return LIBRARIES[library].title if library in LIBRARIES else library


def _contents() -> Iterator[str]:
    yield "| Library | Defects | |"
    yield "|---|---:|---|"
    for library, rows in groupby(DEFECTS.values(), key=lambda row: row.library):
        names = [f"[{row.id[len(library) + 1 :]}](#{row.id.replace('.', '')})" for row in rows]
        yield f"| {title(library)} | {len(names)} | {', '.join(names)} |"


def _defect(row: Defect) -> Iterator[str]:
    yield f"### {row.id}\n"
    yield f"{row.what}\n"
    yield f"- *Seen in:* {title(row.library)} {row.seen_in}; {KINDS[row.outcome]}"
    yield f"- *Breaks:* {row.breaks}"
    yield f"- *Remedy:* {row.remedy}"
    if row.found_by:
        yield f"- *Found by:* {', '.join(row.found_by)}"
    yield ""
    yield f"```text\n{row.program}\n```\n"
    ends = row.shows.startswith(("SIG", "exit"))
    yield f"Ends by {row.shows}.\n" if ends else f"Prints `{row.shows}`.\n"


def page() -> str:
    """The page as Markdown."""
    parts = [HEAD, *_contents(), ""]
    for library, rows in groupby(DEFECTS.values(), key=lambda row: row.library):
        parts.append(f"## {title(library)}\n")
        parts += [line for row in rows for line in _defect(row)]
    parts += ["## by_hand\n", f"```text\n{HELPER.read_text().strip()}\n```"]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(), end="")
