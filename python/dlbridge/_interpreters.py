# SPDX-License-Identifier: BSD-3-Clause
"""Refuses the import in another interpreter than the first, before `_core` is loaded.

An interpreter that shares the GIL would load `_core`, whose objects belong to the first one.
"""

from __future__ import annotations

import importlib
import sys

try:
    # Whether type checkers know the module depends on the version of Python.
    interpreters = importlib.import_module(
        "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    )
except ImportError:  # an implementation without them
    pass
else:
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "dlbridge does not support subinterpreters: import it in the main interpreter"
        )
