"""The survey: every exchange among the libraries of some environments, in child processes."""

from __future__ import annotations

import datetime
import itertools
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Callable

import dlbridge
from dlbridge.tools import children
from dlbridge.tools.matrix.exchange import ARRIVED, FAILED, ROADS, row
from dlbridge.tools.matrix.steps import last_step

HERE = "here"  # the environment of the Python that runs this
SECONDS = 20.0
_CHILD = "dlbridge.tools.matrix.exchange"


class NoEnvironment(ValueError):
    """A named environment that cannot be used: no such Python, or none that has dlbridge."""


@dataclass(frozen=True)
class Environment:
    """A Python, and what it has."""

    name: str
    python: str
    found: dict[str, Any] = field(default_factory=dict)  # as exchange.look() gives it

    def has(self, *libraries: str) -> bool:
        return all(name in self.found["libraries"] for name in libraries)


def look_at(name: str, python: str, libraries: Sequence[str]) -> Environment:
    """Asks a Python what it has. Raises NoEnvironment where it, or dlbridge in it, is missing."""
    try:
        answer = children.call(f"{_CHILD}:look", python=python, names=list(libraries))
    except OSError as reason:
        said = f"environment {name}: no Python can be run at {python}: {reason}"
        raise NoEnvironment(said) from None
    if answer.outcome == "returned":
        return Environment(name, python, answer.value)
    said = answer.noise.splitlines()[-1] if answer.outcome == "crashed" and answer.noise else ""
    raise NoEnvironment(
        f"environment {name}: {python} must be a Python with this dlbridge "
        f"({dlbridge.__version__}) installed; it says: {said or answer.said}"
    )


@dataclass(frozen=True)
class Plan:
    """What is to be exchanged, and how patient we are."""

    environments: Sequence[Environment]
    libraries: Sequence[str]  # in the order of the table
    cases: Sequence[str]
    via: bool = False  # whether dlbridge is put between where an exchange fails
    seconds: float = SECONDS  # for one exchange; importing a pair has more
    jobs: int = min(4, os.cpu_count() or 1)

    def pairs(self) -> list[tuple[Environment, str, str]]:
        """Each two libraries once, in the first environment that has both; a library alone first.

        Alone first, so that one which cannot be imported is known before it is met again.
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
    """Makes every exchange of the plan, and gives the report: what --json prints.

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
        except BaseException:  # Ctrl-C: the exchanges that have begun are ended, no other begins
            survey.stopped.set()
            raise
    return survey.report()


class _Pair:
    """The child process of a pair: both are imported whenever an exchange begins.

    So the time limit of an exchange is that of the exchange alone, after a crash too.
    """

    def __init__(self, worker: children.Worker, one: str, other: str) -> None:
        self.worker, self.names = worker, sorted({one, other})
        self.loaded = False

    def load(self) -> children.Answer:
        answer = self.worker.call(f"{_CHILD}:load", within=children.SECONDS, names=self.names)
        self.loaded = answer.outcome == "returned"
        return answer

    def exchange(self, producer: str, consumer: str, case: str, **more: Any) -> dict[str, Any]:
        if not self.loaded:
            answer = self.load()
            if not self.loaded:
                return _failure(answer)
        answer = self.worker.call(
            f"{_CHILD}:exchange", producer=producer, consumer=consumer, case=case, **more
        )
        self.loaded = answer.outcome in ("returned", "raised")
        return dict(answer.value) if answer.outcome == "returned" else _failure(answer)

    def over_dlbridge(self, producer: str, consumer: str, case: str) -> dict[str, Any]:
        """What comes with dlbridge between, by the first road that works, else by the last."""
        came: dict[str, Any] = {}
        for road in ROADS:
            tried = self.exchange(producer, consumer, case, road=road)
            if tried["outcome"] != "impossible":
                came = tried
            if tried["outcome"] in ARRIVED:
                break
        return came or tried


class _Survey:
    def __init__(self, plan: Plan, advance: Callable[[str], None]) -> None:
        self.plan, self.advance = plan, advance
        self.stopped = threading.Event()
        self.results: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.versions: dict[str, dict[str, str]] = {e.name: {} for e in plan.environments}
        self.broken: dict[tuple[str, str], dict[str, Any]] = {}  # environment, library: result

    def exchange_pair(self, which: tuple[Environment, str, str]) -> None:
        environment, one, other = which
        with children.Worker(python=environment.python, seconds=self.plan.seconds) as worker:
            pair = _Pair(worker, one, other)
            failed = self._load(pair, environment, one, other)
            for (producer, consumer), case in itertools.product(_ways(one, other), self.plan.cases):
                if self.stopped.is_set():
                    return
                came = failed or self._exchange(pair, producer, consumer, case)
                self.results[producer, consumer, case] = {
                    "producer": short_name(producer),
                    "consumer": short_name(consumer),
                    "environment": environment.name,
                    "case": case,
                    **came,
                }
                self.advance(f"{short_name(producer)} to {short_name(consumer)}")

    def _load(
        self, pair: _Pair, environment: Environment, one: str, other: str
    ) -> dict[str, Any] | None:
        """Imports both. What is returned is the result of every exchange of the pair."""
        for name in (one, other):
            if (environment.name, name) in self.broken:
                return self.broken[environment.name, name]
        answer = pair.load()
        if answer.outcome == "returned":
            self.versions[environment.name].update(answer.value)
            return None
        failed = _failure(answer)
        said = f"{short_name(one)} cannot be used: {failed['said']}"
        if one == other:
            self.broken[environment.name, one] = {"outcome": "impossible", "said": said}
        return failed if answer.outcome != "raised" else {"outcome": "impossible", "said": said}

    def _exchange(self, pair: _Pair, producer: str, consumer: str, case: str) -> dict[str, Any]:
        came = pair.exchange(producer, consumer, case)
        if self.plan.via and came["outcome"] in FAILED and consumer != "dlbridge":
            came["via"] = pair.over_dlbridge(producer, consumer, case)
        return came

    def report(self) -> dict[str, Any]:
        order = itertools.product(self.plan.libraries, self.plan.libraries, self.plan.cases)
        titles = {
            short_name(name): found["title"]
            for environment in self.plan.environments
            for name, found in environment.found["libraries"].items()
        }
        return {
            "dlbridge": dlbridge.__version__,
            "dlpack": ".".join(map(str, dlbridge.DLPACK_VERSION)),
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "platform": self.plan.environments[0].found["platform"],
            "via": self.plan.via,
            "libraries": {
                short_name(name): titles[short_name(name)]
                for name in self.plan.libraries
                if short_name(name) in titles
            },
            "cases": list(self.plan.cases),
            "environments": [
                {
                    "name": environment.name,
                    "python": environment.found["python"],
                    "dlbridge": environment.found["dlbridge"],
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
    """The short name of a library: rows of one's own are asked for by a longer one."""
    return row(library).module if ":" in library else library


def _failure(answer: children.Answer) -> dict[str, Any]:
    """A call that did not return, as the result of an exchange."""
    if answer.outcome == "raised":  # by our own code: nothing that a library does ends here
        return {"outcome": "crashed", "said": answer.said}
    where, words = last_step(answer.noise)
    said = " ".join(filter(None, [answer.said, where])) + (f": {words}" if words else "")
    return {"outcome": answer.outcome, "said": said}
