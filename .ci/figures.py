"""Writes docs/generated/reliability.md from the last results of the sessions that it names.

    python3 noxfile.py figures             takes what .nox has, and keeps the rest
    python3 noxfile.py figures -- --check  compares the page with its stored results

The results are stored in docs/generated/reliability.json, as no machine runs all sessions at once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable

import machine
import mutate as changes

PAGE = machine.CHECKOUT / "docs" / "generated" / "reliability.md"
STORED = PAGE.with_suffix(".json")
Rows = list[list[str]]


def fuzzers(state: Any) -> Rows:
    rows = [["fuzzer", "executions", "edges with the kept corpus", "edges", "findings"]]
    for name, record in sorted(state.items()):
        rows.append([f"`{name}`", f"{record['executions']:,}", str(record["first_edges"]),
                     str(record["edges"]), str(len(record["findings"]))])  # fmt: skip
    total = sum(record["executions"] for record in state.values())
    return [*rows, ["all", f"{total:,}", "", "", ""]]


def interpreters(state: Any) -> Rows:
    rows = [["CPython", "run on", "GIL", "Python tests", "exits"]]
    return rows + [
        [each["interpreter"], each["date"], each["GIL"], each["tests"], each["exits"]]
        for each in sorted(state, key=lambda each: version_of(each["interpreter"]))
    ]


def version_of(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.rstrip("t").split("."))


def machines(state: Any) -> Rows:
    rows = [["machine or compiler", "passed", "skipped", "failed", "headers alone in C++"]]
    for each in state:
        outcomes = list(each["tests"].values())
        counts = [str(outcomes.count(name)) for name in ("passed", "skipped", "failed")]
        standards = ", ".join(map(str, each["headers"])) or "none"
        problem = each["lacks"] or each["problem"]
        rows.append([each["name"], *counts, f"not run: {problem}" if problem else standards])
    return rows


def aarch64(state: Any) -> Rows:
    return [["machine", "Python tests"], [state["machine"], state["tests"]]]


def share(executed: Iterable[bool]) -> str:
    each = list(executed)
    return f"{100 * sum(each) / len(each):.1f} %" if each else ""


def coverage(state: Any) -> Rows:
    rows = [["header", "lines", "executed", "branches", "lines that are not executed"]]
    lines: dict[tuple[str, int], bool] = {}  # gcov counts each instance of a template apart
    branches: dict[tuple[str, int, int], bool] = {}
    for file in state["files"]:
        header = file["file"].removeprefix("python/").removeprefix("include/dlbridge/")
        for line in file["lines"]:
            at = (header, line["line_number"])
            lines[at] = lines.get(at, False) or line["count"] > 0
            for i, branch in enumerate(line["branches"]):
                branches[(*at, i)] = branches.get((*at, i), False) or branch["count"] > 0
    for header in dict.fromkeys(at[0] for at in lines):
        missing = [str(at[1]) for at, done in sorted(lines.items()) if at[0] == header and not done]
        mine = [done for at, done in lines.items() if at[0] == header]
        rows.append([header, str(len(mine)), share(mine),
                     share(done for at, done in branches.items() if at[0] == header),
                     ", ".join(missing)])  # fmt: skip
    all_of_them = [str(len(lines)), share(lines.values()), share(branches.values())]
    return [*rows, ["all", *all_of_them, ""]]


def mutants(_: Any) -> Rows:
    rows = [["header", "mutants", "detected", "", "not detected, all argued"]]
    records = changes.State().current()
    for name in (*changes.HEADERS, "all"):
        mine = [each.outcome for each in records if name in (each.header, "all")]
        killed, survived = mine.count("killed"), mine.count("survived")
        part = share([True] * killed + [False] * survived)
        rows.append([name, str(killed + survived), str(killed), part, str(survived)])
    return rows


def guarantees(state: Any) -> Rows:
    rows = [["guarantee", "documented in", "test that fails without it"]]
    return rows + [
        [promise, f"[{Path(each['page']).stem}](../{Path(each['page']).name})",
         f"`{each['test']}`" if not each["problem"] else each["problem"]]
        for promise, each in state.items()
    ]  # fmt: skip


# session, its results below .nox, their table
SOURCES: list[tuple[str, str, Callable[[Any], Rows]]] = [
    ("fuzz", "results/fuzz/state.json", fuzzers),
    ("interpreters", "interpreters.json", interpreters),
    ("machines", "machines.json", machines),
    ("aarch64", "aarch64.json", aarch64),
    ("coverage", "coverage.json", coverage),
    ("mutants", "results/mutants/state.json", mutants),
    ("guarantees", "guarantees/results.json", guarantees),
]


def table(rows: Rows) -> Iterable[str]:
    yield f"| {' | '.join(rows[0])} |"
    yield "|---" * len(rows[0]) + "|"
    for row in rows[1:]:
        yield f"| {' | '.join(row)} |"


def page(stored: dict[str, Any]) -> str:
    lines = [
        "# Figures of the reliability tests",
        "",
        "Written by `python3 noxfile.py figures` from the last run of each session. "
        "[Reliability](../reliability.md) says what the sessions do.",
    ]
    for session, _, _ in SOURCES:
        if result := stored.get(session):
            rows = " Each row has the date of its own run." if "run on" in result["rows"][0] else ""
            lines += ["", f"## {session}", "", f"Last run: {result['date']}.{rows}", ""]
            lines += table(result["rows"])
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="figures", description=__doc__)
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if chosen.check:
        same = PAGE.read_text() == page(stored)
        print("the page is that of its results" if same else f"{PAGE}: run the session figures")
        return int(not same)
    for session, name, rows_of in SOURCES:
        file = machine.STATE / name
        if file.exists():
            date = time.strftime("%Y-%m-%d", time.gmtime(file.stat().st_mtime))
            stored[session] = {"date": date, "rows": rows_of(json.loads(file.read_text()))}
    STORED.parent.mkdir(parents=True, exist_ok=True)
    STORED.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(page(stored))
    return 0


if __name__ == "__main__":
    sys.exit(main())
