"""Goes all the roads of one object, and keeps what came along them: an Inspection."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dlbridge
from dlbridge.tools.inspection import exchange, exports, interfaces, subject
from dlbridge.tools.inspection.description import Description
from dlbridge.tools.inspection.differences import Difference, differences
from dlbridge.tools.inspection.oddities import Oddity, oddities
from dlbridge.tools.inspection.roads import COPIES, Raised, Road, guarded
from dlbridge.tools.inspection.subject import Subject
from dlbridge.tools.inspection.verdicts import Verdict, verdicts

MOST_COPIED = 16 << 20  # bytes that are copied for a look without being asked to
# Whose words are taken for what the object is, where roads differ.
SPOKESMEN = ("capsule", "1.0", "1.3", "bare", "give", "lend", "buffer", "array", "cuda array")


@dataclass(frozen=True)
class Inspection:
    """What a producer says by every road it offers, what is odd in it, and who takes it.

    str() is for people, to_dict() for machines; a notebook shows HTML. Nothing of the object is
    kept: addresses may be stale by the time that they are read.
    """

    subject: Subject
    roads: tuple[Road, ...]
    keywords: Mapping[str, str] = field(default_factory=dict)  # by name: "" known, else what came
    title: str = ""  # how the object was asked for

    def road(self, name: str) -> Road | None:
        """One road of TITLES; None for one that was not gone."""
        return next((road for road in self.roads if road.name == name), None)

    def knows(self, keyword: str) -> bool:
        """Whether __dlpack__ knows a keyword: what it does not know is a TypeError (spec 2.4)."""
        return not self.keywords.get(keyword, "TypeError").startswith("TypeError")

    def description(self, *names: str) -> Description | None:
        """What the first of these roads that gave something says."""
        for name in names:
            road = self.road(name)
            if road is not None and road.description is not None:
                return road.description
        return None

    @cached_property
    def spokesman(self) -> Road | None:
        """The road whose words stand for the object; None when no road gave anything."""
        gave = {road.name: road for road in self.roads if road.description is not None}
        return next((gave[name] for name in SPOKESMEN if name in gave), None)

    @property
    def tensor(self) -> Description | None:
        """What the object is, by its spokesman."""
        return None if self.spokesman is None else self.spokesman.description

    @cached_property
    def differences(self) -> list[Difference]:
        return differences(self)

    @cached_property
    def oddities(self) -> list[Oddity]:
        return oddities(self)

    @cached_property
    def verdicts(self) -> list[Verdict]:
        return verdicts(self)

    @property
    def sound(self) -> bool:
        """Whether some road gave a tensor, and none has a defect."""
        return self.tensor is not None and all(o.level != "defect" for o in self.oddities)

    # For people ----------------------------------------------------------------------------

    def text(self, width: int = 80) -> str:
        """For a terminal of that many columns, without colours."""
        from dlbridge.tools.inspection.text import as_plain

        return as_plain(self, width)

    def __str__(self) -> str:
        from dlbridge.tools.inspection.text import as_plain, terminal_width

        return as_plain(self, terminal_width())

    def __repr__(self) -> str:
        what = "no tensor" if self.tensor is None else self.tensor.text
        return f"<dlbridge.Inspection of {self.subject.type}: {what}>"

    def _repr_html_(self) -> str:
        from dlbridge.tools.inspection.html import as_html

        return as_html(self)

    @property
    def svg(self) -> str:
        """A picture of the memory, as SVG."""
        from dlbridge.tools.inspection.svg import as_svg

        return as_svg(self.tensor)

    # For machines --------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can carry it. No address in it is alive."""
        return {
            "dlbridge": dlbridge.__version__,
            "title": self.title,
            "sound": self.sound,
            "subject": self.subject.to_dict(),
            "roads": [road.to_dict() for road in self.roads],
            "keywords": dict(self.keywords),
            "differences": [dataclasses.asdict(each) for each in self.differences],
            "oddities": [dataclasses.asdict(each) for each in self.oddities],
            "verdicts": [dataclasses.asdict(each) for each in self.verdicts],
        }

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Inspection:
        """Makes it again of what to_dict() gave, in this process or after JSON."""
        return cls(
            subject=Subject.from_dict(given["subject"]),
            roads=tuple(Road.from_dict(road) for road in given["roads"]),
            keywords=given["keywords"],
            title=given["title"],
        )


def _bytes_of(roads: list[Road]) -> int:
    for road in roads:
        if road.description is not None and road.description.layout is not None:
            return road.description.layout.size * road.description.element_bytes
    return 0


def _exports(x: Any, copy: bool | None) -> list[Road]:
    roads: list[Road] = []
    for name in exports.KEYWORDS:
        size = _bytes_of(roads)
        if name in COPIES and copy is False:
            roads.append(Road(name, "skipped", "copy=False"))
        elif name in COPIES and copy is None and size > MOST_COPIED:
            roads.append(
                Road(name, "skipped", f"a copy takes {size >> 20} MiB; ask with copy=True")
            )
        else:
            roads.append(exports.ask(x, name))
    return roads


def _safely(road: str, ask: Any, *arguments: Any) -> Road:
    try:
        found: Road = guarded(lambda: ask(*arguments))
        return found
    except Raised as raised:
        return Road(road, "raised", str(raised), raised.type)


def look(x: Any, *, copy: bool | None = None, title: str = "") -> Inspection:
    """Goes all the roads of an object, or reads a capsule. See dlbridge.inspect."""
    what = subject.look_at(x)
    if what.is_capsule:
        return Inspection(what, (exports.read_capsule("capsule", x),), title=title)
    has = {*what.on_type, *what.on_instance}
    roads = [
        _safely("device", exports.ask_device, x)
        if "__dlpack_device__" in has
        else Road("device", "absent")
    ]
    keywords = {}
    if "__dlpack__" in has:
        danger = forbidden(what)
        if danger:
            roads.append(Road("bare", "skipped", danger))
        else:
            roads += _exports(x, copy)
            keywords = exports.probe(x)
    else:
        roads.append(Road("bare", "absent"))
    roads += exchange.ask(x)
    roads.append(_safely("buffer", interfaces.ask_buffer, x))
    roads += [_safely(name, interfaces.ask_interface, x, name) for name in interfaces.INTERFACES]
    return Inspection(what, tuple(roads), keywords, title)


def forbidden(what: Subject) -> str:
    """Why __dlpack__ must not even be called; mostly there is no reason.

    TensorFlow ends the process where it should refuse: for strings, variants and resources.
    """
    if what.type.startswith("tensorflow."):
        for kind in ("string", "variant", "resource"):
            if kind in what.own_dtype:
                return f"TensorFlow ends the process when it is asked for a {kind}"
    return ""
