# SPDX-License-Identifier: BSD-3-Clause
"""What follows from an observation: differences, verdicts and oddities."""

from __future__ import annotations

from functools import cached_property

from dlbridge.tools.inspection.conclusions.differences import Difference, differences
from dlbridge.tools.inspection.conclusions.oddities import Oddity, oddities
from dlbridge.tools.inspection.conclusions.verdicts import Verdict, verdicts
from dlbridge.tools.inspection.reading.observation import Observation


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
