# SPDX-License-Identifier: BSD-3-Clause
"""Writes the pages of known defects: `python -m field.defect_pages docs`.

docs/generated/defects.md is a short index; docs/generated/defects/ has one page for each library.
The last run of each program is in docs/field/defects.json, which docs/field/collect.py writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from dlbridge.tools.known import DEFECTS, Defect
from dlbridge.tools.known.defect import HEADINGS, HELPER, Kind, helper
from dlbridge.tools.known.report import UNCLAIMED, happens, quote
from dlbridge.tools.libraries import LIBRARIES

INDEX = "defects.md"
FOLDER = "defects"
RUNS = "field/defects.json"
FILE = f"{HELPER}.py"

HEAD = f"""\
# Known defects of other libraries

This page lists defects of other libraries that a program has demonstrated. Each has an identifier,
the affected versions, its effect, the sentence of a standard that it concerns, a workaround, and a
short program that shows it without dlbridge. The tests run these programs wherever the library is
installed. They fail when the program no longer shows the defect in a version that the table lists,
and when a version outside the list shows it.

- `python -m dlbridge doctor` lists the defects of the versions that are installed.
- `python -m dlbridge explain torch-copy-not-marked` prints one defect with its program.
- `python -m dlbridge explain torch-copy-not-marked --report` runs its program, and prints a
  report in Markdown, to be filed with the project as it is. It refuses where a release has fixed
  the defect, where it is reported already, and where the installed version does not show it.
- A library that is missing here has not necessarily been examined.

Each defect has one of these kinds:

| Kind | Meaning |
|---|---|
| Unsound | a crash, wrong values, a leak or a double free, on input that the standards permit |
| Breaks a must | a standard that binds the library demands something else |
| Differs from a should | a standard recommends something else, or one demands it that the library \
does not claim |
| Hardening | the input breaks a standard; an exception, and memory that is freed once, would be \
better than the present behaviour |
| Outside the protocol | no standard is concerned |
| Worth knowing | permitted, and no defect |

**To object** to an entry, open an issue with its identifier, and name the sentence by which the
behaviour is permitted. The entry is changed or removed, and the pages are generated again.

Some programs build capsules with [`{FILE}`]({FOLDER}/{FILE}),
which needs only the standard library. `PYTHONPATH=docs python -m field.defect_pages docs` generates
this page and the pages that it links to.
"""

INTRODUCTION = """\
The [index](../defects.md) explains the entries, and how to object. Programs that
`import {module}` use [`{name}`]({name}).
A program that ends by SIGSEGV follows an invalid pointer, and may end by another signal elsewhere.
"""

EFFECTS = {
    "crash": "the process terminates",
    "wrong": "the result differs from the source",
    "writable": "read-only memory is writable",
    "freed": "memory is freed too early or twice",
    "leak": "memory leaks",
    "ignored": "a request is ignored",
    "accepted": "an invalid tensor is accepted",
    "refused": "a valid tensor is refused",
    "lost": "an exception is lost",
}
FOLDED = ("hardening",)

Runs = dict[str, Any]  # the contents of docs/field/defects.json


def title(library: str) -> str:
    return LIBRARIES[library].title if library in LIBRARIES else library


def anchor(row: Defect) -> str:
    """Where the defect is described, from docs/generated/."""
    return f"{FOLDER}/{row.library}.md#{row.id.replace('.', '')}"


def _by_library() -> Iterator[tuple[str, list[Defect]]]:
    for library, rows in groupby(DEFECTS.values(), key=lambda row: row.library):
        yield library, list(rows)


def index() -> str:
    """docs/generated/defects.md."""
    head = ["Library", *HEADINGS.values()]
    lines = [HEAD, f"| {' | '.join(head)} |", f"|---|{'---:|' * len(HEADINGS)}"]
    for library, rows in _by_library():
        numbers = [sum(row.kind == kind for row in rows) for kind in HEADINGS]
        cells = " | ".join(str(number or "") for number in numbers)
        lines.append(f"| [{title(library)}]({FOLDER}/{library}.md) | {cells} |")
    return "\n".join(lines) + "\n"


def _run(row: Defect, runs: Runs) -> str:
    run = runs.get("runs", {}).get(row.id)
    if run is None:
        return "Not run lately: no environment has the library."
    shown = "shown" if run["reproduced"] else f"not shown, but {run['shows']}"
    return f"{shown.capitalize()} by {title(row.library)} {run['version']} on {runs['date']}."


def _defect(row: Defect, runs: Runs) -> Iterator[str]:
    yield f"### {row.id}\n"
    yield f"{row.what}\n"
    yield f"- *Versions:* {title(row.library)} {row.seen_in}. {_run(row, runs)}"
    if row.upstream:
        yield f"- *Reported:* [{row.reported}]({row.upstream})"
    yield f"- *Effect:* {EFFECTS[row.outcome].capitalize()}. {row.breaks}"
    yield from (f"- *Text:* {quote(text)}" for text in row.texts)
    if row.is_unclaimed:
        yield f"- *Kind:* {UNCLAIMED.format(title=title(row.library))}"
    if row.remark:
        yield f"- *Kind:* {row.remark}"
    yield f"- *Workaround:* {row.remedy}"
    if row.found_by:
        yield f"- *Also found by:* {', '.join(row.found_by)}"
    yield ""
    yield f"```text\n{row.program}\n```\n"
    yield f"{happens(row)}\n"


def _section(kind: Kind, rows: Sequence[Defect], runs: Runs) -> Iterator[str]:
    yield f"## {HEADINGS[kind]}\n"
    if kind in FOLDED:
        yield f"<details><summary>{len(rows)}, on input that breaks a standard</summary>\n"
    for row in rows:
        yield from _defect(row, runs)
    if kind in FOLDED:
        yield "</details>\n"


def library_page(library: str, rows: list[Defect], runs: Runs) -> str:
    """docs/generated/defects/<library>.md."""
    parts = [f"# Known defects of {title(library)}\n"]
    parts.append(INTRODUCTION.format(module=HELPER, name=FILE))
    for kind in HEADINGS:
        of_kind = [row for row in rows if row.kind == kind]
        if of_kind:
            parts += _section(kind, of_kind, runs)
    return "\n".join(parts)


def pages(runs: Runs) -> dict[str, str]:
    """Each page as Markdown, and the module that the programs import, by their paths in
    docs/generated/."""
    text = {INDEX: index(), f"{FOLDER}/{FILE}": helper()}
    for library, rows in _by_library():
        text[f"{FOLDER}/{library}.md"] = library_page(library, rows, runs)
    return text


def load(docs: Path) -> Runs:
    """Reads the last run of each program; nothing where none was stored."""
    file = docs / RUNS
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def write(docs: Path) -> None:
    """Writes all pages, and removes those of libraries that the table no longer has."""
    text = pages(load(docs))
    folder = docs / "generated"
    for file in (folder / FOLDER).glob("*.md"):
        if file.relative_to(folder).as_posix() not in text:
            file.unlink()
    for name, content in text.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
