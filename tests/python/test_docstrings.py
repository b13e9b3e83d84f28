# SPDX-License-Identifier: BSD-3-Clause
"""The docstrings of the package state every parameter, and their examples give what they show."""

from __future__ import annotations

import ast
import doctest
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dlbridge

PACKAGE = Path(dlbridge.__file__).parent
FILES = [Path(dlbridge.__file__), PACKAGE / "_core.pyi", PACKAGE / "_paths.py"]
# For users who call them as methods; other special methods belong to operators and builtins.
CALLED = {"__dlpack__", "__dlpack_device__", "__array__"}
NAMES = {"dlbridge": dlbridge, "np": np, "os": os}
Described = (ast.Module, ast.ClassDef, ast.FunctionDef)


def public(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The classes, functions and methods that a program calls, by name; no properties."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            yield from public(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and (
            node.name in CALLED or not (node.name.startswith("_") or node.decorator_list)
        ):
            yield owner + node.name, node


def documented() -> dict[str, ast.AST]:
    result: dict[str, ast.AST] = {}
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.name == "__init__.py":
            result["dlbridge"] = tree
        result.update(public(tree.body))
    return result


# The module makes the exception in C++; to_numpy is another name of numpy.
WITHOUT_EXAMPLE = ("CopyForbiddenError", "Tensor.to_numpy")
DOCUMENTED = documented()


def docstring(name: str) -> str:
    node = DOCUMENTED[name]
    assert isinstance(node, Described)
    return ast.get_docstring(node) or ""


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_the_examples(name: str) -> None:
    found = doctest.DocTestParser().get_doctest(docstring(name), dict(NAMES), name, None, None)
    assert found.examples or name in WITHOUT_EXAMPLE
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(found).failed == 0


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_every_parameter_is_described(name: str) -> None:
    node = DOCUMENTED[name]
    if not isinstance(node, ast.FunctionDef):
        return
    given = node.args
    names = [each.arg for each in given.posonlyargs + given.args + given.kwonlyargs]
    if given.vararg is not None:
        names.append(given.vararg.arg)
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", docstring(name), re.M | re.S)
    described = re.findall(r"^\*?(\w[\w, ]*)(?: :|$)", section.group(1), re.M) if section else []
    found = [name for each in described for name in each.split(", ")]
    assert found == [each for each in names if each != "self"]


def test_the_functions_of_the_package_are_documented() -> None:
    assert set(dlbridge.__all__) - set(DOCUMENTED) == {"DLPACK_VERSION", "__version__"}
    assert {"Tensor.reshape", "Tensor.__dlpack__", "dtype"} <= set(DOCUMENTED)
