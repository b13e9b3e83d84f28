# SPDX-License-Identifier: BSD-3-Clause
"""The report for terminals: failures and warnings in full, the rest in lines, and a summary."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable

from ... import output
from ..results import WORST_FIRST, Report, Result, cite

STYLES = {
    "crash": "bold red",
    "fail": "bold red",
    "warn": "yellow",
    "note": "cyan",
    "skip": "dim",
    "pass": "green",
}
NARROWEST, WIDEST = 60, 100
LONGEST_NOTE = 200

Line = tuple[str, str, str]  # a prefix, its style, and the text


def show(report: Report, *, verbose: bool = False) -> None:
    """Prints a report, in colours where output.shows_colours()."""
    width = output.columns(NARROWEST, WIDEST)
    emit = output.line_printer()
    for word, style, text in lines(report, width, verbose=verbose):
        emit((word, style), (text, ""))


def lines(report: Report, width: int, *, verbose: bool = False) -> Iterable[Line]:
    """Yields the report line by line."""
    versions = ", ".join(
        f"{name} {version}" for name, version in report.versions.items() if version
    )
    yield "", "", f"{report.target} ({versions}), consumer: {report.consumer or 'none'}"
    claimed = f"array API {report.standard}, " if report.standard else ""
    text = f"standard: {claimed}dlpack.h and DLPack's Python specification"
    if not claimed:
        text += " (the library claims no version of the array API; "
        text += "state one with --standard 2024.12)"
    yield from _row("", "", text, width)
    yield "", "", ""
    ordered = report.ordered()
    folded = [] if verbose else [it for it in ordered if it.outcome == "note" or it.is_waived]
    for result in ordered:
        if result.outcome not in ("skip", "pass") and result not in folded:
            yield from _whole(result, width)
    for result in folded:
        yield from _folded(result, width)
    if folded:
        yield "", "", ""
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
    yield from _remarks(report, width)
    yield "", "", summary(report)


def _short(note: str) -> str:
    cut = note[:LONGEST_NOTE]
    return note if note == cut else f"{cut.rpartition(' ')[0] or cut} ..."


def _whole(result: Result, width: int) -> Iterable[Line]:
    yield from _row(
        f"{result.outcome.upper():<6} {result.id}", STYLES[result.outcome], result.expected, width
    )
    rows = [("got", result.got), ("fix", result.fix)]
    rows += [("source", cite(source)) for source in result.sources]
    if result.waiver is not None:
        rows.append(("waiver", f"{result.waiver.state}: {result.waiver.reason}"))
    for name, text in rows:
        if text:
            yield from _row(f"       {name}", "", text, width)
    yield "", "", ""


def _folded(result: Result, width: int) -> Iterable[Line]:
    """Yields one line for a note or a waived violation; -v shows it in full."""
    text = f"{_short(result.got)}; fix: {result.fix}"
    if result.waiver is not None and result.is_waived:
        text = f"waived: {result.waiver.reason}; {_short(result.got)}"
    yield from _row(f"{result.outcome:<6} {result.id}", STYLES[result.outcome], text, width)


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


def _remarks(report: Report, width: int) -> Iterable[Line]:
    """Yields what a reader of the results must know: waivers without effect, an early end."""
    remarks = [*report.remarks, *remarks_on_waivers(report.results)]
    if not report.complete:
        remarks.append("interrupted: the rules that did not run are skipped")
    for remark in remarks:
        yield from _row("", "", remark, width)
    if remarks:
        yield "", "", ""


def remarks_on_waivers(results: Iterable[Result]) -> Iterable[str]:
    """Yields one line for each waiver that waived nothing."""
    for result in results:
        if result.waiver is None or result.is_waived:
            continue
        reason = f"({result.waiver.reason})"
        if result.waiver.state == "unused":
            yield f"{result.id}: its waiver was not used, as the rule was skipped {reason}"
        elif result.waiver.state == "other outcome":
            yield f"{result.id}: its waiver is for another outcome than {result.outcome} {reason}"
        elif result.waiver.strict:
            yield f"{result.id}: FAIL: the rule holds, but a waiver says that it does not {reason}"
        else:
            yield f"{result.id}: the rule holds; its waiver can be removed {reason}"


def _row(word: str, style: str, text: str, width: int) -> Iterable[Line]:
    front = f"{word:<14}" if word else ""
    wrapped = textwrap.wrap(text, width - len(front)) or [""]
    yield front, style, wrapped[0]
    for more in wrapped[1:]:
        yield " " * len(front), "", more


def summary(report: Report) -> str:
    """Returns one line: "110 of 119 pass, 2 warn, 7 skip; 1 waived"."""
    waived = sum(result.is_waived for result in report.results)
    return "; ".join([_counted(report.results), *([f"{waived} waived"] if waived else [])])


def _counted(results: list[Result]) -> str:
    counts = {each: sum(result.outcome == each for result in results) for each in WORST_FIRST}
    passed = counts.pop("pass")
    others = [f"{count} {name}" for name, count in counts.items() if count]
    return ", ".join([f"{passed} of {len(results)} pass", *others])


def show_progress(count: int, total: int, rule: str) -> None:
    """Writes progress to one line on standard error, and clears it at the end."""
    text = f"{count} of {total}: {rule}" if count < total else ""
    sys.stderr.write(f"\r{text:<40}" if text else f"\r{'':<40}\r")
    sys.stderr.flush()
