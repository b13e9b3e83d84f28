"""Runs the probes of a target in child processes, and combines their outcomes by rule."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Callable, Literal

import dlbridge
from dlbridge.tools import children
from dlbridge.tools.conformance.probes import in_order
from dlbridge.tools.conformance.registry import Probe
from dlbridge.tools.conformance.rules import (
    RULES,
    Kind,
    Rule,
    Severity,
    Text,
    severity,
    severity_of_crash,
)
from dlbridge.tools.conformance.target import CannotExamine

Outcome = Literal["crash", "fail", "warn", "note", "skip", "pass"]
WORST_FIRST: tuple[Outcome, ...] = ("crash", "fail", "warn", "note", "skip", "pass")
SECONDS = 60.0  # for one probe; opening the target, which imports it, may take children.SECONDS
CHILD = "dlbridge.tools.conformance.child"

Progress = Callable[[int, int, str], None]  # probes that have run, their number, the current rule


@dataclass(frozen=True)
class Result:
    """The outcome of one rule."""

    id: str
    kind: Kind
    severity: Severity  # of a violation, under the standard that the target claims
    outcome: Outcome
    expected: str
    got: str  # the violation, the reason for a skip, or a note
    fix: str
    sources: tuple[Text, ...]


@dataclass(frozen=True)
class Report:
    """The outcomes of all rules."""

    target: str
    consumer: str | None
    standard: str | None  # the version of the array API that counts; None: only DLPack's own texts
    versions: dict[str, str | None]
    results: list[Result]

    @property
    def counts(self) -> dict[str, int]:
        """The number of rules with each outcome."""
        return {
            each: sum(result.outcome == each for result in self.results)
            for each in reversed(WORST_FIRST)
        }

    @property
    def status(self) -> int:
        """The exit status: 1 when a rule of severity F is broken or a probe crashed; else 0."""
        return int(any(result.outcome in ("crash", "fail") for result in self.results))

    def as_json(self) -> dict[str, Any]:
        return {
            "dlbridge": dlbridge.__version__,
            "target": self.target,
            "consumer": self.consumer,
            "standard": self.standard,
            "versions": self.versions,
            "results": [asdict(result) for result in self.results],
            "counts": self.counts,
        }


def examine(
    target: str,
    *,
    consumer: str | None = None,
    standard: str | None = None,
    only: Collection[str] | None = None,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Report:
    """Examines a target in child processes, by every rule or by some.

    `target` and `consumer` are given as on the command line: "mylib:make", "mylib:from_dlpack".
    Raises CannotExamine when there is nothing to examine: no such module, or a factory that raises.
    """
    rules = list(RULES) if only is None else [rule for rule in RULES if rule in only]
    if only is not None and len(rules) < len(set(only)):
        raise CannotExamine(f"there is no rule {', '.join(sorted(set(only) - set(RULES)))}")
    probes = [probe for probe in in_order() if probe.rule in rules]
    with Examination(target, consumer=consumer, standard=standard, seconds=seconds) as examination:
        for count, probe in enumerate(probes):
            if progress is not None:
                progress(count, len(probes), probe.rule)
            examination.run(probe)
        if progress is not None:
            progress(len(probes), len(probes), "")
        return Report(
            target=target,
            consumer=examination.consumer,
            standard=examination.standard,
            versions=examination.versions,
            results=[examination.result(rule) for rule in rules],
        )


class Examination:
    """The child processes in which the target is open, and the outcomes of the probes so far.

    A context manager; not thread-safe. The constructor opens the target and raises CannotExamine
    as examine() does.
    """

    def __init__(
        self,
        target: str,
        *,
        consumer: str | None = None,
        standard: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._worker = children.Worker(seconds=seconds, environment={"PYTHONPATH": paths})
        self._keywords: dict[str, Any] = {"name": target, "consumer": consumer}
        self._outcomes: dict[str, list[dict[str, Any]]] = {}
        self._is_open = self._is_untouched = False
        try:
            answer = self._open()
        except BaseException:
            self.close()
            raise
        self.consumer: str | None = answer["consumer"]
        self.standard: str | None = standard or answer["standard"]
        self.versions: dict[str, str | None] = {
            "python": platform.python_version(),
            **answer["versions"],
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
        reason = answer.value["why"] if answer.outcome == "returned" else _how(answer)
        if reason is not None:
            raise CannotExamine(f"{self._keywords['name']}: {reason}")
        self._is_open = self._is_untouched = True
        return answer.value  # type: ignore[no-any-return]

    def run(self, probe: Probe) -> None:
        """Runs one probe, and ends a process that the probe may have damaged."""
        was_new = not self._is_open or self._is_untouched
        answer = self._call(probe)
        if answer.outcome == "returned":
            result = answer.value
        else:
            result = {"outcome": "crash", "got": f"the process {_how(answer)}"}
        if answer.outcome != "returned" or (probe.hostile and result["outcome"] == "fail"):
            self._end()
        if answer.outcome == "crashed" and not was_new:
            if self._call(probe).outcome == "returned":
                result["got"] += "; alone in a new process it did not: an earlier probe caused it"
            self._end()
        self._outcomes.setdefault(probe.rule, []).append(result)

    def _call(self, probe: Probe) -> children.Answer:
        if not self._is_open:
            self._open()
        self._is_untouched = False
        return self._worker.call(f"{CHILD}:run_probe", probe=probe.name, **self._keywords)

    def _end(self) -> None:
        self._worker.close()
        self._is_open = False

    def result(self, rule: str) -> Result:
        """Returns the outcome of a rule from the probes that have run."""
        return _result(RULES[rule], self._outcomes.get(rule, []), self.standard)

    def examine(self, rule: str) -> Result:
        """Runs the probes of one rule."""
        for probe in in_order():
            if probe.rule == rule:
                self.run(probe)
        return self.result(rule)


def _how(answer: children.Answer) -> str:
    """Describes a call that did not return."""
    last = _last_words(answer.noise) if answer.outcome == "crashed" else ""
    return ": ".join(filter(None, [answer.outcome, answer.message, last]))


def _last_words(noise: str) -> str:
    """Returns the last message of a process, before Python's own crash report.

    >>> _last_words("terminate called\\nFatal Python error: Aborted\\n\\nExtension modules: x")
    'terminate called'
    """
    lines = noise.partition("Fatal Python error")[0].strip().splitlines()
    informative = [line for line in lines if "what():" in line or "Check failed" in line]
    return (informative or lines or [""])[-1].strip()[:200]


def _result(rule: Rule, outcomes: list[dict[str, Any]], standard: str | None) -> Result:
    """Returns the worst outcome of a rule's probes."""
    rated = [(_outcome(each["outcome"], rule, standard), each) for each in outcomes] or [
        ("skip", {"got": "no probe examines it"})
    ]
    worst = min((outcome for outcome, _ in rated), key=WORST_FIRST.index)
    matching = [each for outcome, each in rated if outcome == worst]
    first = matching[0]
    return Result(
        id=rule.id,
        kind=rule.kind,
        severity="F" if worst == "crash" else severity(rule, standard),
        outcome=worst,
        expected=first.get("expected") or rule.text,
        got="; ".join(dict.fromkeys(each["got"] for each in matching if each["got"])),
        fix=first.get("fix") or rule.fix,
        sources=rule.texts,
    )


BY_SEVERITY: dict[Severity, Outcome] = {"F": "fail", "W": "warn", "N": "note"}


def _outcome(of_probe: str, rule: Rule, standard: str | None) -> Outcome:
    """Rates a probe's outcome: a violation by the severity of the rule, a crash by its input."""
    if of_probe == "crash":
        by_crash = severity_of_crash(rule)
        return "crash" if by_crash == "F" else BY_SEVERITY[by_crash]
    if of_probe == "fail":
        return BY_SEVERITY[severity(rule, standard)]
    return of_probe  # type: ignore[return-value]
