# SPDX-License-Identifier: BSD-3-Clause
"""Reports what an object exports by each protocol, and which libraries accept it.

EXPR is evaluated as Python in the namespace of MODULE, so inspect only trusted expressions. The
evaluation runs in its own process with a time limit, so that a hang or a crash is reported.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from .. import children, core, output
from ..options import code, seconds
from .inspection import SCHEMA, Inspection, inspect
from .reading import afterwards
from .reading.description import tuples_of
from .reading.protocols import Raised, guarded
from .reading.signs import Sign
from .rendering.html import as_page
from .rendering.text import show

SUMMARY = "report what an object exports by each protocol, problems, and which libraries accept it"
EXAMPLES = """\
inspect 'numpy:arange(6.).reshape(2, 3)[::-1]'
inspect "array:array('f', [1, 2])" --json
inspect 'numpy:ones(3)' --html inspection.html
"""
SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="MODULE:EXPR",
        type=code,
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
        "--timeout",
        type=seconds,
        default=SECONDS,
        metavar="SECONDS",
        help="the time limit (default: %(default)g)",
    )


def evaluate(what: str) -> Any:
    """Evaluates EXPR of MODULE:EXPR: it may use the module's names, and the package by its name."""
    module, _, expression = what.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as python -m does: modules of the current directory
    module_object = children.load(module)
    package = module.partition(".")[0]

    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:  # one that the module's __getattr__ may create
            try:
                return getattr(module_object, name)
            except AttributeError:
                raise KeyError(name) from None

    names = Names({package: sys.modules[package], **vars(module_object)})
    # Evaluating the caller's expression is the purpose of the command, as its help states.
    return eval(expression, names)


def examine(what: str, copy: bool | None) -> dict[str, Any]:
    """In the child process: evaluates the expression, inspects the object, returns the results.

    Where the object makes the inspection fail, the result is the text of its exception instead.
    """
    x = evaluate(what)
    try:
        result: dict[str, Any] = guarded(lambda: inspect(x, copy=copy, title=what).to_dict())
        return result
    except Raised as error:
        return {"failed": str(error)}
    except KeyboardInterrupt:
        return {"failed": "KeyboardInterrupt"}


def examine_afterwards(what: str) -> list[dict[str, Any]]:
    """In the child process: creates the object anew, exports it, and drops it."""
    return [dataclasses.asdict(sign) for sign in afterwards.examine(lambda: evaluate(what))]


def _with_afterwards(
    worker: children.Worker, values: dict[str, Any], what: str, seconds: float
) -> Inspection:
    """Adds what a second call finds, since a producer with a fault there may end the process."""
    inspection = Inspection.from_dict(values)
    if inspection.description("bare", "1.0") is None or seconds <= 0:
        return inspection
    answer = worker.call(f"{__name__}:examine_afterwards", within=seconds, what=what)
    signs = (
        [Sign(**tuples_of(each)) for each in answer.value] if answer.outcome == "returned" else []
    )
    if answer.outcome == "crashed":
        signs.append(Sign("release crashes", (), {"how": answer.message}))
    return dataclasses.replace(inspection, signs=(*inspection.signs, *signs))


def why_failed(answer: children.Answer) -> str:
    """Returns why there is no result."""
    if answer.outcome == "returned":
        return f"the inspection failed: {answer.value['failed']}"
    if answer.outcome == "raised":
        return f"the expression failed: {answer.message}"
    if answer.outcome == "hung":
        return f"the inspection hung: {answer.message}"
    return f"the inspection crashed: {answer.message}"


def run(options: argparse.Namespace) -> int:
    """Shows the inspection. 0: no defect; 1: a defect, or the inspection failed; 2: wrong usage."""
    wrong = _wrong_usage(options)
    if wrong:
        print_error(wrong)
        return 2
    began = time.monotonic()
    with children.Worker(seconds=options.timeout) as worker:
        answer = worker.call(
            f"{__name__}:examine",
            what=options.what,
            copy=True if options.copy else None,
        )
        if answer.outcome != "returned" or "failed" in answer.value:
            _show_failure(options, answer)
            return 1
        left = options.timeout - (time.monotonic() - began)
        inspection = _with_afterwards(worker, answer.value, options.what, left)
    if options.json:
        print(json.dumps(inspection.to_dict(), indent=2))
    else:
        show(inspection)
    if options.html and not _write_page(options.html, inspection):
        return 2
    return 0 if inspection.sound else 1


def print_error(text: str, tool: str = "inspect") -> None:
    print(output.printable(f"{core.COMMAND} {tool}: {text}"), file=sys.stderr)


def not_an_expression(what: str) -> str:
    """Returns why a text is no MODULE:EXPR; "" where it is one."""
    module, colon, expression = what.partition(":")
    is_one = module and colon and expression
    return "" if is_one else f"expected MODULE:EXPR, as in numpy:ones(3); got {what!r}"


def _wrong_usage(options: argparse.Namespace) -> str:
    """Returns what is wrong with the arguments, before anything is evaluated."""
    wrong = not_an_expression(options.what)
    if wrong or options.html is None:
        return wrong
    folder = os.path.dirname(options.html) or "."
    if not os.path.isdir(folder):
        return f"--html: expected a file in an existing folder; create {folder} first"
    return "" if os.path.basename(options.html) else "--html: expected the name of a file"


def _write_page(path: str, inspection: Inspection) -> bool:
    try:
        output.save(Path(path), as_page(inspection))
    except output.CannotSave as error:
        print_error(f"--html: {error}")
        return False
    print(f"wrote {os.path.abspath(path)}", file=sys.stderr)
    return True


def _show_failure(options: argparse.Namespace, answer: children.Answer) -> None:
    if options.json:
        failed = {
            "schema": SCHEMA,
            "title": options.what,
            "sound": False,
            "failed": why_failed(answer),
            "outcome": answer.outcome,
            "noise": answer.noise,
        }
        print(json.dumps(failed, indent=2))
    else:
        show_failure(options.what, answer)


def show_failure(what: str, answer: children.Answer, tool: str = "inspect") -> None:
    """Prints why there is no result, and what the child process printed."""
    print_error(f"{what}: {why_failed(answer)}", tool)
    if answer.noise:
        print(output.printable(answer.noise), file=sys.stderr)
