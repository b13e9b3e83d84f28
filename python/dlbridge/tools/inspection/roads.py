"""The roads by which an object says what tensor it is, and what comes along each of them."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any, Callable, Literal

from dlbridge.tools.inspection.description import Description, from_json

Outcome = Literal["gave", "raised", "absent", "skipped", "unreadable"]

QUICK = 1e-3  # seconds: a call that takes less is timed again
AGAIN = 4  # times

# By name, as a person would write it. In the order in which they are gone.
TITLES = {
    "device": "__dlpack_device__()",
    "capsule": "the capsule itself",
    "bare": "__dlpack__()",
    "1.0": "__dlpack__(max_version=(1, 0))",
    "1.3": "__dlpack__(max_version=(1, 3))",
    "copy": "__dlpack__(copy=True)",
    "1.0 copy": "__dlpack__(max_version=(1, 0), copy=True)",
    "give": "exchange table, owned",
    "lend": "exchange table, lent",
    "buffer": "buffer protocol",
    "array": "__array_interface__",
    "cuda array": "__cuda_array_interface__",
}
DLPACK = ("capsule", "bare", "1.0", "1.3", "copy", "1.0 copy", "give", "lend")
COPIES = ("copy", "1.0 copy")


@dataclass(frozen=True)
class Road:
    """What came along one road."""

    name: str  # of TITLES
    outcome: Outcome
    said: str = ""  # what was raised, or why there is nothing to read
    raised: str = ""  # the type of the exception
    description: Description | None = None
    device: tuple[int, int | None] | None = None  # of __dlpack_device__
    capsule: str | None = None  # its name, also where the rest cannot be read
    version: tuple[int, int] | None = None  # likewise; and of an exchange table
    seconds: float | None = None  # the quickest call

    @property
    def title(self) -> str:
        return TITLES[self.name]

    def to_dict(self) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if self.description is not None:
            given["description"] = self.description.to_dict()
        return {**given, "title": self.title}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Road:
        kept = from_json(given)
        kept.pop("title")
        if kept["description"] is not None:
            kept["description"] = Description.from_dict(kept["description"])
        return cls(**kept)


class Raised(Exception):
    """What somebody else's code raised, in words."""

    def __init__(self, what: BaseException) -> None:
        super().__init__(describe(what))
        self.type = type(what).__name__


def describe(raised: BaseException) -> str:
    """An exception in one line: its type, and the first line of what it says."""
    try:
        said = str(raised).strip().splitlines()
    except Exception:
        said = ["(its text cannot be had)"]
    name = type(raised).__name__
    return f"{name}: {said[0]}" if said else name


def guarded(call: Callable[[], Any]) -> Any:
    """Calls foreign code. Raises Raised for whatever it raises, but lets Ctrl-C through."""
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # also SystemExit, and panics of other languages
        raise Raised(raised) from None


def timed(call: Callable[[], Any], again: Callable[[Any], bool]) -> tuple[Any, float]:
    """What a call gives, and how long the quickest took; called again while again() allows it."""
    began = time.perf_counter()
    result = call()
    quickest = time.perf_counter() - began
    for _ in range(AGAIN if quickest < QUICK else 0):
        if not again(result):
            break
        began = time.perf_counter()
        result = call()
        quickest = min(quickest, time.perf_counter() - began)
    return result, quickest
