# SPDX-License-Identifier: BSD-3-Clause
"""Targets that harm the process in which they run: what each does at import, or in __dlpack__."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

MODULE = """
import contextlib, os, signal, subprocess, sys, threading, time
from dlbridge.tools.ctypes_arrays import array

{at_import}


class Array:
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
{in_export}
        return array([1.0, 2.0], "float32")
"""


@dataclass(frozen=True)
class Hostile:
    """A target, and what the report must say of it."""

    at_import: str = ""
    in_export: str = ""
    status: int = 0
    outcome: str = "pass"  # of P-03, which exports; P-01 passes where the target opens
    words: str = ""  # in what P-03 got, or on standard error where the target does not open

    def write(self, folder: Path, name: str = "hostile") -> None:
        """Writes the module. Its factory is Array."""
        text = MODULE.format(
            at_import=textwrap.dedent(self.at_import),
            in_export=textwrap.indent(textwrap.dedent(self.in_export), " " * 8),
        )
        (folder / f"{name}.py").write_text(text)


HELPER = """
if os.fork() == 0:
    with open("helper", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(120)
    os._exit(0)
while not os.path.exists("helper") or not os.path.getsize("helper"):
    time.sleep(0.01)
"""
WITHOUT_END = "while True: os.write({}, b'x' * 65536)"

HOSTILE = {
    "forks a helper": Hostile(at_import=HELPER),
    "forks a helper with a session of its own": Hostile(
        at_import=HELPER.replace("0:\n", "0:\n    os.setsid()\n", 1)
    ),
    "forks a copy of itself": Hostile(in_export="os.fork()"),
    "starts a program": Hostile(at_import="helper = subprocess.Popen(['sleep', '120'])"),
    "becomes a daemon": Hostile(
        in_export="if os.fork(): os._exit(0)",
        status=1,
        outcome="crash",
        words="the process crashed: exit status 0",
    ),
    "writes without end": Hostile(
        in_export=WITHOUT_END.format(1),
        status=1,
        outcome="crash",
        words="the process hung: no answer within 5 s",
    ),
    "writes without end in a thread": Hostile(
        at_import=f"""
def write():
    {WITHOUT_END.format(2)}
threading.Thread(target=write, daemon=True).start()
"""
    ),
    "writes 10 MB without a newline": Hostile(
        at_import="os.write(1, b'x' * 10_000_000)",
        in_export="print('x' * 10_000_000, end='', flush=True)",
    ),
    "prints at import without a newline": Hostile(at_import="print('hello', end='')"),
    "raises an error of 10 MB": Hostile(
        in_export="raise ValueError('x' * 10_000_000)",
        status=1,
        outcome="fail",
        words="(10000",
    ),
    "sleeps at import": Hostile(
        at_import="time.sleep(120)", status=2, words="hung: no answer within 5 s"
    ),
    "writes without end at import": Hostile(
        at_import=WITHOUT_END.format(1), status=2, words="hung: no answer within 5 s"
    ),
    "exits at import": Hostile(
        at_import="os._exit(0)", status=2, words="hostile:Array: crashed: exit status 0"
    ),
    "exits in a thread": Hostile(
        in_export="""
threading.Thread(target=os._exit, args=(0,)).start()
time.sleep(120)
""",
        status=1,
        outcome="crash",
        words="the process crashed: exit status 0",
    ),
    "closes standard output": Hostile(at_import="os.close(1); os.close(2); sys.stdout.close()"),
    "closes every file": Hostile(
        in_export="os.closerange(3, 256)",
        status=1,
        outcome="crash",
        words="the function closed the pipe",
    ),
    "closes every file and sleeps": Hostile(
        in_export="os.closerange(0, 256); time.sleep(120)",
        status=1,
        outcome="crash",
        words="the process crashed: the function closed the pipe of its answer",
    ),
    "ignores signals": Hostile(
        at_import="""
for number in signal.valid_signals():
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)
""",
        in_export="time.sleep(120)",
        status=1,
        outcome="crash",
        words="the process hung: no answer within 5 s",
    ),
}
