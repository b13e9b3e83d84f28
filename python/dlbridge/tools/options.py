"""The types of the tools' options; argparse prints their errors."""

from __future__ import annotations

import argparse

MOST_SECONDS = 1e6  # selectors and timers refuse much longer waits


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
