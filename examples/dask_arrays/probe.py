"""A plugin for workers that knows what went through their sockets: which memory was written, and
which was read into. And the most memory that a process had, as the kernel knows it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from distributed import WorkerPlugin
from distributed.comm import tcp


def extent(buffer: Any) -> tuple[int, int]:
    """Address and bytes."""
    seen = np.frombuffer(buffer, dtype="u1")
    return seen.ctypes.data, seen.size


class Probe(WorkerPlugin):
    """Stands between Dask and its sockets. Holds no memory, only addresses."""

    name = "probe"

    def setup(self, worker: Any) -> None:
        self._written: list[tuple[int, int]] = []
        self._read: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self._originals = tcp._add_frames_header, tcp.host_array
        frames_of, array_of = self._originals

        def frames_to_write(frames: Any) -> Any:
            made = frames_of(frames)
            self._note(self._written, *(extent(frame) for frame in made[0] if len(frame)))
            return made

        def array_to_read_into(nbytes: int) -> Any:
            array = array_of(nbytes)
            self._note(self._read, *([extent(array)] if nbytes else []))
            return array

        tcp._add_frames_header, tcp.host_array = frames_to_write, array_to_read_into

    def teardown(self, worker: Any) -> None:
        tcp._add_frames_header, tcp.host_array = self._originals

    def _note(self, where: list[tuple[int, int]], *extents: tuple[int, int]) -> None:
        with self._lock:
            where += extents

    def has_written(self, address: int, nbytes: int) -> bool:
        """Whether a socket was given this memory itself, in as many pieces as it likes."""
        with self._lock:
            inside = {e for e in self._written if address <= e[0] and sum(e) <= address + nbytes}
        return sum(size for _, size in inside) >= nbytes

    def has_read_into(self, address: int, nbytes: int) -> bool:
        """Whether a socket has filled this memory itself."""
        with self._lock:
            return any(at <= address and address + nbytes <= at + n for at, n in self._read)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def start_weighing() -> int:
    """Makes Linux forget the peak so far; gives the bytes that this process has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS:")


def peak() -> int:
    """The most bytes that this process has had since."""
    return _status("VmHWM:")
