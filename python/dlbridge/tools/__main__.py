# SPDX-License-Identifier: BSD-3-Clause
"""The command line of the tools alone: dlbridge-tools TOOL, or --version."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import command_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one tool. Returns the exit status, as command_line.run() does."""
    main_parser = command_line.parser("Examines exchanges of tensors by DLPack, and libraries.")
    return command_line.run(main_parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
