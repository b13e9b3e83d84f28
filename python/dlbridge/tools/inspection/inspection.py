"""Examines an object by all protocols: dlbridge.inspect and its result."""

from __future__ import annotations

from typing import Any

from dlbridge.tools.inspection import exchange, exports, interfaces, plain, subject
from dlbridge.tools.inspection.findings import Findings
from dlbridge.tools.inspection.html import as_html
from dlbridge.tools.inspection.protocols import COPIES, Raised, Response, guarded
from dlbridge.tools.inspection.subject import Subject
from dlbridge.tools.inspection.svg import as_svg
from dlbridge.tools.inspection.text import as_plain, terminal_width
from dlbridge.tools.libraries import LIBRARIES

MOST_COPIED = 16 << 20  # bytes that are copied by default


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
        return plain.as_dict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Inspection:
        """Restores an inspection from the result of to_dict()."""
        return cls(**plain.arguments(values))


def _bytes_of(responses: list[Response]) -> int:
    for each in responses:
        if each.description is not None and each.description.layout is not None:
            return each.description.layout.size * each.description.element_bytes
    return 0


def _exports(x: Any, copy: bool | None) -> list[Response]:
    responses: list[Response] = []
    for name in exports.KEYWORDS:
        size = _bytes_of(responses)
        if name in COPIES and copy is False:
            responses.append(Response(name, "skipped", "copy=False"))
        elif name in COPIES and copy is None and size > MOST_COPIED:
            reason = f"a copy takes {size >> 20} MiB; request it with copy=True"
            responses.append(Response(name, "skipped", reason))
        else:
            responses.append(exports.export(x, name))
    return responses


def _safely(name: str, examine: Any, *arguments: Any) -> Response:
    try:
        response: Response = guarded(lambda: examine(*arguments))
        return response
    except Raised as error:
        return Response(name, "raised", str(error), error.type)


def inspect(x: Any, *, copy: bool | None = None, title: str = "") -> Inspection:
    """Examines an object by all protocols, or reads a capsule. See dlbridge.inspect."""
    about = subject.describe(x)
    if about.is_capsule:
        return Inspection(about, (exports.read_capsule("capsule", x),), title=title)
    methods = {*about.on_type, *about.on_instance}
    responses = [
        _safely("device", exports.device_of, x)
        if "__dlpack_device__" in methods
        else Response("device", "absent")
    ]
    keywords = {}
    if "__dlpack__" in methods:
        reason = crash_of_export(about)
        if reason:
            responses.append(Response("bare", "skipped", reason))
        else:
            responses += _exports(x, copy)
            keywords = exports.probe(x)
    else:
        responses.append(Response("bare", "absent"))
    responses += exchange.examine(x)
    responses.append(_safely("buffer", interfaces.examine_buffer, x))
    responses += [
        _safely(name, interfaces.examine_interface, x, name) for name in interfaces.INTERFACES
    ]
    return Inspection(about, tuple(responses), keywords, title)


def crash_of_export(about: Subject) -> str:
    """Returns why calling __dlpack__ would crash; "" for almost every object."""
    for name, library in LIBRARIES.items():
        if about.type.startswith(f"{name}."):
            for kind in library.crashing_dtypes:
                if kind in about.own_dtype:
                    return f"{library.title} crashes on the export of a {kind}"
    return ""
