# SPDX-License-Identifier: BSD-3-Clause
"""stream= on oneAPI: queues are ordered by their own methods, which the queues here record."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import dlbridge
import producers

ONEAPI = (14, 0)
OPENCL = (4, 0)
Log = list[tuple[Any, ...]]


class Queue:
    """A queue as dpctl's. An event is the name of its queue and a number."""

    def __init__(self, name: str, log: Log) -> None:
        self.name, self.log = name, log

    def submit_barrier(self, dependent_events: Any = ()) -> tuple[str, int]:
        self.log.append((self.name, *dependent_events))
        return (self.name, len(self.log))

    def wait(self) -> None:
        self.log.append((self.name, "wait"))


class OfLibrary(producers.Producer):
    """An array of a SYCL library, which names its queue."""

    def __init__(self, queue: Any, **fields: Any) -> None:
        super().__init__(device=ONEAPI, **fields)
        self.sycl_queue = queue


LATER_AFTER_EARLIER: Log = [("earlier",), ("later", ("earlier", 1))]


def named(log: Log) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(producers.Producer(device=ONEAPI), stream=Queue("earlier", log))


def of_library(log: Log) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(OfLibrary(Queue("earlier", log)))


def of_library_by_as_tensor(log: Log) -> dlbridge.Tensor:
    return dlbridge.as_tensor(OfLibrary(Queue("earlier", log)), stream=None)


def shared(log: Log) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(named(log))


def shared_with_keywords(log: Log) -> dlbridge.Tensor:
    return dlbridge.as_tensor(of_library(log), readonly=True)


IMPORTS = [named, of_library, of_library_by_as_tensor, shared, shared_with_keywords]


@pytest.mark.parametrize("max_version", [None, (1, 0)])
@pytest.mark.parametrize("make", IMPORTS)
def test_the_queue_of_the_consumer_waits(make: Any, max_version: Any) -> None:
    log: Log = []
    t = make(log)
    assert log == []
    if t.readonly and max_version is None:
        max_version = (1, 0)
    t.__dlpack__(stream=Queue("later", log), max_version=max_version)
    assert log == LATER_AFTER_EARLIER


@pytest.mark.parametrize("make", IMPORTS)
@pytest.mark.parametrize("stream", [None, -1])
def test_without_a_queue_nothing_is_ordered(make: Any, stream: Any) -> None:
    """As dpctl and dpnp export: None requests no order."""
    log: Log = []
    t = make(log)
    t.__dlpack__(stream=stream, max_version=(1, 0))
    assert log == []


@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor])
@pytest.mark.parametrize("make", IMPORTS)
def test_a_tensor_is_imported_for_another_queue(make: Any, function: Any) -> None:
    """The result is ready on that queue, which the next consumer waits for."""
    log: Log = []
    t = function(make(log), stream=Queue("later", log))
    assert log == LATER_AFTER_EARLIER
    t.__dlpack__(stream=Queue("last", log), max_version=(1, 0))
    assert log[2:] == [("later",), ("last", ("later", 3))]


def test_the_named_queue_comes_before_that_of_the_producer() -> None:
    log: Log = []
    p = OfLibrary(Queue("of the library", log))
    t = dlbridge.from_dlpack(p, stream=Queue("earlier", log))
    assert [type(each["stream"]) for each in p.requests] == [Queue]
    t.__dlpack__(stream=Queue("later", log))
    assert log == LATER_AFTER_EARLIER


@pytest.mark.parametrize("is_named", [True, False])
def test_the_tensor_keeps_its_queue(is_named: bool) -> None:
    queue = Queue("earlier", [])
    alive = weakref.ref(queue)
    t = (
        dlbridge.from_dlpack(producers.Producer(device=ONEAPI), stream=queue)
        if is_named
        else dlbridge.from_dlpack(OfLibrary(queue))
    )
    del queue
    gc.collect()
    assert alive() is not None
    u = dlbridge.from_dlpack(t)
    del t
    gc.collect()
    assert alive() is not None
    del u
    gc.collect()
    assert alive() is None


class Raises:
    """A producer whose sycl_queue raises."""

    def __init__(self, error: type[BaseException]) -> None:
        self.producer, self.error = producers.Producer(device=ONEAPI), error

    def __dlpack_device__(self) -> Any:
        return ONEAPI

    def __dlpack__(self, **keywords: Any) -> object:
        return self.producer.__dlpack__(**keywords)

    @property
    def sycl_queue(self) -> Any:
        raise self.error


UNKNOWN = "expected a tensor whose queue is known; got one that was imported without stream="


