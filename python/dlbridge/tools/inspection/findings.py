"""What follows from an observation: differences, verdicts and oddities."""

from __future__ import annotations

from functools import cached_property

from dlbridge.tools.inspection.differences import Difference, differences
from dlbridge.tools.inspection.observation import Observation
from dlbridge.tools.inspection.oddities import Oddity, oddities
from dlbridge.tools.inspection.verdicts import Verdict, verdicts


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
        """Whether some protocol describes a tensor, and there is no defect."""
        return self.tensor is not None and all(o.level != "defect" for o in self.oddities)
