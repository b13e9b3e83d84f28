# SPDX-License-Identifier: BSD-3-Clause
"""The protocol's methods: __dlpack_device__, and __dlpack__ with several combinations of keywords.

Every capsule is read and dropped without being consumed: its destructor frees the tensor.
"""

from __future__ import annotations

import ctypes as C
from dataclasses import replace
from typing import Any

from ... import abi
from ...conformance.helpers.exports import integer
from ...conformance.judgement import calls
from .description import Description, of_contents
from .memory import is_code, with_memory
from .protocols import Outcome, Raised, Response, guarded, quietly, timed

KEYWORDS: dict[str, dict[str, Any]] = {
    "bare": {},
    "1.0": {"max_version": (1, 0)},
    "1.3": {"max_version": (1, 3)},
    "copy": {"copy": True},
    "1.0 copy": {"max_version": (1, 0), "copy": True},
}
# Passed with the value None, to find out whether __dlpack__ accepts a keyword; the last one does
# not exist.
PROBES = ("stream", "max_version", "dl_device", "copy", "unknown_keyword")


def leak(capsule: Any) -> None:
    """Keeps a capsule for ever, also at the end of the process: its destructor would crash."""
    C.pythonapi.Py_IncRef(C.py_object(capsule))


def _version_of(address: int) -> tuple[int, int] | None:
    header = abi.read_memory(address, 8)
    if header is None:
        return None
    return int.from_bytes(header[:4], "little"), int.from_bytes(header[4:], "little")


def _deleter_of(address: int, name: str) -> int | None:
    """Returns the address of the deleter, whose offset is fixed; None: not readable."""
    struct = abi.STRUCTS[name]
    content = abi.read_memory(address + struct.deleter.offset, 8)
    return None if content is None else int.from_bytes(content, "little")


def is_safe_to_drop(capsule: Any) -> bool:
    """Whether the functions that run when a capsule is destroyed are executable."""
    destructor = abi.destructor_of(capsule)
    if not destructor:
        return True
    if not is_code(destructor):
        return False
    name = abi.name_of(capsule)
    if name not in abi.STRUCTS:
        return True
    deleter = _deleter_of(abi.pointer_of(capsule), name)
    return deleter is not None and (deleter == 0 or is_code(deleter))


def drop(capsule: Any, *, keep: bool = False) -> None:
    """Lets a capsule be destroyed where that is safe, and not with `keep`."""
    if abi.is_capsule(capsule) and (keep or not is_safe_to_drop(capsule)):
        leak(capsule)


def described(capsule: Any) -> Description | None:
    """Describes a capsule without consuming it; None where it is not readable."""
    try:
        return with_memory(of_contents(abi.read(capsule)))
    except abi.Unreadable:
        return None


def read_capsule(name: str, capsule: Any, seconds: float | None = None) -> Response:
    """Reads a capsule without consuming it."""
    if not abi.is_capsule(capsule):
        kind = type(capsule).__name__
        return Response(name, "unreadable", f"expected a capsule; got {kind}", seconds=seconds)
    fresh_name = abi.name_of(capsule)
    version = _version_of(abi.pointer_of(capsule)) if fresh_name == abi.VERSIONED else None
    response = Response(name, "gave", capsule=fresh_name, version=version, seconds=seconds)
    try:
        description = with_memory(of_contents(abi.read(capsule)))
    except abi.Unreadable as error:
        return replace(response, outcome="unreadable", said=str(error))
    return replace(response, description=description)


def export(x: Any, name: str, *, keep: bool = False) -> Response:
    """Calls __dlpack__ with the keywords of one protocol; with `keep` the capsule is leaked."""

    def may_repeat(capsule: Any) -> bool:
        if "copy" in KEYWORDS[name]:  # copies cost memory
            return False
        return not keep and abi.is_capsule(capsule) and is_safe_to_drop(capsule)

    capsule, seconds = timed(lambda: x.__dlpack__(**KEYWORDS[name]), may_repeat)
    response = read_capsule(name, capsule, seconds)
    drop(capsule, keep=keep)
    return response


def device_of(x: Any) -> Response:
    """Calls __dlpack_device__."""
    result, seconds = timed(lambda: x.__dlpack_device__(), lambda _: True)
    pair = _as_pair(result)
    try:
        said = guarded(lambda: calls.device_pair(result)) or ""
    except Raised as error:
        said = f"the result of __dlpack_device__() raises {error}"
    outcome: Outcome = "unreadable" if pair is None else "gave"
    return Response("device", outcome, said, device=pair, seconds=seconds)


def _as_pair(result: Any) -> tuple[int, int | None] | None:
    """Accepts members of an Enum, as the array API standard declares the type of the device."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        return None
    type_, index = result
    pair: tuple[int, int | None] | None = quietly(
        lambda: (int(integer(type_)), None if index is None else int(integer(index)))
    )
    return pair


def probe(x: Any, *, keep: bool = False) -> dict[str, str]:
    """By keyword: "" where __dlpack__ accepts it, else the exception."""
    return {keyword: _refusal(x, keyword, keep) for keyword in PROBES}


def _refusal(x: Any, keyword: str, keep: bool) -> str:
    try:
        drop(guarded(lambda: x.__dlpack__(**{keyword: None})), keep=keep)
    except Raised as error:
        return str(error)
    return ""
