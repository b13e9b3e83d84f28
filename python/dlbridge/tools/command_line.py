# SPDX-License-Identifier: BSD-3-Clause
"""The commands of the tools: their arguments, their exit status, and what ends them early."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, Callable, NoReturn

from . import conformance, core, demo, doctor, explain, matrix, output
from .inspection import command as inspect
from .inspection import show

# Each is a module with SUMMARY, EXAMPLES, add_arguments(parser) and run(options), which returns the
# status.
TOOLS: dict[str, Any] = {
    "conformance": conformance,
    "demo": demo,
    "doctor": doctor,
    "explain": explain,
    "inspect": inspect,
    "matrix": matrix,
    "show": show,
}
# In the help of the console script, and as the EXAMPLES of each tool: what follows the command.
EXAMPLES = """\
show 'numpy:arange(6.).reshape(2, 3)[::-1]'
doctor --fast
explain dtype_mismatch
"""


class _Parser(argparse.ArgumentParser):
    """Prints errors in the form of the tools, and examples at the end of its help."""

    examples = ""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(allow_abbrev=False, **keywords)

    def format_help(self) -> str:
        lines = textwrap.indent(self.examples, f"  python -m {core.ROOT} ")
        return f"{super().format_help()}\nexamples:\n{lines}"

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Leaves no argument over, so that the usage is that of the tool and not of `dlbridge`."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            suggestions = "".join(_suggest(each, self._option_string_actions) for each in unknown)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{suggestions}")
        return options, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += _suggest(str(value), map(str, action.choices or ()))
            raise


def _suggest(word: str, known: Iterable[str]) -> str:
    """Returns a question after the word that is most similar to an unknown one."""
    similar = difflib.get_close_matches(word.partition("=")[0], known, n=1)
    return f"; did you mean {similar[0]}?" if similar else ""


def parser(description: str) -> argparse.ArgumentParser:
    """Returns the parser of the console script, to which options may be added."""
    main_parser = _Parser(prog=core.COMMAND, description=description)
    main_parser.examples = EXAMPLES
    main_parser.add_argument("--version", action="version", version=core.version())
    commands = main_parser.add_subparsers(dest="tool", metavar="TOOL")
    for name, tool in TOOLS.items():
        command = commands.add_parser(name, help=tool.SUMMARY, description=tool.__doc__)
        command.examples = tool.EXAMPLES
        tool.add_arguments(command)
    return main_parser


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Handles SIGTERM as Ctrl-C. A second one of either ends the process at once.

    The child processes end with this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        os._exit(output.INTERRUPTED)

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, end)
        raise KeyboardInterrupt

    previous = {each: signal.signal(each, interrupt) for each in numbers}
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:  # else it goes on until the process ends
            for each, handler in previous.items():
                signal.signal(each, handler or signal.SIG_DFL)


def run(
    main_parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None = None,
    other: Callable[[argparse.Namespace], bool] = lambda options: False,
) -> int:
    """Runs one tool. `other` does what the added options demand, and returns whether one does.

    Returns the exit status: 0: success; 1: problems found; 2: wrong usage, or the output cannot be
    written; 130: Ctrl-C or SIGTERM.
    """
    with output.robust() as descriptors, _interruptible():
        try:
            status = _run(main_parser, arguments, other)
        except SystemExit as ended:  # of argparse
            status = int(ended.code or 0)
        except KeyboardInterrupt:
            print(f"{core.COMMAND}: interrupted", file=sys.stderr)
            status = output.INTERRUPTED
        sys.stdout.flush()
        for error in filter(None, [each.error for each in descriptors]):
            reason = f"the output cannot be written: {error.strerror}"
            print(f"{core.COMMAND}: {reason}", file=sys.stderr)
            status = 2
    return status


def _run(
    main_parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    other: Callable[[argparse.Namespace], bool],
) -> int:
    options = main_parser.parse_args(arguments)
    has_other = other(options)
    if options.tool is not None:
        _find_modules_here()
        return int(TOOLS[options.tool].run(options))
    if not has_other:
        main_parser.print_help()
        print(f"{core.COMMAND}: expected a TOOL, or an option", file=sys.stderr)
        return 2
    return 0


def _find_modules_here() -> None:
    """Lets the tools find modules of the current folder, as `python -m` does and a script does not.

    `python -P` and PYTHONSAFEPATH forbid it.
    """
    if getattr(sys.flags, "safe_path", False):
        return
    with contextlib.suppress(OSError):  # the folder was deleted
        if not {"", os.getcwd()} & set(sys.path):
            sys.path.insert(0, os.getcwd())
