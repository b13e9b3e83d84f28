# SPDX-License-Identifier: BSD-3-Clause
"""An oddity of a tensor or of its producer, and the consumers that it affects."""

from __future__ import annotations

from dataclasses import dataclass

from ...conformance.rules import RULES
from ..cases.case import Level


@dataclass(frozen=True)
class Oddity:
    """A violation of a rule, a risk or a remarkable property."""

    level: Level  # defect: violates the rules or gives wrong values; risk: valid, but some fail
    what: str
    who: str = ""  # the effect on consumers
    protocols: tuple[str, ...] = ()  # by which it shows; empty: it concerns the object
    repair: str = ""  # what the author should change, or the caller pass
    rule: str = ""  # of conformance, that is broken

    @property
    def quote(self) -> str:
        """The sentence of a standard that the rule follows from; "" without one."""
        texts = RULES[self.rule].texts if self.rule else ()
        return f"{texts[0].document}: \u201c{texts[0].sentence}\u201d" if texts else ""
