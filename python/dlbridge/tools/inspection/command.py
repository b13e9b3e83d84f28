"""The command: python -m dlbridge inspect MODULE:EXPR.

EXPR is evaluated as Python in the namespace of MODULE: inspect only what you would run. It is
evaluated in a process of its own, with a time limit, so that one that hangs or crashes is reported.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from typing import Any

from dlbridge.tools import children
from dlbridge.tools.inspection.html import as_page
from dlbridge.tools.inspection.looking import Inspection, look
from dlbridge.tools.inspection.text import show

SUMMARY = "what an object says of its memory, by every road, what is odd in it, and who takes it"
SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="MODULE:EXPR",
        help="an expression in a module's namespace: 'numpy:arange(6).reshape(2, 3)[::-1]'",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument("--html", metavar="FILE", help="write a page to a file as well")
    parser.add_argument(
        "--copy",
        action="store_true",
        help="take the roads with copy=True also where the memory is big",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="N",
        help="how long to wait for it (default: %(default)g)",
    )


def evaluate(what: str) -> Any:
    """The object that MODULE:EXPR gives: EXPR may use the names in the module, and its own."""
    module, _, expression = what.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as python -m has it: modules of the current directory
    found = importlib.import_module(module)
    package = module.partition(".")[0]
    # Evaluating what the caller wrote is the purpose: it is said in the help and in the docs.
    return eval(expression, {package: sys.modules[package], **vars(found)})


def examine(what: str, copy: bool | None) -> dict[str, Any]:
    """In the child process: evaluates, looks, and says all."""
    return look(evaluate(what), copy=copy, title=what).to_dict()


def _failed(answer: children.Answer) -> str:
    if answer.outcome == "raised":
        return f"it could not be made: {answer.said}"
    if answer.outcome == "hung":
        return f"it hung: {answer.said}"
    return f"it ended the process: {answer.said}"


def run(given: argparse.Namespace) -> int:
    """Shows it. 0 when it is sound, 1 when it has a defect or cannot be looked at, 2 wrong use."""
    module, colon, expression = given.what.partition(":")
    if not (module and colon and expression):
        print(f"expected MODULE:EXPR, as in numpy:ones(3); got {given.what!r}", file=sys.stderr)
        return 2
    answer = children.call(
        "dlbridge.tools.inspection.command:examine",
        seconds=given.seconds,
        what=given.what,
        copy=True if given.copy else None,
    )
    if answer.outcome != "returned":
        if given.json:
            failed = {"title": given.what, "sound": False, "failed": _failed(answer)}
            print(
                json.dumps({**failed, "outcome": answer.outcome, "noise": answer.noise}, indent=2)
            )
        else:
            print(f"{given.what}: {_failed(answer)}", file=sys.stderr)
            if answer.noise:
                print(answer.noise, file=sys.stderr)
        return 1
    inspection = Inspection.from_dict(answer.value)
    if given.json:
        print(json.dumps(answer.value, indent=2))
    else:
        show(inspection)
    if given.html:
        with open(given.html, "w", encoding="utf-8") as page:
            page.write(as_page(inspection))
        print(f"wrote {os.path.abspath(given.html)}", file=sys.stderr)
    return 0 if inspection.sound else 1
