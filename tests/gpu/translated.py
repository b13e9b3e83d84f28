# SPDX-License-Identifier: BSD-3-Clause
"""The simulated driver in the place of a real one: launches of the kernels in PTX are translated.

    python -m proof --module translated

So the tests run what loads and launches those kernels, on machines without a GPU.
"""

from __future__ import annotations

import ctypes as C
from typing import Any

from proof import driver
from proof.kernels import NAMES, PTX

_simulated: Any = driver.load()
LOADED = 77  # the handle of the module; those of its kernels follow


def value(pointers: Any, index: int, type_: Any = C.c_uint64) -> Any:
    """A parameter of a kernel."""
    return C.cast(pointers[index], C.POINTER(type_))[0]


class Translated:
    """A driver with the functions of the simulated one, without its control interface."""

    def __getattr__(self, name: str) -> Any:
        if name == "simulated_reset":
            raise AttributeError(name)
        return getattr(_simulated, name)

    def cuModuleLoadDataEx(self, out: Any, image: bytes, count: int, *options: Any) -> int:
        assert (image, count, len(options)) == (PTX, 2, 2)
        out._obj.value = LOADED
        return 0

    def cuModuleGetFunction(self, out: Any, module: Any, name: bytes) -> int:
        assert module.value == LOADED
        out._obj.value = LOADED + 1 + NAMES.index(name.decode())
        return 0

    def cuLaunchKernel(self, kernel: Any, *arguments: Any) -> int:
        numbers = [each.value for each in arguments[:7]]
        assert numbers[:3] == [1, 1, 1] and numbers[4:] == [1, 1, 0], numbers
        stream, pointers, options = arguments[7:]
        assert options is None
        name = NAMES[kernel.value - LOADED - 1]
        first = C.c_size_t(value(pointers, 0))
        if name == "fill_late":
            content = C.c_ubyte(value(pointers, 2, C.c_uint32))
            size = C.c_size_t(value(pointers, 1))
            return int(_simulated.simulated_write(stream, first, content, size))
        if name == "copy_bytes":
            rest = (C.c_size_t(value(pointers, index)) for index in (1, 2))
            return int(_simulated.simulated_copy(stream, first, *rest))
        return int(_simulated.simulated_write(stream, first, C.c_ubyte(1), C.c_size_t(4)))

    def cuMemGetInfo_v2(self, free: Any, total: Any) -> int:
        free._obj.value = total._obj.value = (1 << 36) - _simulated.simulated_counter(
            b"device_bytes"
        )
        return 0


translated: Any = Translated()
driver.load = lambda: translated

import proof.checks  # noqa: E402, F401 - after the change of the driver
