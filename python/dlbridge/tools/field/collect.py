"""Collects what is known of the field, library by library, in every environment that is named."""

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

OWN = "newest"  # the environment of the Python that runs this
SECONDS = 1200  # for all the checks of a library


def conformance(environment: survey.Environment, name: str) -> dict[str, Any]:
    """What came of each rule; nothing, and why, where the tool does not answer."""
    command = [environment.python, "-m", "dlbridge", "conformance", name, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        return rules_of(json.loads(done.stdout))
    except (subprocess.TimeoutExpired, ValueError) as reason:
        return {"versions": {}, "rules": {}, "failed": tidy(f"{type(reason).__name__}: {reason}")}


def rules_of(report: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of a report of the tool."""
    return {
        "versions": report["versions"],
        "rules": {
            each["id"]: {"outcome": each["outcome"]}
            if each["outcome"] == "pass"
            else {"outcome": each["outcome"], "got": tidy(each["got"])}
            for each in report["results"]
        },
    }


def speech(environment: survey.Environment, name: str) -> dict[str, Any]:
    """What a library speaks; only that it crashes, where importing it does."""
    answer = children.call(
        "dlbridge.tools.doctor.speech:look", python=environment.python, name=name
    )
    if answer.outcome != "returned":
        return {"failed": f"{answer.outcome}: {tidy(answer.said)}"}
    wanted = ("version", "legacy", "versioned", "protocol", "exchange_table", "failed")
    return {key: answer.value[key] for key in wanted if key in answer.value}


def exchanges(
    environments: Sequence[survey.Environment], jobs: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """The report of the matrix, with dlbridge between where it fails without."""
    plan = survey.Plan(environments, _libraries(), list(CASES), via=True, jobs=jobs)
    return survey.run(plan, say)


def by_library(
    ask: Callable[[survey.Environment, str], dict[str, Any]],
    environments: Sequence[survey.Environment],
    jobs: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Asks each library, in the first environment that has it."""
    there = {
        name: [environment for environment in environments if environment.has(name)]
        for name in _libraries()
    }

    def answer(name: str) -> dict[str, Any]:
        say(f"{ask.__name__} of {name}")
        return ask(there[name][0], name)

    names = [name for name in there if there[name]]
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(names, pool.map(answer, names)))


def _libraries() -> list[str]:
    return [name for name in LIBRARIES if name not in matrix.NOT_SHOWN]


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "matrix": exchanges,
    "conformance": lambda *how: by_library(conformance, *how),
    "speech": lambda *how: by_library(speech, *how),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument(
        "--environment",
        metavar="NAME=PYTHON",
        action="append",
        default=[],
        type=matrix.environment,
        help="as for the matrix",
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one anew")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    environments = [
        survey.look_at(name, python, list(LIBRARIES))
        for name, python in [(OWN, sys.executable), *given.environment]
    ]
    given.folder.mkdir(parents=True, exist_ok=True)
    for part in given.part or PARTS:
        found = PARTS[part](environments, given.jobs, lambda now: print(now, file=sys.stderr))
        save(given.folder, part, found)


if __name__ == "__main__":
    main()
