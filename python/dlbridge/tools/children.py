"""Calls functions in a child process, so that a crash, a hang or output affects only that call."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from types import TracebackType
from typing import Any, Literal

SECONDS = 120.0
# Environment variables of every child: less output, and one thread.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "OMP_NUM_THREADS": "1"}
MOST_NOISE = 20000  # characters of a child's output that are returned


@dataclass(frozen=True)
class Answer:
    """The result of one call."""

    outcome: Literal["returned", "raised", "crashed", "hung"]
    value: Any = None  # the function's result, converted by JSON
    message: str = ""  # "ValueError: ..."; the signal or exit status; the time limit
    noise: str = field(default="", repr=False)  # the end of the output during the call


class Worker:
    """A child process that runs one call after another, and is restarted after a crash.

    A function is named "module:function"; its keywords and its result must be supported by JSON.
    Its output is in Answer.noise. Not thread-safe.
    """

    def __init__(
        self,
        *,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.python, self.seconds = python, seconds
        self.environment = {**os.environ, **QUIET, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()
        self._noise.close()

    def close(self) -> None:
        """Ends the child process; the next call starts a new one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # buffered data is discarded
                        stream.close()
        self._process = None

    def call(self, function: str, /, *, within: float | None = None, **keywords: Any) -> Answer:
        """Calls a function in the child process, with a time limit of `within` or self.seconds."""
        self._noise.seek(0)  # before a new child process may write to it
        self._noise.truncate()
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"function": function, "keywords": keywords}) + "\n")
            process.stdin.flush()
        except OSError:  # it has already ended; the status follows below
            pass
        seconds = self.seconds if within is None else within
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.close()
            return Answer("hung", message=f"no answer within {seconds:g} s", noise=self._output())
        if line:
            return Answer(**json.loads(line), noise=self._output())
        status = process.wait()
        self.close()
        return Answer("crashed", message=how_it_ended(status), noise=self._output())

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._answers = queue.Queue()
            program = "from dlbridge.tools.children import serve; serve()"
            self._process = subprocess.Popen(
                [self.python, "-X", "faulthandler", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._noise,
                env=self.environment,
                text=True,
            )
            listener = threading.Thread(
                target=_listen, args=(self._process, self._answers), daemon=True
            )
            listener.start()
        return self._process

    def _output(self) -> str:
        self._noise.seek(0)
        return self._noise.read().decode(errors="replace").strip()[-MOST_NOISE:]


def _listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    """Forwards every line, and an empty one at the end."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            answers.put(line)
    except ValueError:  # the stream was closed meanwhile
        pass
    answers.put("")


def how_it_ended(status: int) -> str:
    """Describes the exit status of a process: the signal's name, or the number.

    >>> how_it_ended(-11), how_it_ended(3)
    ('SIGSEGV', 'exit status 3')
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def call(
    function: str,
    /,
    *,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    **keywords: Any,
) -> Answer:
    """Calls one function in a process of its own."""
    with Worker(python=python, environment=environment, seconds=seconds) as worker:
        return worker.call(function, **keywords)


# In the child process --------------------------------------------------------------------------


def find(name: str) -> Any:
    """Returns the object with the name "module:attribute.attribute", or the module of "module".

    Raises ValueError for a name of another form, ImportError and AttributeError as Python does.
    """
    module, _, attributes = name.partition(":")
    if not module:
        raise ValueError(f"expected MODULE:NAME, as in numpy:ones; got {name!r}")
    parts = attributes.split(".") if attributes else []
    return reduce(getattr, parts, importlib.import_module(module))


def serve() -> None:
    """Runs calls from standard input until it ends; the functions print to standard error."""
    requests = os.fdopen(os.dup(0))
    answers = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    for line in requests:
        request = json.loads(line)
        try:
            value = find(request["function"])(**request["keywords"])
            answer = json.dumps({"outcome": "returned", "value": value})
        except BaseException as error:  # also SystemExit
            message = f"{type(error).__name__}: {error}"
            answer = json.dumps({"outcome": "raised", "message": message})
        sys.stdout.flush()
        answers.write(answer + "\n")
        answers.flush()
