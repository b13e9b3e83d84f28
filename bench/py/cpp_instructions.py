# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of the C++ headers at the ranks 0 to 8, and judges their limits.

    cpp_instructions.py PROGRAM --json FILE

PROGRAM is bench/cpp/instructions/count.cpp, which runs each case 1000 times under callgrind. The
counts are the same in every run of one build. The exit status is 1 if a gate is missed, and 3 if
the gates could not be judged. bench/report.py shows the JSON in its page.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Counts = dict[str, list[float]]  # of each case, by rank
REPEATS = 1000  # as in count.cpp
RANKS = range(9)
MISSED, NOT_JUDGED = 1, 3  # exit statuses
TIMEOUT_S = 300
OF = ("x86_64", "g++ 12")  # the machine and the compiler of the limits
ALLOCATES = re.compile(r"(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign)\b")


@dataclass(frozen=True)
class Limit:
    """At most `at_0 + each * rank` instructions beyond those of another case; with `ratio`, at most
    that share of them. Without limits the row is reported only."""

    id: str
    case: str
    beyond: str = "empty"
    at_0: float | None = None
    each: float = 0
    ratio: float | None = None
    mallocs: int | None = None  # at most
    gate: bool = False

    def most(self, rank: int) -> float | None:
        return self.ratio if self.ratio is not None else (
            None if self.at_0 is None else self.at_0 + self.each * rank)  # fmt: skip


# fmt: off
LIMITS = (
    Limit("adopt", "adopt, move, reset", "deleter", 6, mallocs=0, gate=True),
    Limit("adopt-destroy", "adopt, move, destroy", "deleter", mallocs=0, gate=True),
    Limit("adopt-tvm_ffi", "adopt, move, reset", "tvm_ffi Tensor, drop", ratio=0.05, gate=True),
    Limit("adopt-shared_ptr", "adopt, move, reset", "shared_ptr, drop", ratio=0.05, gate=True),
    Limit("steal", "steal, reset", "deleter", mallocs=0),
    Limit("validate", "validate a foreign tensor", at_0=34, each=11, mallocs=0, gate=True),
    Limit("check", "check a view", at_0=15, gate=True),
    Limit("check-read", "check a view, read it", at_0=14, each=4),
    Limit("check-row-major-read", "check a row-major view, read it"),
    Limit("row-major", "is_row_major", at_0=17, each=9, gate=True),
    Limit("row-major-of-other", "is_row_major of column-major", at_0=17, each=9, gate=True),
    Limit("column-major", "is_column_major", at_0=17, each=9, gate=True),
    Limit("borrow", "exchange_table: borrow, check", "table: lend", 75, mallocs=0),
    Limit("own", "exchange_table: export, reset", "table: export, delete", 85, mallocs=0),
    Limit("build", "build, reset", mallocs=1, gate=True),
    Limit("build-usual", "build, reset", "two vectors and shared_ptr", ratio=0.12),
)
# fmt: on


@dataclass(frozen=True)
class Profile:
    """Instructions and allocations of one call; or the reason why nothing was counted."""

    reason: str = ""
    compiler: str = ""
    instructions: Counts = field(default_factory=dict)
    mallocs: Counts = field(default_factory=dict)


def profile(program: str) -> Profile:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return Profile("valgrind is not installed")
    with tempfile.TemporaryDirectory() as folder:
        command = [valgrind, "--tool=callgrind", "--instr-atstart=no", "-q",
                   f"--callgrind-out-file={folder}/out", program]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        if done.returncode != 0:
            return Profile(f"callgrind failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        *cases, compiler = done.stdout.splitlines()
        result = Profile("", compiler)
        for index, line in enumerate(cases, start=1):
            file = Path(folder, f"out.{index}")
            if not file.exists():
                return Profile("the program is built without valgrind/callgrind.h")
            name, text = line.partition(" ")[2], file.read_text()
            result.instructions.setdefault(name, []).append(total(text) / REPEATS)
            result.mallocs.setdefault(name, []).append(allocations(text) / REPEATS)
    return result


def total(text: str) -> int:
    found = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    assert found is not None, "callgrind wrote no totals"
    return int(found[1])


def allocations(text: str) -> int:
    """The calls of functions of the heap by the program itself, in a profile of callgrind."""
    names = dict(re.findall(r"^c?fn=(\(\d+\)) (.+)$", text, re.MULTILINE))
    calls = re.findall(r"^cfn=(\(\d+\)).*\n(?:.*\n)??calls=(\d+)", text, re.MULTILINE)
    return sum(int(count) for number, count in calls if ALLOCATES.match(names.get(number, "")))


def judged(limit: Limit, counted: Profile) -> Json:
    row: Json = {**asdict(limit), "most": [limit.most(rank) for rank in RANKS]}
    instructions, mallocs = counted.instructions, counted.mallocs
    missing = [each for each in (limit.case, limit.beyond) if each not in instructions]
    if counted.reason or missing:
        reason = counted.reason or f"{missing[0]}: not built"
        return {**row, "verdict": "not measured", "reason": reason}
    empty = instructions["empty"]
    ours = instructions[limit.case]
    theirs = instructions[limit.beyond]
    if limit.ratio is not None:
        values = [(a - zero) / (b - zero) for a, b, zero in zip(ours, theirs, empty)]
    else:
        values = [a - b for a, b in zip(ours, theirs)]
    over = [rank for rank, value, most in zip(RANKS, values, row["most"])
            if most is not None and value > most + 0.1]  # fmt: skip
    too_many = limit.mallocs is not None and max(mallocs[limit.case]) > limit.mallocs
    verdict = "" if limit.mallocs is None and limit.most(0) is None else "met"
    return {**row, "reached": values, "reached_mallocs": max(mallocs[limit.case]),
            "verdict": "missed" if over or too_many else verdict}  # fmt: skip


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 2 or value == int(value) else f"{value:.3f}"


def show(rows: list[Json]) -> None:
    print(f"{'':24}{'limit':>12}{'mallocs':>9}", *(f"{rank:>6}" for rank in RANKS))
    for row in rows:
        ends = [each for each in (row["most"][0], row["most"][-1]) if each is not None]
        limit = " to ".join(map(number, dict.fromkeys(ends)))
        values = " ".join(f"{number(each):>6}" for each in row.get("reached", []))
        mallocs = number(row["reached_mallocs"]) if "reached" in row else ""
        gate = "gate" if row["gate"] else ""
        print(f"{row['id']:24}{limit:>12}{mallocs:>9} {values} {row['verdict']} {gate} "
              f"{row.get('reason', '')}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    counted = profile(options.program)
    rows = [judged(each, counted) for each in LIMITS]
    show(rows)
    reason = counted.reason
    if not reason and (platform.machine(), counted.compiler) != OF:
        reason = f"the limits are for {' and '.join(OF)}"
    gates = [row for row in rows if row["gate"]]
    over = [row["id"] for row in gates if row["verdict"] == "missed" and not reason]
    open_ = [row["id"] for row in gates if reason or row["verdict"] == "not measured"]
    for name in over:
        print(f"GATE MISSED {name}")
    for name in open_:
        print(f"GATE NOT JUDGED {name}: {reason or 'a case was not built'}")
    if options.json:
        report = {**asdict(counted), "limits": rows,
                  "gates": {"missed": over, "not judged": open_}}  # fmt: skip
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    return MISSED if over else NOT_JUDGED if open_ else 0


if __name__ == "__main__":
    sys.exit(main())
