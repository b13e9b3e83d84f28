# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/generated/reliability.md from the last results of the sessions that it names, and
says which published evidence is older than the code of which it speaks.

    python3 noxfile.py published             takes what .nox has, and keeps the rest
    python3 noxfile.py published -- --check  compares the page with its stored results
    python3 noxfile.py published -- --age    says what is older than its code

The results are stored in docs/generated/reliability.json, each with its date and its commit, as no
machine runs all sessions at once.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any, Callable

import machine

sys.path.insert(0, str(machine.CHECKOUT / "tests" / "mutation"))
import mutate

PAGE = machine.CHECKOUT / "docs" / "generated" / "reliability.md"
STORED = PAGE.with_suffix(".json")
Rows = list[list[str]]
# Other published evidence, and the code of which it speaks. A page names its commit; what does not
# was made of the commit that holds it.
EVIDENCE = {
    "docs/generated/performance.md": ("include", "python/src", "bench"),
    "docs/generated/gpu.md": ("include/dlbridge/runtime", "include/dlbridge/python", "tests/gpu"),
    "docs/generated/field.md": ("python/dlbridge/tools",),
    "docs/generated/peers.md": ("include", "python/src", "tests/python/peers", "pyproject.toml"),
}


def fuzzers(state: Any) -> Rows:
    rows = [["fuzzer", "executions", "edges with the kept corpus", "edges", "findings"]]
    for name, record in sorted(state.items()):
        rows.append([f"`{name}`", f"{record['executions']:,}", str(record["first_edges"]),
                     str(record["edges"]), str(len(record["findings"]))])  # fmt: skip
    total = sum(record["executions"] for record in state.values())
    return [*rows, ["all", f"{total:,}", "", "", ""]]


def sessions(state: Any) -> Rows:
    """The sessions that are not part of `tests --all`, such as those of other interpreters."""
    rows = [["session", "run on", "commit", "tests"]]
    for name, result in sorted(state.items()):
        counts = ", ".join(f"{value} {word}" for word, value in result.items()
                           if word in ("passed", "skipped", "xfailed"))  # fmt: skip
        if name.startswith(("interpreters", "machines", "threads", "today", "soak", "planted")):
            rows.append([name, result["date"], result["commit"], counts])
    return rows


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
    return [*rows, ["all", str(len(lines)), share(lines.values()), share(branches.values()), ""]]


def mutants(_: Any) -> Rows:
    rows = [["header", "mutants", "detected", "", "not detected, all argued"]]
    records = mutate.State().current()
    for name in (*mutate.HEADERS, "all"):
        mine = [each.outcome for each in records if name in (each.header, "all")]
        killed, survived = mine.count("killed"), mine.count("survived")
        part = share([True] * killed + [False] * survived)
        rows.append([name, str(killed + survived), str(killed), part, str(survived)])
    return rows


# title, its results below .nox, their table, and the code of which they speak
SOURCES: list[tuple[str, str, Callable[[Any], Rows], tuple[str, ...]]] = [
    ("fuzz", "results/fuzz/state.json", fuzzers, ("include",)),
    ("sessions", "results/sessions.json", sessions, ("include", "python")),
    ("coverage", "coverage.json", coverage, ("include", "python/src")),
    ("mutants", "results/mutants/state.json", mutants, ("include",)),
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
        "The results of the last run of each long test session. "
        "[Reliability](../contributing/reliability.md) describes the sessions. "
        "`python3 noxfile.py published` writes this page.",
    ]
    for title, result in stored.items():
        lines += ["", f"## {title}", "",
                  f"Last run: {result['date']}, of commit `{result['commit']}`.", ""]  # fmt: skip
        lines += table(result["rows"])
    return "\n".join(lines) + "\n"


def git(*arguments: str) -> str:
    command = ["git", "-C", str(machine.CHECKOUT), *arguments]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def age(title: str, commit: str, paths: tuple[str, ...]) -> str:
    """A sentence that says how many commits have changed the code since."""
    count = git("rev-list", "--count", f"{commit.rstrip('+')}..HEAD", "--", *paths)
    if not count:
        return f"{title}: the history of this clone lacks commit {commit}"
    since = f"{count} commits to {', '.join(paths)} since" if int(count) else "of the present code"
    return f"{title}: commit {commit}, {since}"


def show_ages(stored: dict[str, Any]) -> None:
    for title, _, _, paths in SOURCES:
        if title in stored:
            print(age(f"reliability.md, {title}, {stored[title]['date']}", stored[title]["commit"],
                      paths))  # fmt: skip
    for name, paths in EVIDENCE.items():
        named = re.search(r"of commit `([0-9a-f]+)", (machine.CHECKOUT / name).read_text())
        commit = named[1] if named else git("rev-list", "-1", "--abbrev-commit", "HEAD", "--", name)
        print(age(name, commit, paths))


def main() -> int:
    parser = argparse.ArgumentParser(prog="published", description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--age", action="store_true")
    chosen = parser.parse_args()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if chosen.check:
        same = PAGE.read_text() == page(stored)
        print("the page is that of its results" if same else f"{PAGE}: run the session published")
        return int(not same)
    if not chosen.age:
        for title, name, rows_of, _ in SOURCES:
            file = machine.STATE / name
            if file.exists():
                rows = rows_of(json.loads(file.read_text()))
                if len(rows) > 1:
                    date = time.strftime("%Y-%m-%d", time.gmtime(file.stat().st_mtime))
                    stored[title] = {"date": date, "commit": machine.commit(), "rows": rows}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
        PAGE.write_text(page(stored))
    show_ages(stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
