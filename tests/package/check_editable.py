# SPDX-License-Identifier: BSD-3-Clause
"""Checks that an editable installation of dlbridge-headers finds the headers and the CMake files,
which are not beside its Python files.

    check_editable.py CHECKOUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import dlbridge_headers

FILES = (
    (dlbridge_headers.get_include(), "dlbridge/dlbridge.hpp"),
    (dlbridge_headers.get_include(), "dlpack/dlpack.h"),
    (dlbridge_headers.get_cmake_dir(), "dlbridgeConfig.cmake"),
)


def main() -> int:
    checkout = Path(sys.argv[1]).resolve()
    faults = [f"missing: {Path(folder, name)}" for folder, name in FILES
              if not Path(folder, name).is_file()]  # fmt: skip
    if checkout not in Path(dlbridge_headers.__file__).resolve().parents:
        faults.append(f"not editable: {dlbridge_headers.__file__} is outside of {checkout}")
    print("\n".join(faults) or "the headers and CMake files of an editable installation are found")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
