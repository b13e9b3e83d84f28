# SPDX-License-Identifier: BSD-3-Clause
"""One exchange, recorded while it happens: where each object has its data, and who owns it when."""

from __future__ import annotations

import json
import math
import re
import weakref
from typing import Any

import svg

Record = dict[str, Any]

# The program of both pictures. The objects are observed after each line.
PROGRAM = (
    'a = np.arange(6, dtype="float32").reshape(2, 3)',
    "c = dlbridge.to_dlpack(a)",
    "t = torch.from_dlpack(c)",
    "del a",
    "del t",
)


def record() -> Record:
    import numpy as np
    import torch

    import dlbridge

    names: dict[str, Any] = {"np": np, "dlbridge": dlbridge, "torch": torch}
    steps: list[Record] = []
    found: Record = {"program": PROGRAM, "steps": steps}
    array: Any = None
    for line in PROGRAM:
        exec(line, names)
        target = line.split()[0]
        if target == "a":
            a = names["a"]
            array = weakref.ref(a if a.base is None else a.base)  # the one that owns the memory
            found["values"] = a.ravel().tolist()
            found["a"] = {"dtype": str(a.dtype), "shape": a.shape, "strides": a.strides,
                          "data": hex(a.ctypes.data)}  # fmt: skip
            del a
        elif target == "c":
            tensor = dlbridge.inspect(names["c"]).tensor
            assert tensor is not None
            found["c"] = {"dtype": tensor.dtype, "shape": tensor.shape, "strides": tensor.strides,
                          "data": hex(tensor.data + tensor.byte_offset)}  # fmt: skip
            del tensor
        elif target == "t":
            t = names["t"]
            found["t"] = {"dtype": str(t.dtype), "shape": tuple(t.shape), "strides": t.stride(),
                          "data": hex(t.data_ptr())}  # fmt: skip
            del t
        capsule = re.search(r'"(\w+)"', repr(names["c"])) if "c" in names else None
        steps.append({
            "names": [each for each in "act" if each in names],
            "capsule": capsule[1] if capsule else None,
            "memory": array() is not None,
        })  # fmt: skip
    return found


def comparable(found: Record) -> Record:
    """The record as JSON has it, with its addresses numbered in their order."""
    addresses = list(dict.fromkeys(found[name]["data"] for name in "act"))
    numbered = {name: {**found[name], "data": addresses.index(found[name]["data"])}
                for name in "act"}  # fmt: skip
    plain: Record = json.loads(json.dumps({**found, **numbered}))
    return plain


def draw(found: Record, theme: str) -> dict[str, str]:
    return {"exchange": exchange(found, theme), "lifetime": lifetime(found, theme)}


HUES = {"a": "first", "c": "second", "t": "third"}


def line_of_code(x: float, y: float, line: str, colours: dict[str, str], size: float) -> str:
    """A line with its own names in their colours."""
    parts = []
    for part in re.split(r"(\b[act]\b)", line):
        colour = colours[HUES[part]] if part in HUES else colours["text"]
        weight = "bold" if part in HUES else "normal"
        if part:
            parts.append(svg.element("tspan", part.replace("&", "&amp;"), fill=colour,
                                     font_weight=weight))  # fmt: skip
    return svg.element("text", "".join(parts), x=x, y=y, font_size=size, font_family=svg.MONO,
                       **{"xml:space": "preserve"})  # fmt: skip


# ---- where ----

CARD, GAP, MARGIN = 210, 39, 24
WIDTH = 3 * CARD + 2 * GAP + 2 * MARGIN
CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


def in_parentheses(numbers: Any) -> str:
    return f"({', '.join(map(str, numbers))}{',' if len(numbers) == 1 else ''})"


