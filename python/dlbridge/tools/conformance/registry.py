"""The registry of probes: each examines one rule of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.conformance.target import Target

# Takes the target. It returns None or a note where the rule holds, and raises Broken or Skip else.
Function = Callable[[Target], Optional[str]]


@dataclass(frozen=True)
class Probe:
    rule: str
    name: str  # unique: "protocol.names_of_capsules"
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
