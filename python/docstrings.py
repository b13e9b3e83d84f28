# SPDX-License-Identifier: BSD-3-Clause
"""Writes the signatures and docstrings of a stub as rows of a table in C++, for the module.

python docstrings.py STUB TABLE
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path


def signature(node: ast.FunctionDef, self_name: str) -> str:
    """The signature as inspect reads it from a docstring, without types."""
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    if self_name:
        parameters = node.args.posonlyargs or node.args.args
        del parameters[0]
        if self_name != "cls":
            node.args.posonlyargs.insert(0, ast.arg(arg=self_name))
    return ast.unparse(node.args)


def rows(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, str]]:
    """The name and the text of each class, function, method and attribute with a docstring."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from rows(node.body, f"{node.name}.")
            made_by = [each for each in node.body if getattr(each, "name", "") == "__new__"]
            self_name = "cls"
        elif isinstance(node, ast.FunctionDef):
            made_by = [node] if not node.decorator_list else []  # not of properties
            self_name = "$self" if owner else ""
        else:
            continue
        text = ast.get_docstring(node)
        for each in made_by if text is not None else []:
            assert isinstance(each, ast.FunctionDef)
            text = f"{node.name}({signature(each, self_name)})\n--\n\n{text}"
        if text is not None:
            yield owner + node.name, text


def main() -> None:
    stub, table = map(Path, sys.argv[1:])
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    lines = [
        f"    {{{json.dumps(name)}, {json.dumps(text, ensure_ascii=False)}}},\n"
        for name, text in rows(tree.body)
    ]
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