def card(x: float, y: float, name: str, title: str, role: str, rows: list[tuple[str, str]],
         colours: dict[str, str]) -> list[str]:  # fmt: skip
    hue = colours[HUES[name]]
    height = 82 + 24 * len(rows)
    parts = [
        svg.box(x, y, CARD, height, rx=8, fill=colours["card"], stroke=colours["line"]),
        svg.code(x + 16, y + 32, name, hue, 22, font_weight="bold"),
        svg.text(x + 40, y + 32, title, colours["text"], 17, font_weight=600),
        svg.text(x + 16, y + 56, role, colours["faint"], 13.5),
    ]
    for i, (label, value) in enumerate(rows):
        base = y + 86 + 24 * i
        colour = hue if label == "data" else colours["text"]
        parts.append(svg.text(x + 16, base, label, colours["faint"], 13.5))
        parts.append(svg.code(x + CARD - 14, base, value, colour, 13.5, text_anchor="end",
                              font_weight="bold" if label == "data" else "normal"))  # fmt: skip
    return parts


def arrow(path: str, tip: tuple[float, float], degrees: float, colour: str) -> list[str]:
    head = f"translate({tip[0]} {tip[1]}) rotate({degrees})"
    return [
        svg.element("path", d=path, fill="none", stroke=colour, stroke_width=2),
        svg.element("path", d="M0 0 L-9 -4.5 L-9 4.5 Z", fill=colour, transform=head),
    ]


def exchange(found: Record, theme: str) -> str:
    colours = svg.THEMES[theme]
    size = 14.5
    body = [line_of_code(MARGIN, 40 + 25 * i, line, colours, size)
            for i, line in enumerate(found["program"][:3])]  # fmt: skip
    code, bits, lanes = found["c"]["dtype"]
    dtypes = {
        "a": found["a"]["dtype"],
        "c": f"{CODES[code]}, {bits} bits" + (f" x {lanes}" if lanes > 1 else ""),
        "t": found["t"]["dtype"].removeprefix("torch."),
    }
    words = {
        "a": ("NumPy array", "owns the memory", "bytes"),
        "c": ("managed tensor", "keeps a alive", "elements"),
        "t": ("PyTorch tensor", "calls the deleter at its end", "elements"),
    }
    top = 114
    bottom = top + 82 + 24 * 4
    memory = bottom + 74
    cell = 78
    start = (WIDTH - cell * len(found["values"])) / 2
    centres = {}
    for i, (name, (title, role, unit)) in enumerate(words.items()):
        x = MARGIN + i * (CARD + GAP)
        rows = [
            ("dtype", dtypes[name]),
            ("shape", in_parentheses(found[name]["shape"])),
            ("strides", f"{in_parentheses(found[name]['strides'])} {unit}"),
            ("data", found[name]["data"]),
        ]
        body += card(x, top, name, title, role, rows, colours)
        centres[name] = x + CARD / 2
        if i:
            y = top + 26
            body += arrow(f"M{x - GAP + 6} {y} H{x - 12}", (x - 5, y), 0, colours["faint"])
    # All three lead to the first byte of one block, whose address each object states.
    assert len({found[name]["data"] for name in "act"}) == 1
    for name, shift in (("a", 12), ("c", 26), ("t", 40)):
        middle, tip = centres[name], start + shift
        curve = f"C{middle} {bottom + 44} {tip} {bottom + 16} {tip} {memory - 10}"
        body += arrow(f"M{middle} {bottom} {curve}", (tip, memory - 3), 90, colours[HUES[name]])
    item = bits * lanes // 8
    for i, value in enumerate(found["values"]):
        left = start + i * cell
        body.append(svg.box(left, memory, cell, 44, fill=colours["card"], stroke=colours["text"],
                            stroke_width=1.5))  # fmt: skip
        body.append(svg.code(left + cell / 2, memory + 28, f"{value:g}", colours["text"], 17,
                             text_anchor="middle"))  # fmt: skip
    body.append(svg.code(start, memory + 66, found["a"]["data"], colours["faint"], 13.5))
    size_text = f"{item * math.prod(found['a']['shape'])} bytes: one block, never copied"
    body.append(svg.text(start + cell * len(found["values"]), memory + 66, size_text,
                         colours["text"], 14.5, text_anchor="end", font_weight=600))  # fmt: skip
    description = (
        f"Three lines of Python. {'; '.join(found['program'][:3])}. The NumPy array a, the managed "
        f"tensor in the capsule c and the PyTorch tensor t state the same address, "
        f"{found['a']['data']}: one block of memory, which is never copied. a owns the memory, the "
        "managed tensor keeps a alive, and t calls the deleter at its end."
    )
    return svg.picture(WIDTH, memory + 90, theme, "A tensor crosses between two libraries",
                       description, body)  # fmt: skip


