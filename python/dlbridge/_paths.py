# SPDX-License-Identifier: BSD-3-Clause
"""The paths of the installed headers and CMake files."""

import os
import sys


def _folder(*names: str) -> str:
    """Returns a folder of the package.

    In an editable installation it is not beside the Python files, but in another folder of the
    package's `__path__`.
    """
    folders = [os.path.join(each, *names) for each in sys.modules[__package__].__path__]
    return next(filter(os.path.isdir, folders), folders[0])


def get_include() -> str:
    """Returns the include directory, which contains dlbridge/ and dlpack/.

    Returns
    -------
    str

    Examples
    --------
    >>> os.path.exists(os.path.join(dlbridge.get_include(), "dlbridge", "dlbridge.hpp"))
    True
    """
    return _folder("include")


def get_cmake_dir() -> str:
    """Returns the directory of dlbridgeConfig.cmake, for dlbridge_DIR or CMAKE_PREFIX_PATH.

    Returns
    -------
    str

    Examples
    --------
    >>> os.path.exists(os.path.join(dlbridge.get_cmake_dir(), "dlbridgeConfig.cmake"))
    True
    """
    return _folder("share", "cmake", "dlbridge")
