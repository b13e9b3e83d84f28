# SPDX-License-Identifier: BSD-3-Clause
"""The survey: runs every exchange between the libraries of some environments."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Callable

from .. import children, core, versions
from . import blame
from .exchange import ARRIVED, CONVERSIONS, FAILED, library_row
from .steps import last_step, side_of

HERE = "here"  # the environment of this interpreter
SECONDS = 20.0
_CHILD = f"{__name__.rsplit('.', 1)[0]}.exchange"


class NoEnvironment(ValueError):
    """An environment that cannot be used: its Python or its dlbridge is missing."""


@dataclass(frozen=True)
class Environment:
    """A Python and its libraries."""

    name: str
    python: str
    contents: dict[str, Any] = field(default_factory=dict)  # as exchange.describe() returns it

    def has(self, *libraries: str) -> bool:
        return all(name in self.contents["libraries"] for name in libraries)


def examine_environment(name: str, python: str, libraries: Sequence[str]) -> Environment:
    """Examines a Python. Raises NoEnvironment where it, or dlbridge in it, is missing."""
    try:
        answer = children.call(f"{_CHILD}:describe", python=python, names=list(libraries))
    except OSError as error:
        text = f"environment {name}: no Python can be run at {python}: {error}"
        raise NoEnvironment(text) from None
    if answer.outcome == "returned":
        return Environment(name, python, answer.value)
    text = answer.noise.splitlines()[-1] if answer.outcome == "crashed" and answer.noise else ""
    raise NoEnvironment(
        f"environment {name}: {python} must be a Python with this {core.COMMAND} "
        f"({core.version()}) installed; its output: {text or answer.message}"
    )


@dataclass(frozen=True)
class Plan:
    """The exchanges to run, and their limits."""

    environments: Sequence[Environment]
    libraries: Sequence[str]  # in the order of the table
    cases: Sequence[str]
    via: bool = False  # whether failing exchanges are repeated with dlbridge in between
    seconds: float = SECONDS  # for one exchange; importing a pair has a longer limit
    jobs: int = min(4, os.cpu_count() or 1)

    def pairs(self) -> list[tuple[Environment, str, str]]:
        """Returns each pair once, in the first environment that has both; single libraries first.

        Single libraries come first, so that a failing import is known before it is repeated.
        """
        met = itertools.combinations_with_replacement(self.libraries, 2)
        there = [
            (environment, one, other)
            for one, other in met
            for environment in [e for e in self.environments if e.has(one, other)][:1]
        ]
        return sorted(there, key=lambda pair: pair[1] != pair[2])

    def size(self) -> int:
        return sum(len(self.cases) * len(_ways(one, other)) for _, one, other in self.pairs())


def _ways(one: str, other: str) -> list[tuple[str, str]]:
    return [(one, other)] if one == other else [(one, other), (other, one)]


def run(plan: Plan, advance: Callable[[str], None] = lambda now: None) -> dict[str, Any]:
    """Runs every exchange of the plan, and returns the report, which --json prints.

    On Ctrl-C the exchanges that run are cancelled, and the report has those that have ended.
    advance is called after each exchange, from several threads, with the pair as text.
    """
    survey = _Survey(plan, advance)
    pairs = plan.pairs()
    alone = [pair for pair in pairs if pair[1] == pair[2]]
    together = pairs[len(alone) :]
    with ThreadPoolExecutor(plan.jobs) as pool:
        try:
            for group in (alone, together):
                list(pool.map(survey.exchange_pair, group))
        except BaseException as raised:  # no other exchange starts
            survey.stopped.set()
            if not isinstance(raised, KeyboardInterrupt):
                raise
    return survey.report()


class _Pair:
    """The child process of a pair, in which both are imported before an exchange starts.

    The time limit of an exchange therefore excludes the imports, also after a crash.
    """

    def __init__(self, worker: children.Worker, one: str, other: str) -> None:
        self.worker, self.names = worker, sorted({one, other})
        self.loaded = False

    def load(self) -> children.Answer:
        answer = self.worker.call(f"{_CHILD}:load", within=children.SECONDS, names=self.names)
        self.loaded = answer.outcome == "returned"
        return answer

    def _call(self, function: str, **keywords: Any) -> children.Answer:
        if not self.loaded:
            answer = self.load()
            if not self.loaded:
                return answer
        answer = self.worker.call(function, **keywords)
        self.loaded = answer.outcome in ("returned", "raised")
        return answer

    def exchange(self, producer: str, consumer: str, case: str, **more: Any) -> dict[str, Any]:
        answer = self._call(
            f"{_CHILD}:exchange", producer=producer, consumer=consumer, case=case, **more
        )
        return dict(answer.value) if answer.outcome == "returned" else _failure(answer)

    def ask(self, function: Callable[..., Any], producer: str, case: str) -> children.Answer:
        """Calls a function that examines a producer alone."""
        name = f"{function.__module__}:{function.__name__}"
        return self._call(name, producer=producer, case=case)

    def through_dlbridge(self, producer: str, consumer: str, case: str) -> dict[str, Any]:
        """Repeats an exchange with dlbridge: returns the first success, else the last failure."""
        result: dict[str, Any] = {}
        for conversion in CONVERSIONS:
            attempt = self.exchange(producer, consumer, case, conversion=conversion)
            if attempt["outcome"] != "impossible":
                result = attempt
            if attempt["outcome"] in ARRIVED:
                break
        return result or attempt


class _Survey:
    def __init__(self, plan: Plan, advance: Callable[[str], None]) -> None:
        self.plan, self.advance = plan, advance
        self.stopped = threading.Event()
        self.results: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.versions: dict[str, dict[str, str]] = {e.name: {} for e in plan.environments}
        self.broken: dict[tuple[str, str], dict[str, Any]] = {}  # environment, library: result

    def exchange_pair(self, which: tuple[Environment, str, str]) -> None:
        with contextlib.suppress(children.Cancelled):  # Ctrl-C
            self._exchange_pair(*which)

    def _exchange_pair(self, environment: Environment, one: str, other: str) -> None:
        with children.Worker(
            python=environment.python, seconds=self.plan.seconds, cancelled=self.stopped
        ) as worker:
            pair = _Pair(worker, one, other)
            failed = self._load(pair, environment, one, other)
            for (producer, consumer), case in itertools.product(_ways(one, other), self.plan.cases):
                if self.stopped.is_set():
                    return
                result = failed or self._exchange(pair, producer, consumer, case)
                self.results[producer, consumer, case] = {
                    "producer": short_name(producer),
                    "consumer": short_name(consumer),
                    "environment": environment.name,
                    "case": case,
                    **result,
                }
                self.advance(f"{short_name(producer)} to {short_name(consumer)}")

    def _load(
        self, pair: _Pair, environment: Environment, one: str, other: str
    ) -> dict[str, Any] | None:
        """Imports both. A returned dictionary is the result of every exchange of the pair."""
        for name in (one, other):
            if (environment.name, name) in self.broken:
                return self.broken[environment.name, name]
        answer = pair.load()
        if answer.outcome == "hung":
            answer = pair.load()
        if answer.outcome == "returned":
            self.versions[environment.name].update(answer.value)
            return None
        failed = _failure(answer)
        text = f"{short_name(one)} cannot be used: {failed['said']}"
        if one == other:
            self.broken[environment.name, one] = {"outcome": "impossible", "said": text}
        return failed if answer.outcome != "raised" else {"outcome": "impossible", "said": text}

    def _exchange(self, pair: _Pair, producer: str, consumer: str, case: str) -> dict[str, Any]:
        result = pair.exchange(producer, consumer, case)
        if _is_by_the_machine(result):  # it must happen twice to be the library's fault
            result = pair.exchange(producer, consumer, case)
        result = blame.assign(
            result,
            lambda function: pair.ask(function, producer, case),
            lambda: pair.exchange(producer, consumer, case, with_device=True),
        )
        if self.plan.via and result["outcome"] in FAILED and consumer != "dlbridge":
            result["via"] = pair.through_dlbridge(producer, consumer, case)
        return result

    def report(self) -> dict[str, Any]:
        order = itertools.product(self.plan.libraries, self.plan.libraries, self.plan.cases)
        titles = {
            short_name(name): contents["title"]
            for environment in self.plan.environments
            for name, contents in environment.contents["libraries"].items()
        }
        there = {name: short_name(name) for name in self.plan.libraries}
        there = {name: short for name, short in there.items() if short in titles}
        return {
            "dlbridge": core.version(),
            "dlpack": versions.of_dlpack(),
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "platform": self.plan.environments[0].contents["platform"],
            "complete": not self.stopped.is_set(),
            "via": self.plan.via,
            "libraries": {short: titles[short] for short in there.values()},
            # Their DLPack is that of another library, so their exchanges count as that one's.
            "by_way_of": {
                short: library_row(name).by_way_of
                for name, short in there.items()
                if library_row(name).by_way_of
            },
            # The libraries whose failures decide the exit status: dlbridge's and the user's own.
            "judged": [short for name, short in there.items() if name == "dlbridge" or ":" in name],
            "cases": list(self.plan.cases),
            "environments": [
                {
                    "name": environment.name,
                    "python": environment.contents["python"],
                    "dlbridge": environment.contents["dlbridge"],
                    "libraries": {
                        short_name(name): version
                        for name, version in sorted(self.versions[environment.name].items())
                    },
                }
                for environment in self.plan.environments
            ],
            "exchanges": [self.results[key] for key in order if key in self.results],
        }


def short_name(library: str) -> str:
    """Returns the short name of a library, whose row may have a longer one."""
    return library_row(library).module if ":" in library else library


def _is_by_the_machine(result: dict[str, Any]) -> bool:
    """Whether a busy machine or another process may be the reason: a hang, or SIGKILL."""
    return result["outcome"] == "hung" or str(result.get("said", "")).startswith("SIGKILL")


def _failure(answer: children.Answer) -> dict[str, Any]:
    """Converts a call that did not return to the result of an exchange."""
    step, message = last_step(answer.noise)
    if answer.outcome == "raised":  # SystemExit, or in our own code: others are caught
        return {"outcome": "crashed", "whose": side_of(step), "said": answer.message}
    text = " ".join(filter(None, [answer.message, step])) + (f": {message}" if message else "")
    return {"outcome": answer.outcome, "whose": side_of(step), "said": text}
