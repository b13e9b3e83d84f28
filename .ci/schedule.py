"""Runs sessions of nox in parallel, and summarizes their tests and times.

The module prints the output of a session when the session ends, and keeps it in .nox/logs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import machine

LOGS = machine.STATE / "logs"
TIMES = machine.STATE / "times.json"  # of the last run, by session
LIMIT = 50 * 60  # seconds; twice what the longest session takes on a machine with other load

ANSI = re.compile(r"\x1b\[[0-9;]*m")
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+, )*\d+ [a-z]+) in [\d.]+s\b.*$", re.MULTILINE)
CTEST = re.compile(
    r"^\d+% tests passed(?:, (?P<failed>\d+) tests? failed)? out of (?P<all>\d+)", re.MULTILINE
)
# Of a program whose tests are one test of CTest.
GTEST = re.compile(r"^\d+: \[  PASSED  \] (\d+) tests?", re.MULTILINE)
OF_PYTEST = {"passed", "failed", "skipped", "xfailed", "xpassed", "error", "errors"}


@dataclass(frozen=True)
class Session:
    """A session as nox lists it."""

    name: str
    tags: frozenset[str]
    description: str

    @property
    def log(self) -> Path:
        return LOGS / (re.sub(r"[^\w.-]+", "-", self.name).strip("-") + ".log")


@dataclass
class Outcome:
    session: Session
    status: int
    seconds: float
    processor: float  # processor time of all processes of the session, in seconds
    counts: dict[str, int] = field(default_factory=dict)


def listed(nox: list[str]) -> list[Session]:
    """All sessions, in the order of the noxfile."""
    output = subprocess.check_output([*nox, "--list", "--json"], cwd=machine.CHECKOUT)
    return [
        Session(row["session"], frozenset(row["tags"]), row["description"] or "")
        for row in json.loads(output)
    ]


def count_tests(log: str) -> dict[str, int]:
    """Adds up the counts in the last lines of pytest, ctest and GoogleTest in a log."""
    counts: dict[str, int] = {}
    log = ANSI.sub("", log)
    for line in PYTEST.findall(log):
        for entry in line.split(", "):
            number, word = entry.split()
            if word in OF_PYTEST:
                counts[word] = counts.get(word, 0) + int(number)
    for match in CTEST.finditer(log):
        failed = int(match["failed"] or 0)
        counts["passed"] = counts.get("passed", 0) + int(match["all"]) - failed
        if failed:
            counts["failed"] = counts.get("failed", 0) + failed
    for number in GTEST.findall(log):
        counts["passed"] = counts.get("passed", 0) + int(number) - 1
    return counts


def interleaved(sessions: list[Session]) -> list[Session]:
    """Alternates sessions that mostly compile with sessions that mostly install and wait for the
    network. Those tagged `first`, which take longest, come first, and those tagged `last` last."""
    ordinary = [each for each in sessions if "last" not in each.tags]
    ordinary.sort(key=lambda each: "first" not in each.tags)
    compiling = [each for each in ordinary if "compiles" in each.tags]
    others = [each for each in ordinary if "compiles" not in each.tags]
    queue = []
    while compiling or others:
        queue += [compiling.pop(0)] if compiling else []
        queue += [others.pop(0)] if others else []
    return queue + [each for each in sessions if "last" in each.tags]


class Schedule:
    """The waiting and running sessions, and the outcomes. Several threads call work()."""

    def __init__(self, nox: list[str], sessions: list[Session], arguments: list[str]) -> None:
        self.nox = nox
        self.arguments = arguments
        self.waiting = interleaved(sessions)
        self.running: list[Session] = []
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.outcomes: list[Outcome] = []
        self.begin = time.monotonic()
        self.change = threading.Condition()

    def say(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.begin), 60)
        machine.say(f"{minutes:02}:{seconds:02} {text}")

    def next(self) -> Session | None:
        """Waits for the next session that may run, and returns it; None if no session waits."""
        with self.change:
            while self.waiting:
                if "last" not in self.waiting[0].tags or not self.running:
                    session = self.waiting.pop(0)
                    self.running.append(session)
                    self.say(f"{session.name}: started")
                    return session
                self.change.wait()
        return None

    def work(self) -> None:
        while session := self.next():
            outcome = self.run(session)
            with self.change:
                self.running.remove(session)
                self.outcomes.append(outcome)
                text = session.log.read_text(errors="replace")
                sys.stdout.write(f"\n===== {session.name}\n{text}\n")
                result = "failed" if outcome.status else "done"
                self.say(f"{session.name}: {result} after {clock(outcome.seconds)}")
                self.change.notify_all()

    def stop(self) -> None:
        """Starts no further session, and ends those that run."""
        self.waiting.clear()
        for process in list(self.processes):
            send(process, signal.SIGTERM)

    def end_late(self, session: Session, process: subprocess.Popen[bytes]) -> None:
        self.say(f"{session.name}: ended, as it ran for {clock(LIMIT)}")
        send(process, signal.SIGKILL)

    def run(self, session: Session) -> Outcome:
        begin = time.monotonic()
        with session.log.open("wb") as log:
            process = subprocess.Popen(
                [*self.nox, "--sessions", session.name, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=machine.CHECKOUT,
                start_new_session=True,  # so that send reaches its processes
            )
            self.processes.add(process)
            timer = threading.Timer(LIMIT, self.end_late, [session, process])
            if "long" not in session.tags:
                timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            self.processes.discard(process)
        return Outcome(
            session,
            process.returncode,
            time.monotonic() - begin,
            usage.ru_utime + usage.ru_stime,
            count_tests(session.log.read_text(errors="replace")),
        )


def send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a session and to the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


def print_summary(outcomes: list[Outcome], left_out: Iterable[Session], elapsed: float) -> None:
    width = max(len(each.session.name) for each in outcomes)
    print(f"\n{'session':{width}}  {'time':>7}  {'processor':>9}  tests")
    for each in sorted(outcomes, key=lambda each: -each.seconds):
        tests = ", ".join(f"{count} {word}" for word, count in each.counts.items()) or "-"
        mark = f"  FAILED: see {each.session.log}" if each.status else ""
        print(
            f"{each.session.name:{width}}  {clock(each.seconds):>7}  {clock(each.processor):>9}  "
            f"{tests}{mark}"
        )
    total: dict[str, int] = {}
    for each in outcomes:
        for word, count in each.counts.items():
            total[word] = total.get(word, 0) + count
    tests = ", ".join(f"{count} {word}" for word, count in total.items())
    processor = sum(each.processor for each in outcomes)
    print(f"{'all':{width}}  {clock(elapsed):>7}  {clock(processor):>9}  {tests}")
    for session in left_out:
        print(f"left out: {session.name}: {session.description}")


def run(
    nox: list[str],
    sessions: list[Session],
    left_out: Iterable[Session],
    jobs: int,
    arguments: list[str],
) -> int:
    """Runs sessions, `jobs` at a time. Returns the exit status, 1 if a session failed."""
    LOGS.mkdir(parents=True, exist_ok=True)
    schedule = Schedule(nox, sessions, arguments)
    workers = [threading.Thread(target=schedule.work) for _ in range(jobs)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # which ends the sessions too
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        schedule.stop()
        raise
    print_summary(schedule.outcomes, left_out, time.monotonic() - schedule.begin)
    times = {
        each.session.name: {
            "seconds": round(each.seconds, 1),
            "processor": round(each.processor, 1),
            **each.counts,
        }
        for each in schedule.outcomes
    }
    TIMES.write_text(json.dumps(times, indent=2))
    return int(any(each.status for each in schedule.outcomes))
