# SPDX-License-Identifier: BSD-3-Clause
"""Differences between the protocols of one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from ..reading.description import Description
from ..reading.observation import Observation
from ..reading.protocols import COPIES


def _steps(x: Description) -> Any:
    """Returns the strides of dimensions with more than one index, in bytes."""
    if x.layout is None or x.stride_bytes is None or x.layout.size == 0:
        return None
    return tuple(x.stride_bytes[i] if i in x.layout.moving else 0 for i in range(x.ndim))


def _steps_text(x: Description) -> str:
    return "strides " + ", ".join(map(str, x.stride_bytes or ())) + " bytes"


# Each facet: a function that reads it (None: unknown), and one that formats it.
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
EXPECTED_OF_COPIES = {"address", "strides", "read-only"}


@dataclass(frozen=True)
class Difference:
    """A facet in which a protocol differs from the reference."""

    facet: str
    protocol: str
    text: str
    expected: bool = False  # a copy has another address, for example


def differences(observation: Observation) -> list[Difference]:
    """Compares each description with that of the reference."""
    reference = observation.reference
    if reference is None or reference.description is None:
        return []
    result = []
    for response in observation.responses:
        if response.description is None or response is reference:
            continue
        for facet, (read, text) in FACETS.items():
            value, expected = read(response.description), read(reference.description)
            if value is not None and expected is not None and value != expected:
                is_expected = response.name in COPIES and facet in EXPECTED_OF_COPIES
                result.append(
                    Difference(facet, response.name, text(response.description), is_expected)
                )
    return result
