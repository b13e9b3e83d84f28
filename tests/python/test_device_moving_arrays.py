# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of an extension whose library moves the elements while dlbridge orders the streams of an
export: the GIL is released then, and another thread may run."""

from __future__ import annotations

from typing import Any, Callable

import pytest

import device_extension
import foreign
from device_arrays import DEFAULTS, TYPES
from simulated import Buffer, Driver, Stream

MANAGED = 13
EXPORTS: dict[str, Callable[[Any, Stream], Any]] = {
    "__dlpack__": lambda x, s: foreign.consume(x.__dlpack__(stream=s.handle)),
    "a table": lambda x, s: foreign.slot(type(x), "give", x),
}


@pytest.fixture(params=["cuda", "hip"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def moving(buffer: Buffer, ours: Stream, device_type: int) -> Any:
    return device_extension.MovingArray(buffer.address, ours.handle, device_type)


@pytest.mark.parametrize("export", EXPORTS)
def test_the_streams_are_ordered_before_the_array_is_described(driver: Driver, export: str) -> None:
    ours, theirs = driver.stream(), driver.default_stream(DEFAULTS[driver.kind])
    old, new = driver.buffer(4), driver.buffer(4)
    x = moving(old, ours, TYPES[driver.kind])
    device_extension.call_meanwhile(lambda: x.move(new.address, 0))
    assert EXPORTS[export](x, theirs).data == new.address


@pytest.mark.parametrize(
    "keywords", [{}, {"dl_device": (1, 0)}, {"dl_device": (1, 0), "copy": True}], ids=str
)
def test_the_host_waits_before_the_array_is_described(keywords: dict[str, Any]) -> None:
    driver = Driver("cuda")  # DLPack has no managed memory of ROCm
    driver.reset()
    old, new = driver.buffer(4, "managed"), driver.buffer(4, "managed")
    old.poke(b"old!")
    new.poke(b"new!")
    x = moving(old, driver.stream(), MANAGED)
    device_extension.call_meanwhile(lambda: x.move(new.address, 0))
    exported = foreign.consume(x.__dlpack__(max_version=(1, 0), **keywords))
    assert (exported.data == new.address) == ("copy" not in keywords)
    assert exported.tobytes() == b"new!"


@pytest.mark.parametrize("export", EXPORTS)
def test_an_array_that_moves_to_another_device(driver: Driver, export: str) -> None:
    """The streams that are ordered are not those of its device."""
    x = moving(driver.buffer(4), driver.stream(), TYPES[driver.kind])
    device_extension.call_meanwhile(lambda: x.move(4096, 1))
    with pytest.raises(BufferError, match="The array has moved; export it again"):
        EXPORTS[export](x, driver.default_stream(DEFAULTS[driver.kind]))
