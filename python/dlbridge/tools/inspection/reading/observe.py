# SPDX-License-Identifier: BSD-3-Clause
"""Calls every protocol of an object, and records its responses."""

from __future__ import annotations

import functools
from typing import Any

from ...conformance.helpers.readings import MASKED
from ...libraries import LIBRARIES
from . import exchange, exports, interfaces, judging, subject, together
from .judging import Together
from .observation import Observation
from .protocols import COPIES, DLPACK, INTERFACES, Response, answered
from .signs import Sign, merged, signs_of
from .subject import Subject
from .together import MOST_COPIED, has_unreadable, size_of

JUDGED = ("gave", "unreadable")
UNREADABLE = "the memory is not readable"


def _bytes_of(responses: list[Response]) -> int:
    return max((size_of(each.description) for each in responses), default=0)


def _exports(x: Any, copy: bool | None, keep: bool) -> list[Response]:
    responses: list[Response] = []
    for name in exports.KEYWORDS:
        size = _bytes_of(responses)
        may_skip = name in COPIES and copy is None
        if name in COPIES and copy is False:
            responses.append(Response(name, "skipped", "copy=False"))
        elif may_skip and has_unreadable(each.description for each in responses):
            responses.append(Response(name, "skipped", UNREADABLE))
        elif may_skip and size > MOST_COPIED:
            reason = f"a copy takes {size >> 20} MiB; request it with copy=True"
            responses.append(Response(name, "skipped", reason))
        else:
            export = functools.partial(exports.export, x, name, keep=keep)
            responses.append(answered(name, export))
    return responses


def observe(x: Any, *, copy: bool | None) -> Observation:
    """Calls all protocols of an object, or reads a capsule. See dlbridge.inspect for `copy`."""
    about = subject.describe(x)
    if about.is_capsule:
        capsule = exports.read_capsule("capsule", x)
        _, signs = judging.judge(None, about, [capsule], Together())
        return Observation(about, (capsule,), signs=tuple(signs))
    if about.is_class:
        return Observation(about, (Response("device", "absent"), Response("bare", "absent")))
    methods = {*about.on_type, *about.on_instance}
    device = Response("device", "absent")
    if "__dlpack_device__" in methods:
        device = answered("device", lambda: exports.device_of(x))
    responses = [device]
    looked = Together()
    of_device = device.said if device.outcome in JUDGED else ""
    keywords: dict[str, str] = {}
    if "__dlpack__" in methods:
        reason = crash_of_export(about)
        if reason:
            responses.append(Response("bare", "skipped", reason))
        else:
            with together.lent(x):
                exported, looked, keywords = _examine_exports(x, device, copy)
            responses += exported
    else:
        responses.append(Response("bare", "absent"))
    responses += exchange.examine(x)
    responses.append(answered("buffer", lambda: interfaces.examine_buffer(x)))
    for name in INTERFACES:
        responses.append(answered(name, functools.partial(interfaces.examine_interface, x, name)))
    comparison, signs = judging.judge(x, about, responses, looked)
    masks = tuple(each.name for each in responses if each.said == MASKED)
    if masks and Sign("masked") not in signs:
        signs.append(Sign("masked", masks))
    described = (each.description for each in responses if each.name in DLPACK)
    signs += judging.conversion(x, next(filter(None, described), None))
    return Observation(
        about,
        tuple(responses),
        keywords,
        comparison=comparison,
        signs=merged([*signs_of("P-02", of_device, "device"), *looked.signs, *signs]),
    )


def _examine_exports(
    x: Any, device: Response, copy: bool | None
) -> tuple[list[Response], Together, dict[str, str]]:
    """Compares exports that are alive together, then requests each kind alone.

    The order matters: where two capsules share a managed tensor, none may be destroyed.
    """
    type_, index = device.device or (None, None)
    pair = None if type_ is None or index is None else (type_, index)
    found = together.examine(x, pair, copy)
    keep = found.shared
    return _exports(x, copy, keep), found, exports.probe(x, keep=keep)


def crash_of_export(about: Subject) -> str:
    """Returns why calling __dlpack__ would crash; "" for almost every object."""
    for name, library in LIBRARIES.items():
        if about.type.startswith(f"{name}."):
            for kind in library.crashing_dtypes:
                if kind in about.own_dtype:
                    return f"{library.title} crashes on the export of a {kind}"
    return ""
