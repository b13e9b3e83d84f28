# SPDX-License-Identifier: BSD-3-Clause
"""Runs the fuzzers of tests/fuzz: an equal share of half a minute each, unless --hours is given.

    --hours N   runs for N hours, from the corpora that the former runs left; Ctrl-C ends it
    --report    prints what all runs so far have done
    --keep      replaces the corpora in tests/fuzz/corpus by small parts of the grown ones

The state is in .nox/results/fuzz: the grown corpora, the findings, the log of the last run of each
fuzzer, and state.json. The exit status is 1 after a finding.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
STATE = CHECKOUT / ".nox" / "results" / "fuzz"  # not .nox/fuzz, which nox may recreate
KEPT = CHECKOUT / "tests" / "fuzz" / "corpus"
LARGEST = 256  # bytes of an input
MOST_KEPT = 30  # files of a corpus in the repository
SLICE = 600.0  # seconds that one fuzzer runs before the next one continues
INTERRUPTED = 72  # libFuzzer's exit status after Ctrl-C
HEADINGS = ("fuzzer", "executions", "seconds", "edges", "growth", "findings")
# Short stacks of allocations and a small quarantine make the runs several times faster.
ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": "malloc_context_size=3:quarantine_size_mb=16:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass
class Record:
    """What all runs of one fuzzer have done so far."""

    executions: int = 0
    seconds: float = 0
    first_edges: int = 0  # that the kept corpus covers
    edges: int = 0
    findings: list[str] = field(default_factory=list)  # the files that reproduce them


def read_state() -> dict[str, Record]:
    file = STATE / "state.json"
    stored = json.loads(file.read_text()) if file.exists() else {}
    return {name: Record(**each) for name, each in stored.items()}


def write_state(state: dict[str, Record]) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    new = STATE / "state.json.new"
    new.write_text(json.dumps({name: asdict(each) for name, each in state.items()}, indent=1))
    new.replace(STATE / "state.json")  # an interruption leaves the former state or this one


def show(state: dict[str, Record]) -> str:
    rows = [
        (name, f"{r.executions:,}", f"{r.seconds:.0f}", str(r.edges),
         f"+{r.edges - r.first_edges}", str(len(r.findings)))
        for name, r in sorted(state.items())
    ]  # fmt: skip
    widths = [max(len(row[i]) for row in (HEADINGS, *rows)) for i in range(len(HEADINGS))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
        for row in (HEADINGS, *rows)
    )


def run(program: Path, seconds: float, record: Record) -> list[Path]:
    """Runs one fuzzer, adds to its record, and returns the new findings."""
    name = program.name
    corpus, findings = STATE / "corpus" / name, STATE / "findings" / name
    log = STATE / "logs" / f"{name}.log"
    kept = KEPT / name
    for folder in (corpus, findings, log.parent, kept):
        folder.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    started = time.monotonic()
    with log.open("w") as output:
        child = subprocess.Popen(
            [
                *(str(program), f"-max_total_time={max(1, round(seconds))}"),
                *(f"-max_len={LARGEST}", "-timeout=20", "-print_final_stats=1"),
                *(f"-artifact_prefix={findings}/", str(corpus), str(kept)),
            ],
            stderr=output,
            stdout=output,
            env=ENVIRONMENT,
        )
        interrupted = False
        while True:
            try:
                status = child.wait()
                break
            except KeyboardInterrupt:  # the fuzzer has received the signal too, and ends
                interrupted = True
    text = log.read_text(errors="replace")
    edges = [int(each) for each in re.findall(r"^#\d+\s+\w+\s+cov: (\d+)", text, re.MULTILINE)]
    executed = re.search(r"stat::number_of_executed_units: (\d+)", text)
    record.executions += int(executed.group(1)) if executed else 0
    record.seconds += time.monotonic() - started
    record.first_edges = record.first_edges or (edges[0] if edges else 0)
    record.edges = max([record.edges, *edges])
    new = sorted(each for each in set(findings.iterdir()) - known if "slow-unit" not in each.name)
    if status not in (0, INTERRUPTED) and not new:
        new = [log]  # the fuzzer ended without a reproducer
    record.findings += [str(each) for each in new]
    if interrupted and not new:
        raise KeyboardInterrupt
    return new


def fuzz(programs: list[Path], seconds: float) -> int:
    state = read_state()
    end = time.monotonic() + seconds
    share = seconds / len(programs)
    rounds = max(1, round(share / SLICE))
    try:
        for _ in range(rounds):
            for program in programs:
                if time.monotonic() >= end:
                    break
                record = state.setdefault(program.name, Record())
                findings = run(program, share / rounds, record)
                write_state(state)
                if findings:
                    print(show(state))
                    for each in findings:
                        print(f"finding: {each}\nto reproduce: {program} {each}")
                    return 1
    except KeyboardInterrupt:
        write_state(state)
        print("interrupted; the next run continues from here")
    print(show(state))
    return 0


def keep(programs: list[Path]) -> None:
    """Replaces each kept corpus by the files of the grown one that cover the most."""
    for program in programs:
        sources = [each / program.name for each in (STATE / "corpus", KEPT)]
        with tempfile.TemporaryDirectory() as merged:
            folders = map(str, [merged, *filter(Path.is_dir, sources)])
            subprocess.run(
                [str(program), "-set_cover_merge=1", f"-max_len={LARGEST}", *folders],
                check=True,
                stderr=subprocess.DEVNULL,
                env=ENVIRONMENT,
            )
            by_size = sorted(Path(merged).iterdir(), key=lambda each: -each.stat().st_size)
            shutil.rmtree(sources[1], ignore_errors=True)
            sources[1].mkdir(parents=True)
            for each in by_size[:MOST_KEPT]:
                shutil.copy(each, sources[1] / each.name[:12])
        print(f"{program.name}: kept {min(len(by_size), MOST_KEPT)} of {len(by_size)} files")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder of the compiled fuzzers")
    parser.add_argument("--hours", type=float, default=1 / 120)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--only", default="", metavar="NAMES", help="fuzzers, such as text,copies")
    chosen = parser.parse_args()
    if chosen.report:
        print(show(read_state()))
        return 0
    wanted = {f"fuzz_{each}" for each in chosen.only.split(",") if each}
    found = sorted(each for each in chosen.folder.glob("fuzz_*") if os.access(each, os.X_OK))
    programs = [each for each in found if not wanted or each.name in wanted]
    if not programs:
        print(f"no fuzzers in {chosen.folder}")
        return 1
    if chosen.keep:
        keep(programs)
        return 0
    return fuzz(programs, chosen.hours * 3600)


if __name__ == "__main__":
    sys.exit(main())
