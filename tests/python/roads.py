"""The test extension's functions by the road they were bound on, and what a call of one did."""

from __future__ import annotations

from typing import Any

import extension
import producers

ROADS = ["by_def", "by_pybind11", "by_fast"]
EXACT = ["by_def", "by_fast"]  # pybind11 itself only says that the arguments do not fit


def function(road: str, name: str) -> Any:
    return getattr(getattr(extension, road), name)


def is_settled(*given: producers.Producer) -> bool:
    """Whether each producer was asked once, and its tensor freed once."""
    return all(len(p.asked) == 1 and p.owed == p.calls == [1] for p in given)
