# SPDX-License-Identifier: BSD-3-Clause
"""Writes <dlbridge/dlbridge.hpp>, all that it includes and dlpack.h as one header.

    single_header.py DLPACK_H OUTPUT

The header is for online compilers: a program that includes it needs no other file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
INCLUDE = CHECKOUT / "include"
BEGIN = """\
// dlbridge {version} as one header, for online compilers: C++ without Python and devices.
// SPDX-License-Identifier: BSD-3-Clause AND Apache-2.0
// It includes dlpack.h. Both licences stand at the end.
#ifndef DLBRIDGE_SINGLE_HEADER
#define DLBRIDGE_SINGLE_HEADER
#if defined(DLBRIDGE_VERSION_MAJOR)
#error \\
    "an installed header of dlbridge was included before the single header. Include either \\
installed headers or the single header of dlbridge in a unit."
#endif
#if defined(DLBRIDGE_COMPILED)
#error \\
    "DLBRIDGE_COMPILED is defined, and the single header of dlbridge is header-only: remove that \\
definition, or include <dlbridge/dlbridge.hpp> of an installed dlbridge."
#endif
"""
BODIES = re.compile(r"^#if DLBRIDGE_HEADER_ONLY\n(#include .*\n)#endif\n", re.MULTILINE)
DLPACK = re.compile(r"^(//.*\n)*#if !__has_include\(<dlpack/(.*\n)*?#endif\n", re.MULTILINE)
BESIDE = re.compile(r"^#if defined\(DLBRIDGE_SINGLE_HEADER\)\n(.*\n)*?#endif\n", re.MULTILINE)
DROPPED = re.compile(r"#pragma once|// SPDX-License-Identifier: |// layer: ")


def lines_of(name: str, dlpack: str, seen: set[str]) -> Iterator[str]:
    """The lines of a header, with those that it includes in their place."""
    text = BODIES.sub(r"\1", (INCLUDE / name).read_text(encoding="utf-8"))
    conditions = 0
    for line in BESIDE.sub("", DLPACK.sub("", text)).splitlines():
        conditions += line.startswith("#if") - line.startswith("#endif")
        include = re.match(r"#include <(.+)>", line)
        if include and include[1] in seen:
            continue
        if include and not conditions:
            seen.add(include[1])
        if not include or not include[1].startswith(("dlbridge/", "dlpack/")):
            yield from [] if DROPPED.match(line) else [line]
        elif conditions:  # another header may include the same one without the condition
            sys.exit(f"{name} has {line} in a condition")
        elif include[1] == "dlpack/dlpack.h":
            yield dlpack
        else:
            yield from lines_of(include[1], dlpack, seen)


def comment(path: str) -> str:
    lines = (CHECKOUT / path).read_text(encoding="utf-8").splitlines()
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    dlpack = Path(sys.argv[1]).read_text(encoding="utf-8")
    name = "dlbridge/dlbridge.hpp"
    text = "\n".join(lines_of(name, dlpack, {name}))
    version = ".".join(re.findall(r"#define DLBRIDGE_VERSION_\w+ (\d+)", text))
    text = BEGIN.format(version=version) + text + "\n#endif\n\n// The licence of dlbridge:\n//\n"
    text += comment("LICENSE") + "\n// The licence of dlpack.h:\n//\n"
    text += comment("LICENSES/Apache-2.0.txt")
    output = re.sub(r"\n{3,}", "\n\n", text)
    Path(sys.argv[2]).write_bytes(output.encode())


if __name__ == "__main__":
    main()
