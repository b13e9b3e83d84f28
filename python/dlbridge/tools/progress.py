# SPDX-License-Identifier: BSD-3-Clause
"""The progress of a tool, on standard error, shown only where that is a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
from types import TracebackType


class Bar:
    """Counts up to a total, and shows the current step. Thread-safe."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self._shown = sys.stderr.isatty()
        self._lock = threading.Lock()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._shown:
            self._write("")

    def advance(self, now: str) -> None:
        with self._lock:
            self.done += 1
            if self._shown:
                self._write(f"{self.done} of {self.total}  {now}")

    def _write(self, line: str) -> None:
        width = max(20, shutil.get_terminal_size().columns - 1)
        print(
            f"\r{line[:width].ljust(width)}", end="" if line else "\r", file=sys.stderr, flush=True
        )
