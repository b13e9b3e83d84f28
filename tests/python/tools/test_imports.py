# SPDX-License-Identifier: BSD-3-Clause
"""The modules of the tools import one another in one direction, without cycles."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

from dlbridge import tools

TOOLS = Path(tools.__file__).parent

# The modules and folders of a tool, from the bottom: each imports only itself and those before it.
INSPECTION = ("reading", "consumers", "cases", "conclusions", "rendering", "inspection", "command")
CONFORMANCE = (
    *(
        "rules",
        "outcomes",
        "results",
        "waivers",
        "target",
        "registry",
        "helpers",
        "judgement",
        "probes",
    ),
    *("child", "lane", "engine", "report", "rendering"),
)


def upward_imports(tool: str, order: tuple[str, ...]) -> list[str]:
    """Returns the imports of a tool's modules that are against the order."""
    folder = TOOLS / tool
    pattern = re.compile(rf"^\s*from dlbridge\.tools\.{tool}\.(\w+)", re.MULTILINE)
    result = []
    for path in folder.rglob("*.py"):
        relative = path.relative_to(folder)
        name = relative.with_suffix("").parts[0]
        if name != "__init__":
            result += [
                f"{relative} imports {other}"
                for other in pattern.findall(path.read_text(encoding="utf-8"))
                if order.index(other) > order.index(name)
            ]
    return result


def test_the_model_imports_no_rendering() -> None:
    """The renderings (text, HTML, SVG, plain values) import the model, never the reverse."""
    assert upward_imports("inspection", INSPECTION) == []


def test_rules_and_probes_import_no_engine() -> None:
    assert upward_imports("conformance", CONFORMANCE) == []


def test_conformance_imports_no_inspection() -> None:
    """inspect judges by the functions of conformance, which knows nothing of it."""
    sources = [path.read_text(encoding="utf-8") for path in (TOOLS / "conformance").rglob("*.py")]
    assert not any("dlbridge.tools.inspection" in source for source in sources)


def test_no_modules_import_each_other() -> None:
    """The imports at the top of all modules of the tools form no cycle (CycleError)."""
    names = {}
    for path in TOOLS.rglob("*.py"):
        relative = path.relative_to(TOOLS.parent).with_suffix("")
        names[".".join(("dlbridge", *relative.parts)).removesuffix(".__init__")] = path
    imports: dict[str, set[str]] = {}
    for name, path in names.items():
        statements = re.findall(
            r"^from (dlbridge\.tools[\w.]*) import (?:\(([^)]*)\)|(.*))",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        imports[name] = set()
        for source, several, one in statements:
            members = {f"{source}.{each}" for each in re.findall(r"\w+", several or one)}
            imports[name] |= (members & names.keys()) or {source}
    list(TopologicalSorter(imports).static_order())
