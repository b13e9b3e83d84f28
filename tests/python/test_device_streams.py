# SPDX-License-Identifier: BSD-3-Clause
"""The values of stream= (spec 4.4) on simulated drivers, for each driver and for both roles."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import dlbridge
import foreign
from device_arrays import DEFAULTS, NAMES, TYPES, DeviceArray, current, no_leaks
from dlbridge.tools import doctor
from simulated import Buffer, Driver, Stream

KINDS = ["cuda", "hip"]
# stream=, the handle of its stream ("own": a new stream), whether the streams are ordered.
ACCEPTED: dict[str, list[tuple[Any, Any, bool]]] = {
    "cuda": [(None, 1, True), (1, 1, True), (2, 2, True), ("own", "own", True), (-1, "own", False)],
    "hip": [(None, 0, True), (0, 0, True), ("own", "own", True), (-1, "own", False)],
}
REFUSED = {
    "cuda": [(0, "For the default stream pass 1 (legacy) or 2 (per thread)"), (-2, "pass 1")],
    "hip": [(1, "For the default stream pass 0"), (2, "pass 0"), (-2, "pass 0")],
}


def rows(table: dict[str, list[Any]]) -> list[Any]:
    return [(kind, *row) for kind in KINDS for row in table[kind]]


@pytest.fixture(params=KINDS)
def driver(request: pytest.FixtureRequest) -> Driver:
    return fresh(request.param)


def fresh(kind: str) -> Driver:
    driver = Driver(kind)
    driver.reset()
    return driver


def stream_of(driver: Driver, value: Any, handle: Any) -> tuple[Any, Stream]:
    """Returns the argument stream= of a row, and its stream."""
    stream = driver.stream() if handle == "own" else driver.default_stream(handle)
    return (stream.handle if value == "own" else value), stream


@pytest.mark.parametrize("kind, value, handle, ordered", rows(ACCEPTED))
def test_as_producer(kind: str, value: Any, handle: Any, ordered: bool) -> None:
    """The consumer's stream waits for the operations on the tensor's stream."""
    driver = fresh(kind)
    ours = driver.stream()
    value, theirs = stream_of(driver, value, handle)
    x = DeviceArray(driver.buffer(4), ours)
    # [stream]
    t = dlbridge.from_dlpack(x, stream=ours.handle)  # x and t are ready on our stream
    # [/stream]
    ours.write(x.buffer, 7)
    current_context = current(driver)
    consumed = foreign.consume(t.__dlpack__(stream=value))
    target = driver.buffer(4)
    theirs.copy(target, x.buffer)
    theirs.synchronize()
    assert current(driver) == current_context
    assert consumed.data == x.buffer.address
    assert (target.peek() == b"\7\7\7\7") == (driver.races == []) == ordered
    assert driver.counter("device_synchronizations") == 0


@pytest.mark.parametrize("kind, value, handle, ordered", rows(ACCEPTED))
def test_as_consumer(kind: str, value: Any, handle: Any, ordered: bool) -> None:
    """dlbridge always passes an explicit stream to the producer."""
    driver = fresh(kind)
    value, ours = stream_of(driver, value, handle)
    x = DeviceArray(driver.buffer(4), driver.stream())
    x.stream.write(x.buffer, 7)
    t = dlbridge.from_dlpack(x, stream=value)
    assert [each["stream"] for each in x.requests] == [DEFAULTS[kind] if value is None else value]
    target = driver.buffer(4)
    ours.copy(target, x.buffer)
    ours.synchronize()
    assert (target.peek() == b"\7\7\7\7") == (driver.races == []) == ordered
    del t
    assert x.is_released


@pytest.mark.parametrize("kind, value, handle, ordered", rows(ACCEPTED))
@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor])
def test_a_capsule(function: Any, kind: str, value: Any, handle: Any, ordered: bool) -> None:
    """It states no stream: the one that the caller named waits for the default stream."""
    driver = fresh(kind)
    value, ours = stream_of(driver, value, handle)
    default = driver.default_stream(DEFAULTS[kind])
    x = DeviceArray(driver.buffer(4), default)
    default.write(x.buffer, 7)
    t: Any = function(x.__dlpack__(stream=-1, max_version=(1, 0)), stream=value)
    target = driver.buffer(4)
    ours.copy(target, x.buffer)
    ours.synchronize()
    assert (target.peek() == b"\7\7\7\7") == (driver.races == []) == ordered
    if kind == "cuda":
        assert t.__cuda_stream__() == (0, ours.handle if ordered else 1)
    del t
    assert x.is_released


@pytest.mark.parametrize("kind, value, advice", [*rows(REFUSED), ("cuda", "s", "an integer, or")])
def test_a_capsule_with_an_invalid_stream(kind: str, value: Any, advice: str) -> None:
    driver = fresh(kind)
    for memory in ("device", "pinned"):
        x = DeviceArray(driver.buffer(4, memory), driver.stream())
        for function in (dlbridge.from_dlpack, dlbridge.as_tensor):
            with pytest.raises(ValueError, match=re.escape(advice)):
                function(x.__dlpack__(max_version=(1, 0)), stream=value)
        assert x.is_released


@pytest.mark.parametrize("stream", ["own", -1])
def test_a_capsule_of_pinned_memory(driver: Driver, stream: Any) -> None:
    """Its stream is that of the caller, for which the host waits."""
    ours = driver.default_stream(DEFAULTS[driver.kind]) if stream == -1 else driver.stream()
    x = DeviceArray(driver.buffer(4, "pinned"), driver.stream())
    capsule = x.__dlpack__(max_version=(1, 0))
    t: Any = dlbridge.from_dlpack(capsule, stream=ours.handle if stream == "own" else -1)
    ours.write(x.buffer, 7)
    assert bytes(memoryview(t)) == b"\7\7\7\7"
    assert driver.races == []


@pytest.mark.parametrize("device", ["cpu", "the other device"])
def test_a_capsule_that_moves_on_a_stream(driver: Driver, device: str) -> None:
    """To the CPU, the stream is one of the capsule's device, else of the new one."""
    default = driver.default_stream(DEFAULTS[driver.kind])
    x = DeviceArray(driver.buffer(4), default)
    default.write(x.buffer, 7)
    target = "cpu" if device == "cpu" else f"{NAMES[driver.kind]}:1"
    driver.select(0 if device == "cpu" else 1)
    ours = driver.stream()
    driver.select(0)
    t: Any = dlbridge.from_dlpack(x.__dlpack__(stream=-1), device=target, stream=ours.handle)
    assert t.to("cpu").tolist() == [7, 7, 7, 7]
    assert driver.races == []
    with pytest.raises(ValueError, match="stream"):
        dlbridge.from_dlpack(x.__dlpack__(stream=-1), device=target, stream=-2)


