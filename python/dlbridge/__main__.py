# SPDX-License-Identifier: BSD-3-Clause
"""The command line: dlbridge TOOL, or --include-dir | --cmake-dir | --version."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import dlbridge
from dlbridge.tools import command_line


def parser() -> argparse.ArgumentParser:
    main_parser = command_line.parser(
        "Exchanges tensors between libraries without copying them, by DLPack."
    )
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
    return main_parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one tool, or prints folders. Returns the exit status, as command_line.run() does."""
    return command_line.run(parser(), arguments, _print_folders)


def _print_folders(options: argparse.Namespace) -> bool:
    if options.include_dir:
        print(dlbridge.get_include())
    if options.cmake_dir:
        print(dlbridge.get_cmake_dir())
    return bool(options.include_dir or options.cmake_dir)


if __name__ == "__main__":
    sys.exit(main())
