# SPDX-License-Identifier: BSD-3-Clause
"""Parametrizes test_exchange, counts the exchanges of each library, and writes a report."""

from __future__ import annotations

import datetime
import json
import os
import platform
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
    """Parametrizes test_exchange with every exchange of the file's LIBRARY."""
    if metafunc.function is test_exchange:
        exchanges = exchanges_of(metafunc.module.LIBRARY)
        ids = ["-".join(each) for each in exchanges]
        metafunc.parametrize("direction, method, case", exchanges, ids=ids)


def _library_of(item: pytest.Item) -> str | None:
    """The library of a test: that of its file here, or of its parameter `library` elsewhere."""
    if item.path.parent == HERE:
        stem = item.path.stem[len("test_") :]
        return next((name for name in LIBRARIES if name.replace(".", "_") == stem), None)
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    name = getattr(parameters.get("library"), "name", None)
    return name if name in LIBRARIES and name != "dlbridge" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if library := _library_of(item):
            item.user_properties.append(("library", library))


def tally(reports: list[pytest.TestReport]) -> dict[str, Tally]:
    """For each library its version, the Python, the date, the numbers of tests passed and failed,
    and its exchanges."""
    here = {"python": platform.python_version(), "date": datetime.date.today().isoformat()}
    tallies: dict[str, Tally] = {}
    for report in reports:
        properties: dict[str, Any] = dict(report.user_properties)
        if "library" not in properties:
            continue
        name = properties["library"]
        version = LIBRARIES[name].version
        new: Tally = {"version": version, **here, "passed": 0, "failed": 0, "exchanges": []}
        row = tallies.setdefault(name, new)
        row["passed" if report.passed else "failed"] += 1
        if report.passed and "exchange" in properties:
            row["exchanges"].append(properties["exchange"])
    return tallies


def _line(name: str, row: Tally) -> str:
    counts = Counter(outcome for *_, outcome, _ in row["exchanges"])
    exchanged = len(row["exchanges"]) - counts["impossible"]
    parts = ", ".join(f"{counts[each]} {each}" for each in ORDER if counts[each])
    failed = f", {row['failed']} FAILED" if row["failed"] else ""
    summary = f"{exchanged} exchanges ({parts}); " if exchanged else ""
    return f"{name} {row['version']}: {summary}{row['passed']} tests passed{failed}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints a line for each library, and writes JSON to the file that DLBRIDGE_EXCHANGES names."""
    stats = terminalreporter.stats
    reports = [
        report
        for outcome in ("passed", "failed", "error", "xpassed")
        for report in stats.get(outcome, [])
        if isinstance(report, pytest.TestReport)
    ]
    tallies = tally(reports)
    if tallies:
        terminalreporter.section("exchanges")
    for name, row in sorted(tallies.items()):
        terminalreporter.write_line(_line(name, row))
    if path := os.environ.get("DLBRIDGE_EXCHANGES"):
        Path(path).write_text(json.dumps(tallies, indent=1))
