# SPDX-License-Identifier: BSD-3-Clause
"""A lane: a child process in which the target is open, and probes run one after another."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from typing import Any

from .. import children
from .attribution import is_of_few, summaries
from .journal import Call, Ending, Journal
from .registry import Probe
from .results import presentable
from .target import CannotExamine

SECONDS = 60.0  # for one probe; opening the target, which imports it, may take children.SECONDS
CHILD = f"{__name__.rsplit('.', 1)[0]}.child"
# Hostile probes may open the target again, in processes of their own: up to so many times.
OPENED_AGAIN = 2
# Seconds for one call into the library; a process that makes none for so long is stuck as well.
CALL = 20.0
CALL_AFTER_A_HANG = 10.0  # what hangs once often hangs for many arrays
MOST_ENDINGS = 16  # of processes, until one probe, or all first calls, are given up
INCONCLUSIVE = "inconclusive: {}, while the check went on"
DAMAGED = "the device then fails every further call of the process"


class Lane:
    """Runs probes in a child process, and replaces a process that a probe may have damaged.

    Not thread-safe, except for cancel().
    """

    def __init__(
        self,
        name: str,
        *,
        consumer: str | None,
        device: str,
        seconds: float | None,
        shared: list[Ending],
    ) -> None:
        """The lanes of one examination share what ended the process and leaves little out."""
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._journal = Journal()
        self._worker = children.Worker(
            environment={"PYTHONPATH": paths}, files=[self._journal.fileno()]
        )
        self._shared, self._own = shared, list[Ending]()  # calls that probes leave out
        self._ended: Counter[Call] = Counter()  # how often calls have ended the process
        self._last, self._is_stuck = (0, 0.0), False
        self._seconds = SECONDS if seconds is None else seconds
        self._of_a_call = min(CALL, self._seconds)
        self._to_open = children.SECONDS if seconds is None else seconds
        self._keywords: dict[str, Any] = {"name": name, "consumer": consumer, "device": device}
        self._is_open = self._is_untouched = False
        self._opening = 0.0  # the seconds that it took
        self._lost: CannotExamine | None = None  # why the target cannot be opened again

    @property
    def endings(self) -> list[Ending]:
        """The calls that probes leave out."""
        return [*self._shared, *self._own]

    def close(self) -> None:
        """Ends the child process and the journal."""
        self._end_process()
        self._journal.close()

    def _end_process(self) -> None:
        self._worker.close()
        self._is_open = False

    def cancel(self) -> None:
        """Ends the probe that another thread runs: it raises children.Cancelled."""
        self._worker.cancel()

    def open(self) -> dict[str, Any]:
        """Opens the target and returns what child.open_target() returns. Raises CannotExamine."""
        begin = time.monotonic()
        answer = self._worker.call(
            f"{CHILD}:open_target",
            within=self._to_open,
            file=self._journal.fileno(),
            **self._keywords,
        )
        reason = answer.value["why"] if answer.outcome == "returned" else _how(answer)
        if reason is not None:
            raise CannotExamine(f"{self._keywords['name']}: {reason}")
        self._opening = time.monotonic() - begin
        self._is_open = self._is_untouched = True
        return answer.value  # type: ignore[no-any-return]

    def make_calls(self) -> None:
        """Makes each kind of call once, and excludes those that end the process."""
        for _ in range(MOST_ENDINGS):
            try:
                answer = self._call("make_calls", children.SECONDS)
            except CannotExamine as reason:
                self._lost = reason
                return
            if answer.outcome == "returned":
                return
            is_late = answer.outcome == "hung" and not self._is_stuck
            ending = self._ending(answer)
            self._end_process()
            if ending is None or is_late:  # it raised, or ended between two calls
                return
            self._exclude(ending, self._shared)

    def _exclude(self, ending: Ending, endings: list[Ending]) -> None:
        """Lets probes leave out a call from now on, and all of its kind after several."""
        endings.append(ending)
        endings += [each for each in summaries(self.endings) if each not in self.endings]

    def run(self, probe: Probe) -> dict[str, Any]:
        """Returns the outcome of a probe, and ends a process that it may have damaged.

        It may also have damaged the device, which then fails every further call of that process.
        A call that few probes need is excluded when it ends the process, any other one when it
        does so again, and the probe runs once more.
        """
        try:
            if self._lost is not None:
                raise self._lost
            for _ in range(MOST_ENDINGS):
                result = self._run(probe)
                ending = result.pop("ending", None)
                if ending is None:
                    break
                self._ended[ending.call] += 1
                if is_of_few(ending.call):
                    self._exclude(ending, self._shared)
                elif self._ended[ending.call] > 1:
                    self._exclude(ending, self._own)
                else:
                    break
            return result
        except CannotExamine as reason:
            self._lost = reason
            return {"outcome": "skip", "got": f"the target cannot be opened again: {reason}"}

    def _run(self, probe: Probe) -> dict[str, Any]:
        was_new = not self._is_open or self._is_untouched
        result = self._outcome(probe)
        if _is_doubtful(result) and not was_new:
            with contextlib.suppress(CannotExamine):
                result = _innocent(self._outcome(probe), result)
            self._end_process()
        if result["is_damaged"]:
            result["got"] = "; ".join(filter(None, [result["got"], DAMAGED]))
        return result

    def _outcome(self, probe: Probe) -> dict[str, Any]:
        """Returns what child.run_probe() returns, or that the process crashed, or never ended."""
        answer = self._call("run_probe", self._seconds, probe)
        if answer.outcome == "returned":
            result: dict[str, Any] = answer.value
        elif answer.outcome == "hung" and not self._is_stuck:
            result = {"outcome": "skip", "got": INCONCLUSIVE.format(answer.message)}
            result["is_damaged"] = False
            self._end_process()
        else:
            ending = self._ending(answer)
            got = f"the process {_how(answer)}" if ending is None else str(ending)
            result = {"outcome": "crash", "got": got, "is_damaged": False, "end": answer.outcome}
            result["ending"] = ending
        may_be_damaged = probe.hostile and result["outcome"] == "fail"
        if result["outcome"] == "crash" or result["is_damaged"] or may_be_damaged:
            self._end_process()
        return result

    def _call(self, function: str, seconds: float, probe: Probe | None = None) -> children.Answer:
        if not self._is_open:
            self.open()
        self._is_untouched = False
        more = OPENED_AGAIN * self._opening if probe is not None and probe.hostile else 0.0
        more += self._of_a_call  # so that a call that hangs at last is seen to hang
        keywords = {} if probe is None else {"probe": probe.name}
        self._journal.clear()
        self._last, self._is_stuck = (0, 0.0), False
        return self._worker.call(
            f"{CHILD}:{function}",
            within=seconds + more,
            watch=self._watch,
            endings=[each.as_json() for each in self.endings],
            **self._keywords,
            **keywords,
        )

    def _watch(self, seconds: float) -> str | None:
        """Ends a process that has begun no call for too long: a limit for each call."""
        count, _ = self._journal.read()
        if count != self._last[0]:
            self._last = count, seconds
        limit = self._of_a_call
        self._is_stuck = seconds - self._last[1] > limit
        if not self._is_stuck:
            return None
        self._of_a_call = min(limit, CALL_AFTER_A_HANG)
        return f"no answer within {limit:g} s"

    def _ending(self, answer: children.Answer) -> Ending | None:
        """Returns the call that ended the process, where it was in one."""
        _, call = self._journal.read()
        return None if call is None else Ending(call, f"the process {_how(answer)}")


def _is_doubtful(result: dict[str, Any]) -> bool:
    """Whether an earlier probe in the same process may be the cause of this outcome."""
    if result["outcome"] == "crash":
        return bool(result["end"] == "crashed")  # and not "hung"
    return bool(result["is_damaged"] and result["outcome"] != "pass")


def _innocent(alone: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Returns the outcome of a doubtful probe, which has run again alone in a new process.

    An earlier probe may have damaged memory or the device; that is not the fault of this rule.
    """
    if after["outcome"] == "crash" == alone["outcome"]:
        return after
    if alone["outcome"] == "crash" or alone["is_damaged"]:
        return alone
    how = after["got"] if after["outcome"] == "crash" else "the device failed"
    remark = f"after other checks {how}; alone in a new process it did not"
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
