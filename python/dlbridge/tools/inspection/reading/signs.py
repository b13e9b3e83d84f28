# SPDX-License-Identifier: BSD-3-Clause
"""What a look found, before it is judged: one sign for each comparison that failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .description import tuples_of

MASKED = "it has masked elements"


@dataclass(frozen=True)
class Sign:
    """One comparison that failed. conclusions/faults.py has the sentence of each kind."""

    kind: str
    protocols: tuple[str, ...] = ()  # by which it shows
    words: Mapping[str, str] = field(default_factory=dict)  # of the sentence

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Sign:
        return cls(**tuples_of(values))


@dataclass(frozen=True)
class Comparison:
    """With what the elements of the exports were compared, or why they were not."""

    truth: str = ""  # the object's own way of reading: "tolist()"
    count: int = 0  # elements
    protocols: tuple[str, ...] = ()  # that were compared with it
    reason: str = ""  # why nothing was compared

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Comparison:
        return cls(**tuples_of(values))
