# SPDX-License-Identifier: BSD-3-Clause
"""A producer and a consumer of DLPack by ctypes, which share no code with dlbridge's exchanges."""

from __future__ import annotations

from typing import Any, Callable

from dlbridge.tools import abi
from proof.driver import LEGACY, SIZE, Gpu

CUDA, PINNED, MANAGED = (2, 0), (3, 0), (13, 0)
TYPES = {"device": CUDA, "pinned": PINNED, "managed": MANAGED}
UINT8 = (1, 8, 1)


class Producer:
    """Memory as an array of the 2023.12 protocol: the consumer's stream waits for its stream."""

    def __init__(
        self,
        gpu: Gpu,
        memory: int,
        stream: int,
        *,
        kind: str = "device",
        size: int = SIZE,
        on_free: Callable[[], None] | None = None,
    ) -> None:
        self.gpu, self.memory, self.stream, self.size = gpu, memory, stream, size
        self.device = TYPES[kind]
        self.on_free = on_free  # called when a tensor is given back
        self.exported: list[abi.CtypesTensor] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device not in (None, self.device) or copy:
            raise BufferError("this library makes no copies")
        if stream != -1:
            self.gpu.order(LEGACY if stream is None else stream, self.stream)
        self.exported.append(
            abi.make(
                data=self.memory, shape=(self.size,), strides=(1,), dtype=UINT8, device=self.device
            )
        )
        self.exported[-1].on_delete = self.on_free
        return self.exported[-1].capsule()

    @property
    def freed(self) -> int:
        """How many deleters were called, over all exports."""
        return sum(each.calls for each in self.exported)


def consume(tensor: Any, stream: int | None) -> abi.OwnedTensor:
    """Requests a tensor on a stream, and takes it out of its capsule."""
    return abi.take(tensor.__dlpack__(stream=stream, max_version=(1, 0)))
