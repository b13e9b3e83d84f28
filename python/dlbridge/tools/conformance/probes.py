"""Probes: each examines one rule of a target, and passes, is skipped or reports a violation."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Callable, Optional

from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.conformance.target import Target

# The modules that register probes.
MODULES = (
    "protocol",
    "description",
    "requests",
    "lifetime",
    "sharing",
    "consumer",
    "reading",
    "draft",
)

# Takes the target and returns when the rule holds; a text that it returns is a note.
Function = Callable[[Target], Optional[str]]


@dataclass(frozen=True)
class Probe:
    rule: str
    name: str  # unique: "producer.names_of_capsules"
    function: Function
    hostile: bool  # may corrupt memory: runs last, and its failure starts a new process


PROBES: dict[str, Probe] = {}


def probe(
    rule: str, *, hostile: bool = False, name: str | None = None
) -> Callable[[Function], Function]:
    """Registers a probe of a rule. Several probes may examine one rule; the worst outcome counts.

    `name` replaces the function's name: "consumer.backwards".
    """
    if rule not in RULES:
        raise KeyError(f"there is no rule {rule}")

    def register(function: Function) -> Function:
        own = name or f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if own in PROBES:
            raise KeyError(f"two probes are named {own}")
        PROBES[own] = Probe(rule, own, function, hostile)
        return function

    return register


def in_order() -> Iterator[Probe]:
    """Yields every probe: the safe ones first, in the order of their rules, then the hostile."""
    for module in MODULES:
        importlib.import_module(f"dlbridge.tools.conformance.{module}")
    ranks = {rule: rank for rank, rule in enumerate(RULES)}
    yield from sorted(PROBES.values(), key=lambda it: (it.hostile, ranks[it.rule]))
