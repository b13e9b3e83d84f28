"""Refuses the import in another interpreter than the first, before `_core` is loaded.

An interpreter that shares the GIL would load `_core`, whose objects belong to the first one.
"""

from __future__ import annotations

import sys

try:
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters  # type: ignore[import-not-found]
    else:
        import _xxsubinterpreters as interpreters  # type: ignore[import-not-found]
except ImportError:  # an implementation without them
    pass
else:
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "dlbridge does not support subinterpreters: import it in the main interpreter"
        )
