# SPDX-License-Identifier: BSD-3-Clause
"""The device that is current while dlbridge calls a producer: that of the requested stream. The
default streams are those of the current context or device, and PyTorch refuses to export a tensor
whose device is not current (spec 4.4, 4.6)."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

import dlbridge
import foreign
from device_arrays import DEFAULTS, NAMES, DeviceArray, current, no_leaks
from simulated import Driver


@pytest.fixture(params=["cuda", "hip"])
def driver(request: pytest.FixtureRequest) -> Driver:
    driver = Driver(request.param)
    driver.reset()
    return driver


def make_current(driver: Driver, value: int) -> None:
    """Makes a context (CUDA) or device (HIP) current on this thread."""
    driver.call("cuCtxSetCurrent" if driver.kind == "cuda" else "hipSetDevice", value)


def selected(driver: Driver, device: int) -> int:
    """What is current where a device is selected."""
    before = current(driver)
    driver.select(device)
    result = current(driver)
    make_current(driver, before)
    return result


class Watching(DeviceArray):
    """Records what is current in each call. It uses its event where that was created, and the
    consumer's stream where it is called."""

    def __init__(self, *arguments: Any, refuses: bool = False, **fields: Any) -> None:
        super().__init__(*arguments, **fields)
        self.own = current(self.buffer.driver)
        self.seen: list[int] = []
        self.refuses = refuses

    def __dlpack__(self, **keywords: Any) -> object:
        driver = self.buffer.driver
        self.seen.append(current(driver))
        if self.refuses and {"copy", "dl_device"} & set(keywords):
            raise BufferError("this library makes no copies")
        stream = keywords.get("stream", DEFAULTS[driver.kind])
        if stream != -1:
            event = ctypes.c_void_p()
            make_current(driver, self.own)
            driver.call(driver.names["create_event"], ctypes.byref(event), 2)
            driver.call(driver.names["record"], event, self.stream.handle)
            make_current(driver, self.seen[-1])
            driver.call(driver.names["wait"], stream, event, 0)
            driver.call(driver.names["destroy_event"], event)
        return super().__dlpack__(**{**keywords, "stream": -1, "dl_device": None})


def on_device_1(driver: Driver, **options: Any) -> Watching:
    driver.select(1)
    x = Watching(driver.buffer(4), driver.stream(), device=1, **options)
    x.stream.write(x.buffer, 7)
    driver.select(0)
    return x


REQUESTS: list[dict[str, Any]] = [
    {},
    {"stream": -1},
    {"stream": "own"},
    {"device": "same"},
    {"device": "cpu"},
    {"copy": False},
    {"copy": True},
    {"copy": True, "stream": "own"},
]


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("request_", REQUESTS)
def test_the_device_of_the_tensor(driver: Driver, request_: Any, refuses: bool) -> None:
    x = on_device_1(driver, refuses=refuses)
    here, there = selected(driver, 0), selected(driver, 1)
    keywords = dict(request_)
    if keywords.get("stream") == "own":
        keywords["stream"] = x.stream.handle
    if keywords.get("device") == "same":
        keywords["device"] = f"{NAMES[driver.kind]}:1"
    try:
        t = dlbridge.from_dlpack(x, **keywords)
    except BufferError:
        assert keywords == {"copy": False} and refuses
    else:
        if keywords.get("stream") != -1:
            assert t.to("cpu").tolist() == [7, 7, 7, 7]
            assert driver.races == []
    assert set(x.seen) == {there}
    assert current(driver) == here


def test_a_default_stream_means_that_of_the_device(driver: Driver) -> None:
    """The producer makes the current default stream wait, as cuStreamWaitEvent(1, ...) does."""
    x = on_device_1(driver)
    t = dlbridge.from_dlpack(x)
    driver.select(1)
    driver.default_stream(DEFAULTS[driver.kind]).read(x.buffer)
    assert driver.races == []
    driver.select(0)
    assert t.to("cpu").tolist() == [7, 7, 7, 7]


def test_a_move_to_another_device(driver: Driver) -> None:
    """The requested stream is one of the device to which the tensor moves."""
    x = Watching(driver.buffer(4), driver.stream(), refuses=True)
    here, there = selected(driver, 0), selected(driver, 1)
    dlbridge.from_dlpack(x, device=f"{NAMES[driver.kind]}:1")
    assert x.seen == [there, here], "the second call requests the tensor where it is"
    assert current(driver) == here


def test_the_context_of_a_stream() -> None:
    driver = Driver("cuda")
    driver.reset()
    primary = current(driver)
    context = ctypes.c_void_p()
    driver.call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
    x = Watching(driver.buffer(4), driver.stream())
    ours = driver.stream()
    dlbridge.from_dlpack(x)
    driver.call("cuCtxSetCurrent", primary)
    dlbridge.from_dlpack(x, stream=ours.handle)
    assert x.seen == [context.value, context.value]
    assert current(driver) == primary
    driver.reset()


@pytest.mark.parametrize("error", [KeyboardInterrupt, BufferError])
def test_an_exception_of_the_producer(driver: Driver, error: type[BaseException]) -> None:
    class Raising(Watching):
        def __dlpack__(self, **keywords: Any) -> object:
            raise error("raised")

    x = Raising(driver.buffer(4), driver.stream(), device=1)
    selected(driver, 1)
    with no_leaks(driver), pytest.raises(error, match="raised"):
        dlbridge.from_dlpack(x, copy=True)


def test_a_driver_that_fails(driver: Driver) -> None:
    """The producer is called nevertheless."""
    x = on_device_1(driver)
    name = "cuCtxGetCurrent" if driver.kind == "cuda" else "hipGetDevice"
    driver.fail_function(name, 999)
    try:
        capsule = foreign.tensor(device=x.__dlpack_device__(), shape=(0,)).capsule(True)
        plain = type("Plain", (), {
            "__dlpack_device__": lambda self: x.__dlpack_device__(),
            "__dlpack__": lambda self, **keywords: capsule,
        })  # fmt: skip
        assert dlbridge.from_dlpack(plain(), stream=-1).shape == (0,)
    finally:
        driver.clear_failures()


# On a thread without a context, before dlbridge has entered one, an import names the default stream
# of the primary context. Later another context of the device is current.
PRIMARY = """
import ctypes, threading
import dlbridge, foreign
from simulated import Driver
driver = Driver("cuda")
buffer = driver.buffer(4)
fields = {"data": buffer.address, "device": (2, 0), "shape": (4,), "dtype": (1, 8, 1)}
capsule = foreign.tensor(**fields).capsule(True)
driver.default_stream(1).write(buffer, 7)
tensors = []
thread = threading.Thread(target=lambda: tensors.append(dlbridge.from_dlpack(capsule, stream=1)))
thread.start()
thread.join()
driver.call("cuCtxCreate_v2", ctypes.byref(ctypes.c_void_p()), 0, 0)
ours = driver.stream()
tensors[0].__dlpack__(stream=ours.handle)
ours.read(buffer)
assert driver.races == []
"""


def test_a_thread_without_a_context() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", PRIMARY], env=environment).returncode == 0
