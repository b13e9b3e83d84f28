# SPDX-License-Identifier: BSD-3-Clause
"""Runs the probes of a target in one or two lanes, and combines their outcomes by rule."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Callable

from .attribution import is_summary, rule_of
from .journal import FACTORY, Ending
from .lane import Lane
from .probes import in_order
from .registry import Probe
from .results import (
    VIOLATIONS,
    WORST_FIRST,
    Outcome,
    Report,
    Result,
    presentable,
)
from .rules import (
    RULES,
    Rule,
    Severity,
    severity,
    severity_of_crash,
)
from .target import CannotExamine
from .waivers import LISTED, Waiver, apply_waivers

WORTHWHILE = 10  # probes: fewer in a lane take less time than opening the target for them
# One violation may crash every probe: a capsule with the name of the other struct.
OF_STRUCTS = "P-04"
# Rules whose checks also depend on another one: where that is broken, it is what breaks them. Of
# some rules these are single probes.
CAUSES = {
    "C-07": {
        *("C-04", "C-08", "C-09", "C-10", "C-12", "C-29", "C-36", "X-12"),
        "sharing.imports_leave_nothing",
    },
    "C-10": {"C-09", "C-12", "C-15", "C-30", "C-36"},
    "C-12": {"C-08", "C-09", "C-27", "C-36"},
    "P-38": {"P-24", "P-32", "P-40", "P-44", "X-07", "C-30"},
    "X-07": {
        *("P-24", "P-40", "P-44", "X-03"),
        "threads.capsules_of_several_threads",
        "threads.different_arrays_on_several_threads",
        "threads.freed_in_every_order",
    },
}
LIMIT = 900.0  # seconds for all probes
LATE = "not examined: the run has taken longer than {:g} s"
NO_PART = "this is no part of DLPack, and the checks leave it out"
REPAIR_FIRST = "probably the cause, so repair that first"
NOT_RUN = {"outcome": "skip", "got": "interrupted"}

# Gets the number of probes that have begun before, that of all, and the current rule.
Progress = Callable[[int, int, str], None]


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
    only: Collection[str] | str | None = None,
    seconds: float | None = None,
    limit: float = LIMIT,
    strict: bool = False,
    waivers: Collection[Waiver] = (),
    progress: Progress | None = None,
) -> Report:
    """Examines a target in child processes, by every rule or by some.

    `target`, `consumer` and `device` are given as on the command line: "mylib:make",
    "mylib:from_dlpack", "cuda".
    `standard` is the version of the array API that counts; None is the one that the library claims.
    `only` is a rule, or several: "P-01", ["P-01", "C-02"].
    `seconds` limits each probe and the opening; None is lane.SECONDS and children.SECONDS.
    `limit` are the seconds after which no further probe begins; their rules are skipped.
    With `strict` a violation of a recommendation fails, too.
    `progress` may be called on other threads, one call at a time.
    Raises CannotExamine when there is nothing to examine: no such module, or a factory that raises.
    Raises Interrupted, a KeyboardInterrupt, on Ctrl-C.
    """
    if only is None:
        only = RULES
    only = {rule.upper() for rule in ([only] if isinstance(only, str) else only)}
    if unknown := sorted(only - RULES.keys()):
        raise CannotExamine(f"there is no rule {', '.join(unknown)}; {LISTED}")
    rules = [rule for rule in RULES if rule in only]
    probes = [probe for probe in in_order() if probe.rule in rules]
    try:
        examination = Examination(
            target,
            consumer=consumer,
            device=device,
            standard=standard,
            seconds=seconds,
            limit=limit,
            strict=strict,
            waived={each.id for each in waivers},
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
            remarks=examination.remarks(),
        )
    if not complete:
        raise Interrupted(report)
    return report


def _python() -> dict[str, str | None]:
    return {"python": platform.python_version()}


class Examination:
    """The open target, and the outcomes of the probes so far.

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
        limit: float = LIMIT,
        strict: bool = False,
        waived: Collection[str] = (),
    ) -> None:
        """`waived` are rules that explain no violation of another one, as they do not count."""
        shared: list[Ending] = []
        self._first, self._second = (
            Lane(target, consumer=consumer, device=device, seconds=seconds, shared=shared)
            for _ in range(2)
        )
        self._device, self._limit, self._strict = device, limit, strict
        self._waived = waived
        self._begin = time.monotonic()
        self._outcomes: dict[str, dict[str, Any]] = {}  # by the name of the probe
        self._times: dict[str, float] = {}
        try:
            answer = self._first.open()
            self._first.make_calls()
            _needs_a_factory(target, self._first.endings)
        except BaseException:
            self.close()
            raise
        self.consumer: str | None = answer["consumer"]
        self.standard: str | None = standard or answer["standard"]
        self.versions: dict[str, str | None] = {**_python(), **answer["versions"]}

    def __enter__(self) -> Examination:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the child processes."""
        for lane in (self._first, self._second):
            lane.close()

    def run_all(self, probes: Sequence[Probe], progress: Progress | None = None) -> bool:
        """Runs probes. Returns False on Ctrl-C; the rules of the rest are skipped then."""
        shown = _Shown(progress, len(probes))
        own, others = _shares(probes, self._device)
        try:
            left = self._run_both(own, others, shown) if others else own
            self._run_share(self._first, left, shown)
            return True
        except KeyboardInterrupt:
            for probe in probes:
                self._outcomes.setdefault(probe.name, NOT_RUN)
            return False
        finally:
            shown.finish()

    def _run_both(
        self, own: Sequence[Probe], others: Sequence[Probe], shown: _Shown
    ) -> Sequence[Probe]:
        """Runs two shares at the same time, each on its lane; returns what the second leaves."""
        with ThreadPoolExecutor(2) as threads:
            try:
                first = threads.submit(self._run_share, self._first, own, shown)
                second = threads.submit(self._open_and_run_share, others, shown)
                first.result()
                return second.result()
            except BaseException:  # Ctrl-C, which only this thread gets, or an error of one lane
                for lane in (self._first, self._second):
                    lane.cancel()
                raise

    def _open_and_run_share(self, probes: Sequence[Probe], shown: _Shown) -> Sequence[Probe]:
        """Runs a share on the second lane. Returns it where the target does not open twice."""
        try:
            self._second.open()
        except CannotExamine:  # such as a driver that serves one process at a time
            return probes
        self._run_share(self._second, probes, shown)
        return []

    def _run_share(self, lane: Lane, probes: Sequence[Probe], shown: _Shown) -> None:
        for probe in probes:
            shown.begin(probe)
            self._run(lane, probe)

    def _run(self, lane: Lane, probe: Probe) -> None:
        begin = time.monotonic()
        is_late = begin - self._begin > self._limit
        late = {"outcome": "skip", "got": LATE.format(self._limit)}
        self._outcomes[probe.name] = late if is_late else lane.run(probe)
        self._times[probe.name] = time.monotonic() - begin

    def result(self, rule: str) -> Result:
        """Returns the outcome of a rule from the probes that have run, whatever their lane."""
        names = self._names_of(rule)
        outcomes = [self._outcomes[name] for name in names if name in self._outcomes]
        for ending in self._endings():
            if rule_of(ending.call) == rule:
                outcomes.append({"outcome": "crash", "got": str(ending)})
        seconds = sum(self._times.get(name, 0.0) for name in names)
        result = _result(RULES[rule], outcomes, self.standard, seconds)
        result = replace(result, strict=self._strict)
        broken = [each for each in self._causes(result) if self._is_broken(each)]
        # What another one explains is no cause of its own.
        causes = tuple(
            each for each in broken if not any(each in CAUSES.get(it, ()) for it in broken)
        )
        if not causes:
            return result
        are = "is" if len(causes) == 1 else "are"
        got = f"{' and '.join(causes)} {are} broken: {REPAIR_FIRST}; {result.got}"
        return replace(result, outcome="skip", got=got, causes=causes)

    def _causes(self, result: Result) -> Iterator[str]:
        """Yields the rules that may be what breaks one."""
        if result.outcome == "crash" and result.id != OF_STRUCTS:
            yield OF_STRUCTS
        if result.outcome in VIOLATIONS:
            failing = {each for each in self._names_of(result.id) if self._fails(each)}
            for cause, explained in CAUSES.items():
                if result.id in explained or (failing and failing <= explained):
                    yield cause

    def _endings(self) -> list[Ending]:
        """Returns the calls that ended a process of either lane, each once."""
        found = {each.call: each for lane in (self._second, self._first) for each in lane.endings}
        return [each for each in found.values() if not is_summary(each)]

    def remarks(self) -> list[str]:
        """Returns what ended the process and is no part of DLPack; the checks leave it out."""
        ended = [each for each in self._endings() if rule_of(each.call) is None]
        return [presentable(f"{each}; {NO_PART}") for each in ended]

    def _is_broken(self, rule: str) -> bool:
        """Whether a rule is broken, and not waived."""
        return rule not in self._waived and any(map(self._fails, self._names_of(rule)))

    def _fails(self, probe: str) -> bool:
        return bool(self._outcomes.get(probe, NOT_RUN)["outcome"] == "fail")

    def _names_of(self, rule: str) -> list[str]:
        """Returns the names of a rule's probes."""
        return [each.name for each in in_order() if each.rule == rule]

    def examine(self, rule: str) -> Result:
        """Runs the probes of one rule."""
        for probe in in_order():
            if probe.rule == rule:
                self._run(self._first, probe)
        return self.result(rule)


