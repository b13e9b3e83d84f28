"""The matrix: which library's arrays reach which, and what becomes of them on the way.

Every library that can be imported hands arrays to every other: several dtypes, layouts and shapes.
Each pair runs in processes of its own, so that one that crashes or hangs costs only that exchange.
Exit status: 0 when it is done, whatever was found; 1 when an exchange with dlbridge itself gives
wrong values, hangs or crashes; 2 for wrong use.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from dlbridge.tools.libraries import CASES, LIBRARIES
from dlbridge.tools.matrix import exchange, page, summary, survey, terminal
from dlbridge.tools.progress import Bar

SUMMARY = "hand arrays of every library to every other, and show what arrives"

NOT_SHOWN = {"array"}  # unless asked for: it speaks no DLPack, and all would be refused


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        metavar="LIBRARY",
        action="append",
        help="leave the other libraries out; may be given several times",
    )
    parser.add_argument(
        "--case",
        metavar="CASE",
        action="append",
        choices=list(CASES),
        help=f"leave the other arrays out; may be given several times: {', '.join(CASES)}",
    )
    parser.add_argument(
        "--environment",
        metavar="NAME=PYTHON",
        action="append",
        default=[],
        type=environment,
        help="another Python, with dlbridge, whose libraries take part; may be given several "
        "times. A pair runs in the first environment that has both, this one before the others",
    )
    parser.add_argument(
        "--library",
        metavar="MODULE:ROW",
        action="append",
        default=[],
        help="another library, as a dlbridge.tools.libraries.Library in a module of yours; may be "
        "given several times",
    )
    parser.add_argument(
        "--via",
        choices=["dlbridge"],
        help="make what fails again, with dlbridge between",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=survey.SECONDS,
        help="the time limit of one exchange (default: %(default)g)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(4, os.cpu_count() or 1),
        help="pairs at the same time (default: %(default)s)",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="list everything that did not arrive"
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="also save a page for a browser")
    parser.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="save one JSON object; without a FILE, print it and nothing else",
    )


def environment(said: str) -> tuple[str, str]:
    name, _, python = said.partition("=")
    if not name or not python:
        raise argparse.ArgumentTypeError(f"expected NAME=PYTHON; got {said!r}")
    return name, python


class _WrongUse(ValueError):
    """What is asked for cannot be had."""


def _plan(given: argparse.Namespace) -> survey.Plan:
    """Raises _WrongUse and survey.NoEnvironment."""
    try:
        rows = {survey.short_name(name): name for name in (*LIBRARIES, *given.library)}
    except (ImportError, AttributeError, TypeError, ValueError) as reason:
        raise _WrongUse(f"--library: {type(reason).__name__}: {reason}") from None
    chosen = given.only or rows.keys() - NOT_SHOWN
    for name in chosen:
        if name not in rows:
            raise _WrongUse(f"--only {name}: no such library; there are {', '.join(rows)}")
    libraries = [rows[name] for name in rows if name in chosen]
    environments = [
        survey.look_at(name, python, libraries)
        for name, python in [(survey.HERE, sys.executable), *given.environment]
    ]
    for name in given.only or ():
        if not any(environment.has(rows[name]) for environment in environments):
            raise _WrongUse(f"--only {name}: it is not installed in any environment")
    return survey.Plan(
        environments,
        libraries,
        given.case or list(CASES),
        via=given.via is not None,
        seconds=given.seconds,
        jobs=given.jobs,
    )


def _check_files(given: argparse.Namespace) -> None:
    """Raises _WrongUse for a file that could not be written when all is done."""
    for path in (given.html, None if given.json in (None, "-") else Path(given.json)):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise _WrongUse(f"{path} cannot be written: it is a directory, or is in none")


def as_json(report: dict[str, Any]) -> str:
    """The report as text, an exchange in a line."""
    head = {**report, "exchanges": []}
    lines = ",\n    ".join(json.dumps(each, ensure_ascii=False) for each in report["exchanges"])
    text = json.dumps(head, indent=2, ensure_ascii=False)
    return text.replace('"exchanges": []', f'"exchanges": [\n    {lines}\n  ]') + "\n"


def run(given: argparse.Namespace) -> int:
    """Makes the exchanges, and prints and saves what came of them."""
    try:
        _check_files(given)
        plan = _plan(given)
    except (_WrongUse, survey.NoEnvironment) as reason:
        print(f"dlbridge matrix: {reason}", file=sys.stderr)
        return 2
    with Bar(plan.size()) as bar:
        report = survey.run(plan, bar.advance)
    if given.html is not None:
        given.html.write_text(page.render(report), encoding="utf-8")
    if given.json not in (None, "-"):
        Path(given.json).write_text(as_json(report), encoding="utf-8")
    if given.json == "-":
        print(as_json(report), end="")
    else:
        terminal.show(report, verbose=given.verbose)
    return 1 if summary.faults_of_ours(report) else 0


__all__ = ["SUMMARY", "add_arguments", "as_json", "exchange", "run"]
