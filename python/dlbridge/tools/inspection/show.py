# SPDX-License-Identifier: BSD-3-Clause
"""Draws the memory of a tensor: its cells with their values, its shape and its strides.

EXPR is evaluated as Python in the namespace of MODULE, so show only trusted expressions. The
evaluation runs in its own process, as that of inspect does.
"""

from __future__ import annotations

import argparse
from typing import Any

from .. import children
from ..options import code
from .command import SECONDS, evaluate, not_an_expression, print_error, show_failure
from .reading.protocols import Raised, guarded
from .rendering.memory_picture import show
from .rendering.text import emit_lines, terminal_width

SUMMARY = "draw the memory of a tensor, with its values and strides"
EXAMPLES = """\
show 'numpy:arange(6.).reshape(2, 3)[::-1]'
show 'numpy:arange(24).reshape(2, 3, 4).T'
show "array:array('f', [1, 2, 3])"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="MODULE:EXPR",
        type=code,
        help="an expression in a module's namespace: 'numpy:arange(6)[::-1]'",
    )


def examine(what: str, width: int) -> dict[str, Any]:
    """In the child process: evaluates the expression, and returns the lines of the picture."""
    x = evaluate(what)
    try:
        return {"lines": guarded(lambda: show(x, width=width, title=what).lines)}
    except Raised as error:
        return {"failed": str(error)}


def run(options: argparse.Namespace) -> int:
    """Prints the picture. 0: success; 1: the expression is no tensor, or failed; 2: wrong usage."""
    wrong = not_an_expression(options.what)
    if wrong:
        print_error(wrong, "show")
        return 2
    answer = children.call(
        f"{__name__}:examine", seconds=SECONDS, what=options.what, width=terminal_width()
    )
    if answer.outcome != "returned" or "failed" in answer.value:
        show_failure(options.what, answer, "show")
        return 1
    emit_lines(answer.value["lines"])
    return 0
