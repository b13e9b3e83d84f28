# SPDX-License-Identifier: BSD-3-Clause
"""Measures whether the unit tests notice defects: changes one place of a core header, and runs its
tests. A test that fails, crashes or hangs kills the mutant.

    --report    prints what all runs so far have found
    --seed N    chooses other mutants
    --count N   the number of mutants of all headers together
    --only A,B  files, such as layout.ipp,check.inl
    --jobs N    examines N headers in parallel

Mutants that do not compile are not counted, and neither are those that the compiler optimizes to
the same code. ARGUED states for every other survivor why no unit test kills it. The state is in
.nox/results/mutants. Ctrl-C ends the run, and the next one continues from there; it also repeats
the survivors whose tests have changed. The exit status is 1 if fewer than LEAST % are killed, or if
a survivor is not argued.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".ci"))
import machine
from mutations import Mutation, all_mutations

STATE = machine.STATE / "results" / "mutants"  # not .nox/mutants, which nox may recreate
INCLUDE = machine.CHECKOUT / "include"
TESTS = machine.CHECKOUT / "tests"
ARGUED = TESTS / "mutation" / "argued_mutants.json"
LEAST = 90  # per cent of the mutants that the tests must kill
UNITS = {  # headers with their bodies, and the unit tests that judge their mutants
    "any_tensor": ("any_tensor",),
    "as": ("as",),
    "build": ("build", "shared_tensor"),
    "check": ("check", "tensor"),
    "copy": ("copy",),
    "device": ("device", "check"),
    "dtype": ("dtype", "validate"),
    "error": ("error", "check"),
    "exchange_table": ("exchange_table",),
    "host_memory": ("host_memory", "copy"),
    "layout": ("layout", "tensor_view"),
    "managed_tensor": ("managed_tensor", "build"),
    "shared_tensor": ("shared_tensor",),
    "stream_ref": ("stream_ref",),
    "tensor": ("tensor",),
    "validate": ("validate", "check"),
    "version": ("version", "managed_tensor"),
    "tensor_view": ("tensor_view", "check"),
}
HEADERS = {
    f"{unit}{kind}": tests
    for unit, tests in UNITS.items()
    for kind in (".hpp", ".inl", ".ipp")
    if (INCLUDE / "dlbridge" / f"{unit}{kind}").exists()
}
FEWEST = 6  # mutants of a small header
SECONDS = 60  # after which a test hangs
MEMORY = 8 << 20  # KiB that a test may allocate
FLAGS = ("-std=c++17", "-w")
# With these options each function keeps its own code, so that two objects are the same only if
# every function is. A test would otherwise optimize a function for the arguments that it passes.
SEPARATE = ("-O1", "-fno-inline", "-fkeep-inline-functions", "-fno-ipa-pure-const",
            "-fno-ipa-reference", "-fno-ipa-modref")  # fmt: skip
PRECOMPILED = ("gtest/gtest.h", "algorithm", "array", "cstring", "functional", "memory", "numeric",
               "random", "stdexcept", "string", "thread", "vector")  # fmt: skip


@dataclass
class Record:
    """A mutant and what became of it."""

    header: str
    content: str  # the digest of the header
    line: int
    before: str
    after: str
    outcome: str  # killed, survived, invalid (it does not compile) or same (as without the change)
    by: str = ""  # the test that killed it
    tests: str = ""  # the digest of the tests that a survivor passed


def digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()[:12]


def header_file(header: str) -> Path:
    return INCLUDE / "dlbridge" / header


def test_file(test: str) -> Path:
    return TESTS / "unit" / f"test_{test}.cpp"


# The state -------------------------------------------------------------------------------------


class State:
    """The records by a key, in .nox/results/mutants/state.json."""

    def __init__(self) -> None:
        file = STATE / "state.json"
        stored = json.loads(file.read_text()) if file.exists() else {}
        self.records = {key: Record(**each) for key, each in stored.items()}
        self._lock = threading.Lock()

    def add(self, key: str, record: Record) -> None:
        with self._lock:
            self.records[key] = record
            new = STATE / "state.json.new"
            stored = {key: asdict(each) for key, each in self.records.items()}
            new.write_text(json.dumps(stored, indent=1))
            new.replace(STATE / "state.json")  # an interruption leaves the former state or this one

    def current(self) -> list[Record]:
        """The records of the headers as they are now."""
        contents = {header: digest(header_file(header)) for header in HEADERS}
        records = self.records.values()
        found = [each for each in records if contents.get(each.header) == each.content]
        return sorted(found, key=lambda each: (each.header, each.line))


# The report ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Argument:
    """Why a mutant may survive. The texts are those of the changed lines."""

    header: str
    before: str
    after: str
    why: str


def read_arguments() -> list[Argument]:
    return [Argument(**each) for each in json.loads(ARGUED.read_text())]


def table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )


def show(state: State) -> int:
    """Prints the report. Returns the exit status."""
    records = state.current()
    arguments = read_arguments()
    reasons = {(each.header, each.before, each.after): each.why for each in arguments}
    rows: list[tuple[str, ...]] = [
        ("header", "mutants", "killed", "survived", "argued", "killed %")
    ]
    percent = 0.0
    for name in (*HEADERS, "all"):
        mine = [each for each in records if name in (each.header, "all")]
        killed = sum(each.outcome == "killed" for each in mine)
        survivors = [each for each in mine if each.outcome == "survived"]
        argued = sum((each.header, each.before, each.after) in reasons for each in survivors)
        total = killed + len(survivors)
        percent = 100 * killed / total if total else 0.0
        rows.append((name, str(total), str(killed), str(len(survivors)), str(argued),
                     f"{percent:.1f}"))  # fmt: skip
    print(table(rows))
    for outcome, meaning in (("invalid", "do not compile"), ("same", "compile to the same code")):
        print(f"not counted: {sum(each.outcome == outcome for each in records)} that {meaning}")
    unargued = 0
    for each in records:
        if each.outcome == "survived":
            why = reasons.get((each.header, each.before, each.after), "")
            unargued += not why
            print(f"\nsurvivor: include/dlbridge/{each.header}:{each.line}")
            print(f"  - {each.before}\n  + {each.after}\n  {why or 'NOT ARGUED'}")
    dead = {(each.header, each.before, each.after) for each in records if each.outcome == "killed"}
    for argument in arguments:
        if (argument.header, argument.before, argument.after) in dead:
            print(f"\nargued, but killed: {argument.header}: {argument.after}")
    return 1 if unargued or percent < LEAST else 0


# The examination of a mutant -------------------------------------------------------------------


def run(command: list[str], seconds: float) -> tuple[int | None, str]:
    """The status of a command, None if it hangs, and its output. Ctrl-C does not reach the command,
    so that no mutant seems to be killed by it."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", start_new_session=True)  # fmt: skip
    try:
        output, _ = child.communicate(timeout=seconds)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # and the children of a death test
        child.communicate()
        return None, ""


