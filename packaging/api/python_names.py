# SPDX-License-Identifier: BSD-3-Clause
"""The Python interface, read from the sources: names, signatures, Cython declarations, packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import tomllib

from api import CHECKOUT, line

PACKAGE = "python/dlbridge"
HEADERS = "packaging/headers/dlbridge_headers"
# The documented names that no __all__ has, by the module that users import them from.
OTHERS = {
    f"{PACKAGE}/tools/inspection/inspection.py": ("dlbridge", ["Inspection"]),
    f"{PACKAGE}/tools/inspection/conclusions/findings.py": ("dlbridge.Inspection", ["Findings"]),
    f"{PACKAGE}/tools/inspection/rendering/memory_picture.py": ("dlbridge", ["MemoryPicture"]),
    f"{PACKAGE}/tools/libraries.py": ("dlbridge.tools.libraries", ["Library"]),
    f"{PACKAGE}/tools/pytest_plugin.py": ("dlbridge.tools.pytest_plugin", ["ConformanceWarning"]),
}
# Of __init__, which imports its names from the first two.
IN_PARTS = (f"{PACKAGE}/_core.pyi", f"{PACKAGE}/_paths.py", f"{PACKAGE}/__init__.py")
# The name stands before type parameters, the name in C++, and the parameters.
CYTHON_FUNCTION = re.compile(
    r'(operator ?(?:\(\)|\[\]|bool|[^\w(]+))\(|(\w+)(?:\[[^]]*\])?(?: *"[^"]*")?\('
)


def parse(path: str) -> ast.Module:
    return ast.parse((CHECKOUT / path).read_text())


def exported(module: ast.Module) -> list[str]:
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError("the module has no __all__")


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, those of each branch of an `if` among them."""
    for node in body:
        if isinstance(node, ast.If):
            yield from statements([*node.body, *node.orelse])
        else:
            yield node


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [ast.unparse(node.target)]
    if isinstance(node, ast.Assign):
        return [ast.unparse(each) for each in node.targets]
    return []


def is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def function_line(node: ast.FunctionDef, scope: str) -> str:
    decorators = [ast.unparse(each) for each in node.decorator_list]
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if any(each.endswith("property") for each in decorators):
        return line("property", f"{scope}.{node.name}", result)
    details = f"({ast.unparse(node.args)}){result}"
    return line("function", f"{scope}.{node.name}", " ".join([*decorators, details]))


def statement_lines(node: ast.stmt, name: str, scope: str) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield function_line(node, scope)
    elif isinstance(node, ast.ClassDef):
        decorators = "".join(f"@{ast.unparse(each)} " for each in node.decorator_list)
        bases = ", ".join(ast.unparse(each) for each in [*node.bases, *node.keywords])
        yield line("class", f"{scope}.{name}", f"{decorators}({bases})")
        for member in statements(node.body):
            for each in filter(is_public, names_of(member)):
                yield from statement_lines(member, each, f"{scope}.{name}")
    elif isinstance(node, ast.AnnAssign):
        value = f" = {ast.unparse(node.value)}" if node.value else ""
        yield line("value", f"{scope}.{name}", f"{ast.unparse(node.annotation)}{value}")
    elif isinstance(node, ast.Assign):
        yield line("value", f"{scope}.{name}", f"= {ast.unparse(node.value)}")


def module_lines(path: str, scope: str, names: list[str]) -> Iterator[str]:
    """The lines of the names, and of the classes of the module that their signatures state."""
    nodes: dict[str, list[ast.stmt]] = {}
    for node in statements(parse(path).body):
        for name in names_of(node):
            nodes.setdefault(name, []).append(node)
    todo, done = [each for each in names if each in nodes], set()
    while todo:
        name = todo.pop()
        done.add(name)
        for node in nodes[name]:
            found = [*statement_lines(node, name, scope)]
            yield from found
            words = {word for each in found for word in re.findall(r"\w+", each.partition("  ")[2])}
            todo += [
                word
                for word in words - done - {*todo}
                if any(isinstance(each, ast.ClassDef) for each in nodes.get(word, ()))
            ]


def cython_lines(path: str) -> Iterator[str]:
    """Each declaration of a .pxd file, without the C++ between quotation marks."""
    text = re.sub(r'"""(.*?)"""', "", (CHECKOUT / path).read_text(), flags=re.DOTALL)
    text = re.sub(r"#.*", "", text)
    text = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", lambda m: " ".join(m[0].split()), text)
    module = path.removeprefix("packaging/headers/").removesuffix(".pxd").replace("/", ".")
    scope, static = "", ""
    for row in filter(str.strip, text.splitlines()):
        indent, words = len(row) - len(row.lstrip()), row.strip()
        if indent == 0 or words == "pass":  # an import, or the header
            continue
        if indent == 4:
            scope = ""
        if words == "@staticmethod":
            static = "static "
        elif found := re.match(r"(?:cdef|ctypedef) (cppclass|enum|struct) (\w+)(.*?):?$", words):
            scope = f".{found[2]}"
            yield line(found[1], f"{module}{scope}", found[3])
        else:
            found = CYTHON_FUNCTION.search(words)
            name = found[1] or found[2] if found else words.split()[-1]
            yield line("cython", f"{module}{scope}.{name}", static + words)
            static = ""


def project_lines(path: str) -> Iterator[str]:
    project: dict[str, Any] = tomllib.loads((CHECKOUT / path).read_text())["project"]
    name = project["name"]
    yield line("distribution", name, f"Python {project['requires-python']}")
    for each in project["dependencies"]:
        yield line("requirement", f"{name}.{each}")
    for extra, needs in project.get("optional-dependencies", {}).items():
        yield line("extra", f"{name}.{extra}", ", ".join(needs))
    for script, function in project.get("scripts", {}).items():
        yield line("script", f"{name}.{script}", function)
    for group, entries in project.get("entry-points", {}).items():
        for entry, module in entries.items():
            yield line("entry-point", f"{name}.{group}.{entry}", module)


def collect() -> Iterator[str]:
    names = exported(parse(f"{PACKAGE}/__init__.py"))
    for path in IN_PARTS:
        yield from module_lines(path, "dlbridge", names)
    for path, scope in ((f"{PACKAGE}/typing.py", "dlbridge.typing"),
                        (f"{HEADERS}/__init__.py", "dlbridge_headers")):  # fmt: skip
        yield from module_lines(path, scope, exported(parse(path)))
    for path, (scope, names) in OTHERS.items():
        yield from module_lines(path, scope, names)
    for name in ("core", "devices", "python"):
        yield from cython_lines(f"{HEADERS}/{name}.pxd")
    for folder in ("", "packaging/headers/", "packaging/tools/"):
        yield from project_lines(f"{folder}pyproject.toml")
