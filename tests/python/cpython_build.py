# SPDX-License-Identifier: BSD-3-Clause
"""What tests must know of the build of CPython that runs them."""

from __future__ import annotations

import re
import sysconfig

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
# pybind11's hasattr() ignores exceptions. CPython prints them from 3.13 on.
IGNORED = re.compile(
    r"^Exception ignored in PyObject_HasAttrString.*?\n(Injected|Interrupt|MemoryError)\b[^\n]*\n",
    re.DOTALL | re.MULTILINE,
)


def without_ignored(errors: str) -> str:
    """The output of a process without the exceptions that pybind11 ignores."""
    return IGNORED.sub("", errors)