class Build:
    """What the compilations of all mutants have in common. It takes compiler, libraries and the
    include folders of others from a build folder of CMake that has built the target unit_tests."""

    def __init__(self, folder: Path) -> None:
        command = ["ninja", "-C", str(folder), "-t", "commands", "unit_tests"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        commands = [shlex.split(line) for line in done.stdout.splitlines()]
        compile_test = next(each for each in commands if each[-1].endswith("/test_abi.cpp"))
        link = commands[-1][commands[-1].index("-o") + 2 :]
        link = link[: link.index("&&")] if "&&" in link else link
        self.compiler = next(each for each in compile_test if not each.endswith("ccache"))
        self.flags = [*FLAGS, f"-I{TESTS / 'fakes'}"]
        for option, value in zip(compile_test, compile_test[1:]):
            if option == "-isystem":
                self.flags += [option, value]
            elif option.startswith("-D") and option != "-DNDEBUG":
                self.flags.append(option)
        self.libraries = [str(folder / each) if each.endswith(".a") else each for each in link]
        self.heap = STATE / "counted_heap.o"
        self.must_compile(str(TESTS / "unit" / "counted_heap.cpp"), "-c", "-o", str(self.heap))
        self.debug = self.precompile("debug", ["-O0"])
        self.separate = self.precompile("separate", [*SEPARATE])

    def must_compile(self, *arguments: str) -> None:
        subprocess.run([self.compiler, *self.flags, *arguments], check=True)

    def precompile(self, name: str, options: list[str]) -> list[str]:
        """Precompiles the headers of others. Returns the options that include them."""
        folder = STATE / name
        folder.mkdir(parents=True, exist_ok=True)
        header = folder / "precompiled.hpp"
        header.write_text("".join(f"#include <{each}>\n" for each in PRECOMPILED))
        self.must_compile(*options, "-x", "c++-header", str(header), "-o", f"{header}.gch")
        return [*options, "-include", str(header)]

    def compiled_lines(self, header: str) -> set[int]:
        """The lines of a header that this compiler sees: other branches of #if are blank, or a line
        marker leaves them out."""
        file = str(header_file(header))
        command = [self.compiler, *self.flags, f"-I{INCLUDE}", "-E", "-x", "c++", file]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found, name, number = set(), "", 0
        for line in done.stdout.splitlines():
            if marker := re.match(r'# (\d+) "(.*)"', line):
                name, number = marker[2], int(marker[1])
                continue
            if name == file and line.strip():
                found.add(number)
            number += 1
        return found


class Bench:
    """The folder where the mutants of one header are compiled and tested."""

    def __init__(self, build: Build, header: str) -> None:
        self.build = build
        self.folder = STATE / "work" / header
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(INCLUDE, self.folder / "include")
        self.mutated = self.folder / "include" / "dlbridge" / header
        self.original = self.mutated.read_text()
        self.tests = HEADERS[header]
        self.originals: dict[tuple[str, str], str] = {}  # the digests of objects without a change

    def object_of(self, test: str) -> Path:
        return self.folder / f"{test}.o"

    def compile(self, test: str, options: list[str]) -> tuple[int | None, str]:
        build, output = self.build, str(self.object_of(test))
        command = [build.compiler, *build.flags, f"-I{self.folder / 'include'}", *options]
        return run([*command, "-c", str(test_file(test)), "-o", output], 5 * SECONDS)

    def unchanged(self, test: str, options: list[str]) -> bool:
        """Whether the object of a mutant is the same as that of the header."""
        return digest(self.object_of(test)) == self.originals[test, options[0]]

    def measure(self, test: str, options: list[str]) -> None:
        """Compiles a test without a change, once for each set of options."""
        if (test, options[0]) not in self.originals:
            mutant = self.mutated.read_text()
            self.mutated.write_text(self.original)
            status, output = self.compile(test, options)
            if status != 0:
                raise SystemExit(f"test_{test}.cpp does not compile without a mutation:\n{output}")
            self.originals[test, options[0]] = digest(self.object_of(test))
            self.mutated.write_text(mutant)

    def failed_test(self, test: str) -> str:
        """Links and runs a test. Returns the test of GoogleTest that failed, or how it ended."""
        program = self.folder / test
        objects = [str(self.object_of(test)), str(self.build.heap)]
        status, output = run(
            [self.build.compiler, *objects, *self.build.libraries, "-o", str(program)], SECONDS
        )
        if status != 0:
            return f"test_{test}: does not link"
        limited = f"ulimit -v {MEMORY}; exec {shlex.quote(str(program))}"
        status, output = run(["sh", "-c", f"{limited} --gtest_fail_fast --gtest_brief=1"], SECONDS)
        if status == 0:
            return ""
        failed = re.search(r"\[  FAILED  \] ([\w./]+)", output)
        if failed:
            return failed[1]
        return f"test_{test}: {'hangs' if status is None else f'status {status}'}"

    def check_tests(self) -> None:
        for test in self.tests:
            self.measure(test, self.build.debug)
            if failed := self.failed_test(test):
                raise SystemExit(f"without a mutation: {failed}")

    def examine(self, mutant: str) -> tuple[str, str]:
        """The outcome of a mutant, and the test that killed it."""
        self.mutated.write_text(mutant)
        changed = []
        for test in self.tests:
            status, output = self.compile(test, self.build.debug)
            if status != 0:
                # A static assertion of the test itself fails; else the mutant is not valid C++.
                position = re.search(
                    r"test_(\w+[.]cpp:\d+):\d+: error: (?:static assertion failed|non-constant)",
                    output,
                )
                return ("killed", f"static_assert, {position[1]}") if position else ("invalid", "")
            if self.unchanged(test, self.build.debug):
                continue
            changed.append(test)
            if failed := self.failed_test(test):
                return "killed", failed
        if not changed:  # no test uses the code
            return "survived", ""
        for test in changed:
            self.measure(test, self.build.separate)
            self.compile(test, self.build.separate)
            if not self.unchanged(test, self.build.separate):
                return "survived", ""
        return "same", ""


# The run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The mutations of a header in their order, and how many of its mutants are to be counted."""

    header: str
    mutations: list[Mutation]
    count: int


def plans(build: Build, headers: list[str], seed: int, count: int) -> list[Plan]:
    """Distributes the mutants among all headers in proportion to their mutations."""
    found = {
        header: all_mutations(
            header_file(header).read_text(), build.compiled_lines(header), f"{seed} {header}"
        )
        for header in HEADERS
    }
    total = sum(map(len, found.values()))
    return [
        Plan(each, found[each], max(FEWEST, round(count * len(found[each]) / total)))
        for each in headers
    ]


def examine_header(build: Build, plan: Plan, state: State, stopped: threading.Event) -> None:
    """Examines mutants of a header until enough of them are valid."""
    header, counted = plan.header, 0
    content = digest(header_file(header))
    tests = digest(*map(test_file, HEADERS[header]))
    bench: Bench | None = None
    text = header_file(header).read_text()
    for mutation in plan.mutations:
        if counted == plan.count or stopped.is_set():
            break
        key = f"{header} {content} {mutation.start} {mutation.end} {mutation.replacement}"
        record = state.records.get(key)
        if record is None or (record.outcome == "survived" and record.tests != tests):
            if bench is None:
                bench = Bench(build, header)
                bench.check_tests()
            outcome, by = bench.examine(mutation.apply(text))
            line = text.count("\n", 0, mutation.start) + 1
            before, after = mutation.lines(text)
            record = Record(header, content, line, before, after, outcome, by,
                            tests if outcome == "survived" else "")  # fmt: skip
            state.add(key, record)
            print(f"{header}:{line}: {outcome}{' by ' * bool(by)}{by}", flush=True)
        counted += record.outcome in ("killed", "survived")
    if bench is not None:
        shutil.rmtree(bench.folder)


def examine_all(build: Build, work: list[Plan], jobs: int, state: State) -> None:
    stopped = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(examine_header, build, each, state, stopped) for each in work]
        try:
            for each in running:
                each.result()
        except BaseException:  # Ctrl-C, or a test that fails without a mutation
            stopped.set()
            raise


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a build folder that has built unit_tests")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--only", default="", metavar="NAMES", help="such as layout.ipp,check.inl")
    parser.add_argument("--jobs", type=int, default=machine.processors())
    chosen = parser.parse_args()
    STATE.mkdir(parents=True, exist_ok=True)
    state = State()
    if not chosen.report:
        headers = [each for each in HEADERS if not chosen.only or each in chosen.only.split(",")]
        build = Build(chosen.folder.resolve())
        work = plans(build, headers, chosen.seed, chosen.count)
        try:
            examine_all(build, work, chosen.jobs, state)
        except KeyboardInterrupt:
            print("interrupted; the next run continues from here")
    return show(state)


if __name__ == "__main__":
    sys.exit(main())
