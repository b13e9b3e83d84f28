"""Producers with planted defects, and with permitted differences.

The target "planted_producers:PLANTED.NAME" has one of them; "planted_producers:PLANTED.sound" has
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import planted_fields  # noqa: F401 - it plants defects
from planted_array import (
    BEFORE,
    DELETERS,
    DESTRUCTORS,
    NAMES,
    REPLACED,
    REPORTED,
    SPOILED,
    Array,
)
from planted_requests import OBJECTS

from dlbridge.tools.conformance.child import run_probe
from dlbridge.tools.conformance.helpers import memory
from dlbridge.tools.conformance.probes import in_order


class Planted:
    """Has a factory for every name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def factory(shape: tuple[int, ...], dtype: str, readonly: bool = False) -> Any:
            x = Array.new(name, shape, dtype, readonly)
            return OBJECTS[name](x) if name in OBJECTS else x

        return factory


PLANTED = Planted()


def names() -> Iterator[str]:
    """Yields every defect and every permitted difference."""
    tables: list[dict[str, Any]] = [
        *(REPORTED, BEFORE, REPLACED, SPOILED, NAMES, DESTRUCTORS, DELETERS, OBJECTS)
    ]
    for table in tables:
        yield from table


def run_quickly(name: str, probe: str) -> dict[str, Any]:
    """Runs a probe on one of the factories, with few repetitions. It may crash this process."""
    memory.SECONDS, memory.FEWEST, memory.SURELY = 0.01, 30, 100
    list(in_order())  # imports every module that registers probes
    return run_probe(f"planted_producers:PLANTED.{name}", None, probe)
