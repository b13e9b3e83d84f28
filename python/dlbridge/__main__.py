# SPDX-License-Identifier: BSD-3-Clause
"""The command line: dlbridge TOOL, or --include-dir | --cmake-dir | --version."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

import dlbridge
from dlbridge.tools import conformance, demo, doctor, matrix, output
from dlbridge.tools.inspection import command as inspect

# Each is a module with SUMMARY, add_arguments(parser) and run(options), which returns the status.
TOOLS: dict[str, Any] = {
    "conformance": conformance,
    "demo": demo,
    "doctor": doctor,
    "inspect": inspect,
    "matrix": matrix,
}


class _Parser(argparse.ArgumentParser):
    """Prints errors in the form of the tools."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    main_parser = _Parser(
        prog="dlbridge",
        description="Exchanges tensors between libraries without copying them, by DLPack.",
    )
    main_parser.add_argument("--version", action="version", version=dlbridge.__version__)
    main_parser.add_argument(
        "--include-dir",
        "--includedir",
        action="store_true",
        help="print the directory with dlbridge's headers and dlpack.h",
    )
    main_parser.add_argument(
        "--cmake-dir",
        "--cmakedir",
        action="store_true",
        help="print the directory with dlbridgeConfig.cmake",
    )
    commands = main_parser.add_subparsers(dest="tool", metavar="TOOL")
    for name, tool in TOOLS.items():
        tool.add_arguments(commands.add_parser(name, help=tool.SUMMARY, description=tool.__doc__))
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one tool. Returns the exit status.

    0: success; 1: problems found; 2: wrong usage, or the output cannot be written; 130: Ctrl-C
    or SIGTERM.
    """
    main_parser = parser()
    with output.robust() as descriptors, _interruptible():
        try:
            status = _run(main_parser, arguments)
        except SystemExit as ended:  # of argparse
            status = int(ended.code or 0)
        except KeyboardInterrupt:
            print("dlbridge: interrupted", file=sys.stderr)
            status = output.INTERRUPTED
        sys.stdout.flush()
        for error in filter(None, [each.error for each in descriptors]):
            print(f"dlbridge: the output cannot be written: {error.strerror}", file=sys.stderr)
            status = 2
    return status


def _run(main_parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    options = main_parser.parse_args(arguments)
    if options.include_dir:
        print(dlbridge.get_include())
    if options.cmake_dir:
        print(dlbridge.get_cmake_dir())
    if options.tool is not None:
        return int(TOOLS[options.tool].run(options))
    if not (options.include_dir or options.cmake_dir):
        main_parser.print_help()
        print("dlbridge: expected a TOOL, or an option", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
