"""Where the installed headers and CMake files are."""

import os


def get_include() -> str:
    """The directory to put on the include path: it has dlbridge/ and dlpack/."""
    return os.path.join(os.path.dirname(__file__), "include")


def get_cmake_dir() -> str:
    """The directory for -Ddlbridge_DIR or CMAKE_PREFIX_PATH: it has dlbridgeConfig.cmake."""
    return os.path.join(os.path.dirname(__file__), "share", "cmake", "dlbridge")
