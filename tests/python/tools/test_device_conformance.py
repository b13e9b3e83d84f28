# SPDX-License-Identifier: BSD-3-Clause
"""Stream order and device memory by the rules: our Tensor, and planted defects.

They run on simulated GPUs, and from tests/gpu on a real one.
"""

from __future__ import annotations

import argparse
import ctypes

import device_library
import pytest

from dlbridge.tools import abi, conformance, devices
from dlbridge.tools.conformance import lane
from dlbridge.tools.conformance.helpers import cuda_driver, device_memory
from dlbridge.tools.conformance.helpers.cuda_driver import Driver, driver
from dlbridge.tools.conformance.outcomes import Skip
from dlbridge.tools.conformance.probes.devices import foreign
from dlbridge.tools.conformance.probes.streams import Late

ORDER = ("S-10", "S-21", "S-22")
OURS = "device_library:ours"


def examined(factory: str, rule: str, consumer: str | None = None) -> conformance.Result:
    """Examines a class of device_library by one rule."""
    report = conformance.examine(
        f"device_library:{factory}",
        consumer=consumer and f"device_library:{consumer}",
        device="cuda",
        standard="2025.12",
        only={rule},
    )
    return report.results[0]


# Our own Tensor --------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_our_tensor(device: str) -> None:
    """Every rule, with arrays and tensors of the checks on the host and on the GPU."""
    report = conformance.examine(OURS, consumer="dlbridge:from_dlpack", device=device)
    broken = [it for it in report.results if it.outcome not in ("pass", "skip", "note")]
    assert broken == []
    passed = {result.id for result in report.results if result.outcome == "pass"}
    assert passed >= {*ORDER, "P-24", "P-27", "P-29", "X-07", "C-09"}


# The producer ----------------------------------------------------------------------------------

SOUND_PRODUCERS = {
    "Array": "finished: stream=a stream of the consumer, None, 1, 2",
    "Waits": "finished: stream=a stream of the consumer, None, 1, 2",
    "TakesTwoForLegacy": "finished: stream=a stream of the consumer, None, 1, 2",
    "RefusesStreams": "refused: stream=a stream of the consumer, 1, 2; finished: stream=None",
    "SaysItsStream": "finished: stream=a stream of the consumer, None, 1, 2",
}
# What the message says, and what it says to repair.
UNSOUND_PRODUCERS = {
    "IgnoresStreams": (
        "unfinished: stream=a stream of the consumer, None, 1, 2",
        "record an event",
    ),
    "IgnoresItsStream": ("unfinished: stream=a stream of the consumer, None", "record an event"),
    "OrdersBackwards": ("unfinished: stream=a stream of the consumer, None", "record an event"),
    "RecordsTooEarly": ("unfinished: stream=a stream of the consumer, None", "and not earlier"),
    "OrdersTheDefaultStream": (
        "unfinished: stream=a stream of the consumer; finished: stream=None, 1, 2",
        "not the default stream in its place",
    ),
    "OrdersNothingForNone": (
        "finished: stream=a stream of the consumer, 1, 2; unfinished: stream=None",
        "stream=None and 1 as the legacy default stream",
    ),
}


@pytest.mark.parametrize("factory", SOUND_PRODUCERS)
def test_sound_producers(factory: str) -> None:
    result = examined(factory, "S-10")
    assert (result.outcome, result.got) == ("pass", SOUND_PRODUCERS[factory])
    assert examined(factory, "S-22").outcome == "pass"


@pytest.mark.parametrize("factory", UNSOUND_PRODUCERS)
def test_producers_without_order(factory: str) -> None:
    result = examined(factory, "S-10")
    got, fix = UNSOUND_PRODUCERS[factory]
    assert (result.outcome, result.severity) == ("fail", "F")
    assert got in result.got
    assert fix in result.fix


COPIERS = {
    "CopiesTooEarly": ("the bytes from before the array's queued work", "Copy on the stream"),
    "ReturnsTooEarly": ("was not finished when __dlpack__ returned", "before __dlpack__ returns"),
}


@pytest.mark.parametrize("factory", COPIERS)
def test_copies_to_the_host(factory: str) -> None:
    result = examined(factory, "S-22")
    got, fix = COPIERS[factory]
    assert (result.outcome, result.severity) == ("fail", "F")
    assert got in result.got
    assert fix in result.fix
    assert examined(factory, "S-10").outcome == "pass"


def test_an_unknown_stream() -> None:
    result = examined("KeepsItsStreamSecret", "S-10")
    assert result.outcome == "skip"
    assert "give the factory a parameter `stream`" in result.got


def test_invalid_streams_break_only_their_own_rule() -> None:
    """A producer that uses every number as a handle ends the process: no standard forbids that."""
    for rule in ("P-07", "X-08"):
        assert examined("UsesEveryStream", rule).outcome == "pass"
    result = examined("UsesEveryStream", "P-29")
    assert (result.outcome, result.severity) == ("note", "N")
    assert "SIGABRT: the last call was __dlpack__(stream=-2)" in result.got
    assert "stream=0 on device (2, 0) was accepted" in result.got
    result = examined("UsesEveryOtherStream", "P-29")
    assert (result.outcome, "stream=0" in result.got) == ("note", False)