class TableArray(foreign.Exported):
    """A tensor on a device, which a library exports by its exchange table."""

    __dlpack_c_exchange_api__ = foreign.exchange_capsule(foreign.exchange_table())

    def __init__(self, handle: foreign.Handle) -> None:
        self.handle = handle
        self.device = (0, 0)
        self.requests: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests.append(keywords)
        return self.handle.capsule(True)


def table_array(driver: Driver, buffer: Buffer) -> TableArray:
    device = (TYPES[driver.kind], 0)
    x = TableArray(foreign.tensor(data=buffer.address, device=device, shape=(4,), dtype=(1, 8, 1)))
    x.device = device
    return x


@pytest.fixture
def work_stream(driver: Driver) -> Iterator[Stream]:
    """The stream on which the library of the table works."""
    stream = driver.stream()
    foreign.set_work_stream(stream.handle)
    yield stream
    foreign.set_work_stream(0)


@pytest.mark.parametrize("value", ["none", "own", -1])
def test_a_table_is_ordered(driver: Driver, work_stream: Stream, value: Any) -> None:
    """The stream that the caller named waits for the one on which the library works."""
    own = driver.stream()
    ours = own if value != "none" else driver.default_stream(DEFAULTS[driver.kind])
    buffer = driver.buffer(4)
    x = table_array(driver, buffer)
    work_stream.write(buffer, 7)
    keywords: dict[str, Any] = (
        {} if value == "none" else {"stream": -1 if value == -1 else own.handle}
    )
    t = dlbridge.from_dlpack(x, **keywords)
    assert x.requests == []
    target = driver.buffer(4)
    ours.copy(target, buffer)
    ours.synchronize()
    is_ordered = value != -1
    assert (target.peek() == b"\7\7\7\7") == (driver.races == []) == is_ordered
    assert driver.counter("device_synchronizations") == 0
    del t
    assert x.handle.calls == x.handle.handed_out == 1


