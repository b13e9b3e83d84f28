# SPDX-License-Identifier: BSD-3-Clause
"""Checks docs/reference/environment.md: it has a row for each environment variable that the code
reads or sets, and no row for a variable that the code does not mention.

Code names a variable by a literal, by a constant in upper case, or by the variable of a loop over
literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PAGE = "docs/reference/environment.md"
READERS = ("include", "python", "cmake", ".ci", "noxfile.py", "tests/gpu", "tests/fakes",
           "tests/python/conftest.py")  # fmt: skip
SUFFIXES = {".hpp", ".inl", ".ipp", ".cpp", ".h", ".cmake", ".py"}
# Computed names, whose rows nothing compares: those of uv, and what opencl_variables returns.
COMPUTED = {(".ci/machine.py", "variable"), ("python/dlbridge/tools/libraries.py", "name")}
NAMED = re.compile(
    r'(?:environ(?:[.](?:get|pop|setdefault))?[\[(]|getenv\(|ENV\{)(?P<read>[\w.]+|"\w+")'
    r'|(?P<tested>[\w.]+|"\w+") (?:not )?in os[.]environ'
)
CONSTANT = re.compile(r'^([A-Z_]+) = "(\w+)"', re.MULTILINE)
LOOP = re.compile(r"for (\w+) in \((.*?)\):")


def source_texts(root: Path, readers: Iterable[str]) -> dict[str, str]:
    found = [path for each in readers for path in [root / each, *(root / each).rglob("*")]]
    return {path.relative_to(root).as_posix(): path.read_text()
            for path in found if path.suffix in SUFFIXES and path.is_file()}  # fmt: skip


def variables(root: Path, readers: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The variables that the code reads or sets, each with a file; and the faults."""
    files = source_texts(root, readers)
    constants = dict(pair for text in files.values() for pair in CONSTANT.findall(text))
    read: dict[str, str] = {}
    faults = []
    for file, text in files.items():
        loops = {name: re.findall(r'"(\w+)"', items) for name, items in LOOP.findall(text)}
        for match in NAMED.finditer(text):
            name = (match["read"] or match["tested"]).rpartition(".")[2]
            if '"' in name or match[0].startswith("ENV{"):
                read[name.strip('"')] = file
            elif name in constants:
                read[constants[name]] = file
            elif name in loops:
                read.update(dict.fromkeys(loops[name], file))
            elif (file, name) not in COMPUTED:
                faults.append(f"{file}: a variable is read whose name is unknown: {name}")
    return read, faults


def environment_faults(root: Path) -> list[str]:
    read, faults = variables(root, READERS)
    page = (root / PAGE).read_text()
    cells = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    rows = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    mentioned = {name for text in source_texts(root, READERS).values()
                 for name in re.findall(r"\w+", text)}  # fmt: skip
    faults += [f"{PAGE}: no row for {name}, which {read[name]} has" for name in read.keys() - rows]
    faults += [f"{PAGE}: no code has {name}" for name in rows - mentioned]
    return sorted(faults)
