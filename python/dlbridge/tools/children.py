# SPDX-License-Identifier: BSD-3-Clause
"""Calls functions in a child process, so that a crash, a hang or output affects only that call.

Needs a POSIX system; elsewhere the module can be imported, and a call raises an error.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Callable, Literal, Optional

from .clock import Stopwatch

SECONDS = 120.0
# Environment variables of every child: less output, and one thread.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "OMP_NUM_THREADS": "1"}
MOST_NOISE = 20000  # characters of a child's output that are returned

_PATIENCE = 0.05  # seconds between two looks whether the process still exists, or is cancelled
_GRACE = 1.0  # seconds that a process may take to end once it cannot answer any more
_KILLED = 10.0  # seconds that the system may take to end a killed process
_CHUNK = 1 << 16
_KEPT = 4 * MOST_NOISE  # bytes of output that are kept; UTF-8 has up to four for a character
_MOST_DRAINED = (
    1 << 20
)  # bytes of output read after an answer: a pipe may be filled again and again


@dataclass(frozen=True)
class Answer:
    """The result of one call."""

    outcome: Literal["returned", "raised", "crashed", "hung"]
    value: Any = None  # the function's result, converted by JSON
    message: str = ""  # "ValueError: ..."; the signal or exit status; the time limit
    noise: str = field(default="", repr=False)  # the end of the output during the call


# Gets the seconds of a call so far, and returns why it must end now; None: it need not.
Watch = Callable[[float], Optional[str]]


class Cancelled(Exception):
    """Worker.cancel(), or the event that it shares with others, ended the call."""


class Worker:
    """A child process that runs one call after another, and is restarted after a crash.

    A function is named "module:function"; its keywords and its result must be supported by JSON.
    Its output is in Answer.noise. Processes that it starts end with the child, unless they begin
    a session of their own; they cannot delay an answer. Not thread-safe, except for cancel().
    Several workers may share the event `cancelled`, which cancels the calls of all when it is set.
    The child inherits the descriptors `files`, by their numbers.
    """

    def __init__(
        self,
        *,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
        cancelled: threading.Event | None = None,
        files: Sequence[int] = (),
    ) -> None:
        self.python, self.seconds, self.files = python, seconds, tuple(files)
        self.environment = {**os.environ, **QUIET, **(environment or {})}
        self._child: _Child | None = None
        self._is_cancelled = cancelled or threading.Event()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the child process and those that it started; the next call starts a new one."""
        if self._child is not None:
            self._child.end()
        self._child = None

    def cancel(self) -> None:
        """Ends the call for which another thread waits; this and later ones raise Cancelled."""
        self._is_cancelled.set()

    def call(
        self,
        function: str,
        /,
        *,
        within: float | None = None,
        watch: Watch | None = None,
        **keywords: Any,
    ) -> Answer:
        """Calls a function in the child process, with a time limit of `within` or self.seconds.

        The limit covers the start of the process and all that the function does, but no time in
        which the process waits for a processor. `watch` may end the call earlier.
        """
        return self._ask({"function": function, "keywords": keywords}, within, watch)

    def finish(self, *, within: float | None = None, watch: Watch | None = None) -> Answer:
        """Lets the child process end as Python ends, with its exit handlers and those of C.

        The answer is "returned" for the exit status 0, and "crashed" for any other end.
        """
        answer = self._ask({"function": None}, within, watch)
        self.close()
        succeeded = answer.outcome == "crashed" and answer.message == how_it_ended(0)
        return replace(answer, outcome="returned", message="") if succeeded else answer

    def _ask(
        self, request: dict[str, Any], within: float | None, watch: Watch | None = None
    ) -> Answer:
        seconds = self.seconds if within is None else within
        if self._child is None:
            self._child = _Child(self.python, self.environment, self.files)
        try:
            line = self._child.ask(json.dumps(request), seconds, self._is_cancelled, watch)
        except _NoAnswer as reason:
            outcome = reason.outcome
            message = reason.message or f"no answer within {seconds:g} s"
            noise = self._child.end()
            self._child = None
            return Answer(outcome, message=message, noise=noise)
        except BaseException:  # Ctrl-C: the answer to this call must not be taken for the next one
            self.close()
            raise
        return Answer(**json.loads(line), noise=self._child.noise())


