"""Prints to a pipe whose reader, such as head, may leave early."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_when_closed() -> Iterator[None]:
    """Ends the printing of its block where the reader of standard output has left.

    Python would report the error, and again at its end, where it would change the exit status.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
