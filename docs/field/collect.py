# SPDX-License-Identifier: BSD-3-Clause
"""Collects the data of docs/generated/field.md from every environment, library by library.

Each part is a file of its own, so --part repeats one without the others: after a change of the
probes `--part conformance`, after a new known defect `--part defects`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

from dlbridge.tools import children, known, matrix
from dlbridge.tools.libraries import CASES, LIBRARIES
from dlbridge.tools.matrix import survey
from dlbridge.tools.matrix.steps import tidy
from dlbridge.tools.options import jobs
from field.data import VIOLATIONS, save

OWN = "newest"  # the environment of this interpreter
SECONDS = 1200.0  # for all the probes of a library


def conformance(environment: survey.Environment, name: str) -> dict[str, Any]:
    """Runs the conformance tool; returns the outcome of each rule, or the failure of the tool."""
    command = [environment.python, "-m", "dlbridge", "conformance", name, "--json"]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        return _failed(f"{type(error).__name__}: {error}")
    try:
        return rules_of(json.loads(process.stdout))
    except ValueError:  # the target cannot be examined, and the last line says why
        return _failed((process.stderr.strip().splitlines() or ["no output"])[-1])


def _failed(text: str) -> dict[str, Any]:
    return {"standard": None, "versions": {}, "rules": {}, "failed": tidy(text)}


def rules_of(report: dict[str, Any]) -> dict[str, Any]:
    """Returns the part of a report that the page shows."""
    return {
        "schema": report.get("schema"),
        "standard": report["standard"],
        "versions": report["versions"],
        "rules": {each["id"]: _result(each) for each in report["results"]},
    }


def _result(result: dict[str, Any]) -> dict[str, Any]:
    """Returns one result; the sentences only where it is a violation."""
    kept = {"outcome": result["outcome"], "kind": result["kind"]}
    if result["outcome"] != "pass":
        kept["got"] = tidy(result["got"])
    if result["outcome"] in VIOLATIONS:
        kept["sources"] = result["sources"]
    return kept


def dlpack_support(environment: survey.Environment, name: str) -> dict[str, Any]:
    """Returns which parts of DLPack a library supports, or the failure of its import."""
    answer = children.call(
        "dlbridge.tools.doctor.dlpack_support:examine", python=environment.python, name=name
    )
    if answer.outcome != "returned":
        return {"failed": f"{answer.outcome}: {tidy(answer.message)}"}
    keys = ("version", "legacy", "versioned", "protocol", "exchange_table", "failed")
    return {key: answer.value[key] for key in keys if key in answer.value}


def exchanges(
    environments: Sequence[survey.Environment], jobs: int, report_progress: Callable[[str], None]
) -> dict[str, Any]:
    """Returns the report of the matrix, with dlbridge in between where an exchange fails."""
    plan = survey.Plan(environments, _libraries(), list(CASES), via=True, jobs=jobs)
    report = survey.run(plan, report_progress)
    if not report.pop("complete"):
        raise KeyboardInterrupt
    return report


def defects(
    environments: Sequence[survey.Environment],
    jobs: int,
    report_progress: Callable[[str], None],
    rows: Iterable[known.Defect] = tuple(known.DEFECTS.values()),
) -> dict[str, Any]:
    """Runs the program of every known defect in an environment that has the library."""
    rows = tuple(rows)
    versions = {
        library: _installed(environments, library)
        for library in dict.fromkeys(row.library for row in rows)
    }

    def answer(row: known.Defect) -> dict[str, Any] | None:
        places = versions[row.library]
        if not places:
            return None
        report_progress(f"program of {row.id}")
        environment, version = next(
            ((where, text) for where, text in places if row.is_in(text)), places[0]
        )
        result = known.run(row.program, python=environment.python)
        reproduced = row.is_reproduced_by(result)
        return {"version": version, "reproduced": reproduced, "shows": tidy(str(result))}

    with ThreadPoolExecutor(jobs) as pool:
        results = {row.id: result for row, result in zip(rows, pool.map(answer, rows))}
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "platform": environments[0].contents["platform"],
        "runs": {name: result for name, result in results.items() if result is not None},
    }


def _installed(
    environments: Sequence[survey.Environment], library: str
) -> list[tuple[survey.Environment, str]]:
    """Returns the environments that have a library, with its version there."""
    found = []
    for environment in environments:
        answer = children.call(
            "dlbridge.tools.known:installed", python=environment.python, library=library
        )
        if answer.value is not None:
            found.append((environment, str(answer.value)))
    return found


def by_library(
    examine: Callable[[survey.Environment, str], dict[str, Any]],
    environments: Sequence[survey.Environment],
    jobs: int,
    report_progress: Callable[[str], None],
) -> dict[str, Any]:
    """Examines each library in the first environment that has it."""
    environments_of = {
        name: [environment for environment in environments if environment.has(name)]
        for name in _libraries()
    }

    def answer(name: str) -> dict[str, Any]:
        report_progress(f"{examine.__name__} of {name}")
        return examine(environments_of[name][0], name)

    names = [name for name in environments_of if environments_of[name]]
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(names, pool.map(answer, names)))


def _libraries() -> list[str]:
    return [name for name in LIBRARIES if name not in matrix.NOT_SHOWN]


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "matrix": exchanges,
    "conformance": lambda *how: by_library(conformance, *how),
    "support": lambda *how: by_library(dlpack_support, *how),
    "defects": defects,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the JSON files")
    parser.add_argument(
        "--environment",
        metavar="NAME=PYTHON",
        action="append",
        default=[],
        type=matrix.environment,
        help="as for the matrix tool",
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="collect only this part")
    parser.add_argument("--jobs", type=jobs, default=2)
    options = parser.parse_args()
    environments = [
        survey.examine_environment(name, python, list(LIBRARIES))
        for name, python in [(OWN, sys.executable), *options.environment]
    ]
    options.folder.mkdir(parents=True, exist_ok=True)
    for part in options.part or PARTS:
        result = PARTS[part](environments, options.jobs, lambda now: print(now, file=sys.stderr))
        if "date" in result:
            result["commit"] = os.environ.get("DLBRIDGE_COMMIT", "unknown")  # set by noxfile.py
        save(options.folder, part, result)


if __name__ == "__main__":
    main()
