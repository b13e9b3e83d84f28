# SPDX-License-Identifier: BSD-3-Clause
"""Elements of SVG, with the colours of a light and a dark page."""

from __future__ import annotations

from pathlib import Path
from typing import Union
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

# The hues are those of Okabe and Ito, which people with any colour vision can tell apart.
THEMES = {
    "light": {
        "page": "#ffffff", "card": "#f6f8fa", "line": "#d0d7de", "text": "#1f2328",
        "faint": "#59636e", "first": "#0072b2", "second": "#b34700", "third": "#007a5a",
    },
    "dark": {
        "page": "#0d1117", "card": "#161b22", "line": "#3d444d", "text": "#f0f6fc",
        "faint": "#9198a1", "first": "#56b4e9", "second": "#e69f00", "third": "#2fc79a",
    },
}  # fmt: skip
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
Value = Union[str, int, float]


def element(name: str, content: str = "", /, **attributes: Value) -> str:
    """An element; `_` in the name of an attribute stands for `-`."""
    pairs = "".join(f" {key.replace('_', '-')}={quoteattr(str(value))}"
                    for key, value in attributes.items())  # fmt: skip
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def text(x: float, y: float, words: str, fill: str, size: float = 14, **attributes: Value) -> str:
    return element("text", escape(words), x=x, y=y, fill=fill, font_size=size, **attributes)


def code(x: float, y: float, words: str, fill: str, size: float = 14, **attributes: Value) -> str:
    return text(x, y, words, fill, size, font_family=MONO, **attributes)


def box(x: float, y: float, width: float, height: float, **attributes: Value) -> str:
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def picture(width: int, height: int, theme: str, title: str, words: str, body: list[str]) -> str:
    """A whole file. `title` and `words` are what a screen reader reads."""
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" font-family="{SANS}">')  # fmt: skip
    page = box(0.5, 0.5, width - 1, height - 1, rx=8, fill=THEMES[theme]["page"],
               stroke=THEMES[theme]["line"])  # fmt: skip
    parts = [element("title", escape(title)), element("desc", escape(words)), page, *body]
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def description(file: Path) -> str:
    """The text that `picture` stored in a file."""
    found = ElementTree.parse(file).getroot().findtext("{http://www.w3.org/2000/svg}desc")
    assert found is not None, file
    return found
