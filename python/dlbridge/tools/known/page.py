"""Writes the pages of known defects: `python -m dlbridge.tools.known.page docs`.

docs/defects.md is a short index; docs/generated/defects/ has one page for each library.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from dlbridge.tools.known import DEFECTS, Defect, helper
from dlbridge.tools.libraries import LIBRARIES

INDEX = "defects.md"
FOLDER = "generated/defects"
HELPER = f"{helper.NAME}.py"

HEAD = f"""\
# Known defects of other libraries

This page lists defects of other libraries that a program has demonstrated. Each has an identifier,
the affected versions, its effect, a workaround, and a short program that shows it without dlbridge.
The tests run these programs wherever the library is installed. They fail when the program no longer
shows the defect in a version that the table lists, and when a version outside the list shows it.

- `python -m dlbridge doctor` lists the defects of the versions that are installed.
- `python -m dlbridge doctor --defect torch-read-only` prints one defect with its program.
- A library that is missing here has not necessarily been examined.

Many programs build capsules with [`{HELPER}`]({FOLDER}/{HELPER}),
which needs only the standard library. `python -m dlbridge.tools.known.page docs` generates this
page and the pages that it links to.
"""

INTRODUCTION = """\
The [index](../../defects.md) explains the entries. Programs that `import {module}` use
[`{name}`]({name}).
A program that ends by SIGSEGV follows an invalid pointer, and may end by another signal elsewhere.
"""

KINDS = {
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


def title(library: str) -> str:
    return LIBRARIES[library].title if library in LIBRARIES else library


def anchor(row: Defect) -> str:
    """Where the defect is described, from docs/."""
    return f"{FOLDER}/{row.library}.md#{row.id.replace('.', '')}"


def _by_library() -> Iterator[tuple[str, list[Defect]]]:
    for library, rows in groupby(DEFECTS.values(), key=lambda row: row.library):
        yield library, list(rows)


def index() -> str:
    """docs/defects.md."""
    lines = [HEAD, "| Library | Defects | Effects |", "|---|---:|---|"]
    for library, rows in _by_library():
        outcomes = {row.outcome for row in rows}
        effects = [effect for outcome, effect in KINDS.items() if outcome in outcomes]
        link = f"[{title(library)}]({FOLDER}/{library}.md)"
        lines.append(f"| {link} | {len(rows)} | {'; '.join(effects)} |")
    return "\n".join(lines) + "\n"


def _defect(row: Defect) -> Iterator[str]:
    yield f"## {row.id}\n"
    yield f"{row.what}\n"
    yield f"- *Versions:* {title(row.library)} {row.seen_in}"
    yield f"- *Effect:* {KINDS[row.outcome].capitalize()}. {row.breaks}"
    yield f"- *Workaround:* {row.remedy}"
    if row.found_by:
        yield f"- *Also found by:* {', '.join(row.found_by)}"
    yield ""
    yield f"```text\n{row.program}\n```\n"
    ends = row.shows.startswith(("SIG", "exit"))
    yield f"Ends by {row.shows}.\n" if ends else f"Prints `{row.shows}`.\n"


def library_page(library: str, rows: list[Defect]) -> str:
    """docs/generated/defects/<library>.md."""
    parts = [f"# Known defects of {title(library)}\n"]
    parts.append(INTRODUCTION.format(module=helper.NAME, name=HELPER))
    for row in rows:
        parts += _defect(row)
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Each page as Markdown, and the module that the programs import, by their paths in docs/."""
    text = {INDEX: index(), f"{FOLDER}/{HELPER}": helper.source()}
    for library, rows in _by_library():
        text[f"{FOLDER}/{library}.md"] = library_page(library, rows)
    return text


def write(docs: Path) -> None:
    """Writes all pages, and removes those of libraries that the table no longer has."""
    text = pages()
    for file in (docs / FOLDER).glob("*.md"):
        if file.relative_to(docs).as_posix() not in text:
            file.unlink()
    for name, content in text.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
