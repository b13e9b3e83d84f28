# SPDX-License-Identifier: BSD-3-Clause
"""The C++ reference: entries from the doc comments of the headers, in the groups of the pages.

Doxygen reads the headers, and Breathe renders its XML. A page names entries of the namespace
dlbridge, and macros:

    ```{cpp-entries}
    build
    python::import_tensor
    ```

Each public name of the headers belongs to one page: the build warns of any other, and of names that
no header declares. All overloads of a function belong to its name. A specialisation belongs to the
name of its template, and has an entry only if the template itself declares no members.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from breathe.directives.content_block import DoxygenNamespaceDirective
from cpp_xml import Entries, run_doxygen
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.cpp import CPPDomain
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

BLOCK = re.compile(r"^```\{cpp-entries\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
LOGGER = logging.getLogger(__name__)
# pybind11/ and nanobind/ declare the same names: the pages show those of pybind11/.
SHOWN_ONCE = "python/nanobind/"


def adapt(xml: Path, entries: Entries) -> None:
    """Replaces references to what has no entry by their text, and the names of classes by those
    within their namespace, which write_entry states. Leaves out deleted functions, and `inline`."""
    shown = {one.get("refid") for each in entries.by_name.values() for one in each}
    reference = re.compile(r"<ref refid=\"([^\"]+)\" kindref=\"(\w+)\"[^>]*>(.*?)</ref>")
    member = re.compile(r"\s*<memberdef .*?</memberdef>", re.DOTALL)
    deleted = re.compile(r"<argsstring>[^<]*=\s*delete</argsstring>")
    scope = re.compile(r"(<compoundname>)(?:dlbridge::python|dlbridge|std)::")

    def adapted(found: re.Match[str]) -> str:
        kept = found[1] in shown if found[2] == "compound" else found[1] not in entries.left_out
        return found[0 if kept else 3]

    for file in xml.glob("*.xml"):
        text = reference.sub(adapted, file.read_text().replace(' inline="yes"', ' inline="no"'))
        text = member.sub(lambda found: "" if deleted.search(found[0]) else found[0], text)
        is_class = file.name.startswith(("class", "struct"))
        file.write_text(scope.sub(r"\1", text) if is_class else text)


def write_entry(xml: Path, name: str, elements: list[ET.Element]) -> ET.Element:
    """Writes the elements as Doxygen writes a namespace. Returns its row of the index."""
    identifier = "entry_" + re.sub(r"\W", "_", name)
    root = ET.Element("doxygen", version="1.9")
    compound = ET.SubElement(root, "compounddef", id=identifier, kind="namespace")
    scope = {"python": "dlbridge::python", "std": "std"}.get(name.partition("::")[0], "dlbridge")
    ET.SubElement(compound, "compoundname").text = scope
    compound.extend(each for each in elements if each.tag == "innerclass")
    section = ET.SubElement(compound, "sectiondef", kind="user-defined")
    section.extend(each for each in elements if each.tag == "memberdef")
    ET.ElementTree(root).write(xml / f"{identifier}.xml", encoding="utf-8", xml_declaration=True)
    row = ET.Element("compound", refid=identifier, kind="namespace")
    ET.SubElement(row, "name").text = f"entry {name}"
    return row


def write_entries(app: Sphinx) -> None:
    xml, warnings = run_doxygen(Path(app.outdir).parent / "doxygen")
    for line in warnings:
        LOGGER.warning("doxygen: %s", line)
    app.config.breathe_projects = {"dlbridge": str(xml)}
    adapt(xml, Entries(xml, SHOWN_ONCE))
    entries = Entries(xml, SHOWN_ONCE).by_name
    pages: dict[str, Path] = {}
    for page in sorted((Path(app.srcdir) / "reference" / "cpp").glob("*.md")):
        for name in " ".join(BLOCK.findall(page.read_text())).split():
            if name not in entries:
                LOGGER.warning("%s: no header declares %s", page, name)
            elif name in pages:
                LOGGER.warning("%s: %s is also in %s", page, name, pages[name].name)
            pages[name] = page
    for name in sorted(set(entries) - set(pages)):
        LOGGER.warning("no page of docs/reference/cpp names %s", name)
    index = ET.parse(xml / "index.xml")
    index.getroot().extend(write_entry(xml, *each) for each in entries.items())
    index.write(xml / "index.xml", encoding="utf-8", xml_declaration=True)


def find_in_namespace(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.TextElement
) -> nodes.Element | None:
    """Resolves names in comments, which state no namespace; a namespace itself has no entry."""
    if node.get("refdomain") != "cpp":
        return None
    target = node["reftarget"]
    if target.removeprefix("dlbridge::") in ("dlbridge", "python"):
        return text
    node.attributes.pop("cpp:parent_key", None)
    for namespace in ("dlbridge::", "dlbridge::python::", "dlbridge::errc::"):
        found = env.domains["cpp"].resolve_xref(
            env, node["refdoc"], app.builder, node["reftype"], namespace + target, node, text
        )
        if found is not None:
            return found
    return None


def link_to_classes(app: Sphinx, doctree: nodes.document) -> None:
    """The name of a class within the class leads to it, and not to the constructor."""
    for node in doctree.findall(pending_xref):
        key = node.get("cpp:parent_key")
        if key and node["reftarget"] in [str(identifier) for identifier, *_ in key.data]:
            del node["cpp:parent_key"]


def name_conditions(app: Sphinx, doctree: nodes.document) -> None:
    """Breathe writes the command of Doxygen, `pre`, which Sphinx capitalises."""
    for name in doctree.findall(nodes.field_name):
        if name.astext() == "Pre":
            name.children = [nodes.Text("Requires")]


class Domain(CPPDomain):
    """Parameters are no objects, which the search would find."""

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        for each in super().get_objects():
            if each[2] not in ("functionParam", "templateParam"):
                yield each


class CppEntries(DoxygenNamespaceDirective):
    required_arguments = 0
    has_content = True

    def run(self) -> list[nodes.Node]:
        names, self.content = list(self.content), StringList()
        self.options = {"content-only": None, "members": ""}  # type: ignore[assignment]
        shown = []
        for name in names:
            self.arguments = [f"entry {name}"]
            shown += super().run()
        return shown


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("breathe")
    app.connect("builder-inited", write_entries)
    app.add_domain(Domain, override=True)
    app.connect("doctree-read", link_to_classes)
    app.connect("doctree-read", name_conditions)
    app.connect("missing-reference", find_in_namespace)
    app.add_directive("cpp-entries", CppEntries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
