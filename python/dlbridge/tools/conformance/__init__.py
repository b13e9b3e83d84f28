# SPDX-License-Identifier: BSD-3-Clause
"""Examines a library's producer and consumer by the rules of DLPack and of the array API.

TARGET is MODULE:FACTORY, where FACTORY returns an object with __dlpack__; or the name of a library
that dlbridge supports, such as numpy; or a module with asarray and from_dlpack.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .. import children, core, output
from ..options import WrongUsage, code, require_writable, seconds
from ..output import INTERRUPTED
from . import waivers
from .engine import LIMIT, Examination, Interrupted, examine
from .helpers import device_memory
from .lane import SECONDS
from .results import Report, Result
from .rules import RULES, STANDARDS
from .target import CannotExamine

__all__ = ["CannotExamine", "Examination", "Interrupted", "Report", "Result", "examine"]

SUMMARY = "examine a library's producer and consumer by the rules of DLPack"
EXAMPLES = """\
conformance numpy --only P-16 --only S-14
conformance numpy --only P-01 --junit conformance.xml
conformance --rules
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        type=code,
        help="MODULE:FACTORY, or a module's name",
    )
    parser.add_argument(
        "--consumer",
        metavar="MODULE:FUNCTION",
        type=code,
        help="the consumer (default: MODULE:from_dlpack, where MODULE has it)",
    )
    parser.add_argument(
        "--device",
        choices=tuple(device_memory.NAMES),
        help="where the arrays and the tensors of the checks are (default: cpu); memory of a GPU "
        "is read through its driver",
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
        help="the time limit of each probe, and of the import and the first call of the factory "
        f"(default: {SECONDS:g} and {children.SECONDS:g})",
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=seconds,
        help=f"the time after which no further rule is examined (default: {LIMIT:g}); the others "
        "are skipped",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also show the rules that pass, and notes and waived violations in full",
    )
    parser.add_argument("--rules", action="store_true", help="print the table of rules instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    _add_arguments_for_ci(parser)


def _add_arguments_for_ci(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("in CI")
    group.add_argument(
        "--waivers",
        metavar="FILE",
        type=Path,
        help="violations that do not count, with their reasons: *.json or *.toml",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="the exit status is 1 also where a recommendation is violated",
    )
    group.add_argument("--junit", metavar="FILE", type=Path, help="also save JUnit XML")
    group.add_argument(
        "--badge", metavar="FILE", type=Path, help="also save the JSON of a badge of shields.io"
    )
    group.add_argument(
        "--annotations",
        action="store_true",
        help="also print workflow commands of GitHub Actions, on standard error",
    )


def run(options: argparse.Namespace) -> int:
    """Prints the report. 0: no rule fails; 1: a rule fails; 2: wrong usage, no report, no file.

    130: Ctrl-C; the report is of the rules that ran until then.
    """
    try:
        if options.rules:
            return _print_rules(options)
        report = _examine(options)
        _print(report, options)
        _save(report, options)
        if report.status == 2:
            raise CannotExamine(f"every rule was skipped: {report.results[0].got}")
    except (CannotExamine, waivers.BadWaivers, output.CannotSave, WrongUsage) as error:
        print(f"{core.COMMAND} conformance: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # again, before the report was complete
        return INTERRUPTED
    return report.status


def _print_rules(options: argparse.Namespace) -> int:
    from .rules import table

    unused = [name for name in _OF_AN_EXAMINATION if getattr(options, name)]
    if unused:
        raise WrongUsage(f"--rules examines nothing: it cannot be combined with {unused[0]}")
    print(json.dumps(table.as_json(), indent=2) if options.json else table.table())
    return 0


# The options that have no effect on the table of rules.
_OF_AN_EXAMINATION = (
    *("target", "consumer", "device", "only", "standard", "timeout", "limit", "verbose"),
    *("strict", "waivers", "junit", "badge", "annotations"),
)


def _examine(options: argparse.Namespace) -> Report:
    from .rendering.terminal import show_progress

    if options.target is None:
        raise WrongUsage("a TARGET is required, such as numpy or mylib:make")
    require_writable(options.junit, options.badge)
    try:
        return examine(
            options.target,
            consumer=options.consumer,
            device=options.device or "cpu",
            standard=options.standard,
            only=options.only,
            seconds=options.timeout,
            limit=LIMIT if options.limit is None else options.limit,
            strict=options.strict,
            waivers=[] if options.waivers is None else waivers.read(options.waivers, RULES),
            progress=show_progress if sys.stderr.isatty() else None,
        )
    except Interrupted as interrupted:
        return interrupted.report


def _save(report: Report, options: argparse.Namespace) -> None:
    from .rendering import badge, junit

    for path, render in ((options.junit, junit.render), (options.badge, badge.render)):
        if path is not None:
            output.save(path, render(report))


def _print(report: Report, options: argparse.Namespace) -> None:
    from .rendering import github, terminal

    if options.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        terminal.show(report, verbose=options.verbose)
    if options.annotations:
        print(github.render(report), end="", file=sys.stderr)