def test_a_table_with_an_invalid_stream(driver: Driver, work_stream: Stream) -> None:
    x = table_array(driver, driver.buffer(4))
    with pytest.raises(ValueError, match="stream"):
        dlbridge.from_dlpack(x, stream=-2)
    assert x.handle.calls == x.handle.handed_out == 1


@pytest.mark.parametrize("options", [{"missing": ["stream"]}, {"failing": ["stream"]}])
def test_a_table_without_a_work_stream(driver: Driver, options: dict[str, Any]) -> None:
    """__dlpack__ orders the streams where the table cannot."""
    x = table_array(driver, driver.buffer(4))
    table = foreign.exchange_capsule(foreign.exchange_table(**options))
    derived = type("Array", (TableArray,), {"__dlpack_c_exchange_api__": table})
    y = derived(x.handle)
    y.device = x.device
    dlbridge.from_dlpack(y)
    assert [each["stream"] for each in y.requests] == [DEFAULTS[driver.kind]]


@pytest.mark.parametrize("kind, value, advice", rows(REFUSED))
def test_invalid_streams_are_refused(kind: str, value: int, advice: str) -> None:
    driver = fresh(kind)
    x = DeviceArray(driver.buffer(4), driver.stream())
    with pytest.raises(ValueError) as error:
        dlbridge.from_dlpack(x, stream=value)
    assert advice in str(error.value)
    t = dlbridge.from_dlpack(x)
    with pytest.raises(ValueError) as error:
        t.__dlpack__(stream=value)
    assert advice in str(error.value)
    del t
    assert x.is_released


