# SPDX-License-Identifier: BSD-3-Clause
"""The plots of bench/report.py, as SVG."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

Json = dict[str, Any]

# The palette of Okabe and Ito, which people with any colour vision can tell apart.
OURS, OTHER, GOOD, BAD = "#0072B2", "#B8BDC4", "#0072B2", "#D55E00"
COLOURS = {
    "dlbridge": "#0072B2",
    "def_fast": "#0072B2",
    "caster": "#56B4E9",
    "np": "#E69F00",
    "nanobind": "#CC79A7",
    "tvm_ffi": "#009E73",
    "torch": "#D55E00",
    "jax": "#8C6BB1",
    "empty": "#7A7F87",
}
TEXT, FAINT = "#22262B", "#E4E7EB"
STYLE = {
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # the first two have one width
    "font.size": 9,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "grid.color": FAINT,
    "svg.hashsalt": "dlbridge",  # the same file from the same figures
    "svg.fonttype": "none",  # text, which can be searched
}
MARKS = ("o", "s", "^", "D", "v")


def save(figure: Any, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def is_ours(name: str) -> bool:
    return name.startswith(("dlbridge", "Tensor", "def", "caster")) or "(Tensor)" in name[:18]


# ---- limits ----


def limits(report: Json, folder: Path) -> None:
    """Each ratio divided by its limit, on a logarithmic axis."""
    rows = [each for each in report["limits"] if each["kind"] == "time" and each["limit"]
            and "median" in each]  # fmt: skip
    rows.sort(key=lambda each: -each["median"] / each["limit"])
    figure, axes = plt.subplots(figsize=(9, 0.22 * len(rows) + 1.2))
    for y, row in enumerate(reversed(rows)):
        share = row["median"] / row["limit"]
        colour = GOOD if share <= 1 else BAD
        low, high = row["least"] / row["limit"], row["most"] / row["limit"]
        axes.plot([1, share], [y, y], color=colour, alpha=0.25, linewidth=3)
        axes.plot([low, high], [y, y], color=colour, linewidth=1.2)
        axes.plot(share, y, MARKS[0] if share <= 1 else MARKS[3], color=colour, markersize=5)
        theirs = row["theirs"] if isinstance(row["theirs"], str) else row["theirs"][0]
        beyond = max(high, 1) if share > 1 else max(1.0, high)
        axes.annotate(f"{row['median']:.2g} of {theirs}, limit {row['limit']:g}", (beyond, y),
                      xytext=(8, 0), textcoords="offset points", va="center", fontsize=7,
                      color=colour if share > 1 else TEXT)  # fmt: skip
    axes.axvline(1, color=TEXT, linewidth=0.8)
    axes.set_yticks(range(len(rows)), [each["ours"] for each in reversed(rows)], fontsize=7.5)
    axes.set_xscale("log")
    largest = max(each["median"] / each["limit"] for each in rows)
    axes.set_xlim(min(0.2, *(each["least"] / each["limit"] for each in rows)) * 0.9, largest * 12)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.grid(axis="x")
    axes.tick_params(length=0)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    axes.set_xlabel("share of the limit: circles left of 1 meet it, diamonds right of 1 miss it")
    axes.set_title("Ratios of times, and their limits")
    save(figure, folder, "limits")


# ---- ladders ----


def ladder(groups: dict[str, list[Json]], title: str, folder: Path, name: str) -> None:
    """Bars by group, each as a multiple of an empty call."""
    rows = [(group, each) for group, calls in groups.items() for each in
            sorted(calls, key=lambda each: each["median"])]  # fmt: skip
    gap = 1.6  # between groups, in bars
    figure, axes = plt.subplots(figsize=(9, 0.2 * (len(rows) + gap * len(groups)) + 1))
    y, ticks, labels = 0.0, [], []
    last = None
    most = max(each["median"] for _, each in rows)
    for group, each in rows:
        if group != last:
            y += gap
            axes.text(1, y - 0.9, group, fontsize=8, fontweight="bold", va="center")
            last = group
        ours = is_ours(each["name"])
        axes.barh(y, each["median"] - 0.9, left=0.9, height=0.72, color=OURS if ours else OTHER)
        axes.text(each["median"] * 1.06, y, f"{short(each['median'])}", va="center", fontsize=7)
        ticks.append(y)
        labels.append(each["name"])
        y += 1
    axes.set_yticks(ticks, labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_ylim(y - 0.3, gap - 1.6)
    axes.set_xscale("log")
    axes.set_xlim(0.9, most * 2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.grid(axis="x")
    axes.tick_params(length=0)
    axes.set_xlabel("multiples of an empty call (logarithmic); dlbridge in blue")
    axes.set_title(title)
    save(figure, folder, name)


def ladders(report: Json, folder: Path) -> None:
    groups: dict[str, list[Json]] = {}
    for each in report["calls"]:
        groups.setdefault(each["group"], []).append(each)
    imports = {name: calls for name, calls in groups.items() if name.startswith("from_dlpack(")}
    others = {name: calls for name, calls in groups.items()
              if name not in imports and name not in ("anchors", "sizes")}  # fmt: skip
    ladder(imports, "Imports, by producer", folder, "imports")
    ladder(others, "Conversions, exports, arguments and results", folder, "calls")


# ---- growth ----


def library_of(label: str) -> str:
    return label.replace(" ", ".").partition(".")[0].partition("(")[0]


def end_labels(axes: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Writes labels beside the ends of lines, moved apart."""
    low, high = axes.get_ylim()
    step = (high - low) / 15
    position = low - step
    for _, y, text, colour in sorted(ends, key=lambda end: end[1]):
        position = max(y, position + step)
        axes.annotate(text, (1, position), xycoords=("axes fraction", "data"), xytext=(5, 0),
                      textcoords="offset points", fontsize=7, color=colour, va="center",
                      annotation_clip=False)  # fmt: skip


