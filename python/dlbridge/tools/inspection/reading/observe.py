"""Calls every protocol of an object, and records its responses."""

from __future__ import annotations

from typing import Any

from dlbridge.tools.inspection.reading import exchange, exports, interfaces, subject
from dlbridge.tools.inspection.reading.observation import Observation
from dlbridge.tools.inspection.reading.protocols import COPIES, Raised, Response, guarded
from dlbridge.tools.inspection.reading.subject import Subject
from dlbridge.tools.libraries import LIBRARIES

MOST_COPIED = 16 << 20  # bytes that are copied by default


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


def observe(x: Any, *, copy: bool | None) -> Observation:
    """Calls all protocols of an object, or reads a capsule. See dlbridge.inspect for `copy`."""
    about = subject.describe(x)
    if about.is_capsule:
        return Observation(about, (exports.read_capsule("capsule", x),))
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
    return Observation(about, tuple(responses), keywords)


def crash_of_export(about: Subject) -> str:
    """Returns why calling __dlpack__ would crash; "" for almost every object."""
    for name, library in LIBRARIES.items():
        if about.type.startswith(f"{name}."):
            for kind in library.crashing_dtypes:
                if kind in about.own_dtype:
                    return f"{library.title} crashes on the export of a {kind}"
    return ""
