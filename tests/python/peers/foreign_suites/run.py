# SPDX-License-Identifier: BSD-3-Clause
"""Runs the DLPack tests of another library natively and through dlbridge.

`python run.py dpctl FOLDER`, in an environment with that library, runs the tests that its wheel
contains. The run fails if a test that passes natively fails through dlbridge, unless differences.py
states the cause, and if a test that it names passes. The results go to FOLDER; --write writes those
of all libraries there to docs/peers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from differences import DIFFERENCES, Difference

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[3] / "docs" / "peers.md"
BEGIN, END = "<!-- suites: begin -->", "<!-- suites: end -->"
ROLES = ("native", "consumer", "producer")
SUITES = {
    "dpctl": ("dpctl.tests.test_usm_ndarray_dlpack",),
    "dpnp": (
        "dpnp.tests.test_dlpack",
        "dpnp.tests.test_sycl_queue",
        "dpnp.tests.tensor.test_usm_ndarray_dlpack",
        "dpnp.tests.third_party.cupy.core_tests.test_dlpack",
    ),
}
Outcomes = dict[str, list[str]]  # by test: passed, failed or skipped, and the reason


def outcomes_of(library: str, role: str, folder: Path) -> Outcomes:
    """Runs a suite in a process of its own, in which dlbridge has one role."""
    from dlbridge.tools.libraries import opencl_variables

    folder.mkdir(parents=True, exist_ok=True)
    recorded = folder / f"{library}-{role}.json"
    recorded.unlink(missing_ok=True)
    configuration = folder / "pytest.ini"  # instead of that of a folder above the environment
    configuration.write_text("[pytest]\n")
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "through_dlbridge", "-p", "no:cacheprovider"),
        *("-c", str(configuration), "--rootdir", str(folder), "-W", "ignore", "--tb", "no"),
        *("-r", "", "-k", "dlpack", "--pyargs", *SUITES[library]),
    ]
    environment = {
        **os.environ,
        **opencl_variables(Path(sys.prefix)),
        "PYTHONPATH": str(HERE),
        "DLBRIDGE_ROLE": role,
        "DLBRIDGE_OUTCOMES": str(recorded),
    }
    print(f"-- {library}, {role}", flush=True)
    subprocess.run(command, env=environment, cwd=folder, timeout=600, check=False)
    result = json.loads(recorded.read_text())
    assert role == "native" or result["exchanges"] > 0, "no exchange passed through dlbridge"
    outcomes: Outcomes = result["outcomes"]
    return outcomes


def function_of(test: str) -> str:
    return test.partition("[")[0].rpartition("::")[2]


def cause_of(role: str, test: str, text: str) -> Difference | None:
    for each in DIFFERENCES:
        if each.role == role and function_of(test) in each.tests:
            return each if any(part in text for part in each.text) else None
    return None


def compare(role: str, native: Outcomes, through: Outcomes) -> tuple[Counter[str], list[str]]:
    """The number of different tests for each cause, and the complaints."""
    counts: Counter[str] = Counter()
    complaints = [f"{role}: {test} did not run" for test in native.keys() - through.keys()]
    different = set()
    for test, (outcome, text) in through.items():
        if outcome == native[test][0]:
            continue
        different.add(function_of(test))
        cause = cause_of(role, test, text)
        if cause is None:
            complaints.append(f"{role}: {test}: {outcome}, natively {native[test][0]}: {text}")
        else:
            counts[cause.cause] += 1
    for each in DIFFERENCES:
        if each.role == role:
            passed = set(each.tests) & set(map(function_of, native)) - different
            complaints += [f"{role}: {test} passes, and differences.py names it" for test in passed]
    return counts, complaints


def examine(library: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The result of a library for the table, and the complaints."""
    runs = {role: outcomes_of(library, role, folder) for role in ROLES}
    passed = {role: sum(outcome == "passed" for outcome, _ in run.values())
              for role, run in runs.items()}  # fmt: skip
    failed = [test for test, (outcome, _) in runs["native"].items() if outcome == "failed"]
    complaints = [f"native: {test} fails" for test in failed]
    causes: dict[str, Counter[str]] = {}
    for role in ROLES[1:]:
        causes[role], found = compare(role, runs["native"], runs[role])
        complaints += found
    skipped = len(runs["native"]) - passed["native"] - len(failed)
    version = metadata.version(library)
    result = {"version": version, "passed": passed, "skipped": skipped, "causes": causes}
    return result, complaints


def show(results: dict[str, dict[str, Any]]) -> str:
    """The section of the page."""
    lines = [
        "| library | version | tests | skipped | natively | as consumer | as producer |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for library, result in results.items():
        passed = [result["passed"][role] for role in ROLES]
        total = passed[0] + result["skipped"]
        numbers = " | ".join(map(str, (total, result["skipped"], *passed)))
        lines.append(f"| {library} | {result['version']} | {numbers} |")
    lines += ["", f"| dlbridge as | {' | '.join(results)} | cause of the difference |",
              f"| --- | {'---: | ' * len(results)}--- |"]  # fmt: skip
    for each in DIFFERENCES:
        counts = [
            str(result["causes"][each.role].get(each.cause, 0)) for result in results.values()
        ]
        lines.append(f"| {each.role} | {' | '.join(counts)} | {each.cause} |")
    return "\n".join(lines)


def write(folder: Path) -> None:
    results = {name: json.loads((folder / f"{name}.json").read_text()) for name in SUITES}
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"{PAGE} lacks the marks"
    PAGE.write_text(f"{before}{BEGIN}\n{show(results)}\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=SUITES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    result, complaints = examine(given.library, given.folder.resolve())
    (given.folder / f"{given.library}.json").write_text(json.dumps(result, indent=1))
    print(show({given.library: result}))
    for each in complaints:
        print(f"FAILED: {each}")
    others = [name for name in SUITES if not (given.folder / f"{name}.json").exists()]
    if given.write and not complaints and not others:
        write(given.folder)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
