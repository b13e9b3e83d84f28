# SPDX-License-Identifier: BSD-3-Clause
"""Compares the names in include/dlbridge/runtime/cuda.hpp with a cuda.h.

Arguments: the two files. Every name must be declared by cuda.h and be the newest variant of its
function, except for the older variants that OLDER lists.
"""

import re
import sys
from pathlib import Path

# Names that the table uses although the macros of cuda.h select a newer variant, and why.
OLDER = {
    "cuStreamGetCaptureInfo_v2": "since CUDA 11.3, still exported; _v3 adds the data of edges",
    # The table has both variants, and the code calls the one that the driver exports.
    "cuMemPrefetchAsync": "before CUDA 12.2",
    "cuMemPrefetchAsync_v2": "from CUDA 12.2; the macro selects it from CUDA 13",
    "cuMemAdvise": "before CUDA 12.2",
    "cuMemAdvise_v2": "from CUDA 12.2; the macro selects it from CUDA 13",
}


def names_in(table: str) -> list[str]:
    return re.findall(r'"(cu[A-Z]\w*)"', table)


def errors_in(names: list[str], header: str) -> list[str]:
    errors = []
    declared = set(re.findall(r"\bCUDAAPI\s+(cu\w+)\s*\(", header))
    macro = r"^\s*#\s*define (cu\w+)\s+(?:__CUDA_API_PT[DS]Z?\()?(cu\w+_v\d+)\)?\s*$"
    renamed = dict(re.findall(macro, header, re.MULTILINE))
    for name in names:
        plain = re.sub(r"_v\d+$", "", name)
        newest = renamed.get(plain, plain)
        if name in OLDER:
            continue
        if plain not in declared and name not in declared:
            errors.append(f"cuda.h does not declare {name}")
        elif name != newest:
            errors.append(f"cuda.h replaces {name} by {newest}")
    if len(names) != len(set(names)):
        errors.append("the table has a name twice")
    return errors


def main() -> int:
    names = names_in(Path(sys.argv[1]).read_text())
    errors = errors_in(names, Path(sys.argv[2]).read_text())
    for error in errors:
        print("FAILED", error)
    print(f"{len(names)} functions, {len(errors)} errors")
    return int(bool(errors) or len(names) < 20)


if __name__ == "__main__":
    sys.exit(main())
