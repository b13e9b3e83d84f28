"""Runs the probes of a target in child processes, and combines their outcomes by rule."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import time
from collections.abc import Collection, Sequence
from typing import Any, Callable

from dlbridge.tools import children
from dlbridge.tools.conformance.probes import in_order
from dlbridge.tools.conformance.registry import Probe
from dlbridge.tools.conformance.results import (
    WORST_FIRST,
    Outcome,
    Report,
    Result,
    presentable,
)
from dlbridge.tools.conformance.rules import (
    RULES,
    Rule,
    Severity,
    severity,
    severity_of_crash,
)
from dlbridge.tools.conformance.target import CannotExamine
from dlbridge.tools.conformance.waivers import Waiver, apply_waivers

SECONDS = 60.0  # for one probe; opening the target, which imports it, may take children.SECONDS
CHILD = "dlbridge.tools.conformance.child"
# Hostile probes may open the target again, in processes of their own: up to so many times.
OPENED_AGAIN = 2
NOT_RUN = {"outcome": "skip", "got": "interrupted"}

Progress = Callable[[int, int, str], None]  # probes that have run, their number, the current rule


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an examination; `report` has the results so far, and the rest is skipped."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def examine(
    target: str,
    *,
    consumer: str | None = None,
    device: str = "cpu",
    standard: str | None = None,
    only: Collection[str] | None = None,
    seconds: float | None = None,
    waivers: Collection[Waiver] = (),
    progress: Progress | None = None,
) -> Report:
    """Examines a target in child processes, by every rule or by some.

    `target`, `consumer` and `device` are given as on the command line: "mylib:make",
    "mylib:from_dlpack", "cuda".
    `standard` is the version of the array API that counts; None is the one that the library claims.
    `seconds` limits each probe and the opening; None is SECONDS and children.SECONDS.
    Raises CannotExamine when there is nothing to examine: no such module, or a factory that raises.
    Raises Interrupted, a KeyboardInterrupt, on Ctrl-C.
    """
    rules = list(RULES) if only is None else [rule for rule in RULES if rule in only]
    if only is not None and len(rules) < len(set(only)):
        raise CannotExamine(f"there is no rule {', '.join(sorted(set(only) - set(RULES)))}")
    probes = [probe for probe in in_order() if probe.rule in rules]
    try:
        examination = Examination(
            target, consumer=consumer, device=device, standard=standard, seconds=seconds
        )
    except KeyboardInterrupt:
        skipped = [_result(RULES[rule], [NOT_RUN], standard) for rule in rules]
        nothing = apply_waivers(skipped, waivers)
        raise Interrupted(
            Report(target, consumer, standard, _python(), nothing, complete=False)
        ) from None
    with examination:
        complete = examination.run_all(probes, progress)
        report = Report(
            target=target,
            consumer=examination.consumer,
            standard=examination.standard,
            versions=examination.versions,
            results=apply_waivers([examination.result(rule) for rule in rules], waivers),
            complete=complete,
        )
    if not complete:
        raise Interrupted(report)
    return report


def _python() -> dict[str, str | None]:
    return {"python": platform.python_version()}


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
        device: str = "cpu",
        standard: str | None = None,
        seconds: float | None = None,
    ) -> None:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._worker = children.Worker(environment={"PYTHONPATH": paths})
        self._seconds = SECONDS if seconds is None else seconds
        self._to_open = children.SECONDS if seconds is None else seconds
        self._keywords: dict[str, Any] = {"name": target, "consumer": consumer, "device": device}
        self._outcomes: dict[str, list[dict[str, Any]]] = {}
        self._times: dict[str, float] = {}
        self._is_open = self._is_untouched = False
        self._lost: CannotExamine | None = None  # why the target cannot be opened again
        begin = time.monotonic()
        try:
            answer = self._open()
        except BaseException:
            self.close()
            raise
        self._opening = time.monotonic() - begin  # what it took
        self.consumer: str | None = answer["consumer"]
        self.standard: str | None = standard or answer["standard"]
        self.versions: dict[str, str | None] = {**_python(), **answer["versions"]}

    def __enter__(self) -> Examination:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the child process."""
        self._worker.close()

    def _open(self) -> dict[str, Any]:
        answer = self._worker.call(f"{CHILD}:open_target", within=self._to_open, **self._keywords)
        reason = answer.value["why"] if answer.outcome == "returned" else _how(answer)
        if reason is not None:
            raise CannotExamine(f"{self._keywords['name']}: {reason}")
        self._is_open = self._is_untouched = True
        return answer.value  # type: ignore[no-any-return]

    def run_all(self, probes: Sequence[Probe], progress: Progress | None = None) -> bool:
        """Runs probes. Returns False on Ctrl-C; the rules of the rest are skipped then."""
        count = 0
        try:
            for count, probe in enumerate(probes):
                if progress is not None:
                    progress(count, len(probes), probe.rule)
                self.run(probe)
            return True
        except KeyboardInterrupt:
            for probe in probes[count:]:
                self._outcomes.setdefault(probe.rule, []).append(NOT_RUN)
            return False
        finally:
            if progress is not None:
                progress(len(probes), len(probes), "")

    def run(self, probe: Probe) -> None:
        """Runs one probe, and ends a process that the probe may have damaged."""
        begin = time.monotonic()
        try:
            if self._lost is not None:
                raise self._lost
            outcome = self._run(probe)
        except CannotExamine as reason:
            self._lost = reason
            outcome = {"outcome": "skip", "got": f"the target cannot be opened again: {reason}"}
        took = time.monotonic() - begin
        self._outcomes.setdefault(probe.rule, []).append(outcome)
        self._times[probe.rule] = self._times.get(probe.rule, 0.0) + took

    def _run(self, probe: Probe) -> dict[str, Any]:
        """Returns the outcome of a probe. Raises CannotExamine where the target does not open."""
        was_new = not self._is_open or self._is_untouched
        answer = self._call(probe)
        if answer.outcome == "returned":
            result: dict[str, Any] = answer.value
        else:
            result = {"outcome": "crash", "got": f"the process {_how(answer)}"}
        if answer.outcome != "returned" or (probe.hostile and result["outcome"] == "fail"):
            self._end()
        if answer.outcome == "crashed" and not was_new:
            with contextlib.suppress(CannotExamine):
                alone = self._call(probe)
                if alone.outcome == "returned":
                    result = _innocent(alone.value, result["got"])
            self._end()
        return result

    def _call(self, probe: Probe) -> children.Answer:
        if not self._is_open:
            self._open()
        self._is_untouched = False
        more = OPENED_AGAIN * self._opening if probe.hostile else 0.0
        return self._worker.call(
            f"{CHILD}:run_probe", within=self._seconds + more, probe=probe.name, **self._keywords
        )

    def _end(self) -> None:
        self._worker.close()
        self._is_open = False

    def result(self, rule: str) -> Result:
        """Returns the outcome of a rule from the probes that have run."""
        outcomes, seconds = self._outcomes.get(rule, []), self._times.get(rule, 0.0)
        return _result(RULES[rule], outcomes, self.standard, seconds)

    def examine(self, rule: str) -> Result:
        """Runs the probes of one rule."""
        for probe in in_order():
            if probe.rule == rule:
                self.run(probe)
        return self.result(rule)


