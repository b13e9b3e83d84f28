# SPDX-License-Identifier: BSD-3-Clause
"""Explains an identifier that another tool or an exception names.

It is a rule of conformance (P-16), a known defect of a library (jax-null-deleter), or a reason why
dlbridge refuses a tensor (dtype_mismatch). Without an ID, the command lists all of them.
"""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from . import core, known, sections
from .conformance.rules import RULES, Rule
from .conformance.rules.model import KINDS
from .conformance.rules.table import rule_as_json
from .known.defect import HEADINGS, HELPER, helper
from .known.report import NothingToReport, expected, happens, quote, report_here
from .reasons import REASONS, Reason

SUMMARY = "explain a rule, a known defect or a reason of a refusal by its identifier"
EXAMPLES = """\
explain                   # lists all identifiers
explain P-16              # a rule of conformance
explain jax-null-deleter  # a known defect of a library
explain dtype_mismatch    # a reason of a refusal
"""
ENTRIES: dict[str, Rule | known.Defect | Reason] = {**RULES, **known.DEFECTS, **REASONS}


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").rpartition("::")[2]


_IDS = {_plain(name): name for name in ENTRIES}


def _id(name: str) -> str:
    """The type of the argument: accepts capital and small letters, - and _, and errc::."""
    if _plain(name) in _IDS:
        return _IDS[_plain(name)]
    similar = difflib.get_close_matches(_plain(name), _IDS, n=3, cutoff=0.4)
    suggestion = f"; did you mean {' or '.join(_IDS[each] for each in similar)}?" if similar else ""
    raise argparse.ArgumentTypeError(f"nothing has the identifier {name!r}{suggestion}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID", nargs="?", type=_id, help="what to explain (default: list all)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument(
        "--report",
        action="store_true",
        help="of a defect: run its program, and print a report in Markdown to file with the "
        "project; refused where a release has fixed it, or it is reported already",
    )


def _more(page: str) -> Iterator[tuple[str, str]]:
    """Yields the address of a page of the documentation, where one is known."""
    address = core.documentation()
    if address:
        yield "more", f"{address}/{page}"


def _of_rule(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "rule", rule.text
    yield "kind", f"{rule.kind}: {KINDS[rule.kind]}"
    yield from (("text", quote(text)) for text in rule.texts)
    yield "remedy", rule.fix
    if rule.remark:
        yield "remark", rule.remark
    breaking = [row.id for row in known.DEFECTS.values() if rule.id in row.found_by]
    if breaking:
        yield "broken by", ", ".join(breaking)
    yield "check", f"{core.COMMAND} conformance TARGET --only {rule.id}"
    yield from _more("reference/rules.md")


def _of_defect(defect: known.Defect) -> Iterator[tuple[str, str]]:
    yield "what", defect.what
    yield "kind", HEADINGS[defect.kind]
    yield "expected", expected(defect)
    yield from (("text", quote(text)) for text in defect.texts)
    yield "breaks", defect.breaks
    yield "remedy", defect.remedy
    yield "seen in", defect.seen
    yield "fixed in", defect.fixed_in or f"not known as of {defect.last}"
    yield "reported", defect.upstream or "not known"
    if defect.found_by:
        yield "found by", ", ".join(defect.found_by)
    yield "shows", happens(defect)
    if HELPER in defect.program:
        yield "imports", f"{HELPER}.py: the key helper of --json, and the end of --report"
    yield from _more(f"generated/defects/{defect.library}.md")


def _of_reason(reason: Reason) -> Iterator[tuple[str, str]]:
    yield "raised when", reason.when
    yield "in Python", reason.exception
    yield "in C++", f"dlbridge::error, whose why().has(dlbridge::errc::{reason.id})"
    yield from (("text", quote(text)) for text in reason.texts)
    yield "remedy", reason.remedy
    yield from _more("reference/errors.md")


def explanation(name: str) -> tuple[str, list[tuple[str, str]]]:
    """Returns the properties of the rule, defect or reason."""
    entry = ENTRIES[name]
    if isinstance(entry, Rule):
        return f"{name}, a rule of conformance", [*_of_rule(entry)]
    if isinstance(entry, known.Defect):
        return f"{name}, a known defect", [*_of_defect(entry)]
    return f"{name}, a reason of a refusal", [*_of_reason(entry)]


def contents() -> dict[str, dict[str, str]]:
    """Returns all identifiers by their kind, each with a sentence."""
    return {
        "rules": {row.id: row.text for row in RULES.values()},
        "defects": {row.id: row.what for row in known.DEFECTS.values()},
        "reasons": {row.id: row.when for row in REASONS.values()},
    }


TITLES = {
    "rules": "Rules of conformance",
    "defects": "Known defects of libraries",
    "reasons": "Reasons of refusals by dlbridge",
}


def as_json(name: str) -> dict[str, Any]:
    """Returns an entry as plain values, which --json prints."""
    entry = ENTRIES[name]
    if isinstance(entry, Rule):
        return {"schema": 1, **rule_as_json(entry)}
    values = asdict(entry)
    if isinstance(entry, known.Defect):
        values["seen_in"] = values.pop("seen")
        values["since"] = entry.since
        values["helper"] = helper() if HELPER in entry.program else ""
    return {"schema": 1, **values}


def _wrong_usage(options: argparse.Namespace) -> str:
    """Returns which options do not fit together."""
    if options.report and options.id not in known.DEFECTS:
        return f"--report requires the ID of a known defect; got {options.id or 'none'}"
    if options.report and options.json:
        return "--report prints Markdown: it cannot be combined with --json"
    return ""


def run(options: argparse.Namespace) -> int:
    """Prints the explanation. Returns 0, or 2 for wrong usage and a refused report."""
    failure = _wrong_usage(options)
    if options.report and not failure:
        try:
            print(report_here(known.DEFECTS[options.id]))
        except (NothingToReport, subprocess.TimeoutExpired) as error:
            failure = str(error)
    if failure:
        print(f"{core.COMMAND} explain: {failure}", file=sys.stderr)
        return 2
    if options.json:
        values = {"schema": 1, **contents()} if options.id is None else as_json(options.id)
        print(json.dumps(values, indent=2))
    elif options.id is None:
        sections.show([(TITLES[kind], [*rows.items()]) for kind, rows in contents().items()])
    elif not options.report:
        sections.show([explanation(options.id)])
        if options.id in known.DEFECTS:
            print(textwrap.indent(known.DEFECTS[options.id].program, "    "))
    return 0
