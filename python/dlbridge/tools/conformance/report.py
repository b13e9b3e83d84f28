"""The report as a person reads it: what failed first and whole, then warnings, then one line."""

from __future__ import annotations

import sys

from dlbridge.tools import tables
from dlbridge.tools.conformance.engine import Report


def show(report: Report) -> None:
    """Prints a report."""
    broken = [it for it in report.results if it.outcome in ("crash", "fail", "warn")]
    for it in broken:
        tables.show(
            f"{it.id} {it.outcome}",
            ("", ""),
            [("expected", it.expected), ("got", it.got), ("fix", it.fix), ("source", it.source)],
        )
    print(summary(report))


def summary(report: Report) -> str:
    """One line.

    "58 of 60 pass, 2 warn"
    """
    counts = report.counts
    others = [f"{count} {name}" for name, count in counts.items() if count and name != "pass"]
    return ", ".join([f"{counts['pass']} of {len(report.results)} pass", *others])


def show_progress(done: int, all_: int, rule: str) -> None:
    """One line on standard error, overwritten as it goes."""
    text = f"{done} of {all_}: {rule}" if done < all_ else ""
    sys.stderr.write(f"\r{text:<40}" if text else f"\r{'':<40}\r")
    sys.stderr.flush()
