"""Reports what an object exports by each protocol, and which libraries accept it.

EXPR is evaluated as Python in the namespace of MODULE, so inspect only trusted expressions. The
evaluation runs in its own process with a time limit, so that a hang or a crash is reported.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from typing import Any

from dlbridge.tools import children
from dlbridge.tools.inspection.inspection import Inspection, inspect
from dlbridge.tools.inspection.rendering.html import as_page
from dlbridge.tools.inspection.rendering.text import show

SUMMARY = "report what an object exports by each protocol, problems, and which libraries accept it"
SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="MODULE:EXPR",
        help="an expression in a module's namespace: 'numpy:arange(6).reshape(2, 3)[::-1]'",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument("--html", metavar="FILE", help="also write an HTML page to FILE")
    parser.add_argument(
        "--copy",
        action="store_true",
        help="also request copies of tensors of more than 16 MiB",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="N",
        help="the time limit (default: %(default)g)",
    )


def evaluate(what: str) -> Any:
    """Evaluates EXPR of MODULE:EXPR: it may use the module's names, and the package by its name."""
    module, _, expression = what.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as python -m does: modules of the current directory
    module_object = importlib.import_module(module)
    package = module.partition(".")[0]
    # Evaluating the caller's expression is the purpose of the command, as its help states.
    return eval(expression, {package: sys.modules[package], **vars(module_object)})


def examine(what: str, copy: bool | None) -> dict[str, Any]:
    """In the child process: evaluates the expression, inspects the object, returns the results."""
    return inspect(evaluate(what), copy=copy, title=what).to_dict()


def _failed(answer: children.Answer) -> str:
    if answer.outcome == "raised":
        return f"the expression failed: {answer.message}"
    if answer.outcome == "hung":
        return f"the inspection hung: {answer.message}"
    return f"the inspection crashed: {answer.message}"


def run(options: argparse.Namespace) -> int:
    """Shows the inspection. 0: no defect; 1: a defect, or the inspection failed; 2: wrong usage."""
    module, colon, expression = options.what.partition(":")
    if not (module and colon and expression):
        print(f"expected MODULE:EXPR, as in numpy:ones(3); got {options.what!r}", file=sys.stderr)
        return 2
    answer = children.call(
        "dlbridge.tools.inspection.command:examine",
        seconds=options.seconds,
        what=options.what,
        copy=True if options.copy else None,
    )
    if answer.outcome != "returned":
        if options.json:
            failed = {"title": options.what, "sound": False, "failed": _failed(answer)}
            print(
                json.dumps({**failed, "outcome": answer.outcome, "noise": answer.noise}, indent=2)
            )
        else:
            print(f"{options.what}: {_failed(answer)}", file=sys.stderr)
            if answer.noise:
                print(answer.noise, file=sys.stderr)
        return 1
    inspection = Inspection.from_dict(answer.value)
    if options.json:
        print(json.dumps(answer.value, indent=2))
    else:
        show(inspection)
    if options.html:
        with open(options.html, "w", encoding="utf-8") as page:
            page.write(as_page(inspection))
        print(f"wrote {os.path.abspath(options.html)}", file=sys.stderr)
    return 0 if inspection.sound else 1
