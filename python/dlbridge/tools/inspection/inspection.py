# SPDX-License-Identifier: BSD-3-Clause
"""Examines an object by all protocols: dlbridge.inspect and its result."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import core
from .conclusions.findings import Findings
from .consumers import installed
from .reading.description import tuples_of
from .reading.observe import observe
from .reading.protocols import Response
from .reading.signs import Comparison, Sign
from .reading.subject import Subject
from .rendering.html import as_html
from .rendering.svg import as_svg
from .rendering.text import as_plain, terminal_width

SCHEMA = 1  # of to_dict(): raised when a key changes its meaning or disappears


class Inspection(Findings):
    """The responses of an object by every protocol, oddities, and a verdict for each consumer.

    str() is for terminals, to_dict() for programs; notebooks display HTML. The result keeps no
    reference to the object, so its addresses may be stale.
    """

    def text(self, width: int = 80) -> str:
        """Returns the inspection for a terminal of this width, without colours."""
        return as_plain(self, width)

    def __str__(self) -> str:
        return as_plain(self, terminal_width())

    def __repr__(self) -> str:
        description = "no tensor" if self.tensor is None else self.tensor.text
        return f"<dlbridge.Inspection of {self.subject.type}: {description}>"

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def svg(self) -> str:
        """A picture of the memory, as SVG."""
        return as_svg(self.tensor)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values, which JSON supports."""
        return {
            "schema": SCHEMA,
            "dlbridge": core.version(),
            "title": self.title,
            "sound": self.sound,
            "subject": dataclasses.asdict(self.subject),
            "responses": [response.to_dict() for response in self.responses],
            "keywords": dict(self.keywords),
            "comparison": dataclasses.asdict(self.comparison),
            "signs": [dataclasses.asdict(each) for each in self.signs],
            "differences": [dataclasses.asdict(each) for each in self.differences],
            "oddities": [dataclasses.asdict(each) for each in self.oddities],
            "installed": dict(self.installed),
            "verdicts": [dataclasses.asdict(each) for each in self.verdicts],
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Inspection:
        """Restores an inspection from the result of to_dict()."""
        return cls(
            subject=Subject(**tuples_of(values["subject"])),
            responses=tuple(Response.from_dict(each) for each in values["responses"]),
            keywords=values["keywords"],
            title=values["title"],
            comparison=Comparison(**tuples_of(values["comparison"])),
            signs=tuple(Sign(**tuples_of(each)) for each in values["signs"]),
            installed=values.get("installed", {}),
        )


def inspect(x: Any, *, copy: bool | None = None, title: str = "") -> Inspection:
    """Examines an object by all protocols, or reads a capsule. See dlbridge.inspect."""
    if not any(copy is each for each in (None, True, False)):
        raise ValueError(f"expected copy to be True, False or None; got {copy!r}")
    observation = observe(x, copy=copy)
    values = {f.name: getattr(observation, f.name) for f in dataclasses.fields(observation)}
    return Inspection(**{**values, "title": title, "installed": installed()})
