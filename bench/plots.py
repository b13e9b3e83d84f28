# SPDX-License-Identifier: BSD-3-Clause
"""The plots of bench/report.py, as SVG, each for a light and for a dark page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm
from matplotlib.ticker import MaxNLocator, NullLocator
from report import LIBRARIES, TEN

Json = dict[str, Any]

# The hues of Okabe and Ito, which people with any colour vision can tell apart, lighter on dark.
THEMES = {
    "light": {
        "page": "#ffffff", "text": "#1f2328", "quiet": "#59636e", "faint": "#e4e7eb",
        "blue": "#0072b2", "sky": "#3a9bd0", "orange": "#c97f00", "pink": "#b5598f",
        "green": "#008a66", "red": "#c24a00", "violet": "#7a5ab0", "grey": "#b8bdc4",
    },
    "dark": {
        "page": "#0d1117", "text": "#f0f6fc", "quiet": "#9198a1", "faint": "#2a313a",
        "blue": "#56b4e9", "sky": "#9fd3f2", "orange": "#e69f00", "pink": "#e39ac5",
        "green": "#2fc79a", "red": "#ff8b4d", "violet": "#b79be0", "grey": "#59636e",
    },
}  # fmt: skip
HUES = {
    "dlbridge": "blue", "def_fast": "blue", "def": "sky", "caster": "sky", "np": "orange",
    "ndarray": "orange", "other": "quiet", "nanobind": "pink", "tvm_ffi": "green",
    "torch": "red", "jax": "violet",
}  # fmt: skip
theme = "light"  # set by draw


def colour(name: str) -> str:
    return THEMES[theme][name]


def style() -> dict[str, Any]:
    text, faint = colour("text"), colour("faint")
    return {
        "figure.facecolor": colour("page"),
        "axes.facecolor": colour("page"),
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # the first two: one width
        "font.size": 9,
        "text.color": text,
        "axes.labelcolor": text,
        "axes.edgecolor": faint,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.axisbelow": True,
        "xtick.color": text,
        "ytick.color": text,
        "grid.color": faint,
        "svg.hashsalt": "dlbridge",  # the same file from the same figures
        "svg.fonttype": "none",  # text, which can be searched
    }


MARKS = ("o", "s", "^", "D", "v")


def save(figure: Any, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}-{theme}.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def nanoseconds(value: float) -> str:
    """
    >>> nanoseconds(24.2), nanoseconds(1000), nanoseconds(12300)
    ('24 ns', '1 µs', '12.3 µs')
    """
    return f"{value:.0f} ns" if value < 1000 else f"{value / 1000:.3g} µs"


# ---- limits ----


def limits(report: Json, folder: Path) -> None:
    """Each ratio divided by its limit, on a logarithmic axis."""
    rows = [each for each in report["limits"] if each["kind"] == "time" and each["limit"]
            and "median" in each]  # fmt: skip
    rows.sort(key=lambda each: -each["median"] / each["limit"])
    figure, axes = plt.subplots(figsize=(9, 0.22 * len(rows) + 1.2))
    for y, row in enumerate(reversed(rows)):
        share = row["median"] / row["limit"]
        hue = colour("blue" if share <= 1 else "red")
        low, high = row["least"] / row["limit"], row["most"] / row["limit"]
        axes.plot([1, share], [y, y], color=hue, alpha=0.25, linewidth=3)
        axes.plot([low, high], [y, y], color=hue, linewidth=1.2)
        axes.plot(share, y, MARKS[0] if share <= 1 else MARKS[3], color=hue, markersize=5)
        theirs = row["theirs"] if isinstance(row["theirs"], str) else row["theirs"][0]
        beyond = max(high, 1) if share > 1 else max(1.0, high)
        axes.annotate(f"{row['median']:.2g} of {theirs}, limit {row['limit']:g}", (beyond, y),
                      xytext=(8, 0), textcoords="offset points", va="center", fontsize=7,
                      color=hue if share > 1 else colour("text"))  # fmt: skip
    axes.axvline(1, color=colour("text"), linewidth=0.8)
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


# ---- calls ----

# Each row of a panel: its label, and the calls in it by what makes them.
Rows = list[tuple[str, dict[str, str]]]

PRODUCERS = {
    "ndarray": "a NumPy array",
    "ndarray subclass": "an array of a subclass of ndarray",
    "Tensor": "a dlbridge.Tensor",
    "torch": "a PyTorch tensor",
    "jax": "a JAX array",
    "tvm_ffi": "a tvm-ffi tensor",
    "nanobind": "a nanobind array",
    "bare C": "an object of a C type with an\nexchange table, without checks",
    "ndarray by protocol": "an object of Python that\nhands on an ndarray's capsule",
}
IMPORTERS = {"dlbridge": "dlbridge", "np": "NumPy", "tvm_ffi": "tvm-ffi", "torch": "PyTorch",
             "jax": "jax.numpy"}  # fmt: skip
IMPORTS: Rows = [
    (label, {name: f"{'jax.numpy' if name == 'jax' else name}.from_dlpack({producer})"
             for name in IMPORTERS})
    for producer, label in PRODUCERS.items()
]  # fmt: skip
CALLERS = {"def_fast": "dlbridge::def_fast", "def": "dlbridge::def", "caster": "dlbridge's caster",
           "nanobind": "nanobind::ndarray", "tvm_ffi": "tvm-ffi"}  # fmt: skip
CALLS_OF = {"def_fast": "def_fast", "def": "def", "caster": "caster",
            "nanobind": "nanobind ndarray", "tvm_ffi": "tvm_ffi nop"}  # fmt: skip
ARGUMENTS: Rows = [
    (PRODUCERS[given].partition("\n")[0].removesuffix(" with an"),
     {name: f"{call}({given})" for name, call in CALLS_OF.items()})
    for given in ("Tensor", "ndarray", "torch", "bare C")
]  # fmt: skip
MAKERS = {"def_fast": "dlbridge::def_fast", "nanobind": "nanobind",
          "ndarray": "np.empty, torch.from_numpy, jax.numpy.asarray"}  # fmt: skip
RESULTS: Rows = [
    ("as a NumPy array", {"def_fast": "def_fast returns to numpy",
                          "nanobind": "nanobind returns to numpy", "ndarray": "np.empty"}),
    ("as a PyTorch tensor", {"def_fast": "def_fast returns to torch",
                             "nanobind": "nanobind returns to torch",
                             "ndarray": "torch.from_numpy"}),
    ("as a JAX array", {"def_fast": "def_fast returns to jax",
                        "nanobind": "nanobind returns to jax", "ndarray": "jax.numpy.asarray"}),
]  # fmt: skip
EXPORTERS = {"dlbridge": "dlbridge", "other": "other libraries"}
EXPORTS: Rows = [
    (label, {"dlbridge" if name == "Tensor" else "other": f"{name}.__dlpack__(max_version)"})
    for name, label in (("Tensor", "dlbridge.Tensor"), ("nanobind", "nanobind"),
                        ("tvm_ffi", "tvm-ffi"), ("ndarray", "NumPy"), ("jax", "JAX"),
                        ("torch", "PyTorch"))
]  # fmt: skip


def dots(axes: Axes, times: dict[str, float], rows: Rows, names: dict[str, str]) -> None:
    """A row for each case and a mark for each way to do it, on a logarithmic axis."""
    for y, (_, calls) in enumerate(rows):
        found = {name: times[call] for name, call in calls.items() if call in times}
        if not found:
            continue
        axes.plot([min(found.values()), max(found.values())], [y, y], color=colour("faint"),
                  linewidth=2, zorder=1)  # fmt: skip
        for name, value in found.items():
            first = name == next(iter(names))
            axes.plot(value, y, MARKS[list(names).index(name)], color=colour(HUES[name]),
                      markersize=8 if first else 6, zorder=3 if first else 2)  # fmt: skip
        least = min(found, key=lambda name: found[name])
        axes.annotate(nanoseconds(found[least]), (found[least], y), xytext=(-9, 0),
                      textcoords="offset points", ha="right", va="center", fontsize=9,
                      color=colour(HUES[least]))  # fmt: skip
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda x, _: nanoseconds(x))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    handles = [plt.Line2D([], [], color=colour(HUES[name]), marker=MARKS[i], linestyle="",
                          markersize=8 if i == 0 else 6, label=label)
               for i, (name, label) in enumerate(names.items())]  # fmt: skip
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=5,
                frameon=False, handletextpad=0.1, columnspacing=1.2,
                fontsize=9).set_in_layout(False)  # fmt: skip


LOGARITHMIC = "time of one call; each line of the scale is ten times the one before"


def panels(report: Json, shown: list[tuple[str, Rows, dict[str, str]]], folder: Path,
           name: str) -> None:  # fmt: skip
    times = {each["name"]: each["a_ns"] for each in report["calls"]}
    heights = [0.36 * len(rows) + 0.9 for _, rows, _ in shown]
    figure, grid = plt.subplots(len(shown), 1, figsize=(8, sum(heights) + 0.4), squeeze=False,
                                sharex=True, height_ratios=heights,
                                layout="constrained")  # fmt: skip
    for axes, (title, rows, names) in zip(grid[:, 0], shown):
        dots(axes, times, rows, names)
        axes.set_title(title, pad=26, fontsize=11)
    grid[-1, 0].set_xlim(2, 50_000)
    grid[-1, 0].set_xlabel(LOGARITHMIC, color=colour("quiet"))
    save(figure, folder, name)


def calls(report: Json, folder: Path) -> None:
    panels(report, [("Users of Python: from_dlpack of ...", IMPORTS, IMPORTERS)], folder, "imports")
    panels(report, [
        ("Authors of extensions: a call of a C++ function with ...", ARGUMENTS, CALLERS),
        ("Authors of extensions: a C++ function returns its memory ...", RESULTS, MAKERS),
        ("Authors of array libraries: x.__dlpack__(max_version=...)", EXPORTS, EXPORTERS),
    ], folder, "calls")  # fmt: skip


def ten(report: Json, folder: Path) -> None:
    rows = [(label.replace("`", ""), calls) for label, calls in TEN]
    panels(report, [("Time of one call ...", rows, LIBRARIES)], folder, "ten")


# ---- peers ----

PEERS = (("def_fast", "dlbridge::def_fast", "blue"), ("def", "dlbridge::def", "blue"),
         ("nanobind ndarray", "nanobind::ndarray", "grey"),
         ("tvm_ffi nop", "tvm-ffi", "grey"))  # fmt: skip


def peers(report: Json, folder: Path) -> None:
    """The time of one call beside that of other libraries, for the first page."""
    times = {each["name"]: each["a_ns"] for each in report["calls"]}
    given = (("ndarray", "a NumPy array"), ("torch", "a PyTorch tensor"))
    figure, grid = plt.subplots(1, 2, figsize=(8.2, 2.9), sharey=True, layout="constrained")
    for axes, (argument, title) in zip(grid, given):
        values = [times[f"{call}({argument})"] for call, _, _ in PEERS]
        for y, (value, (_, _, hue)) in enumerate(zip(values, PEERS)):
            axes.barh(y, value, height=0.62, color=colour(hue))
            axes.annotate(f"{value:,.0f} ns", (value, y), xytext=(6, 0), va="center",
                          textcoords="offset points", fontsize=12,
                          fontweight="bold" if hue == "blue" else "normal")  # fmt: skip
        axes.set_xlim(0, max(values) * 1.3)
        axes.set_xticks([])
        axes.set_title(title, fontsize=12.5, fontweight="normal", color=colour("quiet"))
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(length=0)
    grid[0].set_yticks(range(len(PEERS)), [label for _, label, _ in PEERS], fontsize=12.5)
    grid[0].invert_yaxis()
    figure.suptitle("Time of one call of a C++ function with one tensor", x=0.01, ha="left",
                    fontsize=14.5, fontweight="bold")  # fmt: skip
    here = report["environment"]
    figure.supxlabel(
        f"Shorter is better; each half has its own scale. {here['processor']}, "
        f"CPython {here['python']}.\nnanobind and tvm-ffi check fewer properties of the tensor.",
        x=0.01, ha="left", fontsize=10.5, color=colour("quiet"),
    )  # fmt: skip
    save(figure, folder, "peers")


# ---- growth ----


def library_of(label: str) -> str:
    return label.replace(" ", ".").partition(".")[0].partition("(")[0]


def colour_of(label: str) -> str:
    return colour(HUES.get(library_of(label), "quiet"))


def end_labels(axes: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Writes labels beside the ends of lines, moved apart."""
    low, high = axes.get_ylim()
    step = (high - low) / 15
    position = low - step
    for _, y, text, hue in sorted(ends, key=lambda end: end[1]):
        position = max(y, position + step)
        axes.annotate(text, (1, position), xycoords=("axes fraction", "data"), xytext=(5, 0),
                      textcoords="offset points", fontsize=8, color=hue, va="center",
                      annotation_clip=False)  # fmt: skip


