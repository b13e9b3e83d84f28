# SPDX-License-Identifier: BSD-3-Clause
"""Names in the text of the references are code, and names that have an entry are links to it.

Doc comments and docstrings are plain text. A name is a word with an underscore, with :: or with a
dot before a name, a call, or an argument by keyword.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ARGUMENTS = r"\([\w, .=&*:]*\)"
NAME = {
    "cpp": re.compile(
        rf"(?<![\w/.<-])(?:\w+::)+~?\w+(?:{ARGUMENTS})?|(?<![\w/.<-])\w*[^\W_]_\w*(?:{ARGUMENTS})?"
        rf"|\b__\w+__(?:{ARGUMENTS})?|\bk?DL(?!Pack\b)[A-Z]\w+|\b\w+\(\)"
    ),
    "py": re.compile(
        rf"(?<![\w/.<-])(?:[a-z]\w*[.])+[A-Za-z_]\w+(?:{ARGUMENTS})?|\b\w*_\w*(?:{ARGUMENTS})?"
        rf"|\b[a-z]\w+{ARGUMENTS}|\b\w+=(?:True|False|None|\w+)?|\b(?:None|True|False)\b"
        r"|\b[A-Z]\w+(?:Error|Exception)\b|\bk?DL(?!Pack\b)[A-Z]\w+"
    ),
}
PLAIN = (nodes.literal, nodes.literal_block, nodes.reference, addnodes.pending_xref,
         addnodes.desc_signature, nodes.field_name)  # fmt: skip


def is_plain(node: nodes.Node | None) -> bool:
    while node is not None and not isinstance(node, addnodes.desc):
        if isinstance(node, PLAIN):
            return False
        node = node.parent
    return True


def linked(name: str, domain: str, page: str) -> nodes.Node:
    code = nodes.literal(name, name, classes=["xref"])
    target = re.sub(r"\(.*|=.*", "", name)
    role = {"cpp": "any", "py": "obj"}[domain]
    link = addnodes.pending_xref(
        "", code, refdomain=domain, reftype=role, reftarget=target, refdoc=page,
        refexplicit=True, in_text=True,
    )  # fmt: skip
    if domain == "py":
        link["py:module"] = "dlbridge"
        link["refspecific"] = False
    return link


def mark_names(app: Sphinx, doctree: nodes.document) -> None:
    for entry in doctree.findall(addnodes.desc):
        domain = entry.get("domain")
        if domain not in NAME or isinstance(entry.parent.parent, addnodes.desc):
            continue
        for text in list(entry.findall(nodes.Text)):
            if not is_plain(text):
                continue
            parts: list[nodes.Node] = []
            end = 0
            for found in NAME[domain].finditer(text):
                parts.append(nodes.Text(text[end : found.start()]))
                parts.append(linked(found[0], domain, app.env.docname))
                end = found.end()
            if parts:
                parts.append(nodes.Text(text[end:]))
                text.parent.replace(text, [each for each in parts if each.astext()])


def keep_text(app: Sphinx, env: Any, node: nodes.Element, text: nodes.Node) -> nodes.Node | None:
    """A name without an entry stays code."""
    return text if node.get("in_text") else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", mark_names)
    app.connect("missing-reference", keep_text, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
