# SPDX-License-Identifier: BSD-3-Clause
"""Reports what this machine offers for exchanging tensors, what is missing, and advice.

Every library is imported in its own process, so that a crash, a hang or output affects only its
own line. Missing software is no error: the exit status is 0.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .. import children, core, known, sections, versions
from ..libraries import LIBRARIES, RETIRED_PACKAGES, Library
from . import advice, environment

SUMMARY = "report headers, compilers, drivers, libraries and their known defects on this machine"
EXAMPLES = """\
doctor
doctor --fast         # imports no library
doctor --fast --json
"""
SECONDS_PER_LIBRARY = 60.0


DESCRIBED = ("id", "outcome", "kind", "what", "since", "fixed_in", "upstream")


def _defects(name: str, version: str, state: known.State) -> list[dict[str, str]]:
    rows = known.of(name, version, state)
    return [{key: getattr(row, key) for key in DESCRIBED} for row in rows]


def _needs_numpy(library: Library) -> str | None:
    """Returns the NumPy versions that a library requires on every platform."""
    for each in library.distributions:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            requirements = importlib.metadata.requires(each) or []
            matches = (re.fullmatch(r"numpy\s*\(?([^;)]+)\)?\s*", line) for line in requirements)
            return next((match[1].strip() for match in matches if match), None)
    return None


def _hidden_by(library: Library) -> str | None:
    """Returns the file that Python finds in place of the installed library."""
    names = (f"{library.module}/__init__.py", f"{library.module}.py")
    own = {
        os.path.realpath(file.locate())
        for each in library.distributions
        for found in importlib.metadata.distributions(name=each)
        for file in found.files or ()
        if str(file) in names
    }
    spec = importlib.util.find_spec(library.module)
    file = os.path.realpath((spec and spec.origin) or "")
    return file if own and file not in own else None


def _examine(library: Library, stopped: threading.Event) -> dict[str, Any]:
    """Examines one library in a child process; returns the result or the failure."""
    answer = children.call(
        f"{__name__}.dlpack_support:examine",
        seconds=SECONDS_PER_LIBRARY,
        cancelled=stopped,
        name=library.module,
    )
    row = {
        "version": library.version or "unknown",
        "outcome": answer.outcome,
        "said": answer.message,
        "file_here": _file_here(library, stopped) if answer.outcome == "raised" else None,
    }
    return {**row, **(answer.value or {})}


def _file_here(library: Library, stopped: threading.Event) -> str | None:
    answer = children.call(
        f"{__name__}.dlpack_support:file_here",
        seconds=SECONDS_PER_LIBRARY,
        cancelled=stopped,
        name=library.module,
    )
    return answer.value if answer.outcome == "returned" else None


def _examine_all(libraries: Sequence[Library]) -> list[dict[str, Any]]:
    stopped = threading.Event()
    with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        try:
            return list(pool.map(lambda library: _examine(library, stopped), libraries))
        except BaseException:  # Ctrl-C, which only this thread gets
            stopped.set()
            raise


def examine(*, fast: bool = False) -> dict[str, Any]:
    """Returns the report as plain values, which --json prints. fast imports no library."""
    rows = [row for row in LIBRARIES.values() if row.importable and row.is_foreign]
    libraries: dict[str, dict[str, Any]]
    if fast:
        libraries = {
            row.module: {"version": row.version or "unknown", "outcome": "not imported"}
            for row in rows
        }
    else:
        libraries = {row.module: result for row, result in zip(rows, _examine_all(rows))}
    for name, row in libraries.items():
        row["needs_numpy"] = _needs_numpy(LIBRARIES[name])
        row["hidden_by"] = _hidden_by(LIBRARIES[name])
        row["defects"] = _defects(name, row["version"], "present")
        row["untried"] = _defects(name, row["version"], "unknown")  # seen in other versions only
    report: dict[str, Any] = {
        "dlbridge": {
            "version": core.version(),
            "dlpack": versions.of_dlpack(),
            "include": environment.own_include(),
            "missing": core.why_missing(),
        },
        "python": environment.python(),
        "headers": environment.headers(),
        "compilers": environment.compilers(),
        "drivers": environment.drivers(),
        "libraries": libraries,
        "also_installed": [
            name for name in RETIRED_PACKAGES if importlib.util.find_spec(name) is not None
        ],
    }
    report["advice"] = advice.give(report)
    return report


# For terminals ---------------------------------------------------------------------------------


def _python_rows(row: dict[str, Any]) -> list[tuple[str, ...]]:
    threads = "free-threaded, " if row["free_threaded"] else ""
    gil = "with the GIL" if row["gil"] else "without the GIL"
    return [
        (f"{row['implementation']} {row['version']}", f"{threads}{gil}, ABI {row['abi']}"),
        ("on", row["platform"]),
    ]


def _header_row(row: dict[str, Any]) -> tuple[str, ...]:
    version = f"{row['version']}, too old" if row["too_old"] else row["version"]
    return (version, ", ".join(row["found_by"]), row["include"])


def _driver_row(name: str, row: dict[str, Any]) -> tuple[str, ...]:
    title = {"cuda": "CUDA", "rocm": "ROCm"}.get(name, name)
    if "why" in row:
        return (title, str(row["why"]))
    devices = ", ".join(f"{i}: {device}" for i, device in enumerate(row["devices"]))
    return (title, f"{row['library']}, version {row['version']}; {devices or 'no device'}")


def _support(row: dict[str, Any]) -> str:
    """Describes in a few words which parts of DLPack a library supports."""
    if row["outcome"] == "not imported":
        return ""
    if row["outcome"] != "returned":
        return f"{row['outcome']}: {row['said']}"
    if "failed" in row:
        return f"failed: {row['failed']}"
    if row["protocol"] is None:
        return "no arrays of its own"
    if row["versioned"]:
        return f"versioned {row['versioned']}" + ("" if row["legacy"] else ", no legacy")
    if row["legacy"]:
        return "legacy only" if row["protocol"] else "legacy, by capsules only"
    return "none: arrays without __dlpack__"


def _library_row(name: str, row: dict[str, Any]) -> tuple[str, ...]:
    table = f", exchange table {row['exchange_table']}" if row.get("exchange_table") else ""
    if row.get("immutable") is not None:
        treated = f", which dlbridge treats as {row['immutable']}" if row["immutable"] else ""
        table += f", immutable arrays{treated}"
    if row.get("read_only_is_marked") is False:
        table += ", exports read-only arrays as writable"
    count = sum(each["kind"] != "permitted" for each in row["defects"])
    defects_text = f"; {count} known defect{'s' if count > 1 else ''}" if count else ""
    return (
        LIBRARIES[name].title,
        row["version"],
        f"{_support(row)}{table}{defects_text}".lstrip("; "),
    )


def _defects_sections(name: str, row: dict[str, Any]) -> Iterator[sections.Section]:
    """Lists the defects, apart from them behaviour that is permitted, and what was not tried."""
    for title, permitted in (("Known defects of", False), ("Worth knowing about", True)):
        rows = [each for each in row["defects"] if (each["kind"] == "permitted") == permitted]
        if rows:
            heading = f"{title} {LIBRARIES[name].title} {row['version']}"
            yield (
                heading,
                [(each["id"], _with_versions(known.DEFECTS[each["id"]])) for each in rows],
            )
    if row["untried"]:
        title = f"{LIBRARIES[name].title} {row['version']}"
        rows = [known.DEFECTS[each["id"]] for each in row["untried"]]
        heading = f"Not tried with {title}, and seen in other versions"
        yield (heading, [(each.id, each.seen_in) for each in rows])


def _with_versions(row: known.Defect) -> str:
    """Describes what is present: since when, until when, and where it is reported."""
    until = f", not known to be fixed as of {row.last}" if row.is_fault else ""
    if row.fixed_in:
        until = f", fixed in {row.fixed_in}: upgrade to {row.fixed_in}"
    reported = f" Reported: {row.upstream}" if row.upstream else ""
    return f"{row.what} Since {row.since}{until}.{reported}"


def sections_of(report: dict[str, Any]) -> list[sections.Section]:
    """Formats the report as sections of rows."""
    row = report["dlbridge"]
    libraries = report["libraries"].items()
    is_alone = row["missing"] == core.NOT_INSTALLED
    dlpack = "without the package dlbridge" if is_alone else f"DLPack {row['dlpack']}"
    parts: list[sections.Section] = [
        (f"{core.COMMAND} {row['version']}, {dlpack}", []),
        ("Python", _python_rows(report["python"])),
        ("dlpack.h", [_header_row(row) for row in report["headers"]]),
        ("Compilers", list(report["compilers"].items())),
        ("Drivers and devices", [_driver_row(*row) for row in report["drivers"].items()]),
        ("Libraries", [_library_row(*row) for row in libraries] or [("none of those supported",)]),
        *(section for row in libraries for section in _defects_sections(*row)),
        ("Advice", [("!", sentence) for sentence in report["advice"]]),
    ]
    return [part for part in parts if part[1] or part is parts[0]]


@contextlib.contextmanager
def _progress_line() -> Iterator[None]:
    """Shows on a terminal that the examination is running."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    print("Importing each library in a process of its own ...", end="\r", file=sys.stderr)
    try:
        yield
    finally:
        print(" " * 60, end="\r", file=sys.stderr)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument("--fast", action="store_true", help="import no library")


def run(options: argparse.Namespace) -> int:
    """Prints the report, and returns the exit status, 0."""
    if options.json:
        print(json.dumps({"schema": 1, **examine(fast=options.fast)}, indent=2))
        return 0
    with contextlib.nullcontext() if options.fast else _progress_line():
        report = examine(fast=options.fast)
    sections.show(sections_of(report))
    return 0