def test_both_errors_of_a_refused_copy() -> None:
    assert examined("Array", "P-52").outcome == "pass"
    assert examined("RaisesValueErrors", "P-52").outcome == "pass"


# The consumer ----------------------------------------------------------------------------------

SOUND_CONSUMERS = ("Result", "WorksOnTheDefaultStream", "OrdersItself")
UNSOUND_CONSUMERS = {
    "PassesNoStream": "it passed no stream, and its work then read unfinished elements",
    "PassesAnotherStream": "and its work then read unfinished elements",
    "OrdersNothing": "it passed stream=-1, and",
    "ForgetsTheUsersStream": "it passed stream=1, and",
}


@pytest.mark.parametrize("consumer", SOUND_CONSUMERS)
def test_sound_consumers(consumer: str) -> None:
    result = examined("Array", "S-21", consumer)
    assert result.outcome == "pass", result.got


@pytest.mark.parametrize("consumer", UNSOUND_CONSUMERS)
def test_consumers_without_order(consumer: str) -> None:
    result = examined("Array", "S-21", consumer)
    assert (result.outcome, result.severity) == ("fail", "F")
    assert UNSOUND_CONSUMERS[consumer] in result.got
    assert "Pass your current stream to __dlpack__" in result.fix


@pytest.mark.parametrize(
    "consumer, stream", [("PassesZero", "0"), ("PassesText", "'mine'"), ("PassesTooLittle", "-2")]
)
def test_consumers_with_no_stream_of_cuda(consumer: str, stream: str) -> None:
    result = examined("Array", "S-01", consumer)
    assert result.outcome == "fail"
    assert result.got == f"to a producer on cuda it sends stream={stream}"
    assert examined("Array", "S-01", "Result").outcome == "pass"


def test_the_device_of_the_examination_is_not_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cuda" in foreign()
    monkeypatch.setattr(device_memory, "_selected", (devices.CUDA, 0))
    assert "cuda" not in foreign()
    assert {"rocm", "vulkan"} <= foreign().keys()
    result = examined("Array", "C-14", "CopiesAtOnce")
    assert result.outcome == "pass", result.got
    assert examined("Array", "C-34", "CopiesAtOnce").outcome == "pass"


@pytest.mark.parametrize("rule", ["C-09", "C-21", "C-30", "C-36"])
def test_one_rule_reports_what_ends_the_process(rule: str) -> None:
    """A driver does not work in a forked process: imports are tried in a new one."""
    result = examined("Array", rule, "EndsTheProcessBackwards")
    if rule == "C-36":
        assert result.outcome == "fail"
        assert "strides (-1,): the import ends the process: SIGABRT" in result.got
    else:
        assert result.outcome in ("pass", "skip"), result.got


def test_a_capsule_on_the_host_that_is_announced_on_the_gpu() -> None:
    result = examined("Array", "C-31", "ComparesDevices")
    assert result.outcome == "pass"
    assert "refused: BufferError: the capsule is on (1, 0)" in result.got


# Device memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "factory, rule", [("CopiesNothing", "P-24"), ("FreesWithItsOwner", "X-07")]
)
def test_producers_with_wrong_content(factory: str, rule: str) -> None:
    assert examined(factory, rule).outcome == "fail"
    assert examined("Array", rule).outcome == "pass"


def test_consumers_with_wrong_content() -> None:
    assert examined("Array", "C-09", "IgnoresTheOffset").outcome == "fail"
    assert examined("Array", "C-09", "Result").outcome == "pass"
    assert examined("Array", "X-06", "Result").outcome == "pass", "with tensors in device memory"


@pytest.mark.parametrize(
    "factory, strides",
    [("DividesUnsigned", "(4611686018427387903,) span"), ("CountsBytes", "(-4,) span 84 bytes")],
)
def test_views_that_leave_the_memory(factory: str, strides: str) -> None:
    result = examined(factory, "P-13")
    assert (result.outcome, result.severity) == ("fail", "F")
    assert "x[::-1] of (6,)" in result.got
    assert strides in result.got
    result = examined("Reversible", "P-13")
    assert (result.outcome, result.got) == ("pass", "168 exports compared")
    assert examined("Reversible", "P-38").outcome == "pass"


def test_the_elements_of_large_arrays() -> None:
    result = examined("Reversible", "P-38")
    assert (result.outcome, "not examined further" in result.got) == ("pass", False)
    result = examined("RepeatsLargeArrays", "P-38")
    assert result.outcome == "fail"
    assert "(70000,), __dlpack__(): element [1] is" in result.got


def test_pinned_and_managed_memory_is_real() -> None:
    """Kernels of a consumer may read it, and cannot read other memory of the host."""
    result = examined("Array", "C-14", "TakesManagedMemory")
    assert result.outcome == "pass", result.got


