# SPDX-License-Identifier: BSD-3-Clause
"""The lists of the interface, and the functions that collect their lines.

A line is `KIND NAME  DETAILS`. Two blanks end the name, so that a later reading tells an item that
has gone from one that has changed.
"""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


class CannotCollect(Exception):
    """A list cannot be made on this machine; the text says what is missing."""


def line(kind: str, name: str, details: str = "") -> str:
    return f"{kind} {name}  {' '.join(details.split())}".rstrip()
