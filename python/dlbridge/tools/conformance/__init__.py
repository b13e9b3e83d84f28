"""Examines a library's side of DLPack, producer and consumer, by sixty rules and a few drafts.

TARGET is MODULE:FACTORY, where the factory returns an object with __dlpack__; or the name of a
library that dlbridge knows, such as numpy; or a module with asarray and from_dlpack.
"""

from __future__ import annotations

import argparse
import json
import sys

from dlbridge.tools.conformance.engine import SECONDS, Examination, Report, Result, examine
from dlbridge.tools.conformance.rules import table
from dlbridge.tools.conformance.target import CannotExamine

__all__ = ["CannotExamine", "Examination", "Report", "Result", "examine"]

SUMMARY = "examine a library's producer and consumer by the rules of DLPack"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", help="MODULE:FACTORY, or a module's name"
    )
    parser.add_argument(
        "--consumer", metavar="MODULE:FUNCTION", help="default: MODULE:from_dlpack, where it is"
    )
    parser.add_argument(
        "--only", metavar="RULE", action="append", help="P-04, say; may be given several times"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=SECONDS, help="for each check"
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="show what passes too, and what is worth noting",
    )
    parser.add_argument("--rules", action="store_true", help="print the table of rules instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def seconds(text: str) -> float:
    """A time limit from the command line; argparse names this function where it is none."""
    found = float(text)
    if not 0 < found < 1e6:
        raise ValueError(text)
    return found


def run(given: argparse.Namespace) -> int:
    """Prints the report. 0: nothing fails; 1: something does; 2: there is nothing to examine."""
    from dlbridge.tools.conformance import report

    if given.rules:
        print(table())
        return 0
    if given.target is None:
        print("dlbridge conformance: name what to examine, as in numpy, or mylib:make",
              file=sys.stderr)  # fmt: skip
        return 2
    try:
        found = examine(
            given.target,
            consumer=given.consumer,
            only=given.only,
            seconds=given.timeout,
            progress=report.show_progress if sys.stderr.isatty() else None,
        )
    except CannotExamine as why:
        print(f"dlbridge conformance: {why}", file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        report.show(found, verbose=given.verbose)
    return found.status
