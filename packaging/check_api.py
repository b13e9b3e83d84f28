# SPDX-License-Identifier: BSD-3-Clause
"""Compares the public interface with its lists, packaging/api/*.txt.

An item that no list has must be added with --write. An item that a list has and the sources have
not needs an entry in CHANGELOG.md: in a section Changed, Deprecated or Removed of Unreleased, which
names the item in backticks and states what users write instead. --write then drops it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from api import CHECKOUT, CannotCollect, cmake, cpp, json_output, programs, python_names

LISTS: dict[str, Callable[[], Iterator[str]]] = {
    "cpp": cpp.collect,
    "python": python_names.collect,
    "cmake": cmake.collect,
    "command_line": programs.command_line,
    "environment": programs.environment,
    "json": json_output.collect,
}
ADD = "If they are meant to be public, run `python packaging/check_api.py --write`."
STATE = (
    "Name each in backticks in CHANGELOG.md, in Unreleased under Changed, Deprecated or Removed, "
    "with the migration; then run `python packaging/check_api.py --write`."
)
ABI = (
    "If the layout of a public type or the meaning of its members changes, also raise "
    "DLBRIDGE_ABI_NUMBER: docs/reference/versioning.md."
)


def last_component(item: str) -> str:
    """The name by which the changelog names an item.

    >>> last_component("function dlbridge::array_traits<std::vector<T>>::describe  static (T&)")
    'describe'
    >>> last_component("key doctor.headers[].found_by  list")
    'found_by'
    """
    kind, _, name = item.partition("  ")[0].partition(" ")
    if kind in ("file", "header", "source"):
        return name.strip("<>").rpartition("/")[2]
    if kind == "choice":
        return name.rpartition("=")[2]
    if operator := re.search(r"\boperator\b.+", name):
        return operator[0]
    while "<" in name:
        name = re.sub(r"<[^<>]*>", "", name)
    return re.split(r"::|[. ]", name.rstrip("[]{}"))[-1]


def changelog_names() -> list[str]:
    """What is in backticks in the sections of Unreleased that state changes."""
    found = []
    for section in re.split(r"^## ", (CHECKOUT / "CHANGELOG.md").read_text(), flags=re.MULTILINE):
        if "Unreleased" in section.partition("\n")[0]:
            for part in re.split(r"^### ", section, flags=re.MULTILINE)[1:]:
                if part.startswith(("Changed", "Deprecated", "Removed")):
                    found += re.findall(r"`([^`]+)`", part)
    return found


def is_named(item: str, names: list[str]) -> bool:
    word = re.compile(rf"(?<![\w-]){re.escape(last_component(item))}(?![\w-])")
    return any(word.search(each) for each in names)


def show(title: str, items: set[str], advice: str) -> None:
    print(title)
    for item in sorted(items):
        print(f"  {item}")
    print(advice)


def compare(name: str, file: Path, write: bool) -> bool:
    """Whether the list is right, or is written."""
    listed = set(file.read_text().splitlines()) if file.exists() else set()
    now = set(LISTS[name]())
    added, gone = now - listed, listed - now
    refused = {item for item in gone if not (write and is_named(item, changelog_names()))}
    if refused:
        advice = f"{STATE}\n{ABI}" if name == "cpp" else STATE
        show(f"{name}: removed or changed:", refused, advice)
    if added and (refused or not write):
        show(f"{name}: new:", added, ADD)
    if refused or ((added or gone) and not write):
        return False
    if write:
        file.write_text("".join(f"{item}\n" for item in sorted(now)))
    print(f"{name}: {len(now)} items")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the lists")
    parser.add_argument("--only", default=",".join(LISTS), metavar="LIST,...",
                        help="compare these lists: %(default)s")  # fmt: skip
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - LISTS.keys():
        parser.error(f"there is no list {', '.join(sorted(unknown))}")
    right = True
    for name in names:
        try:
            right &= compare(name, CHECKOUT / "packaging" / "api" / f"{name}.txt", options.write)
        except CannotCollect as why:
            print(f"{name}: cannot be collected: {why}")
            right = False
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
