# SPDX-License-Identifier: BSD-3-Clause
"""The command line: python -m dlbridge_headers --include-dir | --cmake-dir."""

from __future__ import annotations

import argparse

import dlbridge_headers


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m dlbridge_headers",
        description=dlbridge_headers.__doc__,
        allow_abbrev=False,
    )
    chosen = parser.add_mutually_exclusive_group(required=True)
    for names, path in (
        (("--include-dir", "--includedir"), dlbridge_headers.get_include()),
        (("--cmake-dir", "--cmakedir"), dlbridge_headers.get_cmake_dir()),
    ):
        chosen.add_argument(*names, dest="path", action="store_const", const=path)
    print(parser.parse_args().path)


if __name__ == "__main__":
    main()