def lines(axes: Axes, series: list[Json], logarithmic: bool) -> None:
    producers = sorted({each["label"].partition("(")[2] for each in series})
    ends = []
    for each in series:
        hue = colour_of(each["label"])
        mark = MARKS[producers.index(each["label"].partition("(")[2]) % len(MARKS)]
        x = [max(point["x"], 1) if logarithmic else point["x"] for point in each["points"]]
        y = [point["multiple"] for point in each["points"]]
        axes.plot(x, y, color=hue, marker=mark, markersize=3.5,
                  linewidth=2 if hue == colour("blue") else 1.2)  # fmt: skip
        ends.append((x[-1], y[-1], each["label"], hue))
    values = [point["multiple"] for each in series for point in each["points"]]
    axes.set_ylim(0, max(values) * 1.12)  # from 0, so that a flat line looks flat
    if logarithmic:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
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
        axes.set_ylabel("multiples of an empty call")
    for axes, run in zip(flat[len(sweeps) :], report["threads"]):
        ends: list[tuple[float, float, str, str]] = []
        for index, (name, rates) in enumerate(run["rates"].items()):
            hue = colour(("quiet", "blue", "orange", "green")[index % 4])
            x, y = [int(n) for n in rates], [rate / rates["1"] for rate in rates.values()]
            axes.plot(x, y, color=hue, marker=MARKS[index], markersize=3.5)
            ends.append((x[-1], y[-1], name, hue))
        most = x[-1]
        axes.plot([1, most], [1, most], color=colour("faint"), linewidth=1, zorder=0)
        axes.set_ylim(0, most * 1.05)
        axes.set_xticks(x)
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
    shades = LinearSegmentedColormap.from_list(
        "speed", [colour("red"), colour("page"), colour("blue")]
    )
    for axes, state in zip(grid[:, 0], states):
        values = [[math.nan] * len(columns) for _ in layouts]
        for each in cells:
            if value(each, "state", "destination") == state:
                column = columns.index((size_of(each), value(each, "element_bytes", "item")))
                values[layouts.index(each["layout"])][column] = each["ratio"]
        logs = [[math.log2(max(x, 1e-3)) if x == x else math.nan for x in row] for row in values]
        axes.imshow(logs, norm=norm, cmap=shades, aspect="auto")
        for y, row in enumerate(values):
            for x, ratio in enumerate(row):
                if ratio == ratio:
                    dark = abs(logs[y][x]) > 1.9
                    axes.text(x, y, short(ratio), ha="center", va="center", fontsize=6,
                              color=colour("page" if dark else "text"))  # fmt: skip
        axes.set_xticks(range(len(columns)), [str(item) for _, item in columns], fontsize=6.5)
        axes.set_yticks(range(len(layouts)), layouts, fontsize=7.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        for index, size in enumerate(sizes):
            axes.text((index + 0.5) * len(items) - 0.5, -0.75, size, ha="center", fontsize=8)
            if index:
                axes.axvline(index * len(items) - 0.5, color=colour("page"), linewidth=3)
        axes.set_title(f"Copies to {state} memory", pad=18)
        axes.set_xlabel("bytes of an element, by bytes of the tensor")
    figure.tight_layout()
    figure.text(0.01, -0.01, "time of the fastest other library divided by dlbridge's: above 1 "
                "(blue) dlbridge is faster, below 1 (red) it is slower", fontsize=8)  # fmt: skip
    save(figure, folder, "copies")


def draw(report: Json, folder: Path) -> None:
    global theme
    matplotlib.use("Agg")
    for theme in THEMES:  # noqa: B007 - style and colour read it
        with plt.rc_context(style()):
            limits(report, folder)
            growth(report, folder)
            if "calls" in report:
                calls(report, folder)
                ten(report, folder)
                peers(report, folder)
            if "copies" in report:
                copies(report, folder)
