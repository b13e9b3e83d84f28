# SPDX-License-Identifier: BSD-3-Clause
"""What the tools know of their own distribution, and of the compiled dlbridge, which may be absent.

The folder of the tools is a part of the package dlbridge, and the package dlbridge_tools of a
distribution of its own. Nothing else in it depends on which of the two it is.
"""

from __future__ import annotations

import importlib.metadata
import sys

ROOT = __name__.partition(".")[0]  # the package that is installed: dlbridge or dlbridge_tools
COMMAND = ROOT.replace("_", "-")  # its distribution and its console script
NOT_INSTALLED = (
    "the compiled package dlbridge is not installed; install dlbridge with `pip install .` in a "
    "checkout of it"
)


def version() -> str:
    """Returns the version of the tools, which is that of dlbridge in the same sources."""
    stated = getattr(sys.modules[ROOT], "__version__", None)
    if stated is not None:
        return str(stated)
    try:
        return importlib.metadata.version(COMMAND)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def documentation() -> str | None:
    """Returns the address of the documentation that the distribution states.

    None where it states none, or one of the placeholder domain .invalid.
    """
    try:
        stated = importlib.metadata.metadata(COMMAND).get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    by_label = dict(each.split(", ", 1) for each in stated)
    address = by_label.get("Documentation", "").rstrip("/")
    return address if address and ".invalid/" not in f"{address}/" else None


def why_missing() -> str | None:
    """Returns why dlbridge cannot be used, and what to do; None where it can. Imports dlbridge."""
    try:
        from dlbridge import _missing
    except ImportError:
        return NOT_INSTALLED
    return _missing.MESSAGE if _missing.is_missing() else None


def is_missing() -> bool:
    """Whether dlbridge, or its compiled module, is missing or cannot be loaded."""
    return why_missing() is not None
