"""The stream matrix of the protocol (spec 4.4) on simulated drivers: value, device kind, role."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import dlbridge
import foreign
from device_arrays import DEFAULTS, TYPES, DeviceArray, current, nothing_lost
from dlbridge.tools import doctor
from simulated import Buffer, Driver, Stream

KINDS = ["cuda", "hip"]
# stream=, the handle of the stream that it means or "own" for a new one, whether it is ordered.
TAKEN: dict[str, list[tuple[Any, Any, bool]]] = {
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


def chosen(driver: Driver, value: Any, handle: Any) -> tuple[Any, Stream]:
    stream = driver.stream() if handle == "own" else driver.default_stream(handle)
    return (stream.handle if value == "own" else value), stream


@pytest.mark.parametrize("kind, value, handle, ordered", rows(TAKEN))
def test_as_producer(kind: str, value: Any, handle: Any, ordered: bool) -> None:
    """The consumer's stream waits for what is enqueued on the tensor's, which nobody else does."""
    driver = fresh(kind)
    ours = driver.stream()
    value, theirs = chosen(driver, value, handle)
    x = DeviceArray(driver.buffer(4), ours)
    # [stream]
    t = dlbridge.from_dlpack(x, stream=ours.handle)  # x is ready on our stream, and t is there
    # [/stream]
    ours.write(x.buffer, 7)
    before = current(driver)
    taken = foreign.consume(t.__dlpack__(stream=value))
    target = driver.buffer(4)
    theirs.copy(target, x.buffer)
    theirs.synchronize()
    assert current(driver) == before
    assert taken.data == x.buffer.address
    assert (target.peek() == b"\7\7\7\7") == (driver.races == []) == ordered
    assert driver.counter("device_synchronizations") == 0


@pytest.mark.parametrize("kind, value, handle, ordered", rows(TAKEN))
def test_as_consumer(kind: str, value: Any, handle: Any, ordered: bool) -> None:
    """The producer is told which stream to make ready, always in so many words."""
    driver = fresh(kind)
    value, ours = chosen(driver, value, handle)
    x = DeviceArray(driver.buffer(4), driver.stream())
    x.stream.write(x.buffer, 7)
    t = dlbridge.from_dlpack(x, stream=value)
    assert [each["stream"] for each in x.asked] == [DEFAULTS[kind] if value is None else value]
    target = driver.buffer(4)
    ours.copy(target, x.buffer)
    ours.synchronize()
    assert (target.peek() == b"\7\7\7\7") == (driver.races == []) == ordered
    del t
    assert x.is_settled


@pytest.mark.parametrize("kind, value, advice", rows(REFUSED))
def test_what_is_no_stream(kind: str, value: int, advice: str) -> None:
    driver = fresh(kind)
    x = DeviceArray(driver.buffer(4), driver.stream())
    with pytest.raises(ValueError) as refused:
        dlbridge.from_dlpack(x, stream=value)
    assert advice in str(refused.value)
    t = dlbridge.from_dlpack(x)
    with pytest.raises(ValueError) as refused:
        t.__dlpack__(stream=value)
    assert advice in str(refused.value)
    del t
    assert x.is_settled


def test_for_the_cpu_the_data_is_safe_on_return(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    x.stream.write(x.buffer, 7)
    with nothing_lost(driver):
        taken = foreign.consume(t.__dlpack__(dl_device=(1, 0)))
        assert (taken.device, taken.tobytes()) == ((1, 0), b"\7\7\7\7")
        taken.release()
    with pytest.raises(ValueError, match="None with dl_device"):
        t.__dlpack__(dl_device=(1, 0), stream=x.stream.handle)
    assert driver.races == []
    assert driver.counter("device_synchronizations") == 0


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_memory_that_the_cpu_reads_is_waited_for(driver: Driver, kind: str) -> None:
    if (driver.kind, kind) == ("hip", "managed"):
        return  # DLPack has no name for it
    x = DeviceArray(driver.buffer(4, kind), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle if kind == "managed" else None)
    x.stream.write(x.buffer, 7)
    if kind == "pinned":  # it has no stream in the protocol: whoever wrote waits
        x.stream.synchronize()
    taken = foreign.consume(t.__dlpack__(dl_device=(1, 0)))
    assert taken.data == x.buffer.address
    assert ctypes.string_at(taken.data, 4) == b"\7\7\7\7"
    assert driver.races == []


class Holder:
    """A library's stream object."""

    def __init__(self, **named: Any) -> None:
        self.__dict__.update(named)


@pytest.mark.parametrize("attribute", ["cuda_stream", "ptr", "handle"])
def test_stream_objects(driver: Driver, attribute: str) -> None:
    ours, theirs = driver.stream(), driver.stream()
    x = DeviceArray(driver.buffer(4), ours)
    t = dlbridge.from_dlpack(x, stream=Holder(**{attribute: ours.handle}))
    ours.write(x.buffer, 7)
    t.__dlpack__(stream=Holder(**{attribute: theirs.handle}))
    theirs.read(x.buffer)
    assert driver.races == []


