"""Hands every library's exchanges to its file, counts what passed, and writes it down."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from exchanges import exchanges_of, test_exchange
from rows import LIBRARIES

Tally = dict[str, Any]
HERE = Path(__file__).resolve().parent
ORDER = ("zero-copy", "copied", "refused", "misread", "crashes", "impossible")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives test_exchange every exchange of the file's LIBRARY."""
    if metafunc.function is test_exchange:
        found = exchanges_of(metafunc.module.LIBRARY)
        ids = ["-".join(each) for each in found]
        metafunc.parametrize("direction, road, case", found, ids=ids)


def _library_of(item: pytest.Item) -> str | None:
    """Whose a test is: its file's here, or that of its parameter in the table of callers."""
    if item.path.parent == HERE:
        stem = item.path.stem[len("test_") :]
        return next((name for name in LIBRARIES if name.replace(".", "_") == stem), None)
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    named = getattr(parameters.get("library"), "name", None)
    return named if named in LIBRARIES and named != "dlbridge" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if library := _library_of(item):
            item.user_properties.append(("library", library))


def tally(reports: list[pytest.TestReport]) -> dict[str, Tally]:
    """By library: its version, how many tests passed and failed, and every exchange."""
    found: dict[str, Tally] = {}
    for report in reports:
        said: dict[str, Any] = dict(report.user_properties)
        if "library" not in said:
            continue
        name = said["library"]
        version = LIBRARIES[name].version
        new: Tally = {"version": version, "passed": 0, "failed": 0, "exchanges": []}
        row = found.setdefault(name, new)
        row["passed" if report.passed else "failed"] += 1
        if report.passed and "exchange" in said:
            row["exchanges"].append(said["exchange"])
    return found


def _line(name: str, row: Tally) -> str:
    counted = Counter(outcome for *_, outcome, _ in row["exchanges"])
    exchanged = len(row["exchanges"]) - counted["impossible"]
    parts = ", ".join(f"{counted[each]} {each}" for each in ORDER if counted[each])
    failed = f", {row['failed']} FAILED" if row["failed"] else ""
    said = f"{exchanged} exchanges ({parts}); " if exchanged else ""
    return f"{name} {row['version']}: {said}{row['passed']} tests passed{failed}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each library; and all of it as JSON in the file that DLBRIDGE_EXCHANGES names."""
    stats = terminalreporter.stats
    reports = [
        report
        for outcome in ("passed", "failed", "error", "xpassed")
        for report in stats.get(outcome, [])
        if isinstance(report, pytest.TestReport)
    ]
    found = tally(reports)
    if found:
        terminalreporter.section("exchanges")
    for name, row in sorted(found.items()):
        terminalreporter.write_line(_line(name, row))
    if path := os.environ.get("DLBRIDGE_EXCHANGES"):
        Path(path).write_text(json.dumps(found, indent=1))
