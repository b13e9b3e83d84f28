"""Collects the data of docs/field.md from every environment, library by library."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

from dlbridge.tools import children, matrix
from dlbridge.tools.field.data import save
from dlbridge.tools.libraries import CASES, LIBRARIES
from dlbridge.tools.matrix import survey
from dlbridge.tools.matrix.steps import tidy

OWN = "newest"  # the environment of this interpreter
SECONDS = 1200  # for all the probes of a library


def conformance(environment: survey.Environment, name: str) -> dict[str, Any]:
    """Runs the conformance tool; returns the outcome of each rule, or the failure of the tool."""
    command = [environment.python, "-m", "dlbridge", "conformance", name, "--json"]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        return rules_of(json.loads(process.stdout))
    except (subprocess.TimeoutExpired, ValueError) as error:
        return {"versions": {}, "rules": {}, "failed": tidy(f"{type(error).__name__}: {error}")}


def rules_of(report: dict[str, Any]) -> dict[str, Any]:
    """Returns the part of a report that the page shows."""
    return {
        "versions": report["versions"],
        "rules": {
            each["id"]: {"outcome": each["outcome"]}
            if each["outcome"] == "pass"
            else {"outcome": each["outcome"], "got": tidy(each["got"])}
            for each in report["results"]
        },
    }


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
    return survey.run(plan, report_progress)


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
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    environments = [
        survey.examine_environment(name, python, list(LIBRARIES))
        for name, python in [(OWN, sys.executable), *options.environment]
    ]
    options.folder.mkdir(parents=True, exist_ok=True)
    for part in options.part or PARTS:
        result = PARTS[part](environments, options.jobs, lambda now: print(now, file=sys.stderr))
        save(options.folder, part, result)


if __name__ == "__main__":
    main()
