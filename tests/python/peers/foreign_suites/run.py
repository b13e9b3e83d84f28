# SPDX-License-Identifier: BSD-3-Clause
"""Runs the DLPack tests of another library natively and through dlbridge.

`python run.py numpy-2.4 FOLDER`, in an environment with that library, runs the tests that its wheel
contains; JAX's are downloaded to FOLDER, unless they are there. The run fails if a test that passes
natively fails through dlbridge, unless differences.py states the cause, and if a test that it names
passes. The results go to FOLDER; --write writes those of all libraries there to
docs/generated/peers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.request
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from differences import DIFFERENCES, Difference

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[3] / "docs" / "generated" / "peers.md"
BEGIN, END = "<!-- suites: begin -->", "<!-- suites: end -->"
ROLES = ("native", "consumer", "producer")
NUMPY = ("numpy._core.tests.test_dlpack",)
SUITES = {  # by the library, and the release where there are several
    "numpy-1.26": ("numpy.core.tests.test_dlpack",),
    "numpy-2.0": NUMPY,
    "numpy-2.4": NUMPY,
    "numpy-2.5": NUMPY,
    "jax-0.10": (),
    "jax-0.12": (),
    "dpctl": ("dpctl.tests.test_usm_ndarray_dlpack",),
    "dpnp": (
        "dpnp.tests.test_dlpack",
        "dpnp.tests.test_sycl_queue",
        "dpnp.tests.tensor.test_usm_ndarray_dlpack",
        "dpnp.tests.third_party.cupy.core_tests.test_dlpack",
    ),
}
# JAX's wheel has no tests: by the file in FOLDER, where its repository has them.
JAX_TESTS = "https://raw.githubusercontent.com/jax-ml/jax/jax-v{version}/tests/{file}"
JAX_FILE = "array_interoperability_test.py"
Outcomes = dict[str, list[str]]  # by test: passed, failed or skipped, and the reason


def library_of(suite: str) -> str:
    return suite.partition("-")[0]


def tests_of(suite: str, folder: Path) -> list[str]:
    """The arguments of pytest for the tests of the installed version."""
    version = metadata.version(library_of(suite))
    release = suite.partition("-")[2]
    assert f"{version}.".startswith(f"{release}." if release else ""), version
    if library_of(suite) != "jax":
        return ["--pyargs", *SUITES[suite]]
    file = folder / suite.replace(".", "_") / JAX_FILE
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        tag = ".".join(version.split(".")[:3])
        with urllib.request.urlopen(JAX_TESTS.format(version=tag, file=JAX_FILE)) as answer:
            file.write_bytes(answer.read())
    return [str(file)]


def outcomes_of(suite: str, role: str, folder: Path) -> Outcomes:
    """Runs a suite in a process of its own, in which dlbridge has one role."""
    from dlbridge.tools.libraries import opencl_variables

    folder.mkdir(parents=True, exist_ok=True)
    recorded = folder / f"{suite}-{role}.json"
    recorded.unlink(missing_ok=True)
    configuration = folder / "pytest.ini"  # instead of that of a folder above the environment
    configuration.write_text("[pytest]\n")
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "through_dlbridge", "-p", "no:cacheprovider"),
        *("-c", str(configuration), "--rootdir", str(folder), "-W", "ignore", "--tb", "no"),
        *("-r", "", "-k", "dlpack", *tests_of(suite, folder)),
    ]
    environment = {
        **os.environ,
        **opencl_variables(Path(sys.prefix)),
        "PYTHONPATH": str(HERE),
        "JAX_NUM_GENERATED_CASES": "200",  # of each test; by default 10
        "DLBRIDGE_ROLE": role,
        "DLBRIDGE_SUITE": library_of(suite),
        "DLBRIDGE_OUTCOMES": str(recorded),
    }
    print(f"-- {suite}, {role}", flush=True)
    subprocess.run(command, env=environment, cwd=folder, timeout=600, check=False)
    result = json.loads(recorded.read_text())
    assert role == "native" or result["exchanges"] > 0, "no exchange passed through dlbridge"
    outcomes: Outcomes = result["outcomes"]
    return outcomes


def function_of(test: str) -> str:
    """The name of the function; those of JAX are numbered in place of parameters in brackets."""
    name = test.partition("[")[0].rpartition("::")[2]
    return name.rstrip("0123456789") if name.startswith("testJax") or "ToJax" in name else name


def differences_of(suite: str, role: str) -> list[Difference]:
    library = library_of(suite)
    return [each for each in DIFFERENCES if each.role == role and library in each.libraries]


def cause_of(suite: str, role: str, test: str, text: str) -> Difference | None:
    for each in differences_of(suite, role):
        if function_of(test) in each.tests:
            return each if any(part in text for part in each.text) else None
    return None


def compare(
    suite: str, role: str, native: Outcomes, through: Outcomes
) -> tuple[Counter[str], list[str]]:
    """The number of different tests for each cause, and the complaints."""
    counts: Counter[str] = Counter()
    complaints = [f"{role}: {test} did not run" for test in native.keys() - through.keys()]
    different = set()
    for test, (outcome, text) in through.items():
        if outcome == native[test][0]:
            continue
        different.add(function_of(test))
        cause = cause_of(suite, role, test, text)
        if cause is None:
            complaints.append(f"{role}: {test}: {outcome}, natively {native[test][0]}: {text}")
        else:
            counts[cause.cause] += 1
    for each in differences_of(suite, role):
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
        causes[role], found = compare(library, role, runs["native"], runs[role])
        complaints += found
    skipped = len(runs["native"]) - passed["native"] - len(failed)
    version = metadata.version(library_of(library))
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
        lines.append(f"| {library_of(library)} | {result['version']} | {numbers} |")
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
