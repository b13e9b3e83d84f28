"""The roads of the protocol: __dlpack_device__ and __dlpack__ with this keyword or that.

Every capsule is looked at and let go of, unconsumed: its destructor gives it back, once.
"""

from __future__ import annotations

from typing import Any, Callable

from dlbridge.tools import abi
from dlbridge.tools.inspection.description import of_contents
from dlbridge.tools.inspection.memory import is_code, looked_at
from dlbridge.tools.inspection.roads import Raised, Road, guarded, timed

KEYWORDS: dict[str, dict[str, Any]] = {
    "bare": {},
    "1.0": {"max_version": (1, 0)},
    "1.3": {"max_version": (1, 3)},
    "copy": {"copy": True},
    "1.0 copy": {"max_version": (1, 0), "copy": True},
}
# Asked with None, which means nothing, to learn whether a keyword is known; the last one is not.
PROBES = ("stream", "max_version", "dl_device", "copy", "unheard_of")

_kept: list[object] = []  # capsules whose destructor would lead nowhere: better leaked than run


def _version_of(address: int) -> tuple[int, int] | None:
    head = abi.read_memory(address, 8)
    return (
        None
        if head is None
        else (
            int.from_bytes(head[:4], "little"),
            int.from_bytes(head[4:], "little"),
        )
    )


def _deleter_of(address: int, name: str) -> int | None:
    """The deleter's address, whose place is the same in every version; None: unreadable."""
    struct = abi.STRUCTS[name]
    found = abi.read_memory(address + struct.deleter.offset, 8)
    return None if found is None else int.from_bytes(found, "little")


def is_safe_to_drop(capsule: Any) -> bool:
    """Whether what runs when a capsule dies leads somewhere."""
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


def read_capsule(road: str, capsule: Any, seconds: float | None = None) -> Road:
    """What is in a capsule, which stays as it is."""
    if not abi.is_capsule(capsule):
        kind = type(capsule).__name__
        return Road(road, "unreadable", f"expected a capsule; got {kind}", seconds=seconds)
    name = abi.name_of(capsule)
    version = _version_of(abi.pointer_of(capsule)) if name == abi.VERSIONED else None
    try:
        contents = abi.read(capsule)
    except abi.Unreadable as why:
        return Road(road, "unreadable", str(why), capsule=name, version=version, seconds=seconds)
    found = looked_at(of_contents(contents))
    return Road(road, "gave", description=found, capsule=name, version=version, seconds=seconds)


def ask(x: Any, road: str) -> Road:
    """Calls __dlpack__ as KEYWORDS says."""

    def call() -> Any:
        return guarded(lambda: x.__dlpack__(**KEYWORDS[road]))

    def is_good(given: Any) -> bool:
        return abi.is_capsule(given) and is_safe_to_drop(given)

    try:
        # Copies are made once: they cost memory.
        given, seconds = timed(call, is_good if "copy" not in KEYWORDS[road] else _never)
    except Raised as raised:
        return Road(road, "raised", str(raised), raised.type)
    found = read_capsule(road, given, seconds)
    if abi.is_capsule(given) and not is_safe_to_drop(given):
        _kept.append(given)
    return found


def _never(_: Any) -> bool:
    return False


def ask_device(x: Any) -> Road:
    try:
        said, seconds = timed(lambda: guarded(lambda: x.__dlpack_device__()), lambda _: True)
    except Raised as raised:
        return Road("device", "raised", str(raised), raised.type)
    pair = _as_pair(said)
    if pair is None:
        text = "expected a pair of integers; got " + _short(said)
        return Road("device", "unreadable", text, seconds=seconds)
    return Road("device", "gave", device=pair, seconds=seconds)


def _short(x: Any) -> str:
    try:
        said: str = guarded(lambda: repr(x))
    except Raised:
        return type(x).__name__
    return said if len(said) < 60 else f"{said[:57]}..."


def _as_pair(said: Any) -> tuple[int, int | None] | None:
    if not isinstance(said, (tuple, list)) or len(said) != 2:
        return None
    if not isinstance(said[0], int) or not isinstance(said[1], (int, type(None))):
        return None
    return (int(said[0]), None if said[1] is None else int(said[1]))


def probe(x: Any) -> dict[str, str]:
    """By keyword: nothing where __dlpack__ knows it, else what was raised."""
    answers = {}
    for keyword in PROBES:
        answers[keyword] = _try(lambda keyword=keyword: x.__dlpack__(**{keyword: None}))  # type: ignore[misc]
    return answers


def _try(call: Callable[[], Any]) -> str:
    try:
        given = guarded(call)
    except Raised as raised:
        return str(raised)
    if abi.is_capsule(given) and not is_safe_to_drop(given):
        _kept.append(given)
    return ""
