# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of libraries: versions, consequences, remedies, and a program for each.

Each program was run before it was added, and runs again wherever its library is tested.
"""

from __future__ import annotations

from ..libraries import LIBRARIES
from .defect import Defect, RunResult, State, run
from .rows import ROWS

__all__ = ["DEFECTS", "Defect", "RunResult", "State", "installed", "of", "run"]

DEFECTS: dict[str, Defect] = {row.id: row for row in ROWS}


def of(library: str, version: str | None = None, state: State = "present") -> list[Defect]:
    """Returns the defects of a library; with a version, those of which the state is known there.

    >>> [each.id for each in of("torch", "2.13.0+cpu")][:1]
    ['torch-negative-strides']
    """
    rows = [row for row in DEFECTS.values() if row.library == library]
    return rows if version is None else [row for row in rows if row.state_in(version) == state]


def installed(library: str) -> str | None:
    """Returns the installed version of a library of the table; it is not imported."""
    row = LIBRARIES[library]
    return row.version if row.importable else None