def test_the_stream_object_is_kept_for_as_long_as_its_stream_is_waited_for(driver: Driver) -> None:
    gone: list[int] = []

    class Counted(Holder):
        def __del__(self) -> None:
            gone.append(1)

    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=Counted(handle=x.stream.handle))
    assert gone == []
    del t
    assert gone == [1]


def test_a_tensor_of_ours_goes_in_again(driver: Driver) -> None:
    """Each Tensor has a stream of its own, and is ordered after the one it was made of."""
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
    """Where nobody names a stream, the one that the table names waits."""
    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    for take in ("give", "lend"):
        x.stream.write(x.buffer, 7)
        got = foreign.slot(type(t), take, t)
        handle = foreign.slot(type(t), "stream", TYPES[driver.kind], 0)
        default = Stream(driver, handle)
        default.read(x.buffer)
        default.synchronize()
        del got
    assert driver.races == []


class Described:
    """A device array that speaks numba's interface alone."""

    def __init__(self, buffer: Buffer, **more: Any) -> None:
        self.__cuda_array_interface__ = {**buffer.__cuda_array_interface__, **more}


@pytest.mark.parametrize("named", [False, True])
def test_an_array_interface_says_its_stream(named: bool) -> None:
    driver = fresh("cuda")
    work, ours, theirs = driver.stream(), driver.stream(), driver.stream()
    memory = driver.buffer(4)
    work.write(memory, 7)
    x = Described(memory, stream=work.handle)
    t = dlbridge.as_tensor(x, stream=ours.handle if named else None)
    assert (t.data_ptr, str(t.device)) == (memory.address, "cuda:0")
    assert (t.shape, t.dtype) == ((4,), "uint8")
    interface: Any = t
    assert interface.__cuda_array_interface__["stream"] == (ours if named else work).handle
    t.__dlpack__(stream=theirs.handle)
    theirs.read(memory)
    assert driver.races == []


def test_an_array_interface_without_a_stream() -> None:
    driver = fresh("cuda")
    driver.select(1)
    memory, managed = driver.buffer(4), driver.buffer(4, "managed")
    managed.poke(b"abcd")
    assert str(dlbridge.as_tensor(memory).device) == "cuda:1", "as its driver says"
    assert bytes(memoryview(dlbridge.as_tensor(managed, device="cpu"))) == b"abcd"
    with pytest.raises(ValueError, match="stream 0"):
        dlbridge.as_tensor(Described(memory, stream=0))
    with pytest.raises(BufferError, match="dict with shape, typestr"):
        dlbridge.as_tensor(Described(memory, shape=None))


def test_one_stream_on_both_sides_needs_no_driver(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    t = dlbridge.from_dlpack(x, stream=x.stream.handle)
    waits = driver.calls("cuStreamWaitEvent" if driver.kind == "cuda" else "hipStreamWaitEvent")
    t.__dlpack__(stream=x.stream.handle)
    t.__dlpack__(stream=-1)
    name = "cuStreamWaitEvent" if driver.kind == "cuda" else "hipStreamWaitEvent"
    assert driver.calls(name) == waits


def test_on_two_devices(driver: Driver) -> None:
    """The caller works on device 1 all the while; the tensor, and its streams, are on device 0."""
    x = DeviceArray(driver.buffer(4), driver.stream())
    theirs = driver.stream()
    driver.select(1)
    t = dlbridge.from_dlpack(x, stream=-1)
    before = current(driver)
    t.__dlpack__(stream=theirs.handle)
    assert current(driver) == before


def test_a_destroyed_stream(driver: Driver) -> None:
    x = DeviceArray(driver.buffer(4), driver.stream())
    theirs = driver.stream()
    t = dlbridge.from_dlpack(x)
    theirs.destroy()
    before = current(driver)
    with pytest.raises(RuntimeError, match=r"to succeed; got .*(400|709)"):
        t.__dlpack__(stream=theirs.handle)
    assert current(driver) == before
    del t
    assert x.is_settled


def test_capture(driver: Driver) -> None:
    """A stream that is being captured can neither wait for one that is not, nor be waited for."""
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
    assert driver.library.simulated_graph_works(graph) == 0
    t.__dlpack__(stream=theirs.handle)


def test_doctor_names_the_devices() -> None:
    found = doctor.examine()["drivers"]
    for kind, library in [("cuda", "libcuda.so.1"), ("rocm", "libamdhip64.so.6")]:
        assert library.startswith(found[kind]["library"])  # less of it, when somebody has loaded it
        assert len(found[kind]["devices"]) == 2
        assert all(found[kind]["devices"])
