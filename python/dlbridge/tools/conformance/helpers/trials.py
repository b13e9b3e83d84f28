# SPDX-License-Identifier: BSD-3-Clause
"""Tries an import in another process first, where it may end the process.

On the CPU this is a forked process. A GPU cannot be used in one, so that a new process opens the
target there, and serves all imports until one of them ends it.

One fault is reported by one rule, with all cases: its probes describe what ends the process, and
those of other rules leave it out.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import time
import warnings
from typing import Any

from ... import abi, children, clock
from ...clock import Stopwatch
from .. import journal
from ..target import Target, find
from . import device_memory, producers
from .consumption import Cases, ConsumerCall, kinds, support
from .producers import Producer

PATIENCE = 5.0  # seconds for an import in a forked process
BACKWARDS: dict[str, Any] = {"shape": (3,), "strides": (-1,)}
NO_CORE_DUMP = 4, (0, 0)  # RLIMIT_CORE and its limits

THIS = __name__
CHILD = f"{__name__.rsplit('.', 2)[0]}.child"
LONGEST = 40.0  # seconds for all imports in new processes; what is left is not known

_endings: dict[tuple[str, str | None, str, str], str | None] = {}
_hung: set[str] = set()  # libraries that do not work in another process
_spent: list[float] = []  # seconds, of the imports in new processes
_worker = children.Worker()
_opened: list[str] = []  # the target that is open in the worker


def how_it_ends(target: Target, kind: str, fields: dict[str, Any]) -> str | None:
    """Describes how importing and dropping this tensor ends a process, such as "SIGSEGV".

    None where it does not, and where it is not known.
    """
    on_device = device_memory.selected() != abi.CPU
    if on_device and _is_backwards(fields):
        fields = BACKWARDS  # a new process takes seconds, so that one layout stands for all
    key = target.name, target.consumer, kind, repr(sorted(fields.items()))
    if key not in _endings:
        can_fork = hasattr(os, "fork") and target.name not in _hung
        attempt = _try_in_new_process if on_device else _try
        _endings[key] = attempt(target, kind, fields) if can_fork else None
    return _endings[key]


def _is_backwards(fields: dict[str, Any]) -> bool:
    return bool(min(fields.get("strides") or (), default=0) < 0)


def _try_in_new_process(target: Target, kind: str, fields: dict[str, Any]) -> str | None:
    if sum(_spent) > LONGEST:
        return None
    begin = clock.now()
    try:
        return _ask_worker(target, support(target).producers[kind].__name__, fields)
    finally:
        _spent.append(clock.now() - begin)


def _ask_worker(target: Target, producer: str, fields: dict[str, Any]) -> str | None:
    """Imports a tensor in the worker, which is ended where the import may have damaged it."""
    opened = {"name": target.name, "consumer": target.consumer, "device": target.device}
    if not _opened:
        answer = _worker.call(f"{CHILD}:open_target", within=LONGEST, watch=journal.tick, **opened)
        if answer.outcome != "returned" or answer.value["why"] is not None:
            _hung.add(target.name)  # such as a device that serves one process at a time
            return None
        _opened.append(target.name)
    answer = _worker.call(
        f"{THIS}:import_and_drop",
        within=PATIENCE,
        watch=journal.tick,
        **opened,
        producer=producer,
        fields=fields,
    )
    if answer.outcome != "returned" or answer.value["is_damaged"]:
        _worker.close()
        _opened.clear()
    return answer.message if answer.outcome == "crashed" else None


def import_and_drop(
    name: str, consumer: str | None, device: str, producer: str, fields: dict[str, Any]
) -> dict[str, Any]:
    """In a process of its own: imports a tensor, and drops it. This may end the process."""
    kind: type[Producer] = getattr(producers, producer)
    # Pairs and shapes have become lists on the way.
    its = {key: tuple(it) if isinstance(it, list) else it for key, it in fields.items()}
    _import_and_drop(find(name, consumer, device), kind(**its))
    gc.collect()
    return {"is_damaged": device_memory.is_damaged()}


def _import_and_drop(target: Target, producer: Producer) -> None:
    call = ConsumerCall(target, producer)
    getattr(call.result, "shape", None)
    call.result = None
    call.producer.capsules.clear()


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
            journal.detach()
            _import_and_drop(target, producer(**fields))
        os._exit(0)
    stopwatch = Stopwatch(process)
    while stopwatch.seconds() < PATIENCE:
        journal.tick()
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
    if _is_backwards(fields):
        return how_it_ends(target, kind, BACKWARDS) is not None
    return fields.get("device", abi.CPU) != abi.CPU or not fields.get("deleter", True)


def _of_plain_dtype(fields: dict[str, Any]) -> dict[str, Any]:
    """Leaves out what makes no difference, so that fewer imports are tried."""
    return {key: it for key, it in fields.items() if key not in ("dtype", "start", "byte_offset")}


def survivors(target: Target, cases: Cases) -> Cases:
    """Leaves out the cases that end the process."""
    ended = fatal(target, cases)
    return {name: fields for name, fields in cases.items() if name not in ended}
