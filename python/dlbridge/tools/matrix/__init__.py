# SPDX-License-Identifier: BSD-3-Clause
"""Passes arrays of every library to every other library, and reports the results.

Every importable library exports arrays of several dtypes, layouts and shapes to every other one.
Each pair runs in processes of its own, so that a crash or a hang affects only one exchange.
Exit status: 0 when all exchanges have run, whatever the other libraries do; 1 when dlbridge or a
library of --library loses a read-only mark, changes a dtype or values, hangs or crashes; 2 for
wrong usage, or when a file cannot be written; 130 after Ctrl-C, with the exchanges that have run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Callable

from .. import core, output
from ..libraries import CASES, LIBRARIES, Library
from ..options import WrongUsage, jobs, require_writable, seconds
from ..progress import Bar
from . import exchange, page, summary, survey, terminal

SUMMARY = "pass arrays of every library to every other library, and show the results"
EXAMPLES = """\
matrix --only numpy --only array --verbose
matrix --only numpy --case bfloat16 --json
matrix --only numpy --case vector --html matrix.html
"""

# Libraries that take part only with --only: no exchange would succeed.
NOT_SHOWN = {name for name, library in LIBRARIES.items() if not library.has_dlpack}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        metavar="LIBRARY",
        action="append",
        help="use this library only; may be given several times",
    )
    parser.add_argument(
        "--case",
        metavar="CASE",
        action="append",
        choices=list(CASES),
        help=f"use this array only; may be given several times: {', '.join(CASES)}",
    )
    parser.add_argument(
        "--environment",
        metavar="NAME=PYTHON",
        action="append",
        default=[],
        type=environment,
        help="another Python with dlbridge, whose libraries take part; may be given several times. "
        "A pair runs in the first environment that has both, this one before the others",
    )
    parser.add_argument(
        "--library",
        metavar="MODULE:ROW",
        action="append",
        default=[],
        type=row,
        help=f"another library, a {Library.__module__}.Library in a module of yours; may be given "
        "several times",
    )
    parser.add_argument(
        "--via",
        choices=["dlbridge"],
        help="repeat failing exchanges with dlbridge in between",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=survey.SECONDS,
        metavar="SECONDS",
        help="the time limit of one exchange (default: %(default)g)",
    )
    parser.add_argument(
        "--jobs",
        type=jobs,
        default=min(4, os.cpu_count() or 1),
        help="pairs at the same time (default: the processors, at most 4; here %(default)s)",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="list every exchange that did not preserve the array"
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="also save an HTML page")
    parser.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="save one JSON object; without a FILE, print it and nothing else",
    )


def environment(text: str) -> tuple[str, str]:
    name, _, python = text.partition("=")
    if not name or not python:
        raise argparse.ArgumentTypeError(f"expected NAME=PYTHON; got {text!r}")
    return name, python


def row(text: str) -> str:
    module, _, name = text.partition(":")
    if not module or not name:
        raise argparse.ArgumentTypeError(f"expected MODULE:ROW, as in mylib:ROW; got {text!r}")
    return text


def _plan(options: argparse.Namespace) -> survey.Plan:
    """Raises WrongUsage and survey.NoEnvironment."""
    try:
        known = [name for name, library in LIBRARIES.items() if library.array or library.take]
        rows = {survey.short_name(name): name for name in (*known, *options.library)}
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise WrongUsage(f"--library: {type(error).__name__}: {error}") from None
    if options.via and (reason := core.why_missing()):
        raise WrongUsage(f"--via dlbridge: {reason}")
    names = options.only or rows.keys() - NOT_SHOWN
    for name in names:
        if name not in rows:
            reason = f"no such library; there are {', '.join(rows)}"
            if name in LIBRARIES:
                reason = "it has no arrays of its own, so matrix cannot examine it"
            raise WrongUsage(f"--only {name}: {reason}")
    libraries = [rows[name] for name in rows if name in names]
    environments = [
        survey.examine_environment(name, python, libraries)
        for name, python in [(survey.HERE, sys.executable), *options.environment]
    ]
    for name in options.only or ():
        if not any(environment.has(rows[name]) for environment in environments):
            raise WrongUsage(f"--only {name}: it is not installed in any environment")
    return survey.Plan(
        environments,
        libraries,
        options.case or list(CASES),
        via=options.via is not None,
        seconds=options.timeout,
        jobs=options.jobs,
    )


def as_json(report: dict[str, Any]) -> str:
    """Formats the report as JSON, with one exchange on a line."""
    head = {"schema": 1, **report, "exchanges": []}
    lines = ",\n    ".join(json.dumps(each) for each in report["exchanges"])
    text = json.dumps(head, indent=2)
    return text.replace('"exchanges": []', f'"exchanges": [\n    {lines}\n  ]') + "\n"


def run(options: argparse.Namespace) -> int:
    """Runs the exchanges, and prints and saves their results."""
    try:
        require_writable(options.html, _saved_json(options))
        plan = _plan(options)
    except (WrongUsage, survey.NoEnvironment) as error:
        print(f"{core.COMMAND} matrix: {error}", file=sys.stderr)
        return 2
    with Bar(plan.size()) as bar:
        report = survey.run(plan, bar.advance)
    if options.json == "-":
        print(as_json(report), end="")
    else:
        terminal.show(report, verbose=options.verbose)
    if not _save(report, options):
        return 2
    if not report["complete"]:
        return output.INTERRUPTED
    return 1 if summary.faults_of_judged(report) else 0


def _saved_json(options: argparse.Namespace) -> Path | None:
    """The file for JSON, if it is not printed."""
    return None if options.json in (None, "-") else Path(options.json)


def _save(report: dict[str, Any], options: argparse.Namespace) -> bool:
    """Saves the files of the options. Returns False, and says why, where one cannot be written."""
    texts: dict[Path, Callable[[dict[str, Any]], str]] = {}
    if options.html is not None:
        texts[options.html] = page.render
    if (path := _saved_json(options)) is not None:
        texts[path] = as_json
    written = True
    for path, render in texts.items():
        try:
            output.save(path, render(report))
        except output.CannotSave as error:
            print(f"{core.COMMAND} matrix: {error}", file=sys.stderr)
            written = False
    return written


__all__ = ["SUMMARY", "add_arguments", "as_json", "exchange", "run"]
