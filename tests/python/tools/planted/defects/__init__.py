# SPDX-License-Identifier: BSD-3-Clause
"""The planted defects, by subject. Importing the package fills planting.DEFECTS."""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
