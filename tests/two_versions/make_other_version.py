# SPDX-License-Identifier: BSD-3-Clause
"""Copies the headers and edits the copy into another version, with other numbers and layouts."""

import re
import shutil
import sys
from pathlib import Path

# The edit of each header. Each changed struct holds state or is reached from it: if two modules
# shared an object, one of them would read it with the wrong layout.
CHANGES = {
    "abi.hpp": (r"(#define DLBRIDGE_(?:ABI_NUMBER|VERSION_MINOR)) \d+", r"\1 99"),
    "python/import/detail/type_entry.hpp": (
        r"struct alignas\(64\) type_entry \{",
        r"\g<0>\n  long newer_member[5] = {};",
    ),
    "python/detail/keywords.hpp": (r"struct names \{", r"\g<0>\n  long newer_member[5] = {};"),
    "python/detail/tensor_head.hpp": (
        r"PyObject\* weak_references;",
        r"\g<0>\n  long newer_member[5];",
    ),
    "error.hpp": (r"struct errc_row \{", r"\g<0>\n  long newer_member[5] = {};\n"),
}


def main() -> None:
    *sources, target = map(Path, sys.argv[1:])
    shutil.rmtree(target, ignore_errors=True)
    for source in sources:
        shutil.copytree(source, target, dirs_exist_ok=True)
    for name, (pattern, replacement) in CHANGES.items():
        path = target / "dlbridge" / name
        text, count = re.subn(pattern, replacement, path.read_text())
        expected = 2 if name == "abi.hpp" else 1
        if count != expected:
            raise SystemExit(f"{name}: expected {expected} matches of /{pattern}/; got {count}")
        if name == "error.hpp":  # its rows are aggregates, which initialize the new member
            text = re.sub(r"\{(errc::\w+, \")", r"{{}, \1", text)
        path.write_text(text)
    (target / "stamp").touch()


if __name__ == "__main__":
    main()
