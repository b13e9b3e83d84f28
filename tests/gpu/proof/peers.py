# SPDX-License-Identifier: BSD-3-Clause
"""The libraries that have arrays on the GPU, where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from proof.registry import Skipped


def load(name: str) -> Any:
    """Imports a library. Raises Skipped where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Skipped(f"{name} is not installed: {error}") from None
