"""The report as a person reads it: what failed first and whole, then warnings, then one line."""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Callable

from dlbridge.tools.conformance.engine import WORST_FIRST, Report, Result
from dlbridge.tools.conformance.rules import SIXTY

STYLES = {"crash": "bold red", "fail": "bold red", "warn": "yellow", "pass": "green", "skip": "dim"}
NARROWEST, WIDEST = 60, 100
LONGEST_NOTE = 200

Line = tuple[str, str, str]  # a word in front, its style, and what follows


def show(report: Report, *, verbose: bool = False) -> None:
    """Prints a report: in colour where rich is installed and a terminal is there."""
    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
    emit = _printer()
    for word, style, text in lines(report, width, verbose=verbose):
        emit(word, style, text)


def lines(report: Report, width: int, *, verbose: bool = False) -> Iterable[Line]:
    """The report, line by line."""
    versions = ", ".join(f"{name} {found}" for name, found in report.versions.items() if found)
    yield "", "", f"{report.target} ({versions}), consumer: {report.consumer or 'none'}"
    yield "", "", ""
    ordered = sorted(report.results, key=lambda it: WORST_FIRST.index(it.outcome))
    for it in ordered:
        if it.outcome in ("crash", "fail", "warn"):
            yield from _whole(it, width)
    yield from _skipped(ordered, width)
    if verbose:
        for it in ordered:
            if it.outcome == "pass":
                yield from _row(
                    f"pass   {it.id}", STYLES["pass"], _short(it.got) or it.expected, width
                )
        yield "", "", ""
    yield "", "", summary(report)


def _short(note: str) -> str:
    return note if len(note) <= LONGEST_NOTE else f"{note[:LONGEST_NOTE]} ..."


def _whole(it: Result, width: int) -> Iterable[Line]:
    yield from _row(f"{it.outcome.upper():<6} {it.id}", STYLES[it.outcome], it.expected, width)
    for name, text in (("got", it.got), ("fix", it.fix), ("source", it.source)):
        if text:
            yield from _row(f"       {name}", "", text, width)
    yield "", "", ""


def _skipped(results: list[Result], width: int) -> Iterable[Line]:
    """Those with the same reason on one line."""
    by_reason: dict[str, list[str]] = {}
    for it in results:
        if it.outcome == "skip":
            by_reason.setdefault(it.got, []).append(it.id)
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
    """One line: "58 of 60 pass, 2 warn", and the same of the rules beyond the sixty."""
    sixty = [it for it in report.results if it.id in SIXTY]
    beyond = [it for it in report.results if it.id not in SIXTY]
    parts = [_counted(sixty)] if sixty else []
    if beyond:
        parts.append(f"beyond the sixty {_counted(beyond)}")
    return "; ".join(parts)


def _counted(results: list[Result]) -> str:
    counts = {each: sum(it.outcome == each for it in results) for each in WORST_FIRST}
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


def show_progress(done: int, all_: int, rule: str) -> None:
    """One line on standard error, written over as it goes, and wiped out at the end."""
    text = f"{done} of {all_}: {rule}" if done < all_ else ""
    sys.stderr.write(f"\r{text:<40}" if text else f"\r{'':<40}\r")
    sys.stderr.flush()
