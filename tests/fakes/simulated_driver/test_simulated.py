# SPDX-License-Identifier: BSD-3-Clause
"""simulated.py and simulated_fixtures.py, used as in the tests of any library."""

from __future__ import annotations

import ctypes
import signal
from pathlib import Path
from typing import Callable

import pytest
from simulated_fixtures import SimulatedDrivers, simulated_drivers

from simulated import Driver, DriverError, run_inside

__all__ = ["simulated_drivers"]


# [race]
def missing_wait() -> None:
    driver = Driver("cuda")
    producer, consumer = driver.stream(), driver.stream()
    source, target = driver.buffer(4), driver.buffer(4)
    producer.write(source, 7)
    consumer.copy(target, source)  # does not wait for the producer
    consumer.synchronize()
    assert target.peek() != b"\7\7\7\7"  # stale, every time
    assert "simulated_write" in driver.races[0]


def wait() -> None:
    driver = Driver("cuda")
    producer, consumer = driver.stream(), driver.stream()
    source, target = driver.buffer(4), driver.buffer(4)
    producer.write(source, 7)
    consumer.wait_for(producer)
    consumer.copy(target, source)
    consumer.synchronize()
    assert target.peek() == b"\7\7\7\7"
    assert driver.races == []


@pytest.mark.parametrize("test", [missing_wait, wait])
def test_order(simulated_drivers: SimulatedDrivers, test: Callable[[], None]) -> None:
    simulated_drivers(test)
    # [/race]


def hip_race() -> None:
    driver = Driver("hip")
    memory = driver.buffer(4, "managed")
    driver.stream().write(memory, 7)
    driver.stream().read(memory)
    assert "simulated_read" in driver.races[0]
    driver.clear_races()
    driver.synchronize()
    assert ctypes.string_at(memory.address, 4) == b"\7\7\7\7"
    assert driver.races == []
    memory.free()


def test_hip(simulated_drivers: SimulatedDrivers) -> None:
    simulated_drivers(hip_race)


def read_device_memory() -> None:
    ctypes.string_at(Driver("cuda").buffer(4).address, 1)


def test_host_access_to_device_memory_terminates_the_process() -> None:
    assert run_inside(read_device_memory).returncode == -signal.SIGSEGV


# [failures]
def every_function_fails() -> None:
    driver = Driver("cuda")
    for name in driver.functions:
        driver.fail_function(name, 999)
    with pytest.raises(DriverError, match="cuMemAlloc_v2 returned 999"):
        driver.buffer(1)
    driver.clear_failures()
    driver.limit_memory(100)
    driver.buffer(60)
    with pytest.raises(DriverError, match="returned 2"):  # out of memory
        driver.buffer(60)
    assert driver.counter("device_bytes") == 60
    # [/failures]
    assert driver.call_count("cuMemAlloc_v2") == 3
    driver.fail_call(1, 700)
    with pytest.raises(DriverError) as error:
        driver.synchronize()
    assert error.value.code == 700
    driver.reset()
    assert driver.counter("device_bytes") == 0
    with pytest.raises(KeyError):
        driver.counter("nonsense")


def test_failures(simulated_drivers: SimulatedDrivers) -> None:
    simulated_drivers(every_function_fails)


def devices() -> None:
    driver = Driver("cuda", 2)
    memory = driver.buffer(3)
    memory.poke(b"abc")
    assert memory.peek() == b"abc"
    assert memory.__cuda_array_interface__["data"] == (memory.address, False)
    driver.select(0)
    with pytest.raises(DriverError, match="returned 700"):  # peer access is not enabled
        driver.default_stream().write(memory, 1)
    driver.run_pending()
    assert driver.pending == 0
    with pytest.raises(DriverError, match="returned 101"):
        driver.select(3)


def test_devices(simulated_drivers: SimulatedDrivers) -> None:
    simulated_drivers(devices, devices=3)


def destroyed_stream() -> None:
    driver = Driver("cuda")
    stream = driver.stream()
    stream.destroy()
    with pytest.raises(DriverError, match="returned 400"):
        stream.synchronize()
    assert driver.misuses == ["cuStreamSynchronize uses a destroyed stream"]
    assert driver.races == []


def test_misuse(simulated_drivers: SimulatedDrivers) -> None:
    simulated_drivers(destroyed_stream)


def no_device() -> None:
    with pytest.raises(DriverError, match="cuInit returned 100"):
        Driver("cuda")
    with pytest.raises(DriverError, match="hipSetDevice returned 100"):
        Driver("hip")


def test_no_device(simulated_drivers: SimulatedDrivers) -> None:
    simulated_drivers(no_device, devices=0)


def test_a_whole_file(simulated_drivers: SimulatedDrivers, tmp_path: Path) -> None:
    file = tmp_path / "test_inner.py"
    inner = "import simulated\ndef test_inner():\n    simulated.Driver('cuda').synchronize()\n"
    file.write_text(inner)
    folder = {"PYTHONPATH": str(Path(__file__).parent)}
    simulated_drivers(file, environment=folder)
    file.write_text(inner + "    assert False, 'failure of the test'\n")
    process = run_inside(file, environment=folder)
    assert process.returncode == 1
    assert "failure of the test" in process.stdout


def fail() -> None:
    raise AssertionError("failure of the test")


def test_a_failure_is_reported_with_its_output(simulated_drivers: SimulatedDrivers) -> None:
    with pytest.raises(pytest.fail.Exception, match="failure of the test"):
        simulated_drivers(fail)
