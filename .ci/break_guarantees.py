"""Breaks each guarantee of tests/guarantees.toml once, and runs the test that must then fail.

    python3 noxfile.py guarantees -- [WORD ...]    only those whose promise contains a word
    python3 .ci/break_guarantees.py --check        whether each can be broken; the session style

The session configures a build of TREE, a copy of the checkout, and this program changes the copy.
Every test also runs without a change first, and must pass.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import machine

LIST = machine.CHECKOUT / "tests" / "guarantees.toml"
STATE = machine.STATE / "guarantees"
TREE = STATE / "tree"
PACKAGE = STATE / "package" / "dlbridge"
RESULTS = STATE / "results.json"
LIMIT = 600  # seconds of one test, as a broken guarantee may be a hang


class Fault(Exception):
    """A guarantee that cannot be broken, or is not tested."""


@dataclass(frozen=True)
class Guarantee:
    """An entry of tests/guarantees.toml."""

    promise: str
    page: str
    file: str
    old: str
    new: str
    test: str
    extension: bool = False

    @property
    def in_cpp(self) -> bool:
        return self.test.endswith(".cpp")

    @property
    def on_devices(self) -> bool:
        """Whether the test runs on the simulated drivers."""
        return self.test.startswith(("tests/runtime/", "tests/python/test_device_"))

    @property
    def targets(self) -> list[str]:
        """The targets of the build that the test needs."""
        if self.in_cpp and self.on_devices:
            return ["runtime_tests"]
        if self.in_cpp:
            return [Path(self.test).stem.replace("test_", "unit_")]
        modules = ["dlbridge_core", "foreign_module", *(["extension"] if self.extension else [])]
        if self.on_devices:
            modules += ["simulated_drivers", "device_extension", "plain_device_extension"]
        return modules


def guarantees() -> list[Guarantee]:
    # Python 3.11 and later; the other sessions need no TOML.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return [Guarantee(**each) for each in toml.loads(LIST.read_text())["guarantee"]]


def copy_tree() -> None:
    """Updates TREE. Files that are the same keep their times, so that little is built again."""
    names = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=machine.CHECKOUT,
        text=True,
    ).split("\0")
    for name in filter(None, names):
        source, copy = machine.CHECKOUT / name, TREE / name
        if source.is_file() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def run(folder: Path, each: Guarantee) -> bool:
    """Builds and runs the test of a guarantee. Returns whether it passed."""
    build = subprocess.run(
        ["cmake", "--build", str(folder), "--target", *each.targets],
        capture_output=True,
        text=True,
    )
    if build.returncode != 0:
        raise Fault(f"the changed code does not compile:\n{build.stdout[-2000:]}")
    environment = dict(os.environ)
    if each.on_devices:
        environment["LD_LIBRARY_PATH"] = str(folder / "simulated-drivers")
    if each.in_cpp and each.on_devices:
        suites = set(re.findall(r"\bTEST(?:_P)?\((\w+),", (TREE / each.test).read_text()))
        chosen = ":".join(f"*{suite}.*" for suite in sorted(suites))
        command = [str(folder / "tests/runtime/runtime_tests"), f"--gtest_filter={chosen}"]
    elif each.in_cpp:
        command = [str(folder / "tests" / "unit" / each.targets[0])]
    else:
        shutil.rmtree(PACKAGE, ignore_errors=True)
        shutil.copytree(TREE / "python" / "dlbridge", PACKAGE)
        shutil.copy(next((folder / "python").glob("_core*.so")), PACKAGE)
        driver = TREE / "tests" / "fakes" / "simulated_driver"
        environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGE.parent), str(driver)])
        environment["DLBRIDGE_TEST_MODULES"] = str(folder / "python-modules")
        peers = "numpy,simulated" if each.on_devices else "numpy"
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                   f"--peers={peers}", each.test]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=TREE, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def fault_of(each: Guarantee, tree: Path) -> str:
    """Why a guarantee cannot be broken in a tree; an empty text if it can."""
    test, _, function = each.test.partition("::")
    missing = [name for name in (each.page, each.file, test) if not (tree / name).is_file()]
    if missing:
        return f"there is no {', '.join(missing)}"
    if function and f"def {function}(" not in (tree / test).read_text():
        return f"there is no {function} in {test}"
    count = (tree / each.file).read_text().count(each.old)
    return "" if count == 1 else f"the text to replace occurs {count} times in {each.file}"


def check() -> int:
    """Reports the guarantees that cannot be broken, for example after a change of the code."""
    faults = {each.promise: fault_of(each, machine.CHECKOUT) for each in guarantees()}
    for promise, fault in faults.items():
        if fault:
            print(f"PROBLEM: {promise}: {fault}")
    print(f"{list(faults.values()).count('')} of {len(faults)} guarantees can be broken")
    return int(any(faults.values()))


def examine(folder: Path, each: Guarantee) -> str:
    """Breaks a guarantee. Returns a problem, or an empty text if the test failed as it must."""
    if fault := fault_of(each, TREE):
        return fault
    file = TREE / each.file
    text = file.read_text()
    try:
        if not run(folder, each):
            return f"{each.test} fails without the change"
        file.write_text(text.replace(each.old, each.new))
        return f"{each.test} passes with the change" if run(folder, each) else ""
    except Fault as fault:
        return str(fault)
    finally:
        file.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="guarantees", description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", type=Path, nargs="?", help="the build folder of the copy")
    parser.add_argument("words", nargs="*")
    chosen = parser.parse_args()
    if chosen.check:
        return check()
    if chosen.folder is None:
        parser.error("the build folder is missing")
    wanted = [
        each
        for each in guarantees()
        if not chosen.words or any(word in each.promise for word in chosen.words)
    ]
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    listed = [each.promise for each in guarantees()]
    results = {promise: stored[promise] for promise in listed if promise in stored}
    broken = 0
    for each in wanted:
        problem = examine(chosen.folder, each)
        broken += bool(problem)
        results[each.promise] = {"test": each.test, "page": each.page, "problem": problem}
        print(f"{'PROBLEM' if problem else 'tested'}: {each.promise}: {problem or each.test}",
              flush=True)  # fmt: skip
        RESULTS.write_text(json.dumps(results, indent=1))
    print(f"{len(wanted) - broken} of {len(wanted)} guarantees have a test that fails without them")
    return int(broken != 0 or not wanted)


if __name__ == "__main__":
    sys.exit(main())
