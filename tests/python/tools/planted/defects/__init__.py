# SPDX-License-Identifier: BSD-3-Clause
"""The planted defects, by subject. Importing the package fills planting.DEFECTS."""

from __future__ import annotations

from planted.defects import (
    asking,
    combined,
    copies,
    endings,
    exporting,
    flags,
    importing,
    large,
    leaks,
    lifetime,
    own_device,
    owning,
    requests,
    table,
)

__all__ = [
    "asking",
    "combined",
    "copies",
    "endings",
    "exporting",
    "flags",
    "importing",
    "large",
    "leaks",
    "lifetime",
    "own_device",
    "owning",
    "requests",
    "table",
]
