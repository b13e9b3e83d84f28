"""The paths of the installed headers and CMake files."""

import os


def get_include() -> str:
    """Returns the include directory, which contains dlbridge/ and dlpack/."""
    return os.path.join(os.path.dirname(__file__), "include")


def get_cmake_dir() -> str:
    """Returns the directory of dlbridgeConfig.cmake, for dlbridge_DIR or CMAKE_PREFIX_PATH."""
    return os.path.join(os.path.dirname(__file__), "share", "cmake", "dlbridge")
