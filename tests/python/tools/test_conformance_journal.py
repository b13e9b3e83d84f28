# SPDX-License-Identifier: BSD-3-Clause
"""Calls that end the process, or never end: what they exclude, and which rule reports them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_targets import Hostile
from test_hostile_targets import IN_TIME, exists, start, wait_for, wait_for_end

from dlbridge.tools import children, clock, conformance
from dlbridge.tools.conformance import attribution, journal
from dlbridge.tools.conformance.helpers.exports import AGAIN, SOURCE, USED, call_of
from dlbridge.tools.conformance.helpers.producers import LegacyProducer, OldProducer, Producer
from dlbridge.tools.conformance.journal import FACTORY, RESULT, Call, Ending, Journal
from dlbridge.tools.conformance.target import import_call

PLAIN: dict[str, Any] = {}
VERSIONED: dict[str, Any] = {"max_version": (1, 3)}


def request(keywords: dict[str, Any], subject: str = "") -> Call:
    journal.subject = subject
    try:
        return call_of(keywords)
    finally:
        journal.subject = ""


def view(text: str) -> Call:
    return Call("view", text)


def factory(*words: str) -> Call:
    text = f"{FACTORY}, called with {', '.join(words)}" if words else FACTORY
    return Call("factory", text, words)


@pytest.mark.parametrize(
    ("ended", "other", "is_covered"),
    [
        (
            request({"copy": True}),
            request({**VERSIONED, "copy": True}, "x.T of float32 (2, 3)"),
            True,
        ),
        (request({"copy": True}), request({"copy": False}), False),
        (request(VERSIONED), request({"max_version": (1, 0)}), True),
        (request(VERSIONED), request({"max_version": (0, 8)}), False),
        (request(VERSIONED), request({"max_version": ("1", "0")}), False),
        (request(PLAIN), request(VERSIONED), False),  # each kind of struct has its own code
        (request(PLAIN, "int8 ()"), request(VERSIONED, "int8 ()"), True),  # it is the array
        (request(PLAIN, "int8 ()"), request(PLAIN), False),
        (request(PLAIN), request({"copy": False}), True),
        (request(PLAIN), request({"max_version": (0, 8)}), True),
        (request({"max_version": (0, 8)}), request(PLAIN), False),
        (request(PLAIN, "int8 (2, 3)"), request(VERSIONED, "read-only int8 (6,)"), True),
        (request(PLAIN, "float32 ()"), request(VERSIONED, f"{RESULT}: no dimensions"), True),
        (request(PLAIN, "int8 ()"), request(PLAIN, "int8 (2, 3)"), False),  # one of two traits
        (request(PLAIN, "float32 (2, 3)"), request(PLAIN, "int8 (6,)"), False),
        (request(PLAIN, "int8 (6,)"), request(PLAIN, "x[1:] of int8 (6,)"), True),
        (request(PLAIN, "x[1:] of int8 (6,)"), request(PLAIN, "x[::2] of int8 (6,)"), False),
        (request(PLAIN, "x[1:] of float32 (6,)"), request(PLAIN, "x[1:] of int8 (2, 3)"), True),
        (request(PLAIN, "float32 (0,)"), request(PLAIN, "size 0: x[2:2] of float32 (6,)"), True),
        (view("x.T"), view("x[1:, ::2].T"), True),
        (view("x.T"), view("x[1:]"), False),
        (view("x.T"), request(PLAIN), False),
        (import_call(Producer()), import_call(Producer(strides=(1, 2))), True),
        (import_call(Producer()), import_call(LegacyProducer()), False),
        (import_call(Producer(shape=())), import_call(OldProducer(shape=(), flags=1)), True),
        (import_call(Producer(strides=None)), import_call(Producer(strides=(1, 2))), False),
        (
            import_call(Producer(shape=(3,), strides=(-1,), dtype=(0, 8, 1))),
            import_call(Producer(strides=(-3, 1), byte_offset=16)),
            True,
        ),
        (
            import_call(Producer(strides=None, version=(2, 0))),
            import_call(Producer(strides=None)),
            False,
        ),
        (factory("dtype='int8'"), factory("shape=(6,)", "dtype='int8'"), True),
        (factory("dtype='int8'"), factory(), False),
        (factory(), factory("shape=(6,)"), True),
        (factory(), request(PLAIN), False),
        (AGAIN, request(VERSIONED), False),
    ],
)
def test_what_a_call_that_ended_excludes(ended: Call, other: Call, is_covered: bool) -> None:
    assert ended.covers(other) is is_covered


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (request(PLAIN), "P-03"),
        (request(VERSIONED), "P-05"),
        (request({**VERSIONED, "copy": True}), "P-24"),
        (request({"copy": None}), "P-48"),
        (request({"copy": True}, "float32 (2, 3)"), "P-24"),
        (request({"max_version": (0, 8)}), "P-34"),
        (request({"max_version": None}), "P-48"),
        (request({"stream": None}), "P-28"),
        (request(PLAIN, "float32 (2, 0, 4)"), "P-19"),
        (request(VERSIONED, "float32 ()"), "P-20"),
        (request(PLAIN, "float32 (10,)"), "P-16"),
        (request(PLAIN, "x[::-1] of float32 (6,)"), "P-38"),
        (import_call(OldProducer()), "C-01"),
        (import_call(LegacyProducer()), "C-03"),
        (import_call(Producer()), "C-17"),
        (import_call(Producer(), copy=True), "S-14"),
        (import_call(Producer(byte_offset=16)), "C-09"),
        (import_call(LegacyProducer(dtype=(0, 8, 1))), "C-12"),
        (import_call(Producer(dtype=(0, 7, 1))), ""),  # the check knows why it sends that
        (import_call(Producer(shape=(2, -3))), ""),
        (import_call(Producer(strides=None, version=(2, 0))), ""),
        (Call("free", "the deleter"), "X-04"),
        (view("x.T"), None),
        (factory("dtype='int8'"), None),
        (AGAIN, "P-32"),
        (USED, "X-03"),
        (SOURCE, "X-07"),
    ],
)
def test_the_rule_that_reports_a_call(call: Call, rule: str | None) -> None:
    assert attribution.rule_of(call) == rule


def test_a_request_on_another_thread_excludes_no_other_one() -> None:
    calls: list[Call] = []
    thread = threading.Thread(target=lambda: calls.append(request({"copy": True})))
    thread.start()
    thread.join()
    assert attribution.rule_of(calls[0]) == "P-31"
    assert not calls[0].covers(request({"copy": True}))
    assert request({"copy": True}).covers(calls[0])


def test_several_endings_stand_for_all_of_their_kind() -> None:
    how = "the process hung: no answer within 20 s"
    endings = [Ending(request(PLAIN), how), Ending(request(VERSIONED), how)]
    assert list(attribution.summaries(endings[:1])) == []
    (every,) = attribution.summaries(endings)
    assert every.call.covers(request({"copy": False}, "x[1:] of int8 (6,)"))
    assert attribution.is_summary(every)
    views = [Ending(request(PLAIN, f"x[{i}:] of int8 (6,)"), how) for i in range(3)]
    (every,) = attribution.summaries(views)
    assert every.call.covers(request(PLAIN, "x.T of int8 (2, 3)"))
    assert not every.call.covers(request(PLAIN, "int8 (2, 3)"))


def test_another_process_reads_the_call_that_is_made() -> None:
    file = Journal()
    program = (
        "import os, time; from dlbridge.tools.conformance import journal; "
        f"journal.open_file({file.fileno()}); call = journal.Call('view', 'x.T'); "
        "entry = journal.entry(call); entry.__enter__(); os.kill(os.getpid(), 9)"
    )
    assert file.read() == (0, None)
    paths = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": paths}
    process = subprocess.run(
        [sys.executable, "-c", program], pass_fds=(file.fileno(),), env=environment
    )
    assert process.returncode == -signal.SIGKILL
    assert file.read() == (1, view("x.T"))
    file.clear()
    assert file.read() == (0, None)
    file.close()


def test_calls_on_several_threads_that_overlap_leave_no_call_behind() -> None:
    file = Journal()
    journal.open_file(file.fileno())
    try:
        one, other = journal.entry(request(PLAIN)), journal.entry(request(VERSIONED))
        one.__enter__()
        other.__enter__()
        one.__exit__()
        assert file.read()[1] == request(VERSIONED)
        other.__exit__()
        assert file.read()[1] is None
    finally:
        journal.detach()
        file.close()


ENDING_FACTORY = """
import os
from dlbridge.tools.ctypes_arrays import array