def test_memory_of_every_device() -> None:
    for device in device_memory.NAMES.values():
        address = device_memory.upload(b"content", device, shift=3)
        assert address % device_memory.ALIGNMENT == 3
        device_memory.write(address + 3, b"T", device)
        assert device_memory.read(address, 7, device) == b"conTent"
        assert device_memory.read(0, 7, device) is None
        assert device_memory.read(256, 7, device) is None
    assert device_memory.read(address, 7, (devices.VULKAN, 0)) is None
    assert device_memory.read(address, 7, (devices.CUDA, 99)) is None


def test_pinned_memory_that_the_kernel_does_not_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, host = driver(), device_library.pinned(7)
    ctypes.memmove(host, b"content", 7)
    assert device_memory.read(host, 7, abi.CPU) == b"content"
    monkeypatch.setattr(abi, "read_memory", lambda address, size: None)
    assert device_memory.read(host, 7, abi.CPU) == b"content"
    for unreadable in (0, 256, gpu.allocate(7)):
        assert device_memory.read(unreadable, 7, abi.CPU) is None


def test_reading_waits_for_queued_work() -> None:
    gpu = driver()
    address = device_memory.upload(bytes(4), (devices.CUDA, 0))
    gpu.fill_late(gpu.stream(), address, 7, 4)
    assert device_memory.read(address, 4, (devices.CUDA, 0)) == b"\7\7\7\7"


def test_no_fork_after_the_driver_was_used() -> None:
    """CUDA does not support it, so no export can be read there."""
    result = examined("ours", "X-11")
    assert result.outcome == "pass", result.got
    assert "not examined in a forked process" in result.got


# Errors that the device keeps ------------------------------------------------------------------

AFTER_C_15 = {"C-15", "C-16", "C-25"}


def outcomes_of(consumer: str, only: set[str]) -> dict[str, conformance.Result]:
    report = conformance.examine(
        "device_library:Array", consumer=f"device_library:{consumer}", device="cuda", only=only
    )
    return {result.id: result for result in report.results}


def test_a_process_whose_device_fails_is_replaced() -> None:
    results = outcomes_of("DamagesTheDevice", AFTER_C_15)
    assert results["C-15"].got.endswith(lane.DAMAGED)
    for rule in ("C-16", "C-25"):
        assert results[rule].outcome == "pass"
        assert "after other checks" not in results[rule].got


def test_a_probe_that_suffers_from_an_earlier_one_runs_alone() -> None:
    results = outcomes_of("DamagesTheDeviceLater", AFTER_C_15)
    assert {each.outcome for each in results.values()} == {"pass"}
    remark = "after other checks the device failed; alone in a new process it did not"
    assert [rule for rule, result in results.items() if remark in result.got] == ["C-16"]


def test_a_damaged_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked of a driver that no library has loaded, and nothing on the CPU."""

    def fail(self: Driver) -> None:
        raise cuda_driver.DriverError("cuCtxSynchronize returned 716")

    monkeypatch.setattr(Driver, "synchronize", fail)
    assert not device_memory.is_damaged()
    monkeypatch.setattr(device_memory, "_selected", (devices.CUDA, 0))
    driver()
    assert device_memory.is_damaged()
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libmissing.so.1")
    assert not device_memory.is_damaged()


# What proves nothing ---------------------------------------------------------------------------


def late() -> Late:
    address = device_memory.upload(bytes(4), (devices.CUDA, 0))
    return Late(driver(), driver().stream(), address, 4, unordered=driver().stream())


def test_a_device_that_orders_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with CUDA_LAUNCH_BLOCKING."""
    fill_late = Driver.fill_late

    def fill_at_once(self: Driver, *arguments: int) -> None:
        fill_late(self, *arguments)
        self.synchronize()

    assert late().begin() == b"\x40" * 4
    monkeypatch.setattr(Driver, "fill_late", fill_at_once)
    with pytest.raises(Skip, match="the control found finished elements"):
        late().begin()


def test_a_call_that_outlasts_late_work(monkeypatch: pytest.MonkeyPatch) -> None:
    late().must_outlast(lambda: None)
    monkeypatch.setitem(driver().__dict__, "late_seconds", 1e-9)
    with pytest.raises(Skip, match="a call takes"):
        late().must_outlast(lambda: None)


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Skip, match="there is no CUDA device 99: cuDeviceGet returned 101"):
        driver(99)
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libmissing.so.1")
    with pytest.raises(Skip, match=r"no CUDA driver: libmissing\.so\.1 cannot be loaded"):
        driver(1)


def test_a_factory_without_device_memory() -> None:
    with pytest.raises(conformance.CannotExamine, match="has no parameter `device`"):
        conformance.examine("device_library:row_major", device="cuda")


def test_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    conformance.add_arguments(parser)
    target = ["device_library:Array", "--only", "S-10"]
    assert conformance.run(parser.parse_args([*target, "--device", "cuda"])) == 0
    assert conformance.run(parser.parse_args(target)) == 2
    assert "all arrays are in device memory" in capsys.readouterr().err