def _innocent(alone: dict[str, Any], crash: str) -> dict[str, Any]:
    """Returns the outcome in a new process of a probe that crashed after others.

    An earlier probe may have damaged memory; the crash is not the fault of this rule.
    """
    remark = f"after other checks {crash}; alone in a new process it did not"
    return {**alone, "got": "; ".join(filter(None, [alone["got"], remark]))}


def _how(answer: children.Answer) -> str:
    """Describes a call that did not return."""
    last = _last_words(answer.noise) if answer.outcome == "crashed" else ""
    return presentable(": ".join(filter(None, [answer.outcome, answer.message, last])))


def _last_words(noise: str) -> str:
    """Returns the last message of a process, before Python's own crash report.

    >>> _last_words("terminate called\\nFatal Python error: Aborted\\n\\nExtension modules: x")
    'terminate called'
    """
    lines = noise.partition("Fatal Python error")[0].strip().splitlines()
    informative = [line for line in lines if "what():" in line or "Check failed" in line]
    return (informative or lines or [""])[-1].strip()[:200]


def _result(
    rule: Rule, outcomes: list[dict[str, Any]], standard: str | None, seconds: float = 0.0
) -> Result:
    """Returns the worst outcome of a rule's probes."""
    raw = outcomes or [{"outcome": "skip", "got": "no probe examines it"}]
    rated = [rate(each["outcome"], rule, standard) for each in raw]
    worst = min(rated, key=WORST_FIRST.index)
    matching = [each for each, outcome in zip(raw, rated) if outcome == worst]
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
        seconds=round(seconds, 3),
    )


OF_SEVERITY: dict[Severity, Outcome] = {"F": "fail", "W": "warn", "N": "note"}


def rate(of_probe: str, rule: Rule, standard: str | None) -> Outcome:
    """Rates the end of a probe: a violation by the severity of the rule, a crash by its input."""
    if of_probe == "crash":
        of_crash = severity_of_crash(rule)
        return "crash" if of_crash == "F" else OF_SEVERITY[of_crash]
    if of_probe == "fail":
        return OF_SEVERITY[severity(rule, standard)]
    return of_probe  # type: ignore[return-value]
