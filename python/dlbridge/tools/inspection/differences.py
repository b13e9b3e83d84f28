"""Where the roads of one object disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from dlbridge.tools.inspection.description import Description
from dlbridge.tools.inspection.roads import COPIES

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection


def _steps(x: Description) -> Any:
    """The strides that matter: those of dimensions with more than one index, in bytes."""
    if x.layout is None or x.stride_bytes is None or x.layout.size == 0:
        return None
    return tuple(x.stride_bytes[i] if i in x.layout.moving else 0 for i in range(x.ndim))


def _steps_text(x: Description) -> str:
    return "strides " + ", ".join(map(str, x.stride_bytes or ())) + " bytes"


# What is compared: how it is read (None says nothing), and how it is said.
Facet = tuple[Callable[[Description], Any], Callable[[Description], str]]
FACETS: dict[str, Facet] = {
    "device": (lambda x: x.device, lambda x: x.device_text),
    "dtype": (lambda x: x.dtype, lambda x: x.dtype_text),
    "shape": (lambda x: x.shape, lambda x: f"shape {list(x.shape or ())}"),
    "strides": (_steps, _steps_text),
    "address": (
        lambda x: x.first if x.layout is None or x.layout.size else None,
        lambda x: f"at {x.first:#x}",
    ),
    "read-only": (
        lambda x: x.read_only,
        lambda x: "read-only" if x.read_only else "writable",
    ),
}
EXPECTED = {"address", "strides"}  # of a copy


@dataclass(frozen=True)
class Difference:
    """One thing that a road says otherwise than the spokesman."""

    facet: str
    road: str
    text: str
    expected: bool = False  # that a copy is elsewhere


def differences(inspection: Inspection) -> list[Difference]:
    """What each road says otherwise than the one that stands for the object."""
    spokesman, found = inspection.spokesman, []
    if spokesman is None or spokesman.description is None:
        return []
    for road in inspection.roads:
        if road.description is None or road is spokesman:
            continue
        for facet, (read, say) in FACETS.items():
            theirs, ours = read(road.description), read(spokesman.description)
            if theirs is not None and ours is not None and theirs != ours:
                is_copy = road.name in COPIES
                expected = is_copy and facet in {*EXPECTED, "read-only"}
                found.append(Difference(facet, road.name, say(road.description), expected))
    return found
