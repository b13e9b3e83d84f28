# SPDX-License-Identifier: BSD-3-Clause
"""Classes with def_dlpack on simulated devices, as NumPy and buffers see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import device_extension
import dlbridge
from device_arrays import TYPES
from simulated import Driver

MANAGED = 13
NEW = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_memory_of_a_device_is_refused_and_the_remedies_work(kind: str) -> None:
    driver = Driver(kind)
    driver.reset()
    buffer, stream = driver.buffer(4), driver.stream()
    buffer.poke(b"abcd")
    x = device_extension.MovingArray(buffer.address, stream.handle, TYPES[kind])
    for use in (np.asarray, np.sum, np.array, list, lambda x: x.__array__(copy=True)):
        with pytest.raises(TypeError, match="expected memory that the CPU can read") as raised:
            use(x)
    remedies: list[tuple[str, Any]] = [
        ("dlbridge.from_dlpack(x, device='cpu')", lambda: dlbridge.from_dlpack(x, device="cpu")),
    ]
    if NEW:
        remedies.append(
            ("numpy.from_dlpack(x, device='cpu')", lambda: np.from_dlpack(x, device="cpu"))
        )
    for text, remedy in remedies:
        assert text in str(raised.value)
        assert np.asarray(remedy()).tobytes() == b"abcd"


def test_managed_memory_is_read_after_the_work_on_its_stream() -> None:
    driver = Driver("cuda")
    driver.reset()
    old, new = driver.buffer(4, "managed"), driver.buffer(4, "managed")
    old.poke(b"old!")
    new.poke(b"new!")
    x = device_extension.MovingArray(old.address, driver.stream().handle, MANAGED)
    device_extension.call_meanwhile(lambda: x.move(new.address, 0))  # while the host waits
    array = np.asarray(x)
    assert array.ctypes.data == new.address
    assert array.tobytes() == b"new!"
