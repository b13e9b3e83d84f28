"""Writes the docstrings of the compiled module into its stub, from which editors show them.

As a program: python own_stub.py STUB [--write]. Without --write it only says whether the stub has
them. What Python code cannot describe, such as the methods of a slot, keeps the stub's text.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from typing import Any, Union

from dlbridge import _core

Described = Union[ast.ClassDef, ast.FunctionDef]
DESCRIBED = (ast.ClassDef, ast.FunctionDef)
# Their docstrings are CPython's own, as `help` shows them for every type.
OF_CPYTHON = (type(object.__init__), type(object.__new__))


def docstring_of(owner: Any, name: str) -> str | None:
    """The module's docstring of a class, function, method or attribute; None where it has none."""
    found = inspect.getattr_static(owner, name, None)
    if found is None or isinstance(found, OF_CPYTHON):
        return None
    return inspect.getdoc(found)


def with_docstrings(stub: str) -> str:
    """The stub with the docstrings of the module."""
    lines = stub.splitlines()
    changes: list[tuple[int, int, list[str]]] = []

    def visit(body: list[ast.stmt], owner: Any) -> None:
        for node in body:
            if not isinstance(node, DESCRIBED):
                continue
            text = docstring_of(owner, node.name)
            if text is not None:
                changes.append((*place_of(node), quoted(text, node.col_offset + 4)))
            if isinstance(node, ast.ClassDef):
                visit(node.body, inspect.getattr_static(owner, node.name, None))

    visit(ast.parse(stub).body, _core)
    for begin, end, text in sorted(changes, reverse=True):
        lines[begin:end] = text
    return "\n".join(lines) + "\n"


def place_of(node: Described) -> tuple[int, int]:
    """The lines of the docstring, from 0; an empty range where it has none."""
    first = node.body[0]
    if ast.get_docstring(node) is None:
        raise SystemExit(f"the stub has no docstring for {node.name}, where the module has one")
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
