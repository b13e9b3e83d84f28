"""Examines a library's producer and consumer by sixty rules of DLPack and some additional ones.

TARGET is MODULE:FACTORY, where FACTORY returns an object with __dlpack__; or the name of a library
that dlbridge supports, such as numpy; or a module with asarray and from_dlpack.
"""

from __future__ import annotations

import argparse
import json
import sys

from dlbridge.tools.conformance.engine import SECONDS, Examination, Report, Result, examine
from dlbridge.tools.conformance.rules import STANDARDS
from dlbridge.tools.conformance.rules.table import table
from dlbridge.tools.conformance.target import CannotExamine

__all__ = ["CannotExamine", "Examination", "Report", "Result", "examine"]

SUMMARY = "examine a library's producer and consumer by the rules of DLPack"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", help="MODULE:FACTORY, or a module's name"
    )
    parser.add_argument(
        "--consumer",
        metavar="MODULE:FUNCTION",
        help="the consumer (default: MODULE:from_dlpack, where MODULE has it)",
    )
    parser.add_argument(
        "--only",
        metavar="RULE",
        action="append",
        help="examine this rule only, such as P-04; may be given several times",
    )
    parser.add_argument(
        "--standard",
        choices=STANDARDS,
        help="the version of the array API that counts (default: the one that the library claims "
        "by __array_api_version__; without a claim, only DLPack's own texts are binding)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=SECONDS,
        help="the time limit of each probe (default: %(default)g)",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also show the rules that pass, and their notes",
    )
    parser.add_argument("--rules", action="store_true", help="print the table of rules instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def seconds(text: str) -> float:
    """Parses a time limit; argparse names this function in its error message."""
    report = float(text)
    if not 0 < report < 1e6:
        raise ValueError(text)
    return report


def run(options: argparse.Namespace) -> int:
    """Prints the report. 0: no rule fails; 1: a rule fails; 2: the target cannot be examined."""
    from dlbridge.tools.conformance import report as rendering

    if options.rules:
        print(table())
        return 0
    if options.target is None:
        print("dlbridge conformance: a TARGET is required, such as numpy or mylib:make",
              file=sys.stderr)  # fmt: skip
        return 2
    try:
        report = examine(
            options.target,
            consumer=options.consumer,
            standard=options.standard,
            only=options.only,
            seconds=options.timeout,
            progress=rendering.show_progress if sys.stderr.isatty() else None,
        )
    except CannotExamine as error:
        print(f"dlbridge conformance: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        rendering.show(report, verbose=options.verbose)
    return report.status
