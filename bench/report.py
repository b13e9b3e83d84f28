# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/generated/performance.md and its plots from the report of bench/py/measure.py, and
the table of ten calls in docs/explanation/performance.md.

    report.py FILE [--copies FILE]   stores the report beside the page, and writes pages and plots
    report.py --check                compares the pages with the stored report

The plots require matplotlib; --check requires only Python.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "generated" / "performance.md"
STORED = PAGE.with_suffix(".json")
PLOTS = PAGE.with_suffix("")  # the folder of the plots
NOT_SHOWN = ("anchors", "sizes")
USERS_PAGE = PAGE.parents[1] / "explanation" / "performance.md"
BEGIN = "<!-- ten calls: written by bench/report.py -->"
END = "<!-- end of ten calls -->"

# The calls that users ask for: what each is, and the call of each library.
LIBRARIES = {"dlbridge": "dlbridge", "np": "NumPy", "torch": "PyTorch", "nanobind": "nanobind",
             "tvm_ffi": "tvm-ffi"}  # fmt: skip
TEN = [
    ("`from_dlpack` of a NumPy array", {
        "dlbridge": "dlbridge.from_dlpack(ndarray)", "np": "np.from_dlpack(ndarray)",
        "torch": "torch.from_dlpack(ndarray)", "tvm_ffi": "tvm_ffi.from_dlpack(ndarray)"}),
    ("`from_dlpack` of a PyTorch tensor", {
        "dlbridge": "dlbridge.from_dlpack(torch)", "np": "np.from_dlpack(torch)",
        "torch": "torch.from_dlpack(torch)", "tvm_ffi": "tvm_ffi.from_dlpack(torch)"}),
    ("`from_dlpack` of a JAX array", {
        "dlbridge": "dlbridge.from_dlpack(jax)", "np": "np.from_dlpack(jax)",
        "torch": "torch.from_dlpack(jax)", "tvm_ffi": "tvm_ffi.from_dlpack(jax)"}),
    ("`np.from_dlpack` of this library's array", {
        "dlbridge": "np.from_dlpack(Tensor)", "np": "np.from_dlpack(ndarray)",
        "torch": "np.from_dlpack(torch)", "nanobind": "np.from_dlpack(nanobind)",
        "tvm_ffi": "np.from_dlpack(tvm_ffi)"}),
    ("`torch.from_dlpack` of this library's array", {
        "dlbridge": "torch.from_dlpack(Tensor)", "np": "torch.from_dlpack(ndarray)",
        "torch": "torch.from_dlpack(torch)", "nanobind": "torch.from_dlpack(nanobind)",
        "tvm_ffi": "torch.from_dlpack(tvm_ffi)"}),
    ("C++ function of one NumPy array", {
        "dlbridge": "def_fast(ndarray)", "nanobind": "nanobind ndarray(ndarray)",
        "tvm_ffi": "tvm_ffi nop(ndarray)"}),
    ("C++ function of one PyTorch tensor", {
        "dlbridge": "def_fast(torch)", "nanobind": "nanobind ndarray(torch)",
        "tvm_ffi": "tvm_ffi nop(torch)"}),
    ("C++ function of eight PyTorch tensors", {
        "dlbridge": "def_fast(torch x8)", "tvm_ffi": "tvm_ffi nop(torch x8)"}),
    ("new array of NumPy", {
        "dlbridge": "def_fast returns to numpy", "np": "np.empty",
        "nanobind": "nanobind returns to numpy"}),
    ("new tensor of PyTorch", {
        "dlbridge": "def_fast returns to torch", "torch": "torch.empty",
        "nanobind": "nanobind returns to torch"}),
]  # fmt: skip

