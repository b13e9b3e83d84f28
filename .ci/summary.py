# SPDX-License-Identifier: BSD-3-Clause
"""Runs sessions of nox side by side, and adds up the closing lines of their test runners."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import machine

RESULTS = machine.STATE / "results" / "sessions.json"  # the last result of each session
STARTS = re.compile(r"^=+ \S (?P<name>[\w.()-]+): \w+.* =+$")  # nox, before the output of a session
ANSI = re.compile(r"\x1b\[[0-9;]*m")
CLOSING = re.compile(  # of pytest, CTest and GoogleTest, whose tests are one test of CTest
    r"^(?:=+ )?(?P<words>(?:\d+ [a-z]+, )*\d+ [a-z]+)(?: in [\d.]+s\b.*)?$"
    r"|^\d+% tests passed(?:, (?P<failed>\d+) tests? failed)? out of (?P<all>\d+)"
    r"|^(?:\d+: )?\[  PASSED  \] (?P<google>\d+) tests?"
)
WORDS = {"passed", "failed", "skipped", "xfailed", "xpassed", "error", "errors"}


def listed(nox: list[str], tag: str) -> list[str]:
    """The sessions with a tag, those tagged `first` in front, which take longest."""
    rows = json.loads(subprocess.check_output([*nox, "--list", "--json"], cwd=machine.CHECKOUT))
    rows.sort(key=lambda row: "first" not in row["tags"])
    return [row["session"] for row in rows if tag in row["tags"]]


def count(line: str) -> Counter[str]:
    """The tests that a closing line counts; none for another line."""
    match = CLOSING.match(line)
    if not match:
        return Counter()
    if match["words"]:
        each = [entry.split() for entry in match["words"].split(", ")]
        return Counter({word: int(number) for number, word in each if word in WORDS})
    if match["all"]:
        failed = int(match["failed"] or 0)
        return Counter(passed=int(match["all"]) - failed, failed=failed)
    return Counter(passed=int(match["google"]) - (line[0] != "["))  # one of them is CTest's own


def run(nox: list[str], names: list[str], jobs: int, arguments: list[str]) -> int:
    """Runs sessions, `jobs` at a time. Prints their output, and a table. Returns the status."""
    report = machine.STATE / "report.json"
    report.unlink(missing_ok=True)
    command = [*nox, "--session", *names, "--no-color", "--report", str(report)]
    if sys.version_info >= (3, 10):  # nox for 3.9 runs one after the other
        command += ["--allow-parallel", "--parallel", str(jobs)]
    begin = time.monotonic()
    process = subprocess.Popen([*command, *(["--", *arguments] if arguments else [])], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                               cwd=machine.CHECKOUT)  # fmt: skip
    counts: dict[str, Counter[str]] = {}
    left_out: dict[str, None] = {}
    name = ""
    try:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            line = ANSI.sub("", line.rstrip())
            if start := STARTS.match(line):
                name = start["name"]
            counts.setdefault(name, Counter()).update(count(line))
            if line.startswith("-- left out: "):
                left_out[line] = None
    except KeyboardInterrupt:
        process.wait()
        raise
    status = process.wait()
    if report.exists():
        show(json.loads(report.read_text())["sessions"], counts, time.monotonic() - begin)
    print("\n".join(left_out))
    return status


def show(sessions: list[dict[str, Any]], counts: dict[str, Counter[str]], seconds: float) -> None:
    """Prints the table of nox's report with the tests, and stores it."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    made = {"date": time.strftime("%Y-%m-%d"), "commit": machine.commit()}
    for each in sessions:
        each["name"] = (each["signatures"] or [each["name"]])[0]
    width = max(len(each["name"]) for each in sessions)
    print(f"\n{'session':{width}}  {'':8}  {'time':>6}  tests")
    for each in sorted(sessions, key=lambda each: -each["duration"]):
        name, result = each["name"], each["result"]
        found = +counts.get(name, Counter())
        tests = each["reason"] if result == "skipped" else listing(found)
        print(f"{name:{width}}  {result:8}  {clock(each['duration']):>6}  {tests}")
        stored[name] = {**made, "result": result, "seconds": round(each["duration"]), **found}
    total = sum(counts.values(), Counter())
    print(f"{'all':{width}}  {'':8}  {clock(seconds):>6}  {listing(+total)}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(stored, indent=1))


def listing(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
