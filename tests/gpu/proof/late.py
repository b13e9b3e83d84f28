# SPDX-License-Identifier: BSD-3-Clause
"""A tensor whose content is written by a late kernel, and readers of it."""

from __future__ import annotations

from typing import Any

import dlbridge
from proof.driver import SIZE, Gpu
from proof.exchange import Producer
from proof.registry import require

NEW = b"\7" * SIZE


def late_tensor(gpu: Gpu, work: int | None = None, kind: str = "device") -> Any:
    """A Tensor that is ready on a stream, on which a kernel now spins before it writes it."""
    stream = gpu.stream() if work is None else work
    memory = gpu.zeros(kind=kind)
    tensor = dlbridge.from_dlpack(Producer(gpu, memory, stream, kind=kind), stream=stream)
    require(tensor.data_ptr == memory, "copied")
    gpu.fill(stream, memory, 7)
    return tensor


class Reader:
    """Memory for what a reader sees. It is allocated before a late kernel, for which an allocation
    could wait."""

    def __init__(self, gpu: Gpu, stream: int | None = None) -> None:
        self.gpu = gpu
        self.stream = gpu.stream() if stream is None else stream
        self._seen = gpu.zeros()

    def sees_new(self, memory: int) -> bool:
        """Whether a kernel that is enqueued on the stream now reads the late bytes."""
        self.gpu.copy(self.stream, self._seen, memory)
        self.gpu.synchronize(self.stream)
        return self.gpu.read(self._seen) == NEW
