"""Counts what MPI does with the objects that it is handed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from typing import Any

import plate
from mpi4py import MPI


def count(says: str) -> Any:
    return field(default=0, metadata={"says": says})


@dataclass
class Counts:
    """What is counted, in one process or in all of them together."""

    objects: int = count("objects for MPI")
    at_their_memory: int = count("  their address, for MPI, is their memory's")
    messages: int = count("halo rows sent and received")
    held_under_way: int = count("  references that MPI held meanwhile")
    held_afterwards: int = count("  and after they had arrived")
    exports: int = count("calls of __dlpack__, for halo rows and sums")
    arrays_made: int = count("arrays made during the steps")
    arrays_alive: int = count("arrays left at the end")

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for (_, mine), (_, theirs) in zip(self.rows(), other.rows())))

    def rows(self) -> list[tuple[str, int]]:
        return [(each.metadata["says"], getattr(self, each.name)) for each in fields(self)]


class Watch:
    """Counts from `with` to its end; `handed` are the objects that messages are made of.

    An export holds a reference to its object until its deleter runs, a buffer until it is released:
    as many references more as messages, none more afterwards, and every deleter has run once.
    """

    def __init__(self, handed: list[Any]) -> None:
        self.counts = Counts()
        self._handed = handed

    def __enter__(self) -> Watch:
        self._dlpack = plate.Rows.__dlpack__
        self._made = plate.Strip.made
        self._before = self._references()

        def counted(rows: plate.Rows, **asked: Any) -> Any:
            self.counts.exports += 1
            return self._dlpack(rows, **asked)

        plate.Rows.__dlpack__ = counted
        return self

    def __exit__(self, *_: object) -> None:
        plate.Rows.__dlpack__ = self._dlpack
        self.counts.arrays_made = plate.Strip.made - self._made

    def compare_address(self, x: Any, address: int) -> None:
        self.counts.objects += 1
        self.counts.at_their_memory += MPI.Get_address(x) == address

    def under_way(self, messages: int) -> None:
        self.counts.messages += messages
        self.counts.held_under_way += self._references() - self._before

    def afterwards(self) -> None:
        self.counts.held_afterwards += self._references() - self._before

    def _references(self) -> int:
        return sum(map(sys.getrefcount, self._handed))