def lines(axes: Axes, series: list[Json], logarithmic: bool) -> None:
    producers = sorted({each["label"].partition("(")[2] for each in series})
    ends = []
    for each in series:
        colour = COLOURS.get(library_of(each["label"]), OTHER)
        mark = MARKS[producers.index(each["label"].partition("(")[2]) % len(MARKS)]
        x = [max(point["x"], 1) if logarithmic else point["x"] for point in each["points"]]
        y = [point["multiple"] for point in each["points"]]
        axes.plot(x, y, color=colour, marker=mark, markersize=3.5,
                  linewidth=2 if is_ours(each["label"]) else 1.2)  # fmt: skip
        ends.append((x[-1], y[-1], each["label"], colour))
    values = [point["multiple"] for each in series for point in each["points"]]
    axes.set_ylim(0, max(values) * 1.12)  # from 0, so that a flat line looks flat
    if logarithmic:
        axes.set_xscale("log")
    axes.grid(axis="y")
    axes.tick_params(length=0, which="both")
    end_labels(axes, ends)


def growth(report: Json, folder: Path) -> None:
    sweeps = report["growth"]
    panels = len(sweeps) + len(report["threads"])
    rows = math.ceil(panels / 2)
    figure, grid = plt.subplots(rows, 2, figsize=(12, 2.9 * rows))
    flat = list(grid.flat)
    for axes, sweep in zip(flat, sweeps):
        shown = [each for each in sweep["series"]
                 if not ("tvm_ffi" in each["label"] and "(bare C)" in each["label"])
                 and "nanobind ndarray(bare C)" not in each["label"]]  # fmt: skip
        lines(axes, shown, sweep["logarithmic"])
        axes.set_title(f"By {sweep['name']}")
        axes.set_xlabel(sweep["x"])
        axes.set_ylabel("empty calls")
    for axes, run in zip(flat[len(sweeps) :], report["threads"]):
        ends: list[tuple[float, float, str, str]] = []
        for index, (name, rates) in enumerate(run["rates"].items()):
            ours = name != "empty call"
            colour = list(COLOURS.values())[index] if ours else COLOURS["empty"]
            x, y = [int(n) for n in rates], [rate / rates["1"] for rate in rates.values()]
            axes.plot(x, y, color=colour, marker=MARKS[index], markersize=3.5)
            ends.append((x[-1], y[-1], name, colour))
        axes.plot([1, 4], [1, 4], color=FAINT, linewidth=1, zorder=0)
        axes.set_ylim(0, 4.2)
        axes.set_xticks([1, 2, 4])
        axes.grid(axis="y")
        axes.tick_params(length=0, which="both")
        end_labels(axes, ends)
        gil = "with" if run["gil"] else "without"
        axes.set_title(f"By threads, CPython {run['python']} {gil} the GIL")
        axes.set_xlabel("threads")
        axes.set_ylabel("calls for each second,\nof one thread's")
    for axes in flat[panels:]:
        axes.set_visible(False)
    figure.tight_layout(w_pad=3, h_pad=1.8)
    save(figure, folder, "growth")


