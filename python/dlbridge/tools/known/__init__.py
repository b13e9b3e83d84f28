"""The known defects of the field as data: who has them, what they break, and a program for each.

Each was run before it was written down, and is run again wherever its library is tested.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util

from dlbridge.tools.known.defect import HELPER, Defect, Shown, run
from dlbridge.tools.known.rows import ROWS
from dlbridge.tools.libraries import LIBRARIES

__all__ = ["DEFECTS", "HELPER", "Defect", "Shown", "installed", "of", "run"]

DEFECTS: dict[str, Defect] = {row.id: row for row in ROWS}


def of(library: str, version: str | None = None) -> list[Defect]:
    """The defects of a library; with a version, those that exactly this version is known to have.

    >>> [each.id for each in of("torch", "2.13.0+cpu")][:1]
    ['torch-negative-strides']
    """
    rows = [row for row in DEFECTS.values() if row.library == library]
    return rows if version is None else [row for row in rows if row.is_in(version)]


def installed(library: str) -> str | None:
    """The version of a library of the table that can be imported here; it is not imported."""
    try:
        found = importlib.util.find_spec(library)
    except ImportError:  # the package around it is missing
        found = None
    if found is None:
        return None
    if library in LIBRARIES:
        return LIBRARIES[library].version
    return importlib.metadata.version(library)
