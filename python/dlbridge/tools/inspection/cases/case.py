# SPDX-License-Identifier: BSD-3-Clause
"""A case: a property of a tensor, its description, and the reaction of every consumer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable, Literal, Union

from ...versions import reaches
from ..consumers import CONSUMERS
from ..reading.description import Description

Level = Literal["defect", "risk", "note", ""]

# A reaction is the name of an exception, ...
EXCEPTIONS = frozenset(
    {
        "ArrowInvalid",
        "ArrowNotImplementedError",
        "ArrowTypeError",
        "AssertionError",
        "BufferError",
        "IndexError",
        "InvalidArgumentError",
        "JaxRuntimeError",
        "KeyError",
        "MPI.Exception",
        "MXNetError",
        "MemoryError",
        "NotImplementedError",
        "OverflowError",
        "RuntimeError",
        "TypeError",
        "UnicodeDecodeError",
        "ValueError",
    }
)
# ... a signal that ends the process, ...
SIGNALS = frozenset({"SIGABRT", "SIGSEGV"})
# ... one of these, ...
COPIES, NARROWS, WRONG, FAILS_LATER = "copies", "narrows", "wrong", "fails later"
CRASHES_IN_USE, CRASHES_ON_RELEASE = "crashes in use", "crashes on release"
OTHER_BUILD, MEMORY_ORDER, WRITABLE = "other build", "memory order", "writable"
SEND_ONLY, UNKNOWN = "send only", "unknown"
TEXTS = {
    COPIES: "copies",
    NARROWS: "copies into a narrower dtype",
    WRONG: "reads wrong values",
    FAILS_LATER: "accepts it, and fails or reads garbage later",
    CRASHES_IN_USE: "accepts it, and its first operation crashes the process",
    CRASHES_ON_RELEASE: "accepts it, and crashes the process on release",
    OTHER_BUILD: "only in a build for that device",
    MEMORY_ORDER: "sends it in the order of memory",
    WRITABLE: "accepts it as writable, although it is read-only",
    SEND_ONLY: "sends it, and does not receive into it (BufferError)",
    UNKNOWN: "unknown",
}
# ... or this: the property makes no difference.
NO_EFFECT = ""


@dataclass(frozen=True)
class Changed:
    """A reaction that another one has replaced."""

    before: str
    version: str  # the first one that reacts otherwise
    now: str

    def of(self, version: str) -> str:
        """Returns the reaction of one version of the consumer."""
        return self.now if reaches(version, self.version) else self.before


OF_NUMPY = Changed("RuntimeError", "2.5.0", "BufferError")  # NumPy refuses most tensors with it

Reactions = Mapping[str, Union[str, Changed]]  # by consumer


def reactions(rest: str | Reactions = NO_EFFECT, /, **by_consumer: str | Changed) -> Reactions:
    """Returns the reactions of all consumers: those that are named, and those of the rest.

    Raises KeyError for an unknown consumer or reaction.
    """
    for consumer, reaction in by_consumer.items():
        if consumer not in CONSUMERS:
            raise KeyError(f"no consumer is named {consumer!r}")
        for each in names_in(reaction):
            if each not in {*EXCEPTIONS, *SIGNALS, *TEXTS, NO_EFFECT}:
                raise KeyError(f"{consumer}: no reaction is named {each!r}")
    return {**(dict.fromkeys(CONSUMERS, rest) if isinstance(rest, str) else rest), **by_consumer}


def names_in(reaction: str | Changed) -> tuple[str, ...]:
    """Returns the name of a reaction, or both of one that has changed."""
    return (reaction,) if isinstance(reaction, str) else (reaction.before, reaction.now)


def reaction_of(reactions: Reactions, consumer: str, version: str) -> str:
    """Returns the reaction of one version of a consumer."""
    reaction = reactions[consumer]
    return reaction if isinstance(reaction, str) else reaction.of(version)


@dataclass(frozen=True)
class Case:
    """A property of a tensor."""

    name: str
    level: Level  # of the oddity; empty where the case only matters to consumers
    holds: Callable[[Description], bool]
    why: Callable[[Description], str]  # a few words, for a verdict
    reactions: Reactions
    sentence_of: Callable[[Description], str] | None = None  # a sentence, for the oddity
    rule: str = ""  # of conformance, that a tensor with the property breaks
    repair: str = ""  # what to pass instead

    def sentence(self, x: Description) -> str:
        return (self.sentence_of or self.why)(x)


def on(type_: int) -> Callable[[Description], bool]:
    """Whether a tensor is on a device of this type."""
    return lambda x: x.device is not None and x.device[0] == type_


def has_elements(x: Description) -> bool:
    return x.layout is not None and x.layout.size > 0
