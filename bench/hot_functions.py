# SPDX-License-Identifier: BSD-3-Clause
"""Finds the functions that every short call runs, whose bodies the headers therefore contain.

    hot_functions.py             prints them
    hot_functions.py --write     writes them to hot_functions.txt, where the bodies are now
    hot_functions.py --check     the exit status is 1 if one is missing in the table, or is defined
                                 elsewhere than the table states

Each line of the table has a function and where its body is: inline, in a .hpp or .inl file, or
called, in an .ipp file, as a function that is too long to be inlined.

Short calls are those of bound functions that take arrays and do nothing, or return a new ndarray,
the import and the exports of a Tensor, and the cases of cpp/instructions/count.cpp. They run with
counters of gcov, without optimization. A function counts if it ran at least once for each call of
some kind, is no template, and has a body of several lines: others are in the headers in any case.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from compile_cost import INCLUDE, include_flags

BENCH = Path(__file__).resolve().parent
TABLE = BENCH / "hot_functions.txt"
CALLS = 1000  # as in cpp/instructions/count.cpp
SHORTEST = 2  # lines of a body that is not in the header in any case

# Runs in a process of its own, in the folder of the modules.
WORKLOAD = f"""
import arguments_dlbridge as ours, bare_producer, dlbridge, numpy as np
arrays = [np.zeros((2, 3), dtype="float32"), bare_producer.Bare((2, 3))]
arrays.append(dlbridge.from_dlpack(arrays[0]))
try:
    import torch
    arrays.append(torch.zeros(2, 3))
except ImportError:
    print("without torch")
for _ in range({CALLS}):
    for x in arrays:
        for function in (ours.fast, ours.caster, ours.fast_owned, ours.two_of):
            function(x)
        getattr(ours, "def")(x)
        getattr(ours, "def")(x=x)
        for function in (ours.fast3, ours.caster3, ours.def3):
            function(x, x, x)
        ours.fast_matrix(x)
    ours.two_of_number(arrays[0], 2.0)
    ours.like(arrays[0])
    t = dlbridge.from_dlpack(arrays[0])
    dlbridge.from_dlpack(t)
    dlbridge.from_dlpack(arrays[1])
    t.__dlpack__(max_version=(1, 3))
    t.__dlpack__()
    t.__dlpack_device__()
    ours.fast_to_numpy()
    ours.to_numpy()
"""


def run(command: list[str], folder: Path, **environment: str) -> str:
    return subprocess.run(command, cwd=folder, env=os.environ | environment, check=True,
                          text=True, stdout=subprocess.PIPE).stdout  # fmt: skip


def measure(folder: Path) -> list[dict[str, Any]]:
    """The functions of the headers with their counts, from programs with counters."""
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    flags = ["-std=c++17", "-O0", "-fPIC", "-fvisibility=hidden", *include_flags()]
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    plain = [shutil.which("gcc") or "cc", "-O1", "-fPIC", *include_flags()]
    source = BENCH / "modules" / "bare_producer.c"
    run([*plain, "-shared", str(source), "-o", f"bare_producer{suffix}"], folder)
    package = BENCH.parent / "python"
    shutil.copytree(package / "dlbridge", folder / "dlbridge",
                    ignore=shutil.ignore_patterns("*.so", "__pycache__"))  # fmt: skip
    run([sys.executable, str(package / "docstrings.py"), str(package / "dlbridge" / "_core.pyi"),
         str(folder / "docstrings.inc")], folder)  # fmt: skip
    modules = {
        f"dlbridge/_core{suffix}": package / "src" / "module.cpp",
        f"arguments_dlbridge{suffix}": BENCH / "modules" / "arguments_dlbridge.cpp",
    }
    for name, source in modules.items():
        run([*compiler, *flags, f"-I{package / 'src'}", f"-I{folder}", "--coverage", "-shared",
             str(source), "-o", name], folder)  # fmt: skip
    source = BENCH / "cpp" / "instructions" / "count.cpp"
    run([*compiler, *flags, "--coverage", str(source), "-o", "count", "-ldl"], folder)
    run([sys.executable, "-c", WORKLOAD], folder, PYTHONPATH=str(folder))
    run([str(folder / "count")], folder)
    gcov = re.sub(r"g\+\+(?=[^/]*$)", "gcov", compiler[-1])
    run([gcov, "--json-format", *(str(path) for path in folder.rglob("*.gcda"))], folder)
    found = []
    for path in folder.glob("*.gcov.json.gz"):
        for file in json.loads(gzip.decompress(path.read_bytes()))["files"]:
            if Path(file["file"]).is_relative_to(INCLUDE):
                found += [each | {"file": file["file"]} for each in file["functions"]]
    return found


def name_of(demangled: str) -> str | None:
    """The name without parameters and the versioned namespace; None for a part of a template."""
    demangled = re.sub(r"\bv\d\w*::", "", demangled)
    name = demangled.split("(")[0].replace("operator bool", "operator_bool").split(" ")[-1]
    is_part = "<" in demangled.split("(")[0] or "{lambda" in demangled
    return None if is_part or not name.startswith("dlbridge::") else name


def hot_functions(folder: Path) -> dict[str, str]:
    """The hot functions by name, with the files of their bodies."""
    found = {}
    for each in measure(folder):
        lines = each["end_line"] - each["start_line"] + 1
        name = name_of(each["demangled_name"])
        if name and each["execution_count"] >= CALLS and lines >= SHORTEST:
            found[name] = each["file"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write hot_functions.txt")
    parser.add_argument("--check", action="store_true", help="compare with hot_functions.txt")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = hot_functions(Path(folder))
    found = {f"{name} {'called' if file.endswith('.ipp') else 'inline'}": name
             for name, file in files.items()}  # fmt: skip
    if options.write:
        TABLE.write_text("".join(f"{row}\n" for row in sorted(found)))
    if not options.check:
        print("\n".join(sorted(found)))
        return 0
    rows = TABLE.read_text().splitlines()
    wrong = [row for row in sorted(found) if row not in rows]
    for row in wrong:
        print(f"FAILED {row}: runs in every short call; {TABLE.name} does not state so")
    print(f"{len(found)} functions run in every short call; {len(rows)} are in {TABLE.name}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
