"""The command line: python -m dlbridge demo | doctor | --include-dir | --cmake-dir | --version."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import dlbridge


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
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="carry tensors of every importable library into C++ and back, and show what happened",
    )
    demo.add_argument("--json", action="store_true", help="print one JSON object instead")
    demo.add_argument(
        "--only",
        metavar="LIBRARY",
        action="append",
        help="leave the other libraries out; may be given several times",
    )
    doctor = commands.add_parser(
        "doctor",
        help="show what this machine has: drivers and their devices, headers, compilers, libraries",
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit status: 0 done, 1 something did not hold, 2 wrong use."""
    top = parser()
    given = top.parse_args(arguments)
    if given.include_dir:
        print(dlbridge.get_include())
    if given.cmake_dir:
        print(dlbridge.get_cmake_dir())
    if given.command == "demo":
        from dlbridge import demo

        return demo.run(as_json=given.json, only=given.only)
    if given.command == "doctor":
        from dlbridge import doctor

        return doctor.run(as_json=given.json)
    if not (given.include_dir or given.cmake_dir):
        top.print_help()
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
