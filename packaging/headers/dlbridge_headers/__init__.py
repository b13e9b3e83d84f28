# SPDX-License-Identifier: BSD-3-Clause
"""The C++ headers of dlbridge, with dlpack.h and a CMake package, for building extensions."""

from __future__ import annotations

import os

__all__ = ["get_cmake_dir", "get_include"]


def _folder(*names: str) -> str:
    """Returns a folder of the package.

    In an editable installation it is not beside the Python files, but in another folder of the
    package's `__path__`.
    """
    folders = [os.path.join(each, *names) for each in __path__]
    return next(filter(os.path.isdir, folders), folders[0])


def get_include() -> str:
    """Returns the directory with the headers of dlbridge and dlpack.h."""
    return _folder("include")


def get_cmake_dir() -> str:
    """Returns the directory with dlbridgeConfig.cmake, for -Ddlbridge_DIR."""
    return _folder("share", "cmake", "dlbridge")