SECTIONS = {  # by the beginning of the id of a limit
    "import": "Import",
    "export": "Export",
    "asarray": "Tensor in other libraries",
    "memoryview": "Tensor in other libraries",
    "to": "Tensor in other libraries",
    "copy": "Copies of 16 elements",
    "def_fast": "Arguments of extension functions",
    "def_fast3": "Arguments of extension functions",
    "overloads": "Arguments of extension functions",
    "caster": "Arguments of extension functions",
    "caster3": "Arguments of extension functions",
    "buffer": "Arguments of extension functions",
    "choice": "Arguments of extension functions",
    "vectorize": "Vectorised functions",
    "return": "Results of extension functions",
    "size": "Growth",
    "live": "Growth",
    "types": "Growth",
    "arguments": "Growth",
    "rank": "Growth",
    "threads": "Growth",
    "import-milliseconds": "Start",
    "wheel": "Start",
    "instructions": "Instructions",
    "modes": "Compiled mode",
}


def section_of(row: Json) -> str:
    name: str = row["id"]
    return SECTIONS.get(name) or SECTIONS[name.partition("-")[0]]


def number(value: float) -> str:
    """Three significant digits; all digits of a whole number."""
    if value == int(value) and abs(value) >= 1:
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    names = list(header)
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


# ---- the page ----


