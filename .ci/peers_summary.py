# SPDX-License-Identifier: BSD-3-Clause
"""Prints the table of peers: every library, its version, and how many of its exchanges passed.

It reads the files that the sessions wrote (tests/python/peers/counting.py). It fails if a library
is missing from its environment, ran no test, or failed a test.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "peers.md"
PLAIN = ("from_dlpack", "take")
MOST = 12  # from this number on, the page does not list cases by name
OUTCOMES = ("zero-copy", "copied", "refused", "misread", "crashes")
HEADINGS = ("library", "version", "exchanges", *OUTCOMES, "tests", "environment", "Python", "date")
Row = tuple[str, ...]


def read(folder: Path, environment: str, library: str) -> dict[str, Any] | None:
    """What a session recorded for a library, or None."""
    file = folder / f"{environment}.json"
    counted = json.loads(file.read_text()) if file.exists() else {}
    found: dict[str, Any] | None = counted.get(library)
    return found


def row_of(environment: str, library: str, counted: dict[str, Any]) -> Row:
    outcomes = Counter(each[3] for each in counted["exchanges"])
    exchanged = sum(outcomes[each] for each in OUTCOMES)
    numbers = (exchanged, *(outcomes[each] for each in OUTCOMES), counted["passed"])
    shown = (str(number or "") for number in numbers)
    run_by = (counted["python"], counted["date"])
    return (library, str(counted["version"]), *shown, environment, *run_by)


def complaint(environment: str, library: str, counted: dict[str, Any] | None) -> str | None:
    """The fault of a library as a sentence, or None."""
    if counted is None:
        return f"{library} is missing from {environment}: not installed, or its session failed"
    if counted["failed"]:
        return f"{library} in {environment}: {counted['failed']} tests failed"
    if not counted["passed"]:
        return f"{library} in {environment}: no test ran"
    return None


def show(rows: list[Row]) -> str:
    """The table as text, with words aligned left and numbers aligned right."""
    table = [HEADINGS, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEADINGS))]
    numbers = range(2, len(HEADINGS) - 3)
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in table
    )


def markdown(rows: list[Row]) -> str:
    rule = ["---", "---", *(["---:"] * (len(HEADINGS) - 5)), "---", "---", "---"]
    lines = [f"| {' | '.join(row)} |" for row in (HEADINGS, rule, *rows)]
    return "\n".join(line.replace("  ", " ") for line in lines)


def reasons(library: str, counted: dict[str, Any]) -> list[str]:
    """The library's line of the page: the plain exchanges that shared no memory, with messages."""
    plain = [each for each in counted["exchanges"] if each[1] in PLAIN]
    cases: dict[tuple[str, str, str], list[str]] = {}
    for direction, _, case, outcome, words in plain:
        if outcome not in ("zero-copy", "impossible"):
            cases.setdefault((direction, outcome, words), []).append(case)
    parts = [
        f"{direction} {', '.join(found) if len(found) < MOST else 'nearly all'}: {outcome}"
        + (f" (`{words.strip()}`)" if words else "")
        for (direction, outcome, words), found in cases.items()
    ]
    said = "; ".join(parts or ["everything is zero-copy"])
    return [f"- **{library} {counted['version']}** {said}"] if plain else []


def replace(page: str, name: str, content: str) -> str:
    """The page, with new content between the begin and end comments of a name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


def write(rows: list[Row], lines: list[str]) -> None:
    """Writes the table and the reasons to the page."""
    page = replace(PAGE.read_text(), "table", markdown(rows))
    PAGE.write_text(replace(page, "reasons", "\n".join(sorted(set(lines)))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("wanted", nargs="*", metavar="ENVIRONMENT=LIBRARY,LIBRARY")
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE}")
    given, _ = parser.parse_known_args()  # the rest is for pytest
    rows, lines, complaints = [], [], []
    for each in given.wanted:
        environment, _, libraries = each.partition("=")
        for library in libraries.split(","):
            counted = read(given.folder, environment, library)
            if wrong := complaint(environment, library, counted):
                complaints.append(wrong)
            if counted is not None:
                rows.append(row_of(environment, library, counted))
                lines += reasons(library, counted)
    rows.sort()
    print(show(rows))
    total = sum(int(row[2] or 0) for row in rows)
    print(f"\n{total} exchanges with {len({row[0] for row in rows})} libraries")
    for wrong in complaints:
        print(f"FAILED: {wrong}")
    if given.write and not complaints:
        write(rows, lines)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
