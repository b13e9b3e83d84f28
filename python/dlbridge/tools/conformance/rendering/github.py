# SPDX-License-Identifier: BSD-3-Clause
"""The violations as workflow commands of GitHub Actions, which shows them as annotations."""

from __future__ import annotations

from collections.abc import Iterable

from ..results import Report, Result
from .terminal import remarks_on_waivers

COMMANDS = {"crash": "error", "fail": "error", "warn": "warning", "note": "notice"}


def render(report: Report) -> str:
    """Returns a line for each violation, the worst first: GitHub shows ten of each command."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterable[str]:
    for result in report.ordered():
        remarks = list(remarks_on_waivers([result]))
        if result.waiver is not None and result.is_waived:
            yield command("notice", _title(report, result), f"waived: {result.waiver.reason}")
        elif result.outcome in COMMANDS:
            text = [result.got, f"expected: {result.expected}", f"fix: {result.fix}", *remarks]
            yield command(COMMANDS[result.outcome], _title(report, result), "\n".join(text))
        elif remarks:
            yield command("error" if result.fails else "notice", _title(report, result), remarks[0])


def _title(report: Report, result: Result) -> str:
    return f"DLPack {result.id} of {report.target}"


def command(name: str, title: str, message: str) -> str:
    """Formats a command.

    >>> command("error", "P-01 of a:b", "100 %")
    '::error title=P-01 of a%3Ab::100 %25'
    """
    title = _escape(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{name} title={title}::{_escape(message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