# ---- when ----


def spans(present: list[str | None]) -> list[tuple[int, int, str]]:
    """The runs of one label, as the first row, the row after the last, and the label."""
    runs: list[tuple[int, int, str]] = []
    for i, label in enumerate(present):
        if label is None:
            continue
        if runs and runs[-1][1] == i and runs[-1][2] == label:
            runs[-1] = (runs[-1][0], i + 1, label)
        else:
            runs.append((i, i + 1, label))
    return runs


def owner(step: Record) -> str | None:
    """Who owns the managed tensor: the capsule, until a consumer has taken it and renamed it."""
    if step["capsule"] is None or not step["memory"]:
        return None
    return "t" if step["capsule"].startswith("used_") else "c"


def lifetime(found: Record, theme: str) -> str:
    colours = svg.THEMES[theme]
    steps = found["steps"]
    row, top, left = 42, 64, 424
    width = 96
    columns: list[tuple[str, list[str | None], dict[str, str]]] = [
        ("name a", ["a" if "a" in each["names"] else None for each in steps], {"a": "exists"}),
        ("managed tensor", [owner(each) for each in steps],
         {"c": "owned by c", "t": "owned by t"}),
        ("memory", ["x" if each["memory"] else None for each in steps], {"x": "allocated"}),
    ]  # fmt: skip
    hues = {"a": "first", "c": "second", "t": "third", "x": "faint"}
    ends = {"managed tensor": "deleter runs", "memory": "freed"}
    body = []
    for i, line in enumerate(found["program"]):
        y = top + row * i
        if i:
            body.append(svg.element("line", x1=MARGIN, x2=WIDTH - MARGIN, y1=y, y2=y,
                                    stroke=colours["line"]))  # fmt: skip
        body.append(line_of_code(MARGIN, y + row / 2 + 5, line, colours, 13.5))
    for i, (head, present, labels) in enumerate(columns):
        x = left + i * (width + 10)
        centre = x + width / 2
        lines = head.split(" ") if len(head) > 8 else [head]
        for j, word in enumerate(reversed(lines)):
            body.append(svg.text(centre, top - 14 - 17 * j, word, colours["text"], 14.5,
                                 text_anchor="middle", font_weight=600))  # fmt: skip
        for first, end, label in spans(present):
            hue = colours[hues[label]]
            y, height = top + row * first + 3, row * (end - first) - 6
            body.append(svg.box(x, y, width, height, fill=colours["page"]))  # hides the lines
            body.append(svg.box(x, y, width, height, rx=6, fill=hue, fill_opacity=0.16,
                                stroke=hue, stroke_width=1.5))  # fmt: skip
            body.append(svg.text(centre, y + height / 2 + 5, labels[label], colours["text"], 13.5,
                                 text_anchor="middle"))  # fmt: skip
        last = max(end for _, end, _ in spans(present))
        if head in ends and last < len(steps):
            body.append(svg.text(centre, top + row * last + row / 2 + 5, ends[head],
                                 colours["text"], 13.5, text_anchor="middle",
                                 font_weight=600))  # fmt: skip
    description = (
        f"The program {'; '.join(found['program'])}. The capsule c owns the managed tensor until "
        "PyTorch takes it; then t owns it. The memory stays allocated after del a. At del t, the "
        "deleter runs, and the memory is freed."
    )
    return svg.picture(WIDTH, top + row * len(steps) + 12, theme,
                       "Who owns the managed tensor, and when the deleter runs", description,
                       body)  # fmt: skip
