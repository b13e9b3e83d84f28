# SPDX-License-Identifier: BSD-3-Clause
"""The registry of probes: each examines one rule of a target."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Callable, Optional

from .outcomes import Broken, Skip
from .rules import RULES
from .target import Target

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
    rule: str,
    *,
    hostile: bool = False,
    name: str | None = None,
    twice: bool = False,
    extra: bool = False,
) -> Callable[[Function], Function]:
    """Registers a probe of a rule. Several probes may examine one rule; the worst outcome counts.

    `name` replaces the function's name: "consumer.backwards". With `twice` the probe runs a second
    time in the same process, which shows what its first run left behind. An `extra` probe adds to
    another one of its rule: where it can examine nothing, the rule is still examined.
    """
    if rule not in RULES:
        raise KeyError(f"there is no rule {rule}")

    def register(function: Function) -> Function:
        own = name or f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if own in PROBES:
            raise KeyError(f"two probes are named {own}")
        run = _repeated(function) if twice else function
        PROBES[own] = Probe(rule, own, _without_skip(run) if extra else run, hostile)
        return function

    return register


def _repeated(function: Function) -> Function:
    @functools.wraps(function)
    def run(target: Target) -> str | None:
        note = function(target)
        try:
            function(target)
        except Broken as broken:
            broken.got = f"passed at first; when the check was repeated: {broken.got}"
            raise
        return note

    return run


def _without_skip(function: Function) -> Function:
    @functools.wraps(function)
    def run(target: Target) -> str | None:
        try:
            return function(target)
        except Skip as reason:
            return f"not examined further: {reason}"

    return run
