# SPDX-License-Identifier: BSD-3-Clause
"""Runs each check in a process of its own, so that a crash or a hang costs only its row."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from proof.child import one_line
from proof.registry import Check
from proof.results import FAILED, PASSED, SKIPPED, WAITING, Result

FOLDER = Path(__file__).resolve().parents[1]  # has the package proof
KILLED = 10.0  # seconds that a killed process may take to end
LEAST = 2.0  # seconds that a check needs at least
# JAX would otherwise allocate most of the memory of the device.
QUIET = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "3"}


def _environment() -> dict[str, str]:
    path = filter(None, [str(FOLDER), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, **QUIET, "PYTHONPATH": os.pathsep.join(path)}


def _wait(process: subprocess.Popen[bytes], limit: float) -> int | None:
    """Returns the exit status, or None if the limit passed. Then the process group is killed."""
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:  # also what a check that ended has left running
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs inside the kernel
            process.wait(KILLED)


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def _judged(answer: Path, status: int | None, limit: float, output: str) -> tuple[str, str, object]:
    """The outcome, its reason and the figures."""
    try:
        content = json.loads(answer.read_text())
    except FileNotFoundError:
        content = None
    if status is None:
        when = "it did not end" if content else "no result"
        return FAILED, f"hung: {when} within {limit:.0f} s{output}", None
    if content is None:
        return FAILED, f"crashed: {_ending(status)}{output}", None
    if status != 0 and content["outcome"] in (PASSED, SKIPPED):
        return FAILED, f"crashed after its result: {_ending(status)}{output}", None
    return content["outcome"], content["reason"], content["figures"]


def run_one(module: str, each: Check, limit: float) -> Result:
    """Runs one check of a module, for at most `limit` seconds."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        answer, log = Path(folder, "answer.json"), Path(folder, "output.txt")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "proof.child", module, each.name, str(answer)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(),
                start_new_session=True,
            )
            status = _wait(process, limit)
        said = one_line(log.read_text(errors="replace")[-300:])
        outcome, reason, figures = _judged(answer, status, limit, f"; {said}" if said else "")
    seconds = round(time.monotonic() - begin, 1)
    return Result(each.name, outcome, reason, seconds, figures, each.defect)


def run(
    module: str, checks: Iterable[Check], *, seconds: float, simulated: bool
) -> Iterator[Result]:
    """Runs checks one after another, for at most `seconds` in total, and yields their results."""
    end = time.monotonic() + seconds
    for each in checks:
        left = end - time.monotonic()
        if simulated and not each.simulated:
            yield Result(each.name, WAITING, "a GPU")
        elif left < LEAST:
            yield Result(
                each.name, FAILED, f"no time was left of {seconds:.0f} s", defect=each.defect
            )
        else:
            yield run_one(module, each, min(each.limit, left))
