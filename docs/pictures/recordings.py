# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of commands, with their own colours, drawn by rich."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import svg

CHECKOUT = Path(__file__).resolve().parents[2]
COLUMNS = 76
ESCAPES = re.compile(r"\x1b\[[\d;]*m")
LEFT_OUT = "  \x1b[2m...\x1b[0m"


@dataclass(frozen=True)
class Recording:
    title: str
    lines: list[str]  # with control sequences

    @property
    def plain(self) -> str:
        return ESCAPES.sub("", "\n".join(each.rstrip() for each in self.lines))

    def svg(self, theme: str) -> str:
        return drawn(self, theme)


# ---- inspect ----

EXPRESSION = "numpy:arange(6.)[::-1]"


def inspect() -> Recording:
    """The command's first lines, and the sections of memory and of consumers."""
    arguments = ["-m", "dlbridge", "inspect", EXPRESSION]
    variables = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    variables.pop("NO_COLOR", None)
    output = subprocess.run([sys.executable, *arguments], env=variables, check=True,
                            stdout=subprocess.PIPE, encoding="utf-8").stdout  # fmt: skip
    sections = {ESCAPES.sub("", each).split()[0]: each.splitlines()
                for each in output.strip().split("\n\n")}  # fmt: skip
    consumers = sections["Consumers"]
    verified = next(i for i, each in enumerate(consumers) if "Verified with" in each)
    lines = [
        f"\x1b[2m$\x1b[0m \x1b[1mpython -m dlbridge inspect '{EXPRESSION}'\x1b[0m",
        *sections["numpy.ndarray"],
        LEFT_OUT, "", *sections["Memory"],
        LEFT_OUT, "", *consumers[:verified],
    ]  # fmt: skip
    return Recording(f"Output of python -m dlbridge inspect {EXPRESSION}", lines)


# ---- refusals ----

TESTS = CHECKOUT / "examples" / "image_filter" / "tests"
SHOWN = "luma"


def fixed() -> dict[str, Recording]:
    """Recordings whose text a test of an example compares with what the example raises."""
    texts = (TESTS / "refusals.txt").read_text()
    message = re.search(
        rf"^\[{SHOWN}\]\n(.*?expected )(.*)(; got )(.*)(: )(.*)\n\[/{SHOWN}\]$", texts, re.MULTILINE
    )
    assert message
    before, expected, got, received, colon, reasons = message.groups()
    lines = [
        f"\x1b[2m>>>\x1b[0m \x1b[1m{call(SHOWN)}\x1b[0m",
        "Traceback (most recent call last):",
        LEFT_OUT,
        f"\x1b[1;31mTypeError\x1b[0m: {before}\x1b[32m{expected}\x1b[0m{got}"
        f"\x1b[33m{received}\x1b[0m{colon}\x1b[1;31m{reasons}\x1b[0m",
    ]
    return {"refusal": Recording("The error of a call with an unsuitable tensor", lines)}


def call(name: str) -> str:
    """The call of a test, as the test writes it."""
    tree = ast.parse((TESTS / "test_refusals.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if (isinstance(key, ast.Constant) and key.value == name
                        and isinstance(value, ast.Lambda)):  # fmt: skip
                    return ast.unparse(value.body).replace("'", '"')
    raise LookupError(name)


# ---- drawing ----

# The colours of a terminal: black, red, green, yellow, blue, magenta, cyan, white.
ANSI = {
    "light": ("1f2328", "c4132b", "116329", "8a5a00", "0969da", "8250df", "1b7c83", "59636e"),
    "dark": ("0d1117", "ff7b72", "56d364", "e3b341", "79c0ff", "d2a8ff", "56d4dd", "9198a1"),
}
FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d {height}" width="%d" role="img">
<title>%s</title>
<desc>%s</desc>
<style>
.{unique_id}-matrix {{ font-family: %s; font-size: {char_height}px; white-space: pre; }}
{styles}
</style>
<defs>{lines}</defs>
<rect x="1" y="1" width="%d" height="99%%" rx="10" fill="%s" stroke="%s"/>
<g transform="translate(24, 22)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def drawn(recording: Recording, theme: str) -> str:
    import io

    from rich.color import Color
    from rich.console import Console
    from rich.style import Style
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    colours = svg.THEMES[theme]
    rgb = [tuple(bytes.fromhex(each)) for each in ANSI[theme]]
    ground, ink = (tuple(bytes.fromhex(colours[name][1:])) for name in ("page", "text"))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True,
                      color_system="truecolor", legacy_windows=False)  # fmt: skip
    for line in recording.lines:
        text = Text.from_ansi(line)
        for i, span in enumerate(text.spans):  # rich would mix dim text with the background
            style = span.style
            if isinstance(style, Style) and style.dim:
                faint = Style(dim=False, color=Color.parse(colours["faint"]))
                text.spans[i] = span._replace(style=style + faint)
        console.print(text, soft_wrap=False)
    width = round(COLUMNS * 12.2) + 48  # rich gives a character 12.2 units
    texts = (escape(each).replace("{", "{{").replace("}", "}}")
             for each in (recording.title, recording.plain))  # fmt: skip
    layout = FORMAT % (width, width * 4 // 5, *texts, svg.MONO, width - 2, colours["page"],
                       colours["line"])  # fmt: skip
    drawing: str = console.export_svg(title="", theme=TerminalTheme(ground, ink, rgb),
                              unique_id="recording", code_format=layout)  # fmt: skip
    return drawing
