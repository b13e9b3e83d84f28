"""Runs the probes of a target, each in a child process, and makes one result of each rule."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Callable, Literal

import dlbridge
from dlbridge.tools import children
from dlbridge.tools.conformance.probes import Probe, in_order
from dlbridge.tools.conformance.rules import RULES, Severity
from dlbridge.tools.conformance.target import CannotExamine

Outcome = Literal["crash", "fail", "warn", "skip", "pass"]
WORST_FIRST: tuple[Outcome, ...] = ("crash", "fail", "warn", "skip", "pass")
SECONDS = 60.0  # for one probe; opening the target, which imports it, may take children.SECONDS
CHILD = "dlbridge.tools.conformance.child"

Progress = Callable[[int, int, str], None]  # how many probes are done, of how many; the rule


@dataclass(frozen=True)
class Result:
    """What came of one rule."""

    id: str
    severity: Severity  # of the rule, or of the break where that is lighter
    outcome: Outcome
    expected: str
    got: str  # what broke it, why it was skipped, or what is worth noting
    fix: str
    source: str


@dataclass(frozen=True)
class Report:
    """What came of all the rules."""

    target: str
    consumer: str | None
    versions: dict[str, str | None]
    results: list[Result]

    @property
    def counts(self) -> dict[str, int]:
        """How many rules had each outcome."""
        return {
            each: sum(result.outcome == each for result in self.results)
            for each in reversed(WORST_FIRST)
        }

    @property
    def status(self) -> int:
        """The exit status: 1 when a rule of severity F is broken, or a check crashed; else 0."""
        return int(any(result.outcome in ("crash", "fail") for result in self.results))

    def as_json(self) -> dict[str, Any]:
        return {
            "dlbridge": dlbridge.__version__,
            "target": self.target,
            "consumer": self.consumer,
            "versions": self.versions,
            "results": [asdict(result) for result in self.results],
            "counts": self.counts,
        }


def examine(
    target: str,
    *,
    consumer: str | None = None,
    only: Collection[str] | None = None,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Report:
    """Examines a target in child processes, by every rule or only by some.

    `target` and `consumer` as on the command line: "mylib:make", "mylib:from_dlpack". Raises
    CannotExamine when there is nothing to examine: no such module, a factory that only raises.
    """
    rules = list(RULES) if only is None else [rule for rule in RULES if rule in only]
    if only is not None and len(rules) < len(set(only)):
        raise CannotExamine(f"there is no rule {', '.join(sorted(set(only) - set(RULES)))}")
    probes = [it for it in in_order() if it.rule in rules]
    with Examination(target, consumer=consumer, seconds=seconds) as examination:
        for done, probe in enumerate(probes):
            if progress is not None:
                progress(done, len(probes), probe.rule)
            examination.run(probe)
        if progress is not None:
            progress(len(probes), len(probes), "")
        return Report(
            target=target,
            consumer=examination.consumer,
            versions=examination.versions,
            results=[examination.result(rule) for rule in rules],
        )


class Examination:
    """One child after another, each with the target open, and what came of the probes so far.

    A context manager, and good for one thread. Making it opens the target; CannotExamine as in
    examine().
    """

    def __init__(
        self, target: str, *, consumer: str | None = None, seconds: float = SECONDS
    ) -> None:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._worker = children.Worker(seconds=seconds, environment={"PYTHONPATH": paths})
        self._keywords: dict[str, Any] = {"name": target, "consumer": consumer}
        self._came: dict[str, list[dict[str, Any]]] = {}
        self._is_open = self._is_untouched = False
        try:
            opened = self._open()
        except BaseException:
            self.close()
            raise
        self.consumer: str | None = opened["consumer"]
        self.versions: dict[str, str | None] = {
            "python": platform.python_version(),
            **opened["versions"],
        }

    def __enter__(self) -> Examination:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the child process."""
        self._worker.__exit__(None, None, None)

    def _open(self) -> dict[str, Any]:
        within = max(children.SECONDS, self._worker.seconds)
        answer = self._worker.call(f"{CHILD}:open_target", within=within, **self._keywords)
        said = answer.value["why"] if answer.outcome == "returned" else _how(answer)
        if said is not None:
            raise CannotExamine(f"{self._keywords['name']}: {said}")
        self._is_open = self._is_untouched = True
        return answer.value  # type: ignore[no-any-return]

    def run(self, probe: Probe) -> None:
        """Runs one probe, and leaves no process behind that it may have damaged."""
        was_new = not self._is_open or self._is_untouched
        answer = self._ask(probe)
        if answer.outcome == "returned":
            result = answer.value
        else:
            result = {"outcome": "crash", "got": f"the process {_how(answer)}"}
        if answer.outcome != "returned" or (probe.hostile and result["outcome"] == "fail"):
            self._end()
        if answer.outcome == "crashed" and not was_new:
            if self._ask(probe).outcome == "returned":
                result["got"] += "; alone in a new process it did not: an earlier check broke it"
            self._end()
        self._came.setdefault(probe.rule, []).append(result)

    def _ask(self, probe: Probe) -> children.Answer:
        if not self._is_open:
            self._open()
        self._is_untouched = False
        return self._worker.call(f"{CHILD}:run_probe", probe=probe.name, **self._keywords)

    def _end(self) -> None:
        self._worker.close()
        self._is_open = False

    def result(self, rule: str) -> Result:
        """What came of a rule's probes, as far as they have run."""
        return _result(rule, self._came.get(rule, []))

    def examine(self, rule: str) -> Result:
        """Runs the probes of one rule."""
        for probe in in_order():
            if probe.rule == rule:
                self.run(probe)
        return self.result(rule)


def _how(answer: children.Answer) -> str:
    """An answer that is none, in words."""
    last = _last_words(answer.noise) if answer.outcome == "crashed" else ""
    return ": ".join(filter(None, [answer.outcome, answer.said, last]))


def _last_words(noise: str) -> str:
    """What a process printed last, before Python's own report of its end.

    >>> _last_words("terminate called\\nFatal Python error: Aborted\\n\\nExtension modules: x")
    'terminate called'
    """
    lines = noise.partition("Fatal Python error")[0].strip().splitlines()
    telling = [line for line in lines if "what():" in line or "Check failed" in line]
    return (telling or lines or [""])[-1].strip()[:200]


def _result(rule_id: str, came: list[dict[str, Any]]) -> Result:
    """The worst of what came of a rule's probes."""
    rule = RULES[rule_id]
    judged = [(_outcome(each, rule.severity), each) for each in came] or [
        ("skip", {"got": "no check examines it"})
    ]
    worst = min((outcome for outcome, _ in judged), key=WORST_FIRST.index)
    those = [each for outcome, each in judged if outcome == worst]
    first = those[0]
    return Result(
        id=rule.id,
        severity=first.get("severity") or ("F" if worst == "crash" else rule.severity),
        outcome=worst,
        expected=first.get("expected") or rule.says,
        got="; ".join(dict.fromkeys(each["got"] for each in those if each["got"])),
        fix=first.get("fix") or rule.fix,
        source=rule.source,
    )


def _outcome(came: dict[str, Any], severity: Severity) -> Outcome:
    """A break is a failure, a warning or a note, by its severity."""
    if came["outcome"] != "fail":
        return came["outcome"]  # type: ignore[no-any-return]
    by_severity: dict[str, Outcome] = {"F": "fail", "W": "warn", "N": "pass"}
    return by_severity[came.get("severity") or severity]
