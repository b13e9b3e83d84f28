# SPDX-License-Identifier: BSD-3-Clause
"""The protocols by which an object describes its tensor, and their responses."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any, Callable, Literal

from .description import Description, tuples_of

Outcome = Literal["gave", "raised", "absent", "skipped", "unreadable"]

QUICK = 1e-3  # seconds: shorter calls are repeated
AGAIN = 4  # repetitions

# By name, as users write them. In the order in which they are examined.
TITLES = {
    "device": "__dlpack_device__()",
    "capsule": "the capsule",
    "bare": "__dlpack__()",
    "1.0": "__dlpack__(max_version=(1, 0))",
    "1.3": "__dlpack__(max_version=(1, 3))",
    "copy": "__dlpack__(copy=True)",
    "1.0 copy": "__dlpack__(max_version=(1, 0), copy=True)",
    "give": "exchange table (owned)",
    "lend": "exchange table (borrowed)",
    "buffer": "buffer protocol",
    "array": "__array_interface__",
    "cuda array": "__cuda_array_interface__",
}
DLPACK = ("capsule", "bare", "1.0", "1.3", "copy", "1.0 copy", "give", "lend")
COPIES = ("copy", "1.0 copy")
SHARING = tuple(name for name in DLPACK if name not in COPIES)
INTERFACES = {"array": "__array_interface__", "cuda array": "__cuda_array_interface__"}


@dataclass(frozen=True)
class Response:
    """The response of one protocol."""

    name: str  # of TITLES
    outcome: Outcome
    said: str = ""  # the exception, or the reason why nothing can be read
    raised: str = ""  # the type of the exception
    description: Description | None = None
    device: tuple[int, int | None] | None = None  # of __dlpack_device__
    capsule: str | None = None  # its name, also where the rest is not readable
    version: tuple[int, int] | None = None  # of the struct, or of the exchange table's
    seconds: float | None = None  # of the quickest call

    @property
    def title(self) -> str:
        return TITLES[self.name]

    def to_dict(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if self.description is not None:
            values["description"] = self.description.to_dict()
        return {**values, "title": self.title}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Response:
        arguments = tuples_of(values)
        arguments.pop("title")
        if arguments["description"] is not None:
            arguments["description"] = Description.from_dict(arguments["description"])
        return cls(**arguments)


class Raised(Exception):
    """An exception of the object under inspection, in words."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(describe(error))
        self.type = type(error).__name__


def describe(error: BaseException) -> str:
    """Formats an exception in one line: its type, and the first line of its message."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:
        lines = ["(its message is not available)"]
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def guarded(call: Callable[[], Any]) -> Any:
    """Calls foreign code. Raises Raised for every exception except KeyboardInterrupt."""
    try:
        return call()
    except (KeyboardInterrupt, Raised):
        raise
    except BaseException as raised:  # also SystemExit, and panics of other languages
        raise Raised(raised) from None


def quietly(read: Callable[[], Any], otherwise: Any = None) -> Any:
    """Calls foreign code, and returns something else where that raises."""
    try:
        return guarded(read)
    except Raised:
        return otherwise


def answered(name: str, examine: Callable[[], Response]) -> Response:
    """Returns the response of a protocol, also where foreign code raises."""
    try:
        response: Response = guarded(examine)
        return response
    except Raised as error:
        return Response(name, "raised", str(error), error.type)


def timed(call: Callable[[], Any], again: Callable[[Any], bool]) -> tuple[Any, float]:
    """Returns the result of foreign code, and the shortest time of calls while again() allows."""
    began = time.perf_counter()
    result = guarded(call)
    quickest = time.perf_counter() - began
    for _ in range(AGAIN if quickest < QUICK else 0):
        if not again(result):
            break
        began = time.perf_counter()
        result = guarded(call)
        quickest = min(quickest, time.perf_counter() - began)
    return result, quickest
