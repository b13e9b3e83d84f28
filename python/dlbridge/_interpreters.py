"""Refuses the import in another interpreter than the first, before `_core` is loaded.

From Python 3.12 on `_core` refuses it itself. Up to 3.11 the initialization of pybind11 would hang.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 12):
    try:
        import _xxsubinterpreters as interpreters  # type: ignore[import-not-found]
    except ImportError:  # an implementation without them
        pass
    else:
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "dlbridge does not support subinterpreters: import it in the main interpreter"
            )