# The child process, seen from its parent -------------------------------------------------------


class _NoAnswer(Exception):
    """A call ended without an answer. Without a message, its time was over."""

    def __init__(self, outcome: Literal["crashed", "hung"], message: str = "") -> None:
        super().__init__(message)
        self.outcome, self.message = outcome, message


class _Child:
    """A process in a session of its own, with pipes for requests, answers and output.

    Nothing here waits for the end of a pipe: a process that the function forked holds it open.
    """

    def __init__(self, python: str, environment: Mapping[str, str], files: tuple[int, ...]) -> None:
        self._answers, answers = pipe()
        parent, self._alive = pipe()  # nothing is written to it; it closes with this process
        program = f"from {__name__} import serve; serve({answers}, {parent})"
        try:
            self._process = subprocess.Popen(
                [python, "-X", "faulthandler", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(answers, parent, *files),
                start_new_session=True,
                env=environment,
            )
        except BaseException:
            os.close(self._answers)
            os.close(self._alive)
            raise
        finally:
            os.close(answers)
            os.close(parent)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._output = self._process.stdin, self._process.stdout
        self._kept = bytearray()  # the end of the output
        self._was_asked = False
        for end in (self._answers, self._output.fileno()):
            os.set_blocking(end, False)

    def ask(
        self, request: str, seconds: float, is_cancelled: threading.Event, watch: Watch | None
    ) -> str:
        """Sends a request and returns the line of its answer. Raises _NoAnswer and Cancelled."""
        stopwatch = Stopwatch(self._process.pid)
        if self._was_asked:  # what came before the first request is the output of the start
            self.noise()
            self._kept.clear()
        self._was_asked = True
        with contextlib.suppress(OSError):  # it has already ended; the status follows below
            self._requests.write(request.encode() + b"\n")
            self._requests.flush()
        line = bytearray()
        closed = False
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if is_cancelled.is_set():
                    raise Cancelled
                spent = stopwatch.seconds()
                left = seconds - spent
                if left <= 0 and closed:
                    raise _NoAnswer("crashed", "the function closed the pipe of its answer")
                if left <= 0:
                    raise _NoAnswer("hung")
                if watch is not None and (why := watch(spent)) is not None:
                    raise _NoAnswer("hung", why)
                status = self._process.poll()  # before reading: it may answer and end
                for key, _ in selector.select(0 if status is not None else min(left, _PATIENCE)):
                    chunk = _read(key.fd)
                    if chunk == b"":  # the end of the pipe
                        selector.unregister(key.fileobj)
                    if key.fd != self._answers:
                        self._keep(chunk)
                    elif chunk == b"":
                        closed, seconds = True, min(seconds, stopwatch.seconds() + _GRACE)
                    elif chunk is not None:
                        line += chunk
                        status = None  # there may be more
                if status is not None and not line.endswith(b"\n"):
                    raise _NoAnswer("crashed", how_it_ended(status))
        return line.decode()

    def noise(self) -> str:
        """Returns the end of the output since the last request, or since the start."""
        drained = 0
        while drained < _MOST_DRAINED:
            chunk = _read(self._output.fileno())
            if not chunk:
                break
            self._keep(chunk)
            drained += len(chunk)
        return self._kept.decode(errors="replace").strip()[-MOST_NOISE:]

    def _keep(self, chunk: bytes | None) -> None:
        self._kept += chunk or b""
        del self._kept[:-_KEPT]

    def end(self) -> str:
        """Ends the process and those of its group; returns the end of the output."""
        with contextlib.suppress(OSError):  # none is left
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in the system
            self._process.wait(_KILLED)
        noise = self.noise()
        for stream in (self._requests, self._output):
            with contextlib.suppress(OSError):  # buffered data is discarded
                stream.close()
        os.close(self._answers)
        os.close(self._alive)
        return noise


def above_2(descriptor: int) -> int:
    """Duplicates a descriptor above 2, as a child process replaces its standard descriptors."""
    import fcntl  # missing on Windows

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def pipe() -> tuple[int, int]:
    """Creates a pipe that child processes can inherit: its reading end, and its writing end."""
    low = os.pipe()
    reading, writing = map(above_2, low)
    for end in low:
        os.close(end)
    return reading, writing


def _read(descriptor: int) -> bytes | None:
    """Reads what is there: b"" at the end of the pipe, None where there is nothing now."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


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
    cancelled: threading.Event | None = None,
    **keywords: Any,
) -> Answer:
    """Calls one function in a process of its own. Raises Cancelled once `cancelled` is set."""
    with Worker(
        python=python, environment=environment, seconds=seconds, cancelled=cancelled
    ) as worker:
        return worker.call(function, **keywords)


# In the child process --------------------------------------------------------------------------


def find(name: str) -> Any:
    """Returns the object with the name "module:attribute.attribute", or the module of "module".

    Raises ValueError for a name of another form, ImportError and AttributeError as Python does.
    """
    module, colon, attributes = name.partition(":")
    if not module or (colon and not attributes):
        raise ValueError(f"expected MODULE:NAME, as in numpy:ones; got {name!r}")
    parts = attributes.split(".") if attributes else []
    return reduce(getattr, parts, load(module))


ALIASES = {
    **{"np": "numpy", "pd": "pandas", "pl": "polars", "pa": "pyarrow", "cp": "cupy"},
    **{"tf": "tensorflow", "jnp": "jax.numpy", "mx": "mlx.core"},
}


def load(name: str) -> ModuleType:
    """Imports a module as Python does; for a file's path, or an alias, says what to write."""
    try:
        return importlib.import_module(name)
    except (ModuleNotFoundError, TypeError) as error:
        missing = getattr(error, "name", None) or name
        if name.endswith(".py") or "/" in name:
            path = Path(name)
            stem = path.stem if name.endswith(".py") else path.name
            place = "" if path.parent == Path() else f", with {path.parent} on PYTHONPATH"
            if name.startswith(missing) and stem:
                text = f"expected the name of a module, not of a file: write {stem}{place}"
                raise ValueError(f"{text}; got {name!r}") from error
        if missing == name and name in ALIASES:
            raise ModuleNotFoundError(f"{error}; write {ALIASES[name]}", name=name) from None
        raise


def serve(answers: int, parent: int) -> None:
    """Runs calls from standard input, and writes a line to `answers` for each.

    Returns when standard input ends, or has a request without a function. The process and those of
    its group end as soon as the other end of the pipe `parent` is closed.
    """
    requests = os.dup(0)  # as the others from here on, not inherited by programs that are started
    os.set_inheritable(answers, False)
    end_with(parent)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    me = os.getpid()
    os.register_at_fork(before=lambda: _end_copy(me))
    try:
        with os.fdopen(requests) as lines:
            for line in lines:
                request = json.loads(line)
                if request["function"] is None:
                    return
                answer = _answer(request)
                if os.getpid() != me:  # a copy that the function forked: only the original answers
                    os._exit(0)
                with os.fdopen(answers, "w", closefd=False) as stream:
                    stream.write(answer + "\n")
    except OSError as error:
        sys.exit(f"the function closed the pipe of its requests or of its answer: {error}")


def end_with(parent: int) -> None:
    """Lets the system end this group of processes with the one that holds the pipe's other end.

    A thread that waits for that would not run while a library hangs and holds the GIL.
    """
    import fcntl  # missing on Windows

    os.set_inheritable(parent, False)
    fcntl.fcntl(parent, fcntl.F_SETOWN, -os.getpgrp())
    if hasattr(fcntl, "F_SETSIG"):  # Linux
        fcntl.fcntl(parent, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(parent, fcntl.F_SETFL, fcntl.fcntl(parent, fcntl.F_GETFL) | os.O_ASYNC)


def _end_copy(original: int) -> None:
    """Ends a copy of the process that is about to fork again.

    A copy that a library forked and did not end goes on with what called the library, which may
    call it again: the number of processes would double with every call.
    """
    if os.getpid() != original:
        os._exit(0)


def _answer(request: dict[str, Any]) -> str:
    """Calls the function of a request."""
    try:
        value = find(request["function"])(**request["keywords"])
        answer = json.dumps({"outcome": "returned", "value": value})
    except BaseException as error:  # also SystemExit
        answer = json.dumps({"outcome": "raised", "message": _describe(error)})
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the function has closed or replaced it
            stream.flush()
    return answer


def _describe(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:
        message = "(its text cannot be read)"
    name = type(error).__name__
    return f"{name}: {message}"[:MOST_NOISE] if message else name
