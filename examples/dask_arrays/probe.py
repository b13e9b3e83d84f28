# SPDX-License-Identifier: BSD-3-Clause
"""A worker plugin that records which memory a worker's sockets sent from and received into, and
the peak memory of a process as the kernel reports it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from distributed import WorkerPlugin
from distributed.comm import tcp


def extent(buffer: Any) -> tuple[int, int]:
    """Address and size in bytes."""
    array = np.frombuffer(buffer, dtype="u1")
    return array.ctypes.data, array.size


class Probe(WorkerPlugin):
    """Wraps two functions between Dask and its sockets. Holds no memory, only addresses."""

    name = "probe"

    def setup(self, worker: Any) -> None:
        self._written: list[tuple[int, int]] = []
        self._read: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self._originals = tcp._add_frames_header, tcp.host_array
        frames_of, array_of = self._originals

        def frames_to_write(frames: Any) -> Any:
            result = frames_of(frames)
            self._record(self._written, *(extent(frame) for frame in result[0] if len(frame)))
            return result

        def array_to_read_into(nbytes: int) -> Any:
            array = array_of(nbytes)
            self._record(self._read, *([extent(array)] if nbytes else []))
            return array

        tcp._add_frames_header, tcp.host_array = frames_to_write, array_to_read_into

    def teardown(self, worker: Any) -> None:
        tcp._add_frames_header, tcp.host_array = self._originals

    def _record(self, extents: list[tuple[int, int]], *new: tuple[int, int]) -> None:
        with self._lock:
            extents += new

    def has_written(self, address: int, nbytes: int) -> bool:
        """Whether a socket sent from this memory, in any number of pieces."""
        with self._lock:
            inside = {e for e in self._written if address <= e[0] and sum(e) <= address + nbytes}
        return sum(size for _, size in inside) >= nbytes

    def has_read_into(self, address: int, nbytes: int) -> bool:
        """Whether a socket received into this memory."""
        with self._lock:
            return any(at <= address and address + nbytes <= at + n for at, n in self._read)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def reset_peak() -> int:
    """Resets the peak that Linux records; returns the bytes that this process uses now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS:")


def peak() -> int:
    """The largest number of bytes that this process has used since reset_peak()."""
    return _status("VmHWM:")
