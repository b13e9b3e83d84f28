# SPDX-License-Identifier: BSD-3-Clause
"""The list of checks, and the exceptions with which a check ends early."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

Figures = dict[str, Any]  # measured values, converted by JSON


class Failed(Exception):
    """The check did not hold; the message states what was seen."""


class Skipped(Exception):
    """The check cannot run here; the message states what is missing."""


@dataclass(frozen=True)
class Check:
    """One row of the table."""

    name: str
    shows: str  # what it shows if it passes, for the table
    run: Callable[[], Figures | None]
    limit: float  # in seconds
    simulated: bool  # whether the simulated driver can run it
    races: bool  # whether it makes races on purpose, which the simulated driver then reports
    defect: str  # the known defect because of which it fails; "" if it must pass


CHECKS: dict[str, Check] = {}  # in the order of the table


def check(
    shows: str,
    *,
    limit: float = 60,
    simulated: bool = True,
    races: bool = False,
    defect: str = "",
) -> Callable[[Callable[[], Figures | None]], Callable[[], Figures | None]]:
    """Adds a function to the list of checks. Its name becomes the name of the check."""

    def add(run: Callable[[], Figures | None]) -> Callable[[], Figures | None]:
        name = run.__name__
        assert name not in CHECKS, name
        CHECKS[name] = Check(name, shows, run, limit, simulated, races, defect)
        return run

    return add


def require(holds: object, text: object) -> None:
    if not holds:
        raise Failed(str(text))
