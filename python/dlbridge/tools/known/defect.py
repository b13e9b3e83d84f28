"""What is told of one defect of a library, and how it is shown: in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dlbridge.tools import children
from dlbridge.tools.versions import contains

HELPER = Path(__file__).with_name("by_hand.py")
SECONDS = 120.0

WILD = ("SIGBUS", "SIGILL", "SIGABRT")  # a wild pointer ends in these too, as chance has it

Outcome = Literal[
    "crash",  # the process ends, and nothing can catch it
    "wrong",  # other values, another type, another device than was sent
    "writable",  # what was marked read-only is written
    "freed",  # memory is given back twice, or while it is used
    "leak",  # memory is never given back
    "ignored",  # a request is dropped without a word
    "accepted",  # what nobody can read is taken all the same
    "refused",  # what is right is refused
    "lost",  # an exception goes missing
]


@dataclass(frozen=True)
class Shown:
    """How a program ended, and its last words."""

    ended: str  # "" as programs do; else the name of a signal, or "exit status 3"
    line: str  # the last that it printed to standard output
    noise: str  # the end of standard error

    def __str__(self) -> str:
        return " after ".join(each for each in (self.ended, repr(self.line)) if each)


@dataclass(frozen=True)
class Defect:
    """One defect of one library, shown without dlbridge."""

    id: str
    library: str  # as import knows it
    seen_in: str  # versions that have it, as contains() reads them
    outcome: Outcome
    what: str  # one sentence
    breaks: str  # what people see, and with whom
    remedy: str  # what to do, and what dlbridge does about it
    program: str  # a few lines of Python that show it, with by_hand at their side
    shows: str  # the last line that they print, or how they end: "SIGSEGV", "exit status 3"
    works: str = ""  # a few lines with dlbridge that show the remedy: they run to their end
    found_by: tuple[str, ...] = ()  # conformance checks by id, and tools: those that find it too

    def __post_init__(self) -> None:
        for name in ("program", "works"):
            object.__setattr__(self, name, textwrap.dedent(getattr(self, name)).strip())

    def is_in(self, version: str) -> bool:
        """Whether exactly this version is known to have it."""
        return contains(self.seen_in, version)

    def is_shown_by(self, shown: Shown) -> bool:
        """Whether a run of the program has shown it."""
        expected = (self.shows, *WILD) if self.shows == "SIGSEGV" else (self.shows,)
        return (shown.ended or shown.line) in expected


def run(program: str, *, python: str = sys.executable, seconds: float = SECONDS) -> Shown:
    """Runs lines of Python in a process of their own, with by_hand importable.

    Raises subprocess.TimeoutExpired when they take too long.
    """
    environment = {**os.environ, **children.QUIET}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HELPER, folder)
        script = Path(folder, "program.py")
        script.write_text(program + "\n")
        done = subprocess.run(
            [python, str(script)], env=environment, cwd=folder, timeout=seconds,
            capture_output=True, text=True, errors="replace",
        )  # fmt: skip
    return Shown(
        ended=children.how_it_ended(done.returncode) if done.returncode else "",
        line=(done.stdout.strip().splitlines() or [""])[-1].strip(),
        noise=done.stderr.strip()[-children.MOST_NOISE :],
    )


def refused(tensor: str) -> str:
    """Lines that show that dlbridge refuses to take a tensor, and frees it at most once."""
    return f"""
import by_hand, dlbridge
try:
    dlbridge.from_dlpack({tensor})
except BufferError:
    assert len(by_hand.freed) <= 1
else:
    raise AssertionError
"""