def _needs_a_factory(target: str, endings: Sequence[Ending]) -> None:
    """Raises CannotExamine where the factory ends the process, called once more as before."""
    for ending in endings:
        if ending.call.text == FACTORY:
            raise CannotExamine(f"{target}: {ending}")


class _Shown:
    """Passes the progress of both lanes to a callback, one call at a time."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._begun = progress, total, 0
        self._lock = threading.Lock()

    def begin(self, probe: Probe) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress(self._begun, self._total, probe.rule)
            self._begun += 1

    def finish(self) -> None:
        if self._progress is not None:
            self._progress(self._total, self._total, "")


def _shares(probes: Sequence[Probe], device: str) -> tuple[Sequence[Probe], Sequence[Probe]]:
    """Divides probes between two lanes; the second gets none where it would save no time.

    The share of a probe does not depend on how fast the lanes are: in each process the same probes
    run in the same order every time. On a device there is one lane, as libraries take most of its
    memory for one process, and as its probes of order measure time.
    """
    shares: tuple[list[Probe], list[Probe]] = ([], [])
    for probe in probes:
        shares[_is_for_the_second(probe)].append(probe)
    if device != "cpu" or _processors() < 2 or min(map(len, shares)) < WORTHWHILE:
        return probes, []
    return shares


def _is_for_the_second(probe: Probe) -> bool:
    """Whether the second lane runs a probe: those of lifetime and of invalid input.

    They are few, and take about as long as all others.
    """
    rule = RULES[probe.rule]
    return probe.hostile and (rule.id.startswith("X-") or rule.kind == "hardening")


def _processors() -> int:
    """Returns the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # missing on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
