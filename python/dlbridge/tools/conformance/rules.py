"""The rules: what each demands, how grave a break is, who says so, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# F: the specification is broken, or memory is in danger. W: a deviation that peers live with.
# N: worth knowing.
Severity = Literal["F", "W", "N"]


@dataclass(frozen=True)
class Rule:
    id: str
    severity: Severity
    says: str  # what is expected, in one sentence
    source: str  # who demands it, or whose users suffer where it does not hold
    fix: str  # what to change in a library that breaks it


ROWS = [
    Rule(
        "P-01",
        "F",
        "Both __dlpack__ and __dlpack_device__ are methods of the type.",
        "array API, __dlpack__; jax#17285",
        "Define both on the class: consumers look them up on the type, and several ask the device first.",
    ),
    Rule(
        "P-04",
        "F",
        "A call without max_version gives a capsule named dltensor; with max_version=(1, x) it is named dltensor_versioned, or dltensor.",
        "DLPack Python specification; array API, __dlpack__",
        "Name the capsule after the struct in it: dltensor, or dltensor_versioned when max_version allows it.",
    ),
    Rule(
        "C-01",
        "F",
        "Both kinds of capsule are accepted, legacy and versioned.",
        "DLPack Python specification",
        "Look at the capsule's name, and read the struct that it announces.",
    ),
]

RULES: dict[str, Rule] = {row.id: row for row in ROWS}
