# SPDX-License-Identifier: BSD-3-Clause
"""Counts what MPI does with the objects passed to it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from typing import Any

import plate
from mpi4py import MPI


def count(label: str) -> Any:
    return field(default=0, metadata={"label": label})


@dataclass
class Counts:
    """The counters, of one process or summed over all."""

    objects: int = count("objects passed to MPI")
    at_their_memory: int = count("  address in MPI is that of their memory")
    messages: int = count("halo rows sent and received")
    held_in_flight: int = count("  references held by MPI in flight")
    held_after: int = count("  references held by MPI afterwards")
    exports: int = count("calls of __dlpack__, for halo rows and sums")
    arrays_created: int = count("arrays created during the steps")
    arrays_alive: int = count("arrays left at the end")

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for (_, a), (_, b) in zip(self.rows(), other.rows())))

    def rows(self) -> list[tuple[str, int]]:
        return [(each.metadata["label"], getattr(self, each.name)) for each in fields(self)]


class Watch:
    """Counts inside `with`; `objects` are the objects that MPI sends and receives into.

    An export holds a reference to its object until its deleter runs, a buffer until its release.
    So a message in flight adds one reference, and a completed one leaves none.
    """

    def __init__(self, objects: list[Any]) -> None:
        self.counts = Counts()
        self._objects = objects

    def __enter__(self) -> Watch:
        self._dlpack = plate.Rows.__dlpack__
        self._created = plate.Strip.created
        self._before = self._references()

        def counted(rows: plate.Rows, **keywords: Any) -> Any:
            self.counts.exports += 1
            return self._dlpack(rows, **keywords)

        plate.Rows.__dlpack__ = counted
        return self

    def __exit__(self, *_: object) -> None:
        plate.Rows.__dlpack__ = self._dlpack
        self.counts.arrays_created = plate.Strip.created - self._created

    def compare_address(self, x: Any, address: int) -> None:
        self.counts.objects += 1
        self.counts.at_their_memory += MPI.Get_address(x) == address

    def in_flight(self, messages: int) -> None:
        self.counts.messages += messages
        self.counts.held_in_flight += self._references() - self._before

    def completed(self) -> None:
        self.counts.held_after += self._references() - self._before

    def _references(self) -> int:
        return sum(map(sys.getrefcount, self._objects))
