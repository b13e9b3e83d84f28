# SPDX-License-Identifier: BSD-3-Clause
"""Calls in child processes: results, exceptions, output, crashes and hangs are reported."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlbridge.tools import children

HERE = {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
BAD = "conformance_targets:"


@pytest.fixture
def worker() -> Iterator[children.Worker]:
    with children.Worker(environment=HERE, seconds=60) as it:
        yield it


def test_a_value_comes_back(worker: children.Worker) -> None:
    answer = worker.call("dlbridge.tools.children:how_it_ended", status=-11)
    assert (answer.outcome, answer.value, answer.noise) == ("returned", "SIGSEGV", "")


def test_the_process_stays(worker: children.Worker) -> None:
    numbers = {worker.call("os:getpid").value for _ in range(3)}
    assert len(numbers) == 1
    assert os.getpid() not in numbers


def test_close_ends_it_and_the_next_call_starts_another(worker: children.Worker) -> None:
    first = worker.call("os:getpid").value
    worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert worker.call("os:getpid").value != first


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (BAD + "raises", "ValueError: no array\ntoday"),
        (BAD + "exits", "SystemExit: 3"),
        (BAD + "nothing", "AttributeError: module 'conformance_targets' has no attribute"),
        ("no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'"),
        (":f", "ValueError: expected MODULE:NAME, as in numpy:ones; got ':f'"),
        ("builtins:object", "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_exceptions_are_reported(worker: children.Worker, function: str, message: str) -> None:
    answer = worker.call(function)
    assert answer.outcome == "raised"
    assert answer.message.startswith(message)
    assert worker.call(BAD + "garbage").value == 7  # the process is still usable


def test_a_crash_is_named_and_the_next_call_works(worker: children.Worker) -> None:
    answer = worker.call(BAD + "crashes")
    assert (answer.outcome, answer.message) == ("crashed", "SIGABRT")
    assert "Fatal Python error: Aborted" in answer.noise
    assert "in crashes" in answer.noise
    assert worker.call(BAD + "garbage").value == 7


def test_an_exit_without_answer_is_a_crash(worker: children.Worker) -> None:
    answer = worker.call("os:_exit", status=5)
    assert (answer.outcome, answer.message) == ("crashed", "exit status 5")


def test_a_hang_ends_in_time(worker: children.Worker) -> None:
    worker.call("os:getpid")  # starts the process
    begin = time.monotonic()
    answer = worker.call(BAD + "hangs", within=0.5)
    assert (answer.outcome, answer.message) == ("hung", "no answer within 0.5 s")
    assert time.monotonic() - begin < 30
    assert worker.call(BAD + "garbage").value == 7


def test_another_thread_cancels_a_call(worker: children.Worker) -> None:
    process = worker.call("os:getpid").value
    begin = time.monotonic()
    threading.Timer(0.2, worker.cancel).start()
    with pytest.raises(children.Cancelled):
        worker.call(BAD + "hangs")
    assert time.monotonic() - begin < 30
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(children.Cancelled):
        worker.call("os:getpid")


def test_noise_is_kept_apart(worker: children.Worker) -> None:
    answer = worker.call(BAD + "shouts")
    assert (answer.outcome, answer.value) == ("returned", "done")
    assert answer.noise == "from Python\nfrom below"
    assert worker.call(BAD + "garbage").noise == ""


def test_much_noise_is_cut(worker: children.Worker) -> None:
    answer = worker.call(BAD + "shouts", times=10_000)
    assert answer.outcome == "returned"
    assert len(answer.noise) <= children.MOST_NOISE


def test_much_noise_without_a_newline_is_cut(worker: children.Worker) -> None:
    command = "head -c 3000000 /dev/zero | tr '\\0' x; printf end"
    answer = worker.call("subprocess:call", args=command, shell=True)
    assert (answer.outcome, answer.value) == ("returned", 0)
    assert answer.noise.endswith("xend")
    assert len(answer.noise) == children.MOST_NOISE


def test_only_the_original_answers_after_a_fork(worker: children.Worker) -> None:
    first = worker.call("os:fork").value
    assert first > 0
    assert worker.call("os:getpid").value not in (0, first)


def test_a_process_that_holds_the_pipes_does_not_delay(worker: children.Worker) -> None:
    begin = time.monotonic()
    assert worker.call(BAD + "forks_and_exits").message == "exit status 5"
    assert time.monotonic() - begin < 30


def test_a_function_that_closes_the_pipe_of_its_answer(worker: children.Worker) -> None:
    answer = worker.call(BAD + "closes", first=3, last=256)
    assert (answer.outcome, answer.message) == ("crashed", "exit status 1")
    assert "the function closed the pipe of its requests or of its answer" in answer.noise
    assert worker.call(BAD + "garbage").value == 7


def test_closed_output(worker: children.Worker) -> None:
    assert worker.call(BAD + "closes", first=1, last=3).outcome == "returned"
    assert worker.call(BAD + "garbage").value == 7


def test_a_worker_in_a_process_without_standard_descriptors(worker: children.Worker) -> None:
    worker.call(BAD + "closes", first=0, last=3)
    assert worker.call(BAD + "garbage_of_a_child").value == 7


def test_a_process_finishes_as_python_does(worker: children.Worker) -> None:
    worker.call(BAD + "at_exit", action="print")
    answer = worker.finish()
    assert (answer.outcome, answer.message, answer.noise) == ("returned", "", "at exit")
    worker.call(BAD + "at_exit", action="abort")
    answer = worker.finish()
    assert (answer.outcome, answer.message) == ("crashed", "SIGABRT")
    worker.call(BAD + "at_exit", action="sleep")
    answer = worker.finish(within=0.5)
    assert (answer.outcome, answer.message) == ("hung", "no answer within 0.5 s")
    assert worker.call(BAD + "garbage").value == 7


def test_the_time_limit_covers_the_start_of_the_process() -> None:
    with children.Worker(environment=HERE, seconds=0.001) as worker:
        assert worker.call("os:getpid").outcome == "hung"


def test_standard_input_is_empty(worker: children.Worker) -> None:
    assert worker.call(BAD + "reads").value == ""


def test_one_call_in_a_process_of_its_own() -> None:
    answer = children.call(BAD + "garbage", environment=HERE)
    assert (answer.outcome, answer.value) == ("returned", 7)


def test_the_output_of_a_start_that_failed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the process has ended before the first request."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho why it does not start\nexit 3\n")
    python.chmod(0o755)

    started = subprocess.Popen

    def ended(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = started(*arguments, **options)
        process.wait()
        return process

    monkeypatch.setattr(subprocess, "Popen", ended)
    answer = children.call("os:getpid", python=str(python))
    assert (answer.outcome, answer.message) == ("crashed", "exit status 3")
    assert answer.noise == "why it does not start"


def test_the_environment_is_passed_on() -> None:
    answer = children.call("os:getenv", environment={"DLBRIDGE_WORD": "yes"}, key="DLBRIDGE_WORD")
    assert answer.value == "yes"


@pytest.mark.parametrize(
    ("status", "words"),
    [(-11, "SIGSEGV"), (-6, "SIGABRT"), (3, "exit status 3"), (-77, "signal 77")],
)
def test_how_it_ended(status: int, words: str) -> None:
    assert children.how_it_ended(status) == words


def test_find() -> None:
    assert children.find("os:path.join") is os.path.join
    assert children.find("os") is os
