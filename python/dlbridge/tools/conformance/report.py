"""The report for terminals: failures first and in full, then warnings, then a summary."""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Callable

from dlbridge.tools.conformance.engine import WORST_FIRST, Report, Result

STYLES = {
    "crash": "bold red",
    "fail": "bold red",
    "warn": "yellow",
    "note": "cyan",
    "pass": "green",
    "skip": "dim",
}
NARROWEST, WIDEST = 60, 100
LONGEST_NOTE = 200

Line = tuple[str, str, str]  # a prefix, its style, and the text


def show(report: Report, *, verbose: bool = False) -> None:
    """Prints a report: in colour where rich is installed and the output is a terminal."""
    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
    emit = _printer()
    for word, style, text in lines(report, width, verbose=verbose):
        emit(word, style, text)


def lines(report: Report, width: int, *, verbose: bool = False) -> Iterable[Line]:
    """Yields the report line by line."""
    versions = ", ".join(
        f"{name} {version}" for name, version in report.versions.items() if version
    )
    yield "", "", f"{report.target} ({versions}), consumer: {report.consumer or 'none'}"
    yield "", "", ""
    ordered = sorted(report.results, key=lambda result: WORST_FIRST.index(result.outcome))
    for result in ordered:
        if result.outcome in ("crash", "fail", "warn"):
            yield from _whole(result, width)
    yield from _skipped(ordered, width)
    if verbose:
        for result in ordered:
            if result.outcome == "pass":
                yield from _row(
                    f"pass   {result.id}",
                    STYLES["pass"],
                    _short(result.got) or result.expected,
                    width,
                )
        yield "", "", ""
    yield "", "", summary(report)


def _short(note: str) -> str:
    return note if len(note) <= LONGEST_NOTE else f"{note[:LONGEST_NOTE]} ..."


def _whole(result: Result, width: int) -> Iterable[Line]:
    yield from _row(
        f"{result.outcome.upper():<6} {result.id}", STYLES[result.outcome], result.expected, width
    )
    for name, text in (("got", result.got), ("fix", result.fix)):
        if text:
            yield from _row(f"       {name}", "", text, width)
    for source in result.sources[:1]:
        text = f'{source.document} {source.since}, {source.place}: "{source.sentence}"'
        yield from _row(f"       {result.kind}", "", text, width)
    yield "", "", ""


def _skipped(results: list[Result], width: int) -> Iterable[Line]:
    """Yields one line for all skipped rules with the same reason."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        if result.outcome == "skip":
            by_reason.setdefault(result.got, []).append(result.id)
    for reason, rules in by_reason.items():
        yield from _row("skip", STYLES["skip"], f"{', '.join(rules)}: {reason}", width)
    if by_reason:
        yield "", "", ""


def _row(word: str, style: str, text: str, width: int) -> Iterable[Line]:
    front = f"{word:<14}"
    wrapped = textwrap.wrap(text, width - len(front)) or [""]
    yield front, style, wrapped[0]
    for more in wrapped[1:]:
        yield " " * len(front), "", more


def summary(report: Report) -> str:
    """Returns one line: "58 of 60 pass, 2 warn"."""
    return _counted(report.results)


def _counted(results: list[Result]) -> str:
    counts = {each: sum(result.outcome == each for result in results) for each in WORST_FIRST}
    passed = counts.pop("pass")
    others = [f"{count} {name}" for name, count in counts.items() if count]
    return ", ".join([f"{passed} of {len(results)} pass", *others])


def _printer() -> Callable[[str, str, str], None]:
    if sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            from rich.console import Console
            from rich.text import Text

            console = Console(highlight=False)
            return lambda word, style, text: console.print(
                Text.assemble((word, style), text), soft_wrap=True
            )
    return lambda word, style, text: print(f"{word}{text}")


def show_progress(count: int, total: int, rule: str) -> None:
    """Writes progress to one line on standard error, and clears it at the end."""
    text = f"{count} of {total}: {rule}" if count < total else ""
    sys.stderr.write(f"\r{text:<40}" if text else f"\r{'':<40}\r")
    sys.stderr.flush()
