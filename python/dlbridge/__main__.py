"""The command line: python -m dlbridge TOOL, or --include-dir | --cmake-dir | --version."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import dlbridge
from dlbridge.tools import conformance, demo, doctor, matrix
from dlbridge.tools.inspection import command as inspection

# Each is a module with SUMMARY, add_arguments(parser) and run(given), which gives the exit status.
TOOLS: dict[str, Any] = {
    "conformance": conformance,
    "demo": demo,
    "doctor": doctor,
    "inspect": inspection,
    "matrix": matrix,
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m dlbridge",
        description="Carries tensors over library borders without copying them, by DLPack.",
    )
    top.add_argument("--version", action="version", version=dlbridge.__version__)
    top.add_argument(
        "--include-dir",
        "--includedir",
        action="store_true",
        help="print the directory with dlbridge's headers and dlpack.h",
    )
    top.add_argument(
        "--cmake-dir",
        "--cmakedir",
        action="store_true",
        help="print the directory with dlbridgeConfig.cmake",
    )
    commands = top.add_subparsers(dest="tool", metavar="TOOL")
    for name, tool in TOOLS.items():
        tool.add_arguments(commands.add_parser(name, help=tool.SUMMARY, description=tool.__doc__))
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one tool. Returns the exit status: 0 done, 1 something did not hold, 2 wrong use."""
    top = parser()
    given = top.parse_args(arguments)
    if given.include_dir:
        print(dlbridge.get_include())
    if given.cmake_dir:
        print(dlbridge.get_cmake_dir())
    if given.tool is not None:
        return int(TOOLS[given.tool].run(given))
    if not (given.include_dir or given.cmake_dir):
        top.print_help()
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
