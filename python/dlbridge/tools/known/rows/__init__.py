# SPDX-License-Identifier: BSD-3-Clause
"""The known defects, one file for each library."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from ...libraries import LIBRARIES
from ..defect import Defect


def _rows() -> Iterator[Defect]:
    for module in pkgutil.iter_modules(__path__):
        yield from importlib.import_module(f"{__name__}.{module.name}").ROWS


_ORDER = list(LIBRARIES)
ROWS: tuple[Defect, ...] = tuple(sorted(_rows(), key=lambda row: _ORDER.index(row.library)))
