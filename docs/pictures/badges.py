# SPDX-License-Identifier: BSD-3-Clause
"""The badges of README.md, each with a fact that a file of this checkout states."""

from __future__ import annotations

import re
from pathlib import Path

import svg

CHECKOUT = Path(__file__).resolve().parents[2]
FACTS = (  # label, file, pattern
    ("C++", "CMakeLists.txt", r"cxx_std_(\d+)"),
    ("Python", "pyproject.toml", r'requires-python = ">=(?P<least>3\.\d+)"'),
    ("license", "pyproject.toml", r'license = "([^" ]+)'),
)
TABLE = re.compile(r"<!-- table: begin -->\n.*?\n.*?\n(.*?)<!-- table: end -->", re.DOTALL)
HEIGHT = 20


def facts() -> dict[str, str]:
    """The text of each badge by its label."""
    found = {}
    for label, file, pattern in FACTS:
        match = re.search(pattern, (CHECKOUT / file).read_text())
        assert match is not None, f"{file} has no {pattern}"
        found[label] = match[1] + ("+" if "least" in match.groupdict() else "")
    table = TABLE.search((CHECKOUT / "docs" / "generated" / "peers.md").read_text())
    assert table is not None
    libraries = {line.split("|")[1].strip() for line in table[1].splitlines()}
    found["libraries tested"] = str(len(libraries))
    return found


def badge(label: str, words: str) -> str:
    left, right = (round(6.4 * len(each)) + 14 for each in (label, words))
    centre = HEIGHT / 2 + 4
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" '
        f'role="img" font-family="{svg.SANS}" font-weight="500" text-anchor="middle">',
        svg.element("title", f"{label} {words}"),
        svg.box(0, 0, left + right, HEIGHT, rx=3, fill=svg.THEMES["light"]["first"]),
        f'<path d="M3 0h{left - 3}v{HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#4b535d"/>',
        svg.text(left / 2, centre, label, "#ffffff", 11),
        svg.text(left + right / 2, centre, words, "#ffffff", 11),
        "</svg>",
    ]) + "\n"  # fmt: skip


def draw() -> dict[str, str]:
    """Each badge by the name of its file."""
    return {
        f"badge-{re.sub('[^a-z]+', '-', label.lower()).strip('-')}.svg": badge(label, words)
        for label, words in facts().items()
    }
