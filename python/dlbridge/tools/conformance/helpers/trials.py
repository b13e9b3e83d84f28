"""Tries an import in a forked process first, where it may end the process.

One fault is reported by one rule, with all cases: its probes describe what ends the process, and
those of other rules leave it out.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import time
import warnings
from typing import Any

from dlbridge.tools import abi, children
from dlbridge.tools.conformance.helpers.consumption import Cases, ConsumerCall, kinds, support
from dlbridge.tools.conformance.target import Target

PATIENCE = 5.0  # seconds for an import in a forked process
BACKWARDS: dict[str, Any] = {"shape": (3,), "strides": (-1,)}
NO_CORE_DUMP = 4, (0, 0)  # RLIMIT_CORE and its limits

_endings: dict[tuple[str, str | None, str, str], str | None] = {}
_hung: set[str] = set()  # libraries that do not work in a forked process


def how_it_ends(target: Target, kind: str, fields: dict[str, Any]) -> str | None:
    """Describes how importing and dropping this tensor ends a process, such as "SIGSEGV".

    None where it does not, and where it is not known.
    """
    key = target.name, target.consumer, kind, repr(sorted(fields.items()))
    if key not in _endings:
        can_fork = hasattr(os, "fork") and target.name not in _hung
        _endings[key] = _try(target, kind, fields) if can_fork else None
    return _endings[key]


def _try(target: Target, kind: str, fields: dict[str, Any]) -> str | None:
    producer = support(target).producers[kind]
    with warnings.catch_warnings():  # of a fork while there are threads
        warnings.simplefilter("ignore")
        process = os.fork()
    if process == 0:
        with contextlib.suppress(BaseException):
            faulthandler.disable()
            importlib.import_module("resource").setrlimit(*NO_CORE_DUMP)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            call = ConsumerCall(target, producer(**fields))
            getattr(call.result, "shape", None)
            call.result = None
            call.producer.capsules.clear()
        os._exit(0)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return children.how_it_ended(code) if code else None
        time.sleep(0.001)
    os.kill(process, 9)  # the library's threads do not exist there, so this says nothing
    os.waitpid(process, 0)
    _hung.add(target.name)
    return None


def fatal(target: Target, cases: Cases) -> dict[str, str]:
    """Returns how the cases end the process that do, by their names."""
    found = {}
    for name, fields in cases.items():
        for kind in kinds(target):
            if name not in found and _is_risky(target, kind, fields):
                ending = how_it_ends(target, kind, _of_plain_dtype(fields))
                if ending is not None:
                    found[name] = ending
    return found


def _is_risky(target: Target, kind: str, fields: dict[str, Any]) -> bool:
    """Whether libraries are known to end the process: others are not tried, which saves time."""
    if min(fields.get("strides") or (), default=0) < 0:
        return how_it_ends(target, kind, BACKWARDS) is not None
    return fields.get("device", abi.CPU) != abi.CPU or not fields.get("deleter", True)


def _of_plain_dtype(fields: dict[str, Any]) -> dict[str, Any]:
    """Leaves out what makes no difference, so that fewer imports are tried."""
    return {key: it for key, it in fields.items() if key not in ("dtype", "start", "byte_offset")}


def survivors(target: Target, cases: Cases) -> Cases:
    """Leaves out the cases that end the process."""
    ended = fatal(target, cases)
    return {name: fields for name, fields in cases.items() if name not in ended}