def about(report: Json) -> Iterator[str]:
    here = report["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in here["versions"].items())
    yield f"Measured on {here['date']} of commit `{here['commit']}`:"
    yield f"{here['processor']}, {here['processors']} processors,"
    yield f"{here['machine']}, CPython {here['python']}, {here['libc']}; {versions}."
    noises = [100 * each["noise"] for each in report["guards"]]
    attempts = sum(len(each["noises"]) for each in report["guards"])
    waited = sum(each["waited_s"] for each in report["guards"])
    yield (
        f"A call compared with itself differed by {min(noises):.1f} to {max(noises):.1f} % between "
        f"repeats, after {attempts} attempts in {len(noises)} processes and {waited:.0f} s of "
        f"waiting. The average load of the machine at the end was {here['load']:.1f}."
    )
    if not all(each["quiet"] for each in report["guards"]):
        yield "The machine was too noisy: read the ranges rather than the medians."


def limit_row(row: Json) -> list[str]:
    reached = "" if "median" not in row else number(row["median"])
    spread = f"{number(row['least'])} to {number(row['most'])}" if "least" in row else ""
    limit = "" if row["limit"] is None else number(row["limit"])
    if row["kind"] == "at least":
        limit = f"at least {limit}"
    verdict = f"**{row['verdict']}**" if row["verdict"] == "missed" else row["verdict"]
    if row.get("reason"):
        verdict = f"{verdict}: {row['reason']}"
    if row["verdict"] == "met" and "slack" in row and row["median"] > row["limit"]:
        verdict = f"{verdict}, with the slack for another build of CPython"
    theirs = row["theirs"] if isinstance(row["theirs"], str) else ", ".join(row["theirs"])
    return [row["ours"], theirs, reached, spread, limit, verdict, "yes" if row["gate"] else ""]


def limits(report: Json) -> Iterator[str]:
    judged = [each for each in report["limits"] if each["limit"] is not None]
    counts = {verdict: sum(each["verdict"] == verdict for each in judged)
              for verdict in ("met", "missed", "not measured")}  # fmt: skip
    yield "## Limits"
    yield ""
    yield (
        f"Of {len(judged)} limits, dlbridge meets {counts['met']} and misses {counts['missed']}; "
        f"not measured: {counts['not measured']}. A row without a limit is reported only. CI "
        "enforces the rows with a gate."
    )
    sections: dict[str, list[Json]] = {}
    for row in report["limits"]:
        sections.setdefault(section_of(row), []).append(row)
    unit = {"Instructions": "instructions more", "Growth": "value", "Start": "value"}
    for name, rows in sections.items():
        yield from ("", f"### {name}", "")
        header = ["call", "compared with", unit.get(name, "ratio"), "range", "limit", "", "gate"]
        yield from table(header, map(limit_row, rows))


def missed(report: Json) -> Iterator[str]:
    rows = [each for each in report["limits"] if each["kind"] == "time" and "median" in each]
    slower = sorted((each for each in rows if each["least"] > 1 and section_of(each) != "Growth"
                     and each["theirs"] not in ANCHORS and "def_fast" not in each["theirs"]),
                    key=lambda each: -each["median"])  # fmt: skip
    if not slower:
        return
    yield from ("", "## What is slower than the call that it is compared with", "")
    yield from table(("call", "other call", "ratio"), (
        [each["ours"], each["theirs"], number(each["median"])] for each in slower))  # fmt: skip


# What no library offers: dlbridge cannot be faster than these.
ANCHORS = ("empty call", "capsule handshake", "pybind11 no-op(Tensor)", "C: own by table (torch)",
           "C: round trip by table (Tensor)")  # fmt: skip


def image(name: str, text: str, folder: str = PLOTS.name) -> Iterator[str]:
    """A plot, in the variant for the reader's page."""
    yield from (
        "",
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{folder}/{name}-dark.svg">',
        f'  <img alt="{text}" src="{folder}/{name}-light.svg">',
        "</picture>",
    )


def ladder(report: Json) -> Iterator[str]:
    if "calls" not in report:
        return
    yield from ("", "## The ladder of exchange costs", "")
    yield (
        "The plots show nanoseconds of this machine. The table has each call as a multiple of a "
        "call of an empty function from C."
    )
    yield from image(
        "imports", "Time of from_dlpack of five libraries, by the array that they import"
    )
    yield from image(
        "calls", "Time of a call with one tensor, of a result, and of an export, by library"
    )
    yield from ("", "<details><summary>All calls</summary>", "")
    yield from table(("call", "empty calls", "range", "ns"), (
        [each["name"], number(each["median"]),
         f"{number(each['least'])} to {number(each['most'])}", number(round(each["a_ns"]))]
        for each in report["calls"] if each["group"] not in NOT_SHOWN))  # fmt: skip
    yield from ("", "</details>")


def growth(report: Json) -> Iterator[str]:
    yield from ("", "## Growth", "")
    yield (
        "The slope is in empty calls for each byte, tensor, type or dimension. R² states how well "
        "a line fits; it has no meaning where the cost is constant."
    )
    yield from image(
        "growth",
        "Cost by bytes, live tensors, tensors per call, elements of a list, types and rank",
    )
    for sweep in report["growth"]:
        yield from ("", f"### By {sweep['name']}", "")
        first, last = sweep["series"][0]["points"][0]["x"], sweep["series"][0]["points"][-1]["x"]
        header = (sweep["x"], f"at {number(first)}", f"at {number(last)}", "ratio", "slope", "R²")
        yield from table(header, (
            [each["label"], number(each["points"][0]["multiple"]),
             number(each["points"][-1]["multiple"]), number(each["last_to_first"]),
             number(each["slope"]) if not sweep["logarithmic"] else "",
             f"{each['r2']:.3f}" if not sweep["logarithmic"] else ""]
            for each in sweep["series"]))  # fmt: skip
    yield from ("", "### By threads", "")
    yield "Calls for each second of all threads together, compared with one thread."
    for run in report["threads"]:
        gil = "with the GIL" if run["gil"] else "without the GIL"
        counts = list(next(iter(run["rates"].values())))
        yield ""
        yield from table((f"CPython {run['python']}, {gil}", *(f"threads: {n}" for n in counts)), (
            [name, *(number(rates[n] / rates["1"]) for n in counts)]
            for name, rates in run["rates"].items()))  # fmt: skip
    if all(run["gil"] for run in report["threads"]):
        yield from ("", "Without the GIL: not measured, as no such interpreter was given.")


def cpp_instructions(report: Json) -> Iterator[str]:
    if "cpp_instructions" not in report:
        return
    counted = report["cpp_instructions"]
    yield from ("", "## C++ instructions by rank", "")
    if counted["reason"]:
        yield f"Not measured: {counted['reason']}."
        return
    yield (
        f"The instructions of each case of `bench/cpp/instructions/count.cpp`, compiled by "
        f"{counted['compiler']}, beyond those of the case that it is compared with; ratios where "
        "the limit is a ratio."
    )
    ranks = range(len(counted["limits"][0]["most"]))
    header = ("case", "beyond", *(f"rank {n}" for n in ranks), "limit", "mallocs", "", "gate")
    yield ""
    yield from table(header, map(cpp_row, counted["limits"]))


def cpp_row(row: Json) -> list[str]:
    limit = "" if row["most"][0] is None else number(row["most"][0])
    if row["each"]:
        limit += f" and {number(row['each'])} for each dimension"
    reached = [number(round(each, 3 if row["ratio"] else 0)) for each in row.get("reached", [])]
    verdict = f"**{row['verdict']}**" if row["verdict"] == "missed" else row["verdict"]
    if row.get("reason"):
        verdict = f"{verdict}: {row['reason']}"
    mallocs = number(row["reached_mallocs"]) if reached else ""
    return [row["case"], row["beyond"], *(reached or [""] * len(row["most"])), limit, mallocs,
            verdict, "yes" if row["gate"] else ""]  # fmt: skip


def copies(report: Json) -> Iterator[str]:
    if "copies" not in report:
        return
    cells = report["copies"]["cells"]
    slower = [each for each in cells if each["ratio"] < 1]
    yield from ("", "## Copies", "")
    yield (
        f"The time of the fastest other library divided by that of dlbridge: {len(cells)} cells, "
        f"of which dlbridge is slower in {len(slower)}."
    )
    yield from image("copies", "Copies by layout, element size and bytes")
    if slower:
        yield from (
            "",
            "The slowest of these, at most 20:",
            "",
        )
        names = list(slower[0])
        yield from table(names, (
            [number(each[name]) if isinstance(each[name], float) else str(each[name])
             for name in names]
            for each in sorted(slower, key=lambda each: each["ratio"])[:20]))  # fmt: skip


def omitted(report: Json) -> Iterator[str]:
    yield from ("", "## What the other calls omit", "")
    yield from (f"- {text}." for text in report["omitted"].values())
    absent = {**report["missing"], **report["refused"]}
    if absent:
        yield from ("", "Not compared:", "")
        yield from (f"- `{name}`: {why}" for name, why in absent.items())


def ten_calls(report: Json) -> Iterator[str]:
    """The table for users."""
    here = report["environment"]
    times = {each["name"]: each["a_ns"] for each in report["calls"]}
    yield (
        f"Nanoseconds of one call on one core of an {here['processor']} with CPython "
        f"{here['python']}, in the run of {here['date']}."
    )
    yield ""
    yield f"| Call | {' | '.join(LIBRARIES.values())} |"
    yield f"|---|{'---:|' * len(LIBRARIES)}"
    for label, calls in TEN:
        cells = [f"{times[calls[name]]:,.0f}" if calls.get(name) in times else ""
                 for name in LIBRARIES]  # fmt: skip
        yield f"| {label} | {' | '.join(cells)} |"
    yield from image("ten", "The same times of ten calls, as a plot", f"../generated/{PLOTS.name}")


def users_page(report: Json) -> str:
    before, rest = USERS_PAGE.read_text().split(BEGIN)
    table = "\n".join(ten_calls(report))
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def page(report: Json) -> str:
    lines = [
        "# Performance figures",
        "",
        "Each row compares two calls, usually one of dlbridge and one of another library. A ratio "
        "below 1 means that the first is faster. `python3 noxfile.py bench -- full` writes this "
        "page from its last run. "
        "[How performance is measured](../contributing/performance.md) explains the rows, and "
        "[what an exchange costs](../explanation/performance.md) is a summary for users.",
        "",
        *about(report),
        "",
        *limits(report),
        *missed(report),
        *ladder(report),
        *growth(report),
        *cpp_instructions(report),
        *copies(report),
        *omitted(report),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", nargs="?", help="the JSON of measure.py; else the stored one")
    parser.add_argument("--copies", metavar="FILE", help="the JSON of copies.py")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stored = Path(options.report) if options.report else STORED
    report = json.loads(stored.read_text())
    if options.check:
        differs = [each for each, text in ((PAGE, page(report)), (USERS_PAGE, users_page(report)))
                   if each.read_text() != text]  # fmt: skip
        for each in differs:
            print(f"{each}: run bench/report.py")
        return int(bool(differs))
    if options.copies:
        report["copies"] = json.loads(Path(options.copies).read_text())
    import plots

    plots.draw(report, PLOTS)
    STORED.write_text(json.dumps(report, indent=1) + "\n")
    PAGE.write_text(page(report))
    USERS_PAGE.write_text(users_page(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
