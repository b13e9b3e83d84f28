# SPDX-License-Identifier: BSD-3-Clause
"""Links and pictures of the pages as GitHub shows them.

A link to a file or folder of the checkout that is no page leads to the repository. A citation such
as "spec 1.2" leads to that section of reference/protocol.md. A picture in two versions follows the
colours of the site:

    <picture>
      <source media="(prefers-color-scheme: dark)" srcset="calls_dark.svg">
      <img src="calls.svg" alt="Time of each call">
    </picture>
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

CHECKOUT = Path(__file__).resolve().parents[2]
CHANGELOG = CHECKOUT / "CHANGELOG.md"  # the page reference/changelog includes it


class RepositoryLinks(SphinxTransform):
    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        kinds = (addnodes.pending_xref, addnodes.download_reference)
        for node in list(self.document.findall(lambda each: isinstance(each, kinds))):
            if node.get("reftype") == "myst":
                self.resolve(node)

    def resolve(self, node: nodes.Element) -> None:
        target, _, anchor = node["reftarget"].partition("#")
        folder = Path(self.env.doc2path(self.env.docname)).parent
        if node.get("refdomain") == "doc":  # the name of a page, from the folder of all pages
            target, anchor = f"{target}.md", node.get("reftargetid") or ""
            folder = Path(self.env.srcdir)
        if not target:
            return
        # The changelog, which a page includes, lies in the root of the checkout.
        candidates = [(each / target).resolve() for each in (folder, CHECKOUT)]
        path = next((each for each in candidates if each.exists()), None)
        if path is None or not path.is_relative_to(CHECKOUT):
            return  # Sphinx warns of it
        page = "reference/changelog" if path == CHANGELOG else self.env.path2doc(str(path))
        if page in self.env.found_docs:
            new: nodes.Element = addnodes.pending_xref(
                refdomain="doc", reftype="myst", reftarget=page, reftargetid=anchor or None,
                refdoc=self.env.docname, refexplicit=node.get("refexplicit", True),
            )  # fmt: skip
            new += node.children
        else:
            kind = "tree" if path.is_dir() else "blob"
            address = f"{self.config.repository}/{kind}/main/{path.relative_to(CHECKOUT)}"
            new = nodes.reference(refuri=f"{address}#{anchor}" if anchor else address)
            new += nodes.inline("", node.astext())
        node.replace_self(new)


PROTOCOL = "reference/protocol"
CITED = re.compile(r"(?<!Python )spec(?:ification)? (\d[.]\d)")


class Citations(SphinxTransform):
    default_priority = 210  # after the links of the page

    def apply(self, **kwargs: Any) -> None:
        text = Path(self.env.doc2path(PROTOCOL)).read_text()
        headings = re.findall(r"^### ((\d[.]\d).*)", text, re.MULTILINE)
        anchors = {
            section: re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading, section in headings
        }
        for node in list(self.document.findall(nodes.Text)):
            if isinstance(node.parent, (nodes.paragraph, nodes.emphasis)):
                self.link(node, anchors)

    def link(self, text: nodes.Text, anchors: dict[str, str]) -> None:
        parts: list[nodes.Node] = []
        end = 0
        for found in CITED.finditer(text):
            if found[1] in anchors:
                link = addnodes.pending_xref(
                    refdomain="doc", reftype="myst", reftarget=PROTOCOL,
                    reftargetid=anchors[found[1]], refdoc=self.env.docname, refexplicit=True,
                )  # fmt: skip
                link += nodes.inline("", found[0])
                parts += [nodes.Text(text[end : found.start()]), link]
                end = found.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])


class Pictures(SphinxTransform):
    default_priority = 200  # before Sphinx collects the images

    def apply(self, **kwargs: Any) -> None:
        for node in list(self.document.findall(nodes.raw)):
            if "<picture" in node.astext():
                node.replace_self(self.images(node.astext()))

    def images(self, text: str) -> list[nodes.Node]:
        found = {}
        for name, pattern in {
            "dark": r"<source[^>]*dark[^>]*srcset=\"([^\"]+)\"",
            "light": r"<img[^>]*src=\"([^\"]+)\"",
            "alt": r"<img[^>]*alt=\"([^\"]*)\"",
            "width": r"<img[^>]*width=\"([^\"]*)\"",
        }.items():
            match = re.search(pattern, text)
            found[name] = html.unescape(match[1]) if match else ""
        size = {"width": found["width"]} if found["width"] else {}
        return [
            nodes.image(uri=found[each], alt=found["alt"], classes=[f"only-{each}"], **size)
            for each in ("light", "dark")
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("repository", "", "env")
    app.add_transform(RepositoryLinks)
    app.add_transform(Citations)
    app.add_transform(Pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
