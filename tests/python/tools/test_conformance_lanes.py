# SPDX-License-Identifier: BSD-3-Clause
"""The two lanes of an examination: what each runs, and that they change no result."""

from __future__ import annotations

import re
import signal
import threading
import time
from pathlib import Path

import pytest
from hostile_targets import Hostile
from test_hostile_targets import IN_TIME, exists, start, wait_for_end

from dlbridge.tools import conformance
from dlbridge.tools.conformance import Report, engine, probes
from dlbridge.tools.conformance.registry import Probe
from dlbridge.tools.conformance.rules import RULES

# take seconds, and X-09 says how many races there were.
SAME = set(RULES) - {"X-01", "X-08", "X-09"}
ALL = list(probes.in_order())


def use_lanes(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(engine, "_processors", lambda: count)


def results(report: Report) -> dict[str, tuple[str, str]]:
    """Returns the outcomes and what the rules got, without addresses and their alignment."""
    address = re.compile(r"0x[0-9a-f]+|\d{6,}|aligned to .*")
    return {each.id: (each.outcome, address.sub("address", each.got)) for each in report.results}


# What each lane runs -----------------------------------------------------------------------------


def test_two_lanes_run_every_probe_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    use_lanes(monkeypatch, 2)
    first, second = engine._shares(ALL, "cpu")
    assert sorted([*first, *second], key=ALL.index) == ALL
    for share in (first, second):
        assert share == sorted(share, key=ALL.index)
    assert second and all(each.hostile for each in second)


def of(rules: set[str]) -> list[Probe]:
    return [each for each in ALL if each.rule in rules]


@pytest.mark.parametrize(
    ("processors", "device", "chosen"),
    [
        (1, "cpu", ALL),
        (2, "cuda", ALL),
        (2, "cpu", of({"P-01"})),
        (2, "cpu", of({each for each in RULES if each.startswith("P-")})),
        (2, "cpu", of({"X-08"})),
    ],
)
def test_one_lane_is_enough(
    monkeypatch: pytest.MonkeyPatch, processors: int, device: str, chosen: list[Probe]
) -> None:
    use_lanes(monkeypatch, processors)
    assert engine._shares(chosen, device) == (chosen, [])


def test_progress_counts_the_probes_of_both_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    use_lanes(monkeypatch, 2)
    calls: list[tuple[int, int]] = []
    threads = set()

    def note(begun: int, total: int, rule: str) -> None:
        calls.append((begun, total))
        threads.add(threading.get_ident())

    conformance.examine("conformance_targets:tensor", only=SAME, progress=note)
    total = len(of(SAME))
    assert calls == [(begun, total) for begun in range(total + 1)]
    assert len(threads) == 3


# The results are those of one lane ---------------------------------------------------------------


def test_two_lanes_give_the_results_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLBRIDGE_PLANTED", "importing.empty_tensors_crash")
    found = []
    for count in (1, 2):
        use_lanes(monkeypatch, count)
        found.append(results(conformance.examine("planted.library:make", only=SAME)))
    assert "SIGSEGV" in found[0]["C-16"][1]
    assert found[1] == found[0]


def test_a_crash_in_one_lane_does_not_disturb_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    use_lanes(monkeypatch, 2)
    only = {each for each in SAME if each[:2] in ("P-", "X-")} | {"C-04", "C-11", "C-22", "C-28"}
    sound, crashing = (
        results(conformance.examine("conformance_targets:tensor", consumer=consumer, only=only))
        for consumer in ("dlbridge:from_dlpack", "conformance_targets:aborts_in_place_of_refusing")
    )
    assert {"C-04", "C-11", "X-10"} <= {each for each in only if "SIGABRT" in crashing[each][1]}
    of_producers = {each for each in only if each.startswith("P-")}
    assert {each: crashing[each] for each in of_producers} == {
        each: sound[each] for each in of_producers
    }


def test_a_target_that_opens_once_at_a_time_is_examined_in_one_lane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = (
        'import fcntl\nlock = open("lock", "w")\nfcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)'
    )
    Hostile(at_import=lock).write(tmp_path, "opens_once")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = []
    for count in (1, 2):
        use_lanes(monkeypatch, count)
        found.append(results(conformance.examine("opens_once:Array", only=SAME)))
    assert found[1] == found[0]


# Ctrl-C ------------------------------------------------------------------------------------------


def wait_for_two(folder: Path) -> list[int]:
    """Waits until two processes hang; returns their numbers."""
    until = time.monotonic() + IN_TIME
    while len(found := list(folder.glob("hangs-*"))) < 2:
        assert time.monotonic() < until, "two processes do not hang"
        time.sleep(0.01)
    return [int(each.name.partition("-")[2]) for each in found]


@pytest.mark.skipif(engine._processors() < 2, reason="there is one lane on one processor")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the states of processes")
def test_ctrl_c_ends_both_lanes(tmp_path: Path) -> None:
    Hostile(
        at_import="calls = []",
        in_export="""
calls.append(1)
if len(calls) > 100:  # the calls that are made before the probes are fewer
    open(f"hangs-{os.getpid()}", "w").close()
    time.sleep(120)
""",
    ).write(tmp_path)
    process = start(tmp_path, "--verbose")
    try:
        hanging = wait_for_two(tmp_path)
        assert all(map(exists, hanging))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=IN_TIME)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "")
    assert "pass   P-01" in out
    assert "interrupted: the rules that did not run are skipped\n" in out
    for each in hanging:
        assert wait_for_end(each, 10)
