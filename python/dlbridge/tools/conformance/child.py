# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the child process: opens the target once and runs probes on it."""

from __future__ import annotations

import gc
from typing import Any

from . import journal, triage
from .helpers import device_memory
from .helpers.consumption import select_dtype
from .helpers.exports import exports_nothing, first_array
from .outcomes import Broken, Skip, name_error
from .probes import in_order
from .registry import PROBES
from .results import presentable
from .target import CannotExamine, claimed_standard, find, version_of

NO_ARRAY = (
    "the factory returned {}, which exports nothing by DLPack: it has neither __dlpack__ nor "
    "__dlpack_device__. To examine a consumer alone, specify it with --consumer MODULE:FUNCTION"
)


def open_target(
    name: str, consumer: str | None, device: str, file: int | None = None
) -> dict[str, Any]:
    """Imports the target and creates one object. `why` holds the reason where that fails.

    `file` is the descriptor of the journal.
    """
    if file is not None:
        journal.open_file(file)
    try:
        device_memory.select(device)
        target = find(name, consumer, device)
        if target.factory is None and target.function is None:
            return {"why": f"{name} has neither a factory nor a consumer"}
        if target.factory is not None:
            x = first_array(target)
            if consumer is None and ":" in name and exports_nothing(x):
                return {"why": NO_ARRAY.format(type(x).__name__)}
    except (CannotExamine, Skip) as error:
        return {"why": presentable(str(error))}
    modules = {name.partition(":")[0], *([consumer.partition(":")[0]] if consumer else [])}
    versions = {module.partition(".")[0]: version_of(module) for module in sorted(modules)}
    list(in_order())  # imports every module that registers probes
    standard = claimed_standard(target)
    gc.collect()
    gc.freeze()  # the probes collect often, and need not look at what the libraries keep
    return {
        "why": None,
        "versions": versions,
        "consumer": target.consumer_name,
        "standard": standard,
    }


def make_calls(name: str, consumer: str | None, device: str, endings: list[dict[str, Any]]) -> None:
    """Makes each kind of call that the `endings` do not exclude."""
    journal.exclude(endings)
    target = find(name, consumer, device)
    select_dtype(target)
    triage.make_calls(target)
    gc.collect()


def run_probe(
    name: str, consumer: str | None, device: str, probe: str, endings: list[dict[str, Any]]
) -> dict[str, Any]:
    """Runs one probe without the calls of the `endings`, and returns its outcome.

    A probe may crash this process. `is_damaged`: the device fails every further call, so that no
    other probe can run here.
    """
    result: dict[str, Any]
    journal.exclude(endings)
    journal.subject = ""
    try:
        target = find(name, consumer, device)
        select_dtype(target)
        note = PROBES[probe].function(target)
        result = {"outcome": "pass", "got": note or ""}
    except Skip as reason:
        result = {"outcome": "skip", "got": str(reason)}
    except Broken as broken:
        result = {
            "outcome": "fail",
            "got": broken.got,
            "expected": broken.expected,
            "fix": broken.fix,
        }
    except BaseException as error:  # of the library, where another rule expects it, or of the check
        result = {"outcome": "skip", "got": f"the check ended with {name_error(error)}"}
    gc.collect()  # a destructor that fails late counts as this probe's failure
    result["got"] = presentable(result["got"])
    result["is_damaged"] = device_memory.is_damaged()
    return result
