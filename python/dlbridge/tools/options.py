# SPDX-License-Identifier: BSD-3-Clause
"""The types of the tools' options, whose errors argparse prints, and errors of several options."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

MOST_SECONDS = 1e6  # selectors and timers refuse much longer waits


class WrongUsage(Exception):
    """The options cannot be fulfilled."""


def code(text: str) -> str:
    """The type of an argument MODULE:EXPR: decodes the characters of EXPR as UTF-8.

    With a locale such as C and without the UTF-8 mode, Python gives them as lone surrogates, which
    no source text may contain.
    """
    module, colon, expression = text.partition(":")
    try:
        return module + colon + os.fsencode(expression).decode()
    except UnicodeEncodeError:  # of a character that the locale lacks: the text is decoded already
        return text
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError(f"expected text in UTF-8; got {text!r}") from None


def require_writable(*paths: Path | None) -> None:
    """Raises WrongUsage before the work is done for files that cannot be written.

    They cannot where one is a directory, or its directory is missing, or two are the same.
    """
    files = [path for path in paths if path is not None]
    for path in files:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise WrongUsage(
                f"{path} cannot be written: it is a directory, or its directory is missing"
            )
    for index, path in enumerate(files):
        if path.resolve() in [other.resolve() for other in files[:index]]:
            raise WrongUsage(f"{path} is named for two reports; name a file for each")


def seconds(text: str) -> float:
    """Parses a time limit."""
    try:
        result = float(text)
    except ValueError:
        result = 0.0
    if not 0 < result < MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"expected a number of seconds above 0 and below {MOST_SECONDS:.0f}; got {text!r}"
        )
    return result


def jobs(text: str) -> int:
    """Parses a number of processes."""
    try:
        result = int(text)
    except ValueError:
        result = 0
    if result < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0; got {text!r}")
    return result