@pytest.mark.parametrize(
    "producer",
    [
        producers.Producer(device=ONEAPI),
        OfLibrary(None),
        OfLibrary(5),
        OfLibrary(object()),
        Raises(RuntimeError),
        producers.Producer(device=ONEAPI).__dlpack__(),
    ],
    ids=["no attribute", "None", "an integer", "no queue", "raises", "a capsule"],
)
def test_an_unknown_queue_is_not_taken_as_ordered(producer: Any) -> None:
    t = dlbridge.from_dlpack(producer)
    log: Log = []
    with pytest.raises(ValueError, match=UNKNOWN):
        t.__dlpack__(stream=Queue("later", log))
    with pytest.raises(ValueError, match=UNKNOWN):
        dlbridge.from_dlpack(t, stream=Queue("later", log))
    with pytest.raises(ValueError, match=UNKNOWN):
        t.synchronize()
    assert log == []
    t.__dlpack__(stream=-1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_of_the_attribute_is_raised(error: type[BaseException]) -> None:
    producer = Raises(error)
    with pytest.raises(error):
        dlbridge.from_dlpack(producer)
    assert producer.producer.calls == producer.producer.exports == [1]


def from_pointer(device: Any, stream: Any) -> dlbridge.Tensor:
    return dlbridge.from_pointer(4096, 4, "uint8", device=device, stream=stream)


# The calls of dlbridge that read stream= of a device without streams.
READERS: dict[str, Any] = {
    "__dlpack__": lambda t, stream: t.__dlpack__(stream=stream),
    "from_dlpack": lambda t, stream: dlbridge.from_dlpack(t, stream=stream),
    "as_tensor": lambda t, stream: dlbridge.as_tensor(t, stream=stream),
    "to": lambda t, stream: t.to(t.device, stream=stream),
    "from_pointer": lambda t, stream: from_pointer(t.device, stream),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("stream", [object(), "queue", 1.5, {}])
def test_an_object_that_is_no_queue(stream: Any, read: str) -> None:
    t = of_library([])
    with pytest.raises(ValueError, match="None, -1 or a SYCL queue with submit_barrier"):
        READERS[read](t, stream)
    metal = from_pointer("metal", None)
    with pytest.raises(ValueError, match="bad stream"):
        READERS[read](metal, stream)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("stream", [0, 1, 2, 5])
def test_an_integer_is_no_queue(stream: int, read: str) -> None:
    for t in (of_library([]), from_pointer("metal", None)):
        with pytest.raises(ValueError, match="None or -1, as this device has no streams"):
            READERS[read](t, stream)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("stream", [None, -1])
def test_no_queue(stream: Any, read: str) -> None:
    for t in (of_library([]), from_pointer("metal", None)):
        READERS[read](t, stream)


def test_the_host_waits_for_the_queue() -> None:
    for make in IMPORTS:
        log: Log = []
        make(log).synchronize()
        assert log == [("earlier", "wait")]
    log = []
    from_pointer("oneapi", Queue("earlier", log)).synchronize()
    assert log == [("earlier", "wait")]
    from_pointer("metal", None).synchronize()  # dlbridge knows no streams of it


class Fails(Queue):
    def wait(self) -> None:
        raise RuntimeError(f"no wait in {self.name}")

    def submit_barrier(self, dependent_events: Any = ()) -> Any:
        raise RuntimeError(f"no barrier in {self.name}")


@pytest.mark.parametrize("failing", ["earlier", "later"])
def test_the_exception_of_a_queue_is_raised(failing: str) -> None:
    log: Log = []
    queues = {name: (Fails if name == failing else Queue)(name, log)
              for name in ("earlier", "later")}  # fmt: skip
    p = OfLibrary(queues["earlier"])
    t = dlbridge.from_dlpack(p)
    with pytest.raises(RuntimeError, match=f"no barrier in {failing}"):
        t.__dlpack__(stream=queues["later"])
    with pytest.raises(RuntimeError, match=f"no barrier in {failing}"):
        dlbridge.from_dlpack(t, stream=queues["later"])
    if failing == "earlier":
        with pytest.raises(RuntimeError, match="no wait in earlier"):
            t.synchronize()
    del t
    gc.collect()
    assert p.calls == p.exports


def test_other_devices_have_no_queues() -> None:
    log: Log = []
    p = producers.Producer(device=OPENCL)
    t = dlbridge.from_dlpack(p, stream=Queue("earlier", log))
    with pytest.raises(ValueError, match="bad stream"):
        t.__dlpack__(stream=Queue("later", log))
    with pytest.raises(ValueError, match="bad stream"):
        dlbridge.from_dlpack(producers.Producer()).__dlpack__(stream=Queue("later", log))
    assert log == []
