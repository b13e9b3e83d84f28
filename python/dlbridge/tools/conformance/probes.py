"""What a probe is: one attempt to break one rule, and the three ways in which it can end."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from dlbridge.tools.conformance.rules import RULES, Severity

if TYPE_CHECKING:
    from dlbridge.tools.conformance.target import Target

# Beside this file: they hold the probes.
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

# A probe gets the target and returns when the rule holds; a text it returns is a note.
Function = Callable[["Target"], "str | None"]


class Broken(BaseException):
    """The rule does not hold. Raised by a probe, through whatever expects an Exception.

    `got` says what came, in words that need no other. Left out, `expected` and `fix` are those of
    the rule, and so is the severity; a probe lowers it where the break is one that peers live with.
    """

    def __init__(
        self,
        got: str,
        *,
        expected: str | None = None,
        fix: str | None = None,
        severity: Severity | None = None,
    ) -> None:
        super().__init__(got)
        self.got, self.expected, self.fix, self.severity = got, expected, fix, severity


class Skip(BaseException):
    """The rule cannot be examined on this target; the text says why. Raised as Broken is."""


@dataclass(frozen=True)
class Probe:
    rule: str
    name: str  # unique: "producer.names_of_capsules"
    function: Function
    hostile: bool  # may damage memory unseen: runs last, and where it fails a new process follows


PROBES: dict[str, Probe] = {}


def probe(
    rule: str, *, hostile: bool = False, name: str | None = None
) -> Callable[[Function], Function]:
    """Registers a probe of a rule. Several may examine one rule; the worst outcome counts.

    `name` where the function has none of its own: "consumer.backwards".
    """
    if rule not in RULES:
        raise KeyError(f"there is no rule {rule}")

    def register(function: Function) -> Function:
        own = name or f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if own in PROBES:
            raise KeyError(f"there are two probes named {own}")
        PROBES[own] = Probe(rule, own, function, hostile)
        return function

    return register


def in_order() -> Iterator[Probe]:
    """Every probe: those that are safe first, in the order of their rules, then the hostile."""
    for module in MODULES:
        importlib.import_module(f"dlbridge.tools.conformance.{module}")
    ranks = {rule: rank for rank, rule in enumerate(RULES)}
    yield from sorted(PROBES.values(), key=lambda it: (it.hostile, ranks[it.rule]))
