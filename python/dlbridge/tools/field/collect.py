"""Collects what is known of the field, library by library, in every environment that is named."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dlbridge.tools import children, matrix
from dlbridge.tools.field.data import Field, save
from dlbridge.tools.libraries import CASES, LIBRARIES
from dlbridge.tools.matrix import survey
from dlbridge.tools.matrix.steps import tidy

SECONDS = 1200  # for all the checks of a library


def conformance(environment: survey.Environment, name: str) -> dict[str, Any]:
    """What came of each rule. Raises RuntimeError where the tool does not answer."""
    command = [environment.python, "-m", "dlbridge", "conformance", name, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if not done.stdout:
        raise RuntimeError(f"conformance {name} in {environment.name}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return {
        "environment": environment.name,
        "versions": found["versions"],
        "rules": {
            each["id"]: {"outcome": each["outcome"]}
            if each["outcome"] == "pass"
            else {"outcome": each["outcome"], "got": tidy(each["got"])}
            for each in found["results"]
        },
    }


def speech(environment: survey.Environment, name: str) -> dict[str, Any]:
    """What a library speaks; only that it crashes, where importing it does."""
    answer = children.call("dlbridge.tools.speech:look", python=environment.python, name=name)
    if answer.outcome != "returned":
        return {"failed": f"{answer.outcome}: {tidy(answer.said)}"}
    wanted = ("version", "legacy", "versioned", "protocol", "exchange_table", "failed")
    return {key: answer.value[key] for key in wanted if key in answer.value}


def collect(
    environments: Sequence[survey.Environment], jobs: int, say: Callable[[str], None]
) -> Field:
    """All three. Exchanges are made first, as they take longest and need most."""
    libraries = [name for name in LIBRARIES if name not in matrix.NOT_SHOWN]
    plan = survey.Plan(environments, libraries, list(CASES), via=True, jobs=jobs)
    report = survey.run(plan, say)
    there = {
        name: environment
        for environment in reversed(environments)
        for name in libraries
        if environment.has(name)
    }
    names = [name for name in libraries if name in there]
    with ThreadPoolExecutor(jobs) as pool:

        def ask(what: Callable[[survey.Environment, str], Any], name: str) -> tuple[str, Any]:
            say(f"{what.__name__} of {name}")
            return name, what(there[name], name)

        rules = dict(pool.map(lambda name: ask(conformance, name), names))
        spoken = dict(pool.map(lambda name: ask(speech, name), names))
    return Field(report, rules, spoken)


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
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    environments = [
        survey.look_at(name, python, list(LIBRARIES))
        for name, python in [(survey.HERE, sys.executable), *given.environment]
    ]
    given.folder.mkdir(parents=True, exist_ok=True)
    save(collect(environments, given.jobs, lambda now: print(now, file=sys.stderr)), given.folder)


if __name__ == "__main__":
    main()
