# SPDX-License-Identifier: BSD-3-Clause
"""Compares the docstrings of the compiled module with those of its stub.

The build takes most of them from the stub; --write writes the others into it.

As a program: python own_stub.py STUB [--write]. Without --write it only says whether the stub has
them. Special methods have none in the stub, as users call them by operators and functions.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Union

from dlbridge import _core

Described = Union[ast.Module, ast.ClassDef, ast.FunctionDef]
# A class that the module does not export, by its name in the stub.
CLASSES = {"_Flags": type(_core.empty(1, "int8").flags)}


class Docstring(NamedTuple):
    """A docstring of the module, and the definition in the stub to which it belongs."""

    name: str
    node: Described
    text: str


def docstring_of(owner: Any, name: str) -> str | None:
    """The docstring of a class, function, method or attribute that the stub has, or None."""
    found = member(owner, name)
    is_special = name.startswith("__") and name.endswith("__")
    return None if found is None or is_special else inspect.getdoc(found)


def member(owner: Any, name: str) -> Any:
    return CLASSES.get(name) or inspect.getattr_static(owner, name, None)


def docstrings(stub: str) -> Iterator[Docstring]:
    """The docstrings of the module, in the order of the stub."""
    tree = ast.parse(stub)
    yield Docstring("_core", tree, inspect.getdoc(_core) or "")
    yield from docstrings_in(tree.body, _core, "")


def docstrings_in(body: list[ast.stmt], owner: Any, prefix: str) -> Iterator[Docstring]:
    for node in body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        text = docstring_of(owner, node.name)
        if text is not None:
            yield Docstring(prefix + node.name, node, text)
        if isinstance(node, ast.ClassDef):
            yield from docstrings_in(node.body, member(owner, node.name), f"{node.name}.")


def with_docstrings(stub: str) -> str:
    """The stub with the docstrings of the module."""
    lines = stub.splitlines()
    changes = []
    for name, node, text in docstrings(stub):
        indent = 0 if isinstance(node, ast.Module) else node.col_offset + 4
        changes.append((*place_of(name, node), quoted(text, indent)))
    for begin, end, new in sorted(changes, reverse=True):
        lines[begin:end] = new
    return "\n".join(lines) + "\n"


def place_of(name: str, node: Described) -> tuple[int, int]:
    """The lines of the docstring, from 0; an empty range where it has none."""
    first = node.body[0]
    if ast.get_docstring(node) is None:
        raise SystemExit(f"the stub has no docstring for {name}, where the module has one")
    assert first.end_lineno is not None
    return first.lineno - 1, first.end_lineno


def quoted(text: str, indent: int) -> list[str]:
    first, *rest = text.splitlines()
    lines = [f'"""{first}', *rest, '"""'] if rest else [f'"""{first}"""']
    return [" " * indent + line if line else "" for line in lines]


def main() -> int:
    path = Path(sys.argv[1])
    stub = path.read_text()
    written = with_docstrings(stub)
    if "--write" in sys.argv[2:]:
        path.write_text(written)
    elif written != stub:
        print("expected the docstrings of the module in the stub; run with --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
