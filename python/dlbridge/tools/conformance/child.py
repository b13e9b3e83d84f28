"""What runs in the child process: a target is opened there once, and probed."""

from __future__ import annotations

import gc
from typing import Any

from dlbridge.tools.conformance.probes import PROBES, Broken, Skip, in_order
from dlbridge.tools.conformance.target import CannotExamine, find, name_error, version_of


def open_target(name: str, consumer: str | None) -> dict[str, Any]:
    """Imports the target and makes one object of it. `why` is filled when that does not work."""
    try:
        target = find(name, consumer)
        if target.factory is None and target.function is None:
            return {"why": f"{name} has neither a factory nor a consumer"}
        if target.factory is not None:
            target.make()
    except CannotExamine as nothing:
        return {"why": str(nothing)}
    except Skip as refused:
        return {"why": str(refused)}
    modules = {name.partition(":")[0], *([consumer.partition(":")[0]] if consumer else [])}
    versions = {module.partition(".")[0]: version_of(module) for module in sorted(modules)}
    list(in_order())  # every probe is registered now
    return {"why": None, "versions": versions, "consumer": target.consumer_name}


def run_probe(name: str, consumer: str | None, probe: str) -> dict[str, Any]:
    """Runs one probe. Whatever it raises becomes an outcome; what it breaks breaks this process."""
    result: dict[str, Any]
    try:
        note = PROBES[probe].function(find(name, consumer))
        result = {"outcome": "pass", "got": note or ""}
    except Skip as why:
        result = {"outcome": "skip", "got": str(why)}
    except Broken as broken:
        result = {
            "outcome": "fail",
            "got": broken.got,
            "expected": broken.expected,
            "fix": broken.fix,
            "severity": broken.severity,
        }
    except BaseException as raised:
        result = {"outcome": "fail", "got": f"the check ended with {name_error(raised)}"}
    gc.collect()  # what a late destructor breaks is this probe's doing
    return result
