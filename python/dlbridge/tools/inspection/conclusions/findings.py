# SPDX-License-Identifier: BSD-3-Clause
"""What follows from an observation: differences, verdicts and oddities."""

from __future__ import annotations

from functools import cached_property

from ..reading.observation import Observation
from .differences import Difference, differences
from .oddities import oddities
from .oddity import Oddity
from .verdicts import Verdict, verdicts


class Findings(Observation):
    """An observation and its conclusions: the model that text, HTML and JSON render."""

    @cached_property
    def differences(self) -> list[Difference]:
        return differences(self)

    @cached_property
    def verdicts(self) -> list[Verdict]:
        return verdicts(self)

    @cached_property
    def oddities(self) -> list[Oddity]:
        return oddities(self, self.verdicts)

    @property
    def sound(self) -> bool:
        """Whether some protocol describes a tensor whose shape is readable, without a defect."""
        is_described = self.tensor is not None and self.tensor.shape is not None
        return is_described and all(o.level != "defect" for o in self.oddities)
