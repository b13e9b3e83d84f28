# SPDX-License-Identifier: BSD-3-Clause
"""A lane: a child process in which the target is open, and probes run one after another."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any

from dlbridge.tools import children
from dlbridge.tools.conformance.registry import Probe
from dlbridge.tools.conformance.results import presentable
from dlbridge.tools.conformance.target import CannotExamine

SECONDS = 60.0  # for one probe; opening the target, which imports it, may take children.SECONDS
CHILD = "dlbridge.tools.conformance.child"
# Hostile probes may open the target again, in processes of their own: up to so many times.
OPENED_AGAIN = 2
DAMAGED = "the device then fails every further call of the process"


class Lane:
    """Runs probes in a child process, and replaces a process that a probe may have damaged.

    Not thread-safe, except for cancel().
    """

    def __init__(
        self, name: str, *, consumer: str | None, device: str, seconds: float | None
    ) -> None:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._worker = children.Worker(environment={"PYTHONPATH": paths})
        self._seconds = SECONDS if seconds is None else seconds
        self._to_open = children.SECONDS if seconds is None else seconds
        self._keywords: dict[str, Any] = {"name": name, "consumer": consumer, "device": device}
        self._is_open = self._is_untouched = False
        self._opening = 0.0  # the seconds that it took
        self._lost: CannotExamine | None = None  # why the target cannot be opened again

    def close(self) -> None:
        """Ends the child process."""
        self._worker.close()
        self._is_open = False

    def cancel(self) -> None:
        """Ends the probe that another thread runs: it raises children.Cancelled."""
        self._worker.cancel()

    def open(self) -> dict[str, Any]:
        """Opens the target and returns what child.open_target() returns. Raises CannotExamine."""
        begin = time.monotonic()
        answer = self._worker.call(f"{CHILD}:open_target", within=self._to_open, **self._keywords)
        reason = answer.value["why"] if answer.outcome == "returned" else _how(answer)
        if reason is not None:
            raise CannotExamine(f"{self._keywords['name']}: {reason}")
        self._opening = time.monotonic() - begin
        self._is_open = self._is_untouched = True
        return answer.value  # type: ignore[no-any-return]

    def run(self, probe: Probe) -> dict[str, Any]:
        """Returns the outcome of a probe, and ends a process that it may have damaged.

        It may also have damaged the device, which then fails every further call of that process.
        """
        try:
            if self._lost is not None:
                raise self._lost
            return self._run(probe)
        except CannotExamine as reason:
            self._lost = reason
            return {"outcome": "skip", "got": f"the target cannot be opened again: {reason}"}

    def _run(self, probe: Probe) -> dict[str, Any]:
        was_new = not self._is_open or self._is_untouched
        result = self._outcome(probe)
        if _is_doubtful(result) and not was_new:
            with contextlib.suppress(CannotExamine):
                result = _innocent(self._outcome(probe), result)
            self.close()
        if result["is_damaged"]:
            result["got"] = "; ".join(filter(None, [result["got"], DAMAGED]))
        return result

    def _outcome(self, probe: Probe) -> dict[str, Any]:
        """Returns what child.run_probe() returns, or that the process crashed."""
        answer = self._call(probe)
        if answer.outcome == "returned":
            result: dict[str, Any] = answer.value
        else:
            got = f"the process {_how(answer)}"
            result = {"outcome": "crash", "got": got, "is_damaged": False, "end": answer.outcome}
        may_be_damaged = probe.hostile and result["outcome"] == "fail"
        if result["outcome"] == "crash" or result["is_damaged"] or may_be_damaged:
            self.close()
        return result

    def _call(self, probe: Probe) -> children.Answer:
        if not self._is_open:
            self.open()
        self._is_untouched = False
        more = OPENED_AGAIN * self._opening if probe.hostile else 0.0
        return self._worker.call(
            f"{CHILD}:run_probe", within=self._seconds + more, probe=probe.name, **self._keywords
        )


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