def test_data_for_the_cpu_is_ready_on_return(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    x.stream.write(x.buffer, 7)
    with no_leaks(driver):
        consumed = foreign.consume(t.__dlpack__(dl_device=(1, 0)))
        assert (consumed.device, consumed.tobytes()) == ((1, 0), b"\7\7\7\7")
        consumed.release()
    with pytest.raises(ValueError, match="None with dl_device"):
        t.__dlpack__(dl_device=(1, 0), stream=x.stream.handle)
    assert driver.races == []
    assert driver.counter("device_synchronizations") == 0


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_pinned_and_managed_memory_is_ready_for_the_cpu(driver: Driver, kind: str) -> None:
    if (driver.kind, kind) == ("hip", "managed"):
        pytest.skip("DLPack has no device type for it")
    x = DeviceArray(driver.buffer(4, kind), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle if kind == "managed" else None)
    x.stream.write(x.buffer, 7)
    if kind == "pinned":  # the protocol has no stream for it, so the producer waits
        x.stream.synchronize()
    consumed = foreign.consume(t.__dlpack__(dl_device=(1, 0)))
    assert consumed.data == x.buffer.address
    assert ctypes.string_at(consumed.data, 4) == b"\7\7\7\7"
    assert driver.races == []


class StreamObject:
    """A stream object of a library."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@pytest.mark.parametrize("export", ["per thread", "non-blocking", "CPU", "interface", "table"])
def test_the_per_thread_stream_of_another_thread(export: str) -> None:
    """The handle 2 means another stream on each thread."""
    driver = fresh("cuda")
    x = DeviceArray(driver.buffer(4), driver.default_stream(2))
    tensors: list[Any] = []

    def work() -> None:
        driver.select(0)
        x.stream.write(x.buffer, 7)
        tensors.append(dlbridge.from_dlpack(x, stream=2))
        assert tensors[0].__cuda_stream__() == (0, 2)
        waits = driver.call_count("cuStreamWaitEvent")
        tensors[0].__dlpack__(stream=2)
        assert driver.call_count("cuStreamWaitEvent") == waits, "it is the same stream here"

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    (t,) = tensors
    if export == "CPU":
        assert foreign.consume(t.__dlpack__(dl_device=(1, 0))).tobytes() == b"\7\7\7\7"
        assert driver.races == []
        return
    if export == "interface":
        reader = Stream(driver, t.__cuda_array_interface__["stream"])
    elif export == "table":
        exported = foreign.slot(type(t), "give", t)
        assert exported is not None
        reader = driver.default_stream(1)
    else:
        reader = driver.default_stream(2) if export == "per thread" else driver.stream()
        t.__dlpack__(stream=reader.handle)
    target = driver.buffer(4)
    reader.copy(target, x.buffer)
    reader.synchronize()
    assert (target.peek(), driver.races) == (b"\7\7\7\7", [])


@pytest.mark.parametrize("value", [None, 4096])
def test_a_handle_of_ctypes(value: Any) -> None:
    """Older numba wraps the handle of a stream in a c_void_p, whose value is None for null."""
    driver = fresh("cuda")
    ours = driver.stream()
    x = DeviceArray(driver.buffer(4), ours)
    handle = ctypes.c_void_p(value and ours.handle)
    t: Any = dlbridge.from_dlpack(x, stream=StreamObject(handle=handle))
    assert t.__cuda_stream__() == (0, ours.handle if value else 1)


@pytest.mark.parametrize("attribute", ["cuda_stream", "ptr", "handle"])
def test_stream_objects(driver: Driver, attribute: str) -> None:
    ours, theirs = driver.stream(), driver.stream()
    x = DeviceArray(driver.buffer(4), ours)
    t = dlbridge.from_dlpack(x, stream=StreamObject(**{attribute: ours.handle}))
    ours.write(x.buffer, 7)
    t.__dlpack__(stream=StreamObject(**{attribute: theirs.handle}))
    theirs.read(x.buffer)
    assert driver.races == []


@pytest.mark.parametrize("attribute", ["cuda_stream", "ptr", "handle", "__cuda_stream__"])
def test_a_handle_of_minus_one(driver: Driver, attribute: str) -> None:
    """The integer -1 means no order. As the handle of a stream it is an error of its library."""
    x = DeviceArray(driver.buffer(4), driver.stream())
    value = (0, -1) if attribute == "__cuda_stream__" else -1
    stream = StreamObject(**{attribute: value})
    t = dlbridge.from_dlpack(x)
    for call in (
        lambda: dlbridge.from_dlpack(x, stream=stream),
        lambda: t.__dlpack__(stream=stream),
        lambda: t.record_stream(stream),
    ):
        with pytest.raises(
            ValueError, match=r"handle of a stream, not -1; got .*integer -1 itself"
        ):
            call()
    assert len(x.requests) == 1, "the producer was not called with -1"


def test_the_tensor_keeps_the_stream_object_alive(driver: Driver) -> None:
    destroyed: list[int] = []

    class Counted(StreamObject):
        def __del__(self) -> None:
            destroyed.append(1)

    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=Counted(handle=x.stream.handle))
    assert destroyed == []
    del t
    assert destroyed == [1]


def test_a_tensor_of_dlbridge_as_producer(driver: Driver) -> None:
    """Each Tensor has its own stream, which is ordered after that of its source."""
    first, second = driver.stream(), driver.stream()
    x = DeviceArray(driver.buffer(4), first)
    t = dlbridge.from_dlpack(x, stream=first.handle)
    first.write(x.buffer, 7)
    u = dlbridge.from_dlpack(t, stream=second.handle)
    del t
    second.read(x.buffer)
    second.write(x.buffer, 8)
    third = driver.stream()
    u.__dlpack__(stream=third.handle)
    third.read(x.buffer)
    assert driver.races == []


def test_through_the_exchange_table(driver: Driver) -> None:
    """Without stream=, the current work stream of the table waits."""
    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    for slot in ("give", "lend"):
        x.stream.write(x.buffer, 7)
        exported = foreign.slot(type(t), slot, t)
        handle = foreign.slot(type(t), "stream", TYPES[driver.kind], 0)
        default = Stream(driver, handle)
        default.read(x.buffer)
        default.synchronize()
        del exported
    assert driver.races == []


class Described:
    """A device array that has only the CUDA Array Interface."""

    def __init__(self, buffer: Buffer, **entries: Any) -> None:
        self.__cuda_array_interface__ = {**buffer.__cuda_array_interface__, **entries}


@pytest.mark.parametrize("is_explicit", [False, True])
def test_an_array_interface_with_a_stream(is_explicit: bool) -> None:
    driver = fresh("cuda")
    work, ours, theirs = driver.stream(), driver.stream(), driver.stream()
    memory = driver.buffer(4)
    work.write(memory, 7)
    x = Described(memory, stream=work.handle)
    t = dlbridge.as_tensor(x, stream=ours.handle if is_explicit else None)
    assert (t.data_ptr, str(t.device)) == (memory.address, "cuda:0")
    assert (t.shape, t.dtype) == ((4,), "uint8")
    interface: Any = t
    assert interface.__cuda_array_interface__["stream"] == (ours if is_explicit else work).handle
    t.__dlpack__(stream=theirs.handle)
    theirs.read(memory)
    assert driver.races == []


def test_an_array_interface_whose_streams_the_caller_orders() -> None:
    driver = fresh("cuda")
    work = driver.stream()
    memory = driver.buffer(4)
    dlbridge.as_tensor(memory)  # loads the driver
    records, waits = driver.call_count("cuEventRecord"), driver.call_count("cuStreamWaitEvent")
    driver.call("cuStreamBeginCapture_v2", work.handle, 1)
    t: Any = dlbridge.as_tensor(Described(memory, stream=work.handle), stream=-1)
    assert t.data_ptr == memory.address
    assert t.__cuda_stream__() == (0, 1), "the default stream"
    assert driver.call_count("cuEventRecord") == records
    assert driver.call_count("cuStreamWaitEvent") == waits
    driver.call("cuStreamEndCapture", work.handle, ctypes.byref(ctypes.c_void_p()))


def test_an_array_interface_without_a_stream() -> None:
    driver = fresh("cuda")
    driver.select(1)
    memory, managed = driver.buffer(4), driver.buffer(4, "managed")
    managed.poke(b"abcd")
    assert str(dlbridge.as_tensor(memory).device) == "cuda:1", "as the driver reports"
    assert bytes(memoryview(dlbridge.as_tensor(managed, device="cpu"))) == b"abcd"
    with pytest.raises(BufferError, match="expected stream to be None, 1, 2 or a handle; got 0"):
        dlbridge.as_tensor(Described(memory, stream=0))
    with pytest.raises(BufferError, match="dict with shape, typestr"):
        dlbridge.as_tensor(Described(memory, shape=None))


def test_one_stream_on_both_sides_needs_no_wait(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    name = "cuStreamWaitEvent" if driver.kind == "cuda" else "hipStreamWaitEvent"
    waits = driver.call_count(name)
    t.__dlpack__(stream=x.stream.handle)
    t.__dlpack__(stream=-1)
    assert driver.call_count(name) == waits


def test_current_device_differs_from_that_of_the_tensor(driver: Driver) -> None:
    """Device 1 is current on this thread; the tensor and the streams are on device 0."""
    x = DeviceArray(driver.buffer(4), driver.stream())
    theirs = driver.stream()
    driver.select(1)
    t = dlbridge.from_dlpack(x, stream=-1)
    current_context = current(driver)
    t.__dlpack__(stream=theirs.handle)
    assert current(driver) == current_context


def test_a_destroyed_stream_is_reported(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    theirs = driver.stream()
    t = dlbridge.from_dlpack(x)
    theirs.destroy()
    current_context = current(driver)
    with pytest.raises(RuntimeError, match=r"to succeed; got .*(400|709)"):
        t.__dlpack__(stream=theirs.handle)
    assert current(driver) == current_context
    del t
    assert x.is_released


def test_capture(driver: Driver) -> None:
    """dlbridge does not order a captured stream after a stream that is not being captured."""
    begin, end = {
        "cuda": ("cuStreamBeginCapture_v2", "cuStreamEndCapture"),
        "hip": ("hipStreamBeginCapture", "hipStreamEndCapture"),
    }[driver.kind]
    x = DeviceArray(driver.buffer(4), driver.stream())
    theirs = driver.stream()
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    driver.call(begin, theirs.handle, 1)
    with pytest.raises(RuntimeError, match="pass stream=-1 and order the streams yourself"):
        t.__dlpack__(stream=theirs.handle)
    t.__dlpack__(stream=-1)
    graph = ctypes.c_void_p()
    driver.call(end, theirs.handle, ctypes.byref(graph))
    assert driver.library.simulated_graph_node_count(graph) == 0
    t.__dlpack__(stream=theirs.handle)


def test_doctor_lists_the_devices() -> None:
    drivers = doctor.examine()["drivers"]
    for kind, library in [("cuda", "libcuda.so.1"), ("rocm", "libamdhip64.so.6")]:
        assert library.startswith(drivers[kind]["library"])  # a prefix if it was already loaded
        assert len(drivers[kind]["devices"]) == 2
        assert all(drivers[kind]["devices"])
