# SPDX-License-Identifier: BSD-3-Clause
"""The observation of one object: what it is, and its responses by every protocol."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .description import Description
from .protocols import COPIES, TITLES, Response
from .signs import Comparison, Sign
from .subject import ROADS, Subject

# The protocols whose description counts as the object's, the first one that has a description.
PREFERRED = ("capsule", "1.0", "1.3", "bare", "give", "lend", "buffer", "array", "cuda array")


@dataclass(frozen=True)
class Observation:
    """The responses of an object. It keeps no reference to the object; addresses may be stale."""

    subject: Subject
    responses: tuple[Response, ...]
    keywords: Mapping[str, str] = field(default_factory=dict)  # by name: "" accepted, or the error
    title: str = ""  # how the caller named the object
    comparison: Comparison = field(default_factory=Comparison)
    signs: tuple[Sign, ...] = ()  # of comparisons that failed
    installed: Mapping[str, str] = field(default_factory=dict)  # the versions of libraries, by name

    def response(self, name: str) -> Response | None:
        """Returns the response of one protocol; None for a protocol that was not examined."""
        return next((each for each in self.responses if each.name == name), None)

    def accepts(self, keyword: str) -> bool:
        """Whether __dlpack__ accepts a keyword: an unknown one raises TypeError (spec 2.4)."""
        return not self.keywords.get(keyword, "TypeError").startswith("TypeError")

    def described(self, names: Collection[str] = TITLES) -> dict[str, Description]:
        """Returns the descriptions by some protocols, in the order of their examination."""
        return {
            each.name: each.description
            for each in self.responses
            if each.description is not None and each.name in names
        }

    def description(self, *names: str) -> Description | None:
        """Returns the description of the first of these protocols that has one."""
        described = self.described(names)
        return next((described[name] for name in names if name in described), None)

    def is_read_only(self, first: int) -> bool:
        """Whether the object, or an export with this first element, is read-only."""
        marks = self.subject.own_marks.items()
        return any(mark for road, mark in marks if road not in ROADS) or any(
            each.read_only
            for name, each in self.described().items()
            if name not in COPIES and each.first == first  # others are copies
        )

    @cached_property
    def reference(self) -> Response | None:
        """The response that describes the object; None when no protocol describes a tensor."""
        described = self.described()
        return next((self.response(name) for name in PREFERRED if name in described), None)

    @property
    def tensor(self) -> Description | None:
        """The description of the object, by its reference."""
        return None if self.reference is None else self.reference.description
