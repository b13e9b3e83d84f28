# SPDX-License-Identifier: BSD-3-Clause
"""Probes of streams: what a consumer passes, and what is finished when work on it runs.

Order is examined with late work: a kernel that writes the array after some time. Where nothing
orders another stream, work on it finds the old bytes. Each probe shows that first, as its control:
a device on which unordered work finds finished elements proves nothing.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ... import devices, elements
from ..helpers import cuda_driver
from ..helpers.consumption import ConsumerCall, negotiates
from ..helpers.cuda_driver import LEGACY, PER_THREAD, Driver
from ..helpers.exports import (
    Export,
    accepts_keyword,
    best,
    content,
    device_of,
    export,
    make,
    reach,
    request,
)
from ..helpers.memory import shortest
from ..helpers.producers import Producer, RaisingProducer
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import STREAM, Target

# S-01, S-02 and S-05: what is passed -------------------------------------------------------------


def _streams_sent(target: Target, device_type: int) -> list[Any]:
    """Returns the streams sent to a producer on this device, which refuses: nothing is read."""
    negotiates(target)
    refusing = RaisingProducer(
        BufferError("this producer exports nothing"), reported_device=(device_type, 0)
    )
    return [
        each["stream"]
        for each in ConsumerCall(target, refusing).producer.requests
        if "stream" in each
    ]


FORBIDDEN = {devices.CUDA: (0,), devices.CUDA_MANAGED: (0,), devices.ROCM: (1, 2)}


def _fits(stream: Any, device_type: int) -> bool:
    if stream is None:
        return True
    if device_type not in FORBIDDEN or not isinstance(stream, int):
        return False
    return stream >= -1 and stream not in FORBIDDEN[device_type]


@probe("S-01", hostile=True)
def streams_fit_the_device(target: Target) -> str:
    notes = []
    for device_type in (devices.CPU, *FORBIDDEN):
        name, streams = devices.NAMES[device_type], _streams_sent(target, device_type)
        for each in streams:
            if not _fits(each, device_type):
                raise Broken(f"to a producer on {name} it sends stream={each!r}")
        notes.append(f"{name}: {streams[0] if streams else 'no stream'}")
    return "; ".join(notes)


@probe("S-02", hostile=True)
def never_sends_unordered(target: Target) -> None:
    for device_type in (
        devices.CPU,
        devices.CUDA,
        devices.CUDA_HOST,
        devices.ROCM,
        devices.CUDA_MANAGED,
        devices.ONEAPI,
    ):
        if any(each == -1 for each in _streams_sent(target, device_type)):
            name = devices.NAMES[device_type]
            raise Broken(f"to a producer on {name} it sends stream=-1")


def _own_stream(x: Any) -> Any:
    """Returns the method __cuda_stream__ of an array or of its stream; None where it has none."""
    return getattr(x, "__cuda_stream__", None) or getattr(
        getattr(x, "stream", None), "__cuda_stream__", None
    )


@probe("S-05")
def cuda_streams_say_version_0(target: Target) -> None:
    x = target.make(device="cuda")
    stream = _own_stream(x)
    if stream is None:
        raise Skip(f"{type(x).__name__} has no __cuda_stream__")
    description = tuple(stream())
    if len(description) != 2 or description[0] != 0:
        raise Broken(f"__cuda_stream__() returned {description}")


FIRST = (devices.CUDA, 0)

# Late work -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Late:
    """Device memory that work on one stream writes late."""

    driver: Driver
    stream: int
    address: int
    size: int
    unordered: int  # a stream that nothing orders

    def begin(self) -> bytes:
        """Enqueues the late work, and returns the bytes that it writes.

        Raises Skip where unordered work does not find the old bytes.
        """
        self.driver.synchronize()
        old = self.seen_from(self.unordered)  # also prepares what a first copy has to load
        value = 0x41 if old[0] == 0x40 else 0x40  # as float32 12.08 or 3.00
        self.driver.fill_late(self.stream, self.address, value, self.size)
        if self.seen_from(self.unordered) != old:
            raise Skip(
                "the control found finished elements on a stream that nothing orders: the device "
                "is too fast, or CUDA_LAUNCH_BLOCKING is set"
            )
        return bytes([value]) * self.size

    def seen_from(self, stream: int) -> bytes:
        """Returns what work that is now enqueued on a stream finds."""
        return self.driver.seen_from(stream, self.address, self.size)

    def must_outlast(self, call: Callable[[], object]) -> None:
        """Raises Skip where the late work could end during a call without any wait."""
        limit = self.driver.late_seconds / 4
        seconds = shortest(call, limit)
        if seconds > limit:
            raise Skip(
                f"a call takes {seconds:.3f} s, and late work {self.driver.late_seconds:.3f}"
            )


def _array_in_device_memory(target: Target, **arguments: Any) -> Any:
    try:
        x = make(target, device="cuda", **arguments)
    except Skip as reason:
        x = make(target, **arguments)  # a library may have arrays on the device only
        if device_of(x)[0] != devices.CUDA:
            raise reason from None
    if device_of(x) != FIRST:
        raise Skip(f"the factory has no array on device {FIRST}, but on {device_of(x)}")
    return x


def _late_array(target: Target) -> tuple[Any, Late]:
    """Returns an array in device memory, and the late work on its stream.

    The stream is one that the factory gets, or the one that the array says.
    """
    driver = cuda_driver.driver()
    if STREAM in target.accepts:
        stream = driver.stream()
        x = _array_in_device_memory(target, stream=stream)
    else:
        x = _array_in_device_memory(target)
        own = _own_stream(x)
        if own is None:
            raise Skip(
                "the stream of the array's work is not known: give the factory a parameter "
                f"`{STREAM}`, or the array a method __cuda_stream__"
            )
        stream = int(own()[1]) or LEGACY
    low, end = reach(best(x).contents)
    if low == end:
        raise Skip("the factory's array is empty")
    return x, Late(driver, stream, low, end - low, unordered=driver.stream())


# S-10 and S-22: the producer -------------------------------------------------------------------

# The argument, and the stream on which the consumer works; "own" is a stream of its own.
PASSED: list[tuple[Any, Any]] = [
    ("own", "own"),
    (None, LEGACY),
    (1, LEGACY),
    (2, PER_THREAD),
]


def _order_of(x: Any, late: Late, passed: Any, used: int) -> str:
    """Returns "finished", "unfinished" or "refused": what work on a stream finds after an export
    that was asked for this stream."""
    try:
        late.must_outlast(lambda: request(x, stream=passed))
    except Exception:  # "Support for a stream value other than None is optional"
        return "refused"
    finished = late.begin()
    try:
        capsule = request(x, stream=passed)
        found = late.seen_from(used)
        del capsule
    finally:
        late.driver.synchronize()
    return "finished" if found == finished else "unfinished"


@probe("S-10", hostile=True)
def work_on_the_passed_stream_waits(target: Target) -> str:
    x, late = _late_array(target)
    results: dict[str, str] = {}
    for passed, used in PASSED:
        own = late.driver.stream()
        argument, stream = (own if each == "own" else each for each in (passed, used))
        name = "a stream of the consumer" if passed == "own" else repr(passed)
        results[name] = _order_of(x, late, argument, stream)
    by_result = {
        result: [name for name in results if results[name] == result] for result in results.values()
    }
    text = "; ".join(f"{result}: stream={', '.join(of)}" for result, of in by_result.items())
    wrong = by_result.get("unfinished", [])
    if wrong:
        raise Broken(f"what work on the passed stream finds: {text}", fix=_repair(wrong, results))
    if "finished" not in by_result:
        raise Skip("every stream is refused")
    return text


def _repair(wrong: list[str], results: dict[str, str]) -> str:
    if all(result != "finished" for result in results.values()):
        return (
            "In __dlpack__, record an event on the stream of the array's work, when __dlpack__ is "
            "called and not earlier, and let the passed stream wait for it."
        )
    if results["a stream of the consumer"] == "unfinished":
        return "Let the stream that is passed wait, and not the default stream in its place."
    return (
        "Take stream=None and 1 as the legacy default stream, and 2 as the per-thread one; "
        "let that stream wait."
    )


def _on_the_host(x: Any) -> Callable[[], Export]:
    """Returns a function that exports an array to the host. Raises Skip where that is refused."""
    keywords = {"max_version": (1, 3)} if accepts_keyword(x, "max_version") else {}

    def call() -> Export:
        return export(x, dl_device=(devices.CPU, 0), **keywords)

    try:
        contents = call().contents
    except Exception as error:
        raise Skip(f"dl_device=(1, 0) raised {name_error(error)}") from None
    if contents.device[0] not in devices.HOST_ACCESSIBLE or content(contents) is None:
        raise Skip(f"dl_device=(1, 0) returned no readable memory of the host: {contents.device}")
    return call


@probe("S-22", hostile=True)
def copies_to_the_host_are_finished(target: Target) -> None:
    x, late = _late_array(target)
    copied = _on_the_host(x)
    late.must_outlast(copied)
    value = late.begin()[:1]
    try:
        result = copied()
        found = content(result.contents) or b""
        late.driver.synchronize()
        afterwards = content(result.contents) or b""
    finally:
        late.driver.synchronize()
    if found == value * len(found):
        return
    if afterwards == value * len(afterwards):
        raise Broken(
            "dl_device=(1, 0): the copy was not finished when __dlpack__ returned, and is now",
            fix="Wait for the copy's stream before __dlpack__ returns.",
        )
    raise Broken(
        "dl_device=(1, 0): the copy has the bytes from before the array's queued work",
        fix="Copy on the stream of the array's work, or let the copy's stream wait for it; then "
        "wait for the copy.",
    )


# S-21: the consumer ----------------------------------------------------------------------------

SHAPE, COMPACT, BYTES = (2, 3), (3, 1), 24  # of the float32 tensor that a consumer gets


class LateProducer(Producer):
    """A producer in device memory with late work. It orders the stream that the consumer passes."""

    def __init__(self, driver: Driver) -> None:
        self.late = Late(
            driver, driver.stream(), driver.allocate(BYTES), BYTES, unordered=driver.stream()
        )
        driver.upload(self.late.address, b"\x3f" * BYTES)
        super().__init__(device=FIRST, pointer=self.late.address, shape=SHAPE, strides=COMPACT)

    def __dlpack__(self, **keywords: Any) -> Any:
        stream = keywords.get("stream")
        if stream == 0:  # S-01 reports it
            raise ValueError("stream=0 is no stream of CUDA: pass 1 for the legacy default stream")
        if keywords.get("dl_device") not in (None, self.reported_device) or keywords.get("copy"):
            raise BufferError("this producer makes no copies")
        if stream != -1:
            later = LEGACY if stream is None else stream
            self.late.driver.order(after=self.late.stream, later=later)
        return super().__dlpack__(**keywords)

    @property
    def sent(self) -> str:
        """The streams that consumers passed, for a report."""
        return ", ".join(
            f"stream={each['stream']!r}" if "stream" in each else "no stream"
            for each in self.requests
        )


Numbers = set[float]
Consume = Callable[[LateProducer], ConsumerCall]


def _readers(target: Target, driver: Driver) -> dict[str, Callable[[Any], Numbers]]:
    """Returns the functions that read a result by work of the library, or by its export."""

    stream = driver.stream()

    def by_export(x: Any) -> Numbers:
        result = export(x, stream=stream)
        low, end = reach(result.contents)
        found = driver.seen_from(stream, low, end - low)
        return set(struct.unpack(f"{len(found) // 4}f", found))

    library, module = target.library, target.module
    readers: dict[str, Callable[[Any], Numbers]] = {}
    if library is not None:
        readers["its row"] = lambda x: set(elements.flat(library.values(module, x)))
    readers["tolist()"] = lambda x: set(elements.flat(x.tolist()))
    readers["__dlpack__"] = by_export
    return readers


def _numbers(content: bytes) -> Numbers:
    return set(struct.unpack(f"{BYTES // 4}f", content))


def _reader(target: Target, driver: Driver, consume: Consume) -> Callable[[Any], Numbers]:
    """Returns the first reader that reads a finished tensor. Raises Skip where none does."""
    call = consume(LateProducer(driver))
    if call.refusal is not None:
        raise Skip(f"a tensor in device memory is refused: {call.error_text}")
    failures = []
    for name, reader in _readers(target, driver).items():
        try:
            found = reader(call.result)
        except (Skip, Exception) as error:
            failures.append(f"{name}: {name_error(error)}")
            continue
        if found == _numbers(b"\x3f" * BYTES):
            return reader
        failures.append(f"{name}: {found}")
    raise Skip(f"a result in device memory cannot be read ({'; '.join(failures)})")


def _must_read_finished(target: Target, consume: Consume) -> str:
    driver = cuda_driver.driver()
    reader = _reader(target, driver, consume)
    producer = LateProducer(driver)
    producer.late.must_outlast(lambda: consume(LateProducer(driver)))
    finished = producer.late.begin()
    try:
        call = consume(producer)
        if call.refusal is not None:
            raise Skip(f"refused: {call.error_text}")
        found = reader(call.result)
    finally:
        driver.synchronize()
    if found != _numbers(finished):
        raise Broken(f"it passed {producer.sent}, and its work then read unfinished elements")
    return f"it passed {producer.sent}"


def _has_stream(function: Any) -> bool:
    try:
        return STREAM in inspect.signature(function).parameters
    except (TypeError, ValueError):  # many builtin functions have none to show
        return False


def _on_another_stream(target: Target) -> Consume | None:
    """Returns a consumer that works on a stream that the default streams do not order; None where
    its stream cannot be set."""
    library = target.library
    own = cuda_driver.driver().stream()
    if library is not None and library.use_stream is not None:
        library.use_stream(target.module, own)
        return lambda producer: ConsumerCall(target, producer)
    if _has_stream(target.function):
        return lambda producer: ConsumerCall(target, producer, stream=own)
    return None


@probe("S-21", hostile=True)
def reads_finished_elements(target: Target) -> str:
    negotiates(target)
    first = _must_read_finished(target, lambda producer: ConsumerCall(target, producer))
    consume = _on_another_stream(target)
    if consume is None:
        return f"{first}; not examined on another stream: it has no parameter `{STREAM}`"
    return f"{first}; on another stream {_must_read_finished(target, consume)}"