# ---- copies ----


def value(cell: Json, *names: str) -> Any:
    return next(cell[name] for name in names if name in cell)


def size_of(cell: Json) -> str:
    if "size" in cell:
        return str(cell["size"])
    size = cell["bytes"]
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:g} {unit}"
        size /= 1024
    return f"{size:g} GiB"


def copies(report: Json, folder: Path) -> None:
    """Layouts by element size and bytes; blue where dlbridge is faster than the other library."""
    cells = report["copies"]["cells"]
    states = list(dict.fromkeys(value(each, "state", "destination") for each in cells))
    layouts = list(dict.fromkeys(each["layout"] for each in cells))
    sizes = list(dict.fromkeys(map(size_of, cells)))
    items = sorted({value(each, "element_bytes", "item") for each in cells})
    columns = [(size, item) for size in sizes for item in items]
    height = 0.3 * len(layouts) + 1.3
    figure, grid = plt.subplots(len(states), 1, figsize=(0.36 * len(columns) + 2.5,
                                height * len(states)), squeeze=False)  # fmt: skip
    norm = TwoSlopeNorm(vmin=-3, vcenter=0, vmax=3)
    for axes, state in zip(grid[:, 0], states):
        values = [[math.nan] * len(columns) for _ in layouts]
        for each in cells:
            if value(each, "state", "destination") == state:
                column = columns.index((size_of(each), value(each, "element_bytes", "item")))
                values[layouts.index(each["layout"])][column] = each["ratio"]
        logs = [[math.log2(max(x, 1e-3)) if x == x else math.nan for x in row] for row in values]
        axes.imshow(logs, norm=norm, cmap="RdBu", aspect="auto")
        for y, row in enumerate(values):
            for x, ratio in enumerate(row):
                if ratio == ratio:
                    dark = abs(logs[y][x]) > 1.9
                    axes.text(x, y, short(ratio), ha="center", va="center", fontsize=6,
                              color="white" if dark else TEXT)  # fmt: skip
        axes.set_xticks(range(len(columns)), [str(item) for _, item in columns], fontsize=6.5)
        axes.set_yticks(range(len(layouts)), layouts, fontsize=7.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        for index, size in enumerate(sizes):
            axes.text((index + 0.5) * len(items) - 0.5, -0.75, size, ha="center", fontsize=8)
            if index:
                axes.axvline(index * len(items) - 0.5, color="white", linewidth=3)
        axes.set_title(f"Copies to {state} memory", pad=18)
        axes.set_xlabel("bytes of an element, by bytes of the tensor")
    figure.tight_layout()
    figure.text(0.01, -0.01, "time of the fastest other library divided by dlbridge's: above 1 "
                "(blue) dlbridge is faster, below 1 (red) it is slower", fontsize=8)  # fmt: skip
    save(figure, folder, "copies")


def draw(report: Json, folder: Path) -> None:
    matplotlib.use("Agg")
    with plt.rc_context(STYLE):
        limits(report, folder)
        growth(report, folder)
        if "calls" in report:
            ladders(report, folder)
        if "copies" in report:
            copies(report, folder)
