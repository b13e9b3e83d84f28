"""Holds the table of CUDA's functions to a cuda.h: every name in include/dlbridge/runtime/cuda.hpp
is one that the driver's file has, and the newest of those that behave as the table says."""

import re
import sys
from pathlib import Path

# What cuda.h's macros lead to today, where the table names an older function on purpose.
OLDER = {
    "cuStreamGetCaptureInfo_v2": "from CUDA 11.3, and kept; _v3 adds what edges carry",
}


def names_in(table: str) -> list[str]:
    return re.findall(r'"(cu[A-Z]\w*)"', table)


def faults(names: list[str], header: str) -> list[str]:
    found = []
    declared = set(re.findall(r"\bCUDAAPI\s+(cu\w+)\s*\(", header))
    macro = r"^\s*#\s*define (cu\w+)\s+(?:__CUDA_API_PT[DS]Z?\()?(cu\w+_v\d+)\)?\s*$"
    renamed = dict(re.findall(macro, header, re.MULTILINE))
    for name in names:
        plain = re.sub(r"_v\d+$", "", name)
        newest = renamed.get(plain, plain)
        if name in OLDER:
            continue
        if plain not in declared and name not in declared:
            found.append(f"{name} is not in cuda.h")
        elif name != newest:
            found.append(f"{name} is called {newest} by cuda.h")
    if len(names) != len(set(names)):
        found.append("a name is there twice")
    return found


def main() -> int:
    names = names_in(Path(sys.argv[1]).read_text())
    found = faults(names, Path(sys.argv[2]).read_text())
    for fault in found:
        print("FAILED", fault)
    print(f"{len(names)} functions, {len(found)} faults")
    return int(bool(found) or len(names) < 20)


if __name__ == "__main__":
    sys.exit(main())
