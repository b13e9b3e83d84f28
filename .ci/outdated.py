# SPDX-License-Identifier: BSD-3-Clause
"""Lists the versions in pyproject.toml of which the package index has newer ones.

uv resolves each name alone, for the Python of its group. A version that an environment needs for
what it tests, such as NumPy 1.26, is listed as well.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import machine
from packaging.requirements import Requirement
from packaging.version import Version

GROUP = re.compile(r"^([\w-]+) = \[", re.MULTILINE)


def pins() -> Iterator[tuple[str, str, Requirement]]:
    """The group, its Python and the requirement of each pinned version that it installs."""
    text = (machine.CHECKOUT / "pyproject.toml").read_text()
    for name in GROUP.findall(text.partition("[dependency-groups]")[2].partition("\n[project")[0]):
        python = "3.14" if name.startswith("today") else "3.11"
        for each in map(Requirement, machine.group(name)):
            if each.marker is None or each.marker.evaluate({"python_version": python}):
                yield name, python, each


def newest(name: str, python: str) -> Version | None:
    """The newest version of a package for a Python; None if there is none."""
    uv = [str(machine.TOOLS / "bin" / "uv"), "pip", "compile", "-q", "--no-deps", "--no-header"]
    done = subprocess.run([*uv, "--no-annotate", "--python-version", python, "-"], input=name,
                          capture_output=True, text=True)  # fmt: skip
    _, _, version = done.stdout.strip().partition("==")
    return Version(version) if version else None


def main() -> int:
    rows = list(pins())
    asked = sorted({(each.name, python) for _, python, each in rows})
    with ThreadPoolExecutor(8) as pool:  # they wait for the network
        answers = dict(zip(asked, pool.map(lambda each: newest(*each), asked)))
    for group, python, each in rows:
        there = answers[each.name, python]
        if there is not None and there not in each.specifier:
            print(f"{group}: {each.name}{each.specifier}; the index has {there}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
