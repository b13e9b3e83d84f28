"""The C++ headers of dlbridge, with dlpack.h and a CMake package, for building extensions."""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_cmake_dir", "get_include"]

_HERE = Path(__file__).resolve().parent


def get_include() -> str:
    """Returns the directory with the headers of dlbridge and dlpack.h."""
    return str(_HERE / "include")


def get_cmake_dir() -> str:
    """Returns the directory with dlbridgeConfig.cmake, for -Ddlbridge_DIR."""
    return str(_HERE / "share" / "cmake" / "dlbridge")
