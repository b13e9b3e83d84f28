"""Calls functions in another process, so that a crash, a hang or noise costs only that one call."""

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
# What is said to every child: libraries that chatter are asked not to.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "OMP_NUM_THREADS": "1"}
MOST_NOISE = 20000  # characters of it that are kept


@dataclass(frozen=True)
class Answer:
    """What came of one call."""

    outcome: Literal["returned", "raised", "crashed", "hung"]
    value: Any = None  # what was returned, as JSON carries it
    said: str = ""  # "ValueError: ..."; the signal or exit status; how long was waited
    noise: str = field(default="", repr=False)  # the end of what was printed meanwhile


class Worker:
    """A child process that answers one call after another; one that died is started again.

    What is called is named "module:function", takes keywords that JSON can carry, and returns such
    a value. Whatever it prints goes to Answer.noise. Not for use by several threads at once.
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
        """Ends the child; the next call starts a new one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # what was not written never will be
                        stream.close()
        self._process = None

    def call(self, function: str, /, *, within: float | None = None, **keywords: Any) -> Answer:
        """Calls a function in the child, and waits for it: `within` seconds, else self.seconds."""
        self._noise.seek(0)  # before a new child may say why it ends
        self._noise.truncate()
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"function": function, "keywords": keywords}) + "\n")
            process.stdin.flush()
        except OSError:  # it is dead already; how it died is told below
            pass
        seconds = self.seconds if within is None else within
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.close()
            return Answer("hung", said=f"no answer within {seconds:g} s", noise=self._said())
        if line:
            return Answer(**json.loads(line), noise=self._said())
        status = process.wait()
        self.close()
        return Answer("crashed", said=how_it_ended(status), noise=self._said())

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

    def _said(self) -> str:
        self._noise.seek(0)
        return self._noise.read().decode(errors="replace").strip()[-MOST_NOISE:]


def _listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    """Hands every line on, and an empty one when there will be no more."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            answers.put(line)
    except ValueError:  # closed while it was read
        pass
    answers.put("")


def how_it_ended(status: int) -> str:
    """The exit status of a process that should not have ended, by the signal's name if it has one.

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


# In the child ----------------------------------------------------------------------------------


def find(name: str) -> Any:
    """The object that "module:attribute.attribute" names; "module" alone names the module.

    Raises ValueError for a name of another form, ImportError and AttributeError as Python does.
    """
    module, _, attributes = name.partition(":")
    if not module:
        raise ValueError(f"expected MODULE:NAME, as in numpy:ones; got {name!r}")
    parts = attributes.split(".") if attributes else []
    return reduce(getattr, parts, importlib.import_module(module))


def serve() -> None:
    """Answers calls from standard input until it ends; what is called prints to standard error."""
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
        except BaseException as raised:  # also SystemExit, of one who thinks he is a program
            said = f"{type(raised).__name__}: {raised}"
            answer = json.dumps({"outcome": "raised", "said": said})
        sys.stdout.flush()
        answers.write(answer + "\n")
        answers.flush()
