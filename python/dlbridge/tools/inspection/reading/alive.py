# SPDX-License-Identifier: BSD-3-Clause
"""Describes a tensor by the first protocol that can, and keeps its export alive meanwhile."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from ... import devices
from . import exchange, exports, interfaces
from .description import Description
from .observe import crash_of_export
from .protocols import INTERFACES, Response, answered, guarded
from .subject import Subject, describe

STREAMS = (devices.CUDA, devices.ROCM, devices.CUDA_MANAGED)


@contextlib.contextmanager
def described(x: Any) -> Iterator[tuple[Subject, Description]]:
    """Yields what an object is and its description; its memory is alive in the block.

    Raises TypeError for an object without any of the protocols, and BufferError where none of
    those that it has describes a tensor.
    """
    subject = describe(x)
    if subject.is_class:
        raise TypeError(f"expected a tensor; got the class {subject.type}: create an object of it")
    capsules: list[Any] = []
    failures: dict[str, str] = {}  # the protocols, by what they say
    try:
        for response in _responses(x, subject, capsules):
            if response.description is not None:
                yield subject, response.description
                return
            if response.outcome != "absent":
                failures.setdefault(response.said, response.title)
    finally:
        while capsules:
            exports.drop(capsules.pop())
    if failures:
        texts = "; ".join(f"{title}: {said}" for said, title in failures.items())
        raise BufferError(f"{subject.type} exports no tensor: {texts}")
    raise TypeError(
        "expected an object with __dlpack__, an exchange table, a buffer, an array interface, or a "
        f"capsule; got {subject.type}{'; ' if subject.as_tensor else ''}{subject.as_tensor}"
    )


def _responses(x: Any, subject: Subject, capsules: list[Any]) -> Iterator[Response]:
    """Calls one protocol after the other, the one that tells most first."""
    if subject.is_capsule:
        yield exports.read_capsule("capsule", x)
        return
    if "__dlpack__" in (*subject.on_type, *subject.on_instance):
        reason = crash_of_export(subject)
        for name in ("1.0", "bare"):
            if reason:
                yield Response(name, "skipped", reason)
            else:
                yield answered(name, functools.partial(_export, x, name, capsules))
    yield from exchange.examine(x)
    yield answered("buffer", lambda: interfaces.examine_buffer(x))
    for name in INTERFACES:
        yield answered(name, functools.partial(interfaces.examine_interface, x, name))


def _export(x: Any, name: str, capsules: list[Any]) -> Response:
    """Exports without synchronization: no value of a device is read."""
    device = answered("device", lambda: exports.device_of(x)).device
    stream = {"stream": -1} if device is not None and device[0] in STREAMS else {}
    capsules.append(guarded(lambda: x.__dlpack__(**exports.KEYWORDS[name], **stream)))
    return exports.read_capsule(name, capsules[-1])
