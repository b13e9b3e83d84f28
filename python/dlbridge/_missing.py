# SPDX-License-Identifier: BSD-3-Clause
"""The attributes of dlbridge where its compiled module is missing or cannot be loaded.

The tools need only Python.
"""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Any

MESSAGE = (
    "the compiled module dlbridge._core is missing; install it with `pip install .` in a checkout "
    "of dlbridge"
)


def is_missing() -> bool:
    """Whether the compiled module is missing, or cannot be loaded."""
    return "Tensor" not in vars(sys.modules["dlbridge"])


def state(error: ImportError) -> None:
    """Lets MESSAGE give the reason of a module that exists and cannot be loaded."""
    global MESSAGE
    if not isinstance(error, ModuleNotFoundError):
        MESSAGE = f"the compiled module cannot be loaded ({error}); install dlbridge again"


def __getattr__(name: str) -> Any:
    """Raises ImportError for a compiled attribute, and AttributeError for any other."""
    if name == "__version__":
        try:
            return importlib.metadata.version("dlbridge")
        except importlib.metadata.PackageNotFoundError:
            return "unknown"
    if name in (*sys.modules["dlbridge"].__all__, "_rebuild"):  # the others of __all__ exist
        raise ImportError(f"dlbridge.{name}: {MESSAGE}", name="dlbridge._core")
    raise AttributeError(f"module 'dlbridge' has no attribute {name!r}")
