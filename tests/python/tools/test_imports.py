# SPDX-License-Identifier: BSD-3-Clause
"""The modules of the tools import one another in one direction, without cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from dlbridge import tools

TOOLS = Path(tools.__file__).parent

# The modules and folders of a tool, from the bottom: each imports only itself and those before it.
INSPECTION = (
    "reading",
    "consumers",
    "cases",
    "conclusions",
    "rendering",
    "inspection",
    "command",
    "show",
)
CONFORMANCE = (
    *("rules", "outcomes", "results", "waivers", "journal", "attribution", "target", "registry"),
    *("helpers", "judgement", "probes", "triage", "child", "lane", "engine", "report", "rendering"),
)


def imports_of(path: Path, *, at_top: bool = False) -> Iterator[tuple[str, ...]]:
    """Yields the modules that a module of the tools imports from them, as parts below the folder.

    `from ..a import b` yields that of b where b is a module, and else that of a.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = path.relative_to(TOOLS).parts[:-1]
    for node in tree.body if at_top else ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            continue
        parts = package[: len(package) - node.level + 1]
        parts += tuple(filter(None, (node.module or "").split(".")))
        for each in node.names:
            yield (*parts, each.name) if module_at((*parts, each.name)) else parts


def module_at(parts: tuple[str, ...]) -> bool:
    folder = TOOLS.joinpath(*parts)
    return folder.with_suffix(".py").is_file() or (folder / "__init__.py").is_file()


def upward_imports(tool: str, order: tuple[str, ...]) -> list[str]:
    """Returns the imports of a tool's modules that are against the order."""
    result = []
    for path in (TOOLS / tool).rglob("*.py"):
        relative = path.relative_to(TOOLS / tool)
        name = relative.with_suffix("").parts[0]
        if name != "__init__":
            result += [
                f"{relative} imports {parts[1]}"
                for parts in imports_of(path)
                if parts[0] == tool and len(parts) > 1
                if order.index(parts[1]) > order.index(name)
            ]
    return result


def test_the_model_imports_no_rendering() -> None:
    """The renderings (text, HTML, SVG, plain values) import the model, never the reverse."""
    assert upward_imports("inspection", INSPECTION) == []


def test_rules_and_probes_import_no_engine() -> None:
    assert upward_imports("conformance", CONFORMANCE) == []


def test_conformance_imports_no_inspection() -> None:
    """inspect judges by the functions of conformance, which knows nothing of it."""
    for path in (TOOLS / "conformance").rglob("*.py"):
        assert not any(each[0] == "inspection" for each in imports_of(path) if each), path


def test_no_modules_import_each_other() -> None:
    """The imports at the top of all modules of the tools form no cycle (CycleError)."""
    imports: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for path in TOOLS.rglob("*.py"):
        parts = path.relative_to(TOOLS).with_suffix("").parts
        own = parts[:-1] if parts[-1] == "__init__" else parts
        imports[own] = set(imports_of(path, at_top=True))
    assert sum(map(len, imports.values())) > len(imports)
    list(TopologicalSorter(imports).static_order())


def test_the_tools_do_not_depend_on_the_name_of_their_package() -> None:
    """The folder is dlbridge.tools and dlbridge_tools: docs/howto/ci.md."""
    for path in TOOLS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "dlbridge.tools" not in text, f"{path} names the package of the tools"
        assert "dlbridge_tools" not in text or path.name == "core.py", path