calls = 0

class Array:
    def __init__(self, dtype):
        self.dtype = dtype

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self):
        return array([1, 2], self.dtype)

def make(dtype="float32"):
    global calls
    calls += 1
    if {condition}:
        os.abort()
    return Array(dtype)
"""


@pytest.fixture
def ending_factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Writes a module whose factory ends the process under a condition, and returns its target."""

    def write(name: str, condition: str) -> str:
        (tmp_path / f"{name}.py").write_text(ENDING_FACTORY.format(condition=condition))
        monkeypatch.syspath_prepend(str(tmp_path))
        return f"{name}:make"

    return write


def test_a_dtype_for_which_the_factory_ends_the_process(
    ending_factory: Callable[[str, str], str],
) -> None:
    target = ending_factory("ends_for_a_dtype", "dtype == 'int8'")
    report = conformance.examine(target, only={"P-03", "P-16"})
    assert [each.outcome for each in report.results] == ["pass", "pass"]
    (remark,) = report.remarks
    assert remark.startswith("the factory, called with dtype='int8': the process crashed: SIGABRT")


def test_a_factory_that_ends_the_process_when_it_is_called_again(
    ending_factory: Callable[[str, str], str],
) -> None:
    target = ending_factory("ends_when_called_again", "calls > 3")
    with pytest.raises(conformance.CannotExamine, match="make: the factory: the process crashed"):
        conformance.examine(target, only={"P-03", "P-16"})


