"""The doctor: what this machine has that bears on exchanging tensors, what it lacks, and advice.

Every library is imported in a process of its own: one that crashes, hangs or prints costs only its
own line. Lacking something is no error: the exit status is 0.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dlbridge
from dlbridge.tools import children, known
from dlbridge.tools.doctor import advice, sections, surroundings
from dlbridge.tools.libraries import LIBRARIES, Library

SUMMARY = "what this machine has: headers, compilers, drivers, libraries and their known defects"
SECONDS_PER_LIBRARY = 60.0
NO_LIBRARIES = ("array", "dlbridge")  # rows of the table that are not somebody else's


def _defects(name: str, version: str) -> list[dict[str, str]]:
    rows = known.of(name, version)
    return [{"id": row.id, "outcome": row.outcome, "what": row.what} for row in rows]


def _needs_numpy(library: Library) -> str | None:
    """The versions of NumPy that a library asks for, where it asks whatever the machine."""
    for each in library.distributions:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            asked = importlib.metadata.requires(each) or []
            found = (re.fullmatch(r"numpy\s*\(?([^;)]+)\)?\s*", line) for line in asked)
            return next((limits[1].strip() for limits in found if limits), None)
    return None


def _look(library: Library) -> dict[str, Any]:
    """What one library says of itself in a child process, or what became of that."""
    answer = children.call(
        "dlbridge.tools.doctor.speech:look", seconds=SECONDS_PER_LIBRARY, name=library.module
    )
    row = {"version": library.version or "unknown", "outcome": answer.outcome, "said": answer.said}
    return {**row, **(answer.value or {})}


def examine(*, fast: bool = False) -> dict[str, Any]:
    """What was found, as plain values: what --json prints. fast imports no library."""
    here = [row for row in LIBRARIES.values() if row.importable and row.module not in NO_LIBRARIES]
    libraries: dict[str, dict[str, Any]]
    if fast:
        libraries = {
            row.module: {"version": row.version or "unknown", "outcome": "not imported"}
            for row in here
        }
    else:
        with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
            libraries = {row.module: it for row, it in zip(here, pool.map(_look, here))}
    for name, row in libraries.items():
        row["needs_numpy"] = _needs_numpy(LIBRARIES[name])
        row["defects"] = _defects(name, row["version"])
    found: dict[str, Any] = {
        "dlbridge": {
            "version": dlbridge.__version__,
            "dlpack": ".".join(map(str, dlbridge.DLPACK_VERSION)),
            "include": dlbridge.get_include(),
        },
        "python": surroundings.python(),
        "headers": surroundings.headers(),
        "compilers": surroundings.compilers(),
        "drivers": surroundings.drivers(),
        "libraries": libraries,
        "also_installed": [
            name for name in advice.NO_MORE_RELEASES if importlib.util.find_spec(name) is not None
        ],
    }
    found["advice"] = advice.give(found)
    return found


# For people ------------------------------------------------------------------------------------


def _says_python(it: dict[str, Any]) -> list[tuple[str, ...]]:
    threads = "free-threaded, " if it["free_threaded"] else ""
    gil = "with the GIL" if it["gil"] else "without the GIL"
    return [
        (f"{it['implementation']} {it['version']}", f"{threads}{gil}, ABI {it['abi']}"),
        ("on", it["platform"]),
    ]


def _says_header(it: dict[str, Any]) -> tuple[str, ...]:
    version = f"{it['version']}, too old" if it["too_old"] else it["version"]
    return (version, ", ".join(it["found_by"]), it["include"])


def _says_driver(name: str, it: dict[str, Any]) -> tuple[str, ...]:
    title = {"cuda": "CUDA", "rocm": "ROCm"}.get(name, name)
    if "why" in it:
        return (title, str(it["why"]))
    devices = ", ".join(f"{i}: {device}" for i, device in enumerate(it["devices"]))
    return (title, f"{it['library']}, version {it['version']}; {devices or 'no device'}")


def _speaks(it: dict[str, Any]) -> str:
    """What a library speaks of DLPack, in a few words."""
    if it["outcome"] == "not imported":
        return ""
    if it["outcome"] != "returned":
        return f"{it['outcome']}: {it['said']}"
    if "failed" in it:
        return f"failed: {it['failed']}"
    if it["protocol"] is None:
        return "no arrays of its own"
    if it["versioned"]:
        return f"versioned {it['versioned']}" + ("" if it["legacy"] else ", no legacy")
    if it["legacy"]:
        return "legacy only" if it["protocol"] else "legacy, by capsules only"
    return "none: arrays without __dlpack__"


def _says_library(name: str, it: dict[str, Any]) -> tuple[str, ...]:
    table = f", exchange table {it['exchange_table']}" if it.get("exchange_table") else ""
    count = len(it["defects"])
    sick = f"; {count} known defect{'s' if count > 1 else ''}" if count else ""
    return (LIBRARIES[name].title, it["version"], f"{_speaks(it)}{table}{sick}".lstrip("; "))


def _says_defects(name: str, it: dict[str, Any]) -> sections.Section:
    title = f"Known defects of {LIBRARIES[name].title} {it['version']}"
    return (title, [(each["id"], each["what"]) for each in it["defects"]])


def report(found: dict[str, Any]) -> list[sections.Section]:
    """What was found, in sections of rows."""
    it = found["dlbridge"]
    libraries = found["libraries"].items()
    parts: list[sections.Section] = [
        (f"dlbridge {it['version']}, which speaks DLPack {it['dlpack']}", []),
        ("Python", _says_python(found["python"])),
        ("dlpack.h", [_says_header(row) for row in found["headers"]]),
        ("Compilers", list(found["compilers"].items())),
        ("Drivers and devices", [_says_driver(*row) for row in found["drivers"].items()]),
        ("Libraries", [_says_library(*row) for row in libraries] or [("none of those known",)]),
        *(_says_defects(*row) for row in libraries if row[1]["defects"]),
        ("Advice", [("!", sentence) for sentence in found["advice"]]),
    ]
    return [part for part in parts if part[1] or part is parts[0]]


def explain(defect: known.Defect) -> list[sections.Section]:
    """All that is known of one defect, and how to see it."""
    rows = [
        ("what", defect.what),
        ("breaks", defect.breaks),
        ("remedy", defect.remedy),
        ("seen in", defect.seen_in),
        ("shows", f"{defect.shows} ({defect.outcome})"),
        ("with", f"by_hand.py beside it, from {known.HELPER}"),
    ]
    return [(defect.id, rows)]


@contextlib.contextmanager
def _waiting() -> Iterator[None]:
    """Says on a terminal that this takes a while."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    print("Importing each library in a process of its own ...", end="\r", file=sys.stderr)
    try:
        yield
    finally:
        print(" " * 60, end="\r", file=sys.stderr)


def _defect(name: str) -> known.Defect:
    if name in known.DEFECTS:
        return known.DEFECTS[name]
    close = difflib.get_close_matches(name, known.DEFECTS, n=3, cutoff=0.4)
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    raise argparse.ArgumentTypeError(f"no defect is known as {name!r}{meant}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument("--fast", action="store_true", help="import no library")
    parser.add_argument(
        "--defect",
        metavar="ID",
        type=_defect,
        help="instead of all this: what is known of one defect, and a program that shows it",
    )


def run(given: argparse.Namespace) -> int:
    """Prints what was found. Returns the exit status, which is 0."""
    if given.defect is not None:
        sections.show(explain(given.defect))
        print(textwrap.indent(given.defect.program, "    "))
        return 0
    if given.json:
        print(json.dumps(examine(fast=given.fast), indent=2))
        return 0
    with contextlib.nullcontext() if given.fast else _waiting():
        found = examine(fast=given.fast)
    sections.show(report(found))
    return 0
