# SPDX-License-Identifier: BSD-3-Clause
"""Runs the notebooks of docs/: Markdown pages whose outputs are stored below their cells.

A Python block is a cell. The cells of a page run in their order and share one namespace. The output
of a cell is what it prints, and the value of its last expression, as in Jupyter. The block of text
that follows the cell stores it, with addresses as 0x.... Where the value displays an SVG picture,
as a dlbridge.Tensor does, docs/pictures stores the picture, and a link to it follows the cell.

Without an option, this program stores the outputs. --check writes nothing, and fails where an
output differs from the stored one.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import io
import re
import sys
from pathlib import Path

from check_pages import CHECKOUT, NOTEBOOKS

CELL = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n.*?^```\n|\n!\[(?P<label>[^]\n]*)\]\([^)\n]*\)\n)?",  # the stored output
    re.DOTALL | re.MULTILINE,
)
PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)
# A page that shows a picture as a file passes no colour on to it.
COLOURS = (
    "<style>svg { background: #ffffff; color: #1f2328; } @media (prefers-color-scheme: dark) "
    "{ svg { background: #0d1117; color: #f0f6fc; } }</style>"
)


def run_cell(code: str, name: str, namespace: dict[str, object]) -> tuple[str, str]:
    """Returns what a cell prints and shows, and its picture; each may be empty."""
    tree = ast.parse(code, name)
    value = None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    as_html = getattr(value, "_repr_html_", str)
    picture = PICTURE.search(as_html())
    if value is not None and picture is None:
        print(repr(value), file=printed)
    text = re.sub(r"\b0x[0-9a-f]+", "0x...", printed.getvalue()).rstrip()
    return text, picture[0].replace(">", f">{COLOURS}", 1) + "\n" if picture else ""


def run(text: str, page: Path) -> dict[Path, str]:
    """Returns the text of the page with the outputs of this run, and of its pictures."""
    namespace: dict[str, object] = {"__name__": page.stem}
    pictures: dict[Path, str] = {}

    def with_output(match: re.Match[str]) -> str:
        lines_above = text[: match.start("code")].count("\n") * "\n"  # for tracebacks
        shown, picture = run_cell(lines_above + match["code"], page.name, namespace)
        cell = f"```python\n{match['code']}```\n"
        if picture:
            file = page.parents[1] / "pictures" / f"{page.stem}_{len(pictures) + 1}.svg"
            pictures[file] = picture
            return f"{cell}\n![{match['label'] or 'picture'}](../pictures/{file.name})\n"
        return f"{cell}\n```text\n{shown}\n```\n" if shown else cell

    return {page: CELL.sub(with_output, text), **pictures}


def differences(files: dict[Path, str]) -> list[str]:
    """The lines in which stored files differ from those of a run."""
    found: list[str] = []
    for file, new in files.items():
        old = file.read_text() if file.exists() else ""
        found += difflib.unified_diff(
            old.splitlines(), new.splitlines(), f"{file.name}, stored", "this run", "", "", 1, ""
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; report differences")
    check = parser.parse_args().check
    faults = []
    for name in NOTEBOOKS:
        page = CHECKOUT / name
        files = run(page.read_text(), page)
        faults += differences(files)
        for file, text in files.items():
            if not check:
                file.parent.mkdir(exist_ok=True)
                file.write_text(text)
    if not check:
        return 0
    print(*faults, sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
