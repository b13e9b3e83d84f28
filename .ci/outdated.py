# SPDX-License-Identifier: BSD-3-Clause
"""Lists the versions in pyproject.toml of which the package index has newer ones.

uv resolves each name alone, for the Python of its group. A version that an environment needs for
what it tests, such as NumPy 1.26, is listed as well.
"""

from __future__ import annotations

import re
import subprocess
import sys

import machine

GROUP = re.compile(r"^([\w-]+) = \[", re.MULTILINE)
PIN = re.compile(r"([\w.-]+)(?:\[\w+\])?==([\w.]+)")


def pins() -> dict[str, set[tuple[str, str]]]:
    """The pinned versions of each package, with the groups that pin them."""
    text = (machine.CHECKOUT / "pyproject.toml").read_text()
    text = text.partition("[dependency-groups]")[2].partition("\n[project")[0]
    found: dict[str, set[tuple[str, str]]] = {}
    for name in GROUP.findall(text):
        for requirement in machine.group(name):
            if pin := PIN.match(requirement):
                found.setdefault(pin[1].lower().replace("_", "-"), set()).add((pin[2], name))
    return found


def newest(names: list[str], python: str) -> dict[str, str]:
    uv = [str(machine.TOOLS / "bin" / "python"), "-m", "uv", "pip", "compile", "-q", "--no-deps"]
    versions = {}
    for name in names:  # one by one, as some have no release for this Python
        command = [*uv, "--no-header", "--no-annotate", "--python-version", python, "-"]
        done = subprocess.run(command, input=name, capture_output=True, text=True)
        if found := PIN.match(done.stdout):
            versions[name] = found[2]
    return versions


def main() -> int:
    pinned = pins()
    ours, latest = (newest([*pinned], each) for each in ("3.11", "3.14"))
    for name, each in sorted(pinned.items()):
        for version, group in sorted(each):
            there = (latest if group.startswith("today") else ours).get(name, "no release")
            if there != version:
                print(f"{name} {version} ({group}): the index has {there}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
