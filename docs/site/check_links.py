# SPDX-License-Identifier: BSD-3-Clause
"""Checks the built site: each link, picture and script within it exists, and so does each anchor.

No page loads anything from another site. Links to other sites are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src", "srcset", "data") and value:
                (self.links if tag == "a" else self.loaded).append(value)


def faults(site: Path) -> list[str]:
    pages = {each: Page(each.read_text()) for each in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for each in page.links + page.loaded:
            link = urlsplit(each)
            if link.scheme or link.netloc:
                if each in page.loaded and link.scheme != "data":
                    found.append(f"{where}: loads {each}")
                continue
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            if not target.exists():
                found.append(f"{where}: no file {each}")
            elif target in pages and unquote(link.fragment) not in pages[target].anchors:
                found.append(f"{where}: no anchor {each}")
    print(f"{len(pages)} pages, {sum(len(each.links) for each in pages.values())} links")
    return found


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]).resolve())
    print("\n".join(found))
    sys.exit(bool(found))