# Calls that end the process for one reason beside their keywords, and the rule of each.
ENDINGS = {
    "P-31": "if threading.current_thread() is not threading.main_thread(): os.abort()",
    "P-32": """
if hasattr(self, "exported"):
    os.abort()
self.exported = True
""",
    "X-03": """
capsule = array([1.0, 2.0], "float32")
python.PyCapsule_SetDestructor(ctypes.py_object(capsule), end_of_used)
return capsule
""",
    "X-07": """
if not hasattr(self, "end"):
    self.end = End()
""",
}
AT_IMPORT = """
import ctypes
from dlbridge.tools import abi

class End:
    def __del__(self):
        os.abort()

python = ctypes.PyDLL(None)

@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def end_of_used(capsule):
    if not python.PyCapsule_IsValid(ctypes.c_void_p(capsule), b"dltensor_versioned"):
        os.abort()
"""


@pytest.mark.parametrize("rule", ENDINGS)
def test_one_rule_reports_what_ends_the_process(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"ends_{rule.replace('-', '_')}"
    Hostile(at_import=AT_IMPORT, in_export=ENDINGS[rule]).write(tmp_path, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    report = conformance.examine(f"{name}:Array", only={rule, "P-03", "P-11", "P-28", "X-01"})
    assert [each.id for each in report.results if each.outcome == "crash"] == [rule]


# The limits --------------------------------------------------------------------------------------


@pytest.fixture
def busy() -> Iterator[list[int]]:
    """Four processes that share one processor, and never sleep."""
    first = min(os.sched_getaffinity(0))
    program = f"import os; os.sched_setaffinity(0, {{{first}}})\nwhile True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    try:
        yield [each.pid for each in processes]
    finally:
        for each in processes:
            each.kill()
            each.wait()


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux counts the waits")
def test_waits_for_a_processor_do_not_count(busy: list[int]) -> None:
    time.sleep(1)  # Python has started
    watches = [clock.Stopwatch(each) for each in busy]
    time.sleep(2)
    assert sum(each.seconds() for each in watches) < 4  # of eight: about two


def test_sleep_counts() -> None:
    with children.Worker(environment={"PYTHONPATH": os.pathsep.join(sys.path)}) as worker:
        worker.call("os:getpid")
        answer = worker.call("signal:pause", within=0.5)
    assert (answer.outcome, answer.message) == ("hung", "no answer within 0.5 s")


def test_a_watch_ends_a_call() -> None:
    with children.Worker() as worker:
        answer = worker.call("signal:pause", watch=lambda spent: "enough" if spent > 0.2 else None)
    assert (answer.outcome, answer.message) == ("hung", "enough")


def test_the_whole_run_has_a_limit() -> None:
    report = conformance.examine("planted.library:make", only=["P-01", "P-02"], limit=1e-9)
    assert {each.got for each in report.results} == {
        "not examined: the run has taken longer than 1e-09 s"
    }
    assert report.status == 2


def test_strict_counts_warnings() -> None:
    for strict, status in ((False, 0), (True, 1)):
        report = conformance.examine("conformance_targets:NoDevice", only="P-01", strict=strict)
        assert [each.outcome for each in report.results] == ["warn"]
        assert report.status == status


# The end of the run ------------------------------------------------------------------------------

HANGS = Hostile(
    in_export="""
with open("hangs", "w") as file:
    file.write(str(os.getpid()))
time.sleep(120)
"""
)


@pytest.mark.parametrize("count", [2, 5])
def test_further_ctrl_c_end_the_run_at_once(count: int, tmp_path: Path) -> None:
    HANGS.write(tmp_path)
    process = start(tmp_path)
    try:
        hanging = int(wait_for(tmp_path / "hangs"))
        for _ in range(count):
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=IN_TIME)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "")
    assert wait_for_end(hanging, 10)


def test_no_process_outlives_a_killed_run(tmp_path: Path) -> None:
    HANGS.write(tmp_path)
    process = start(tmp_path)
    hanging = int(wait_for(tmp_path / "hangs"))
    assert exists(hanging)
    process.kill()
    process.communicate(timeout=IN_TIME)
    assert wait_for_end(hanging, 10)
