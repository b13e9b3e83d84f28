# SPDX-License-Identifier: BSD-3-Clause
"""Checks the header that packaging/single_header.py writes, with one compiler in C++17.

The compiler reads the same code in it as in the headers. It is all that two programs need: one of
two units, and one without exceptions and RTTI. An online compiler accepts its size.

    check_single_header.py FOLDER DLPACK_FOLDER COMPILER [FLAG ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
WITHOUT_EXCEPTIONS = ("-fno-exceptions", "-fno-rtti")
# The smallest limit of a request that Compiler Explorer has had, in bytes. Requests are JSON.
LIMIT = 1_000_000

folder, dlpack = Path(sys.argv[1]), Path(sys.argv[2])
generator = CHECKOUT / "packaging" / "single_header.py"
compiler = [*sys.argv[3:], "-std=c++17", "-Wall", "-Wextra", "-Werror"]
header = folder / "dlbridge" / "dlbridge.hpp"
only_header = f"-I{folder}"
unit = folder / "unit.cpp"


def run(*command: str | Path, fails: bool = False) -> str:
    result = subprocess.run(command, capture_output=True, text=True)
    if (result.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, command))} returned {result.returncode}\n"
                 f"{result.stdout[-2000:]}{result.stderr}")  # fmt: skip
    return result.stdout + result.stderr


def code(*options: str | Path) -> list[str]:
    """What the compiler reads in the unit: code and macros."""
    lines = run(*compiler, *options, "-E", "-P", "-dD", unit).splitlines()
    return [line for line in lines if line.strip() and "DLBRIDGE_SINGLE_HEADER" not in line]


def check(name: str, *options: str | Path) -> None:
    program = folder / name
    run(*compiler, only_header, *options, "-o", program)
    print(run(program))


header.parent.mkdir(parents=True, exist_ok=True)
run(sys.executable, generator, dlpack / "dlpack" / "dlpack.h", header)
size = len(json.dumps(header.read_text(encoding="utf-8")))
print(f"{header.stat().st_size} bytes, in JSON {size}")
if size > LIMIT:
    sys.exit(f"an online compiler may refuse more than {LIMIT} bytes")

unit.write_text("#include <dlbridge/dlbridge.hpp>\n")
for flags in ((), WITHOUT_EXCEPTIONS):
    expected = code(*flags, f"-I{CHECKOUT / 'include'}", f"-I{dlpack}")
    found = code(*flags, only_header)
    if found != expected:
        sys.exit(f"it has other code than the headers, in one of them alone: "
                 f"{sorted(set(expected) ^ set(found))[:20]}")  # fmt: skip

check("two_units", CHECKOUT / "examples" / "plain_cpp" / "main.cpp", unit)
check("without_exceptions", *WITHOUT_EXCEPTIONS,
      CHECKOUT / "examples" / "cpp_tour" / "without_exceptions.cpp")  # fmt: skip
refused = run(*compiler, only_header, "-DDLBRIDGE_COMPILED", "-fsyntax-only", unit, fails=True)
if "the single header of dlbridge is header-only" not in refused:
    sys.exit(refused)
run(*compiler, f"-I{CHECKOUT / 'include'}", f"-I{dlpack}", "-DDLBRIDGE_COMPILED",
    "-fsyntax-only", unit)  # as the message advises  # fmt: skip

# It does not stand beside installed headers, in either order.
installed = CHECKOUT / "include" / "dlbridge"
for order in ((header, installed / "runtime.hpp"), (installed / "error.hpp", header)):
    beside = folder / "beside.cpp"
    beside.write_text("".join(f'#include "{each}"\n' for each in order))
    refused = run(*compiler, f"-I{CHECKOUT / 'include'}", f"-I{dlpack}", "-fsyntax-only", beside,
                  fails=True)  # fmt: skip
    if "of dlbridge in a unit" not in refused:
        sys.exit(refused)
