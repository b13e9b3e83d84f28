# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of dpctl and of dpnp that return to their own library through dlbridge.

Both look up the allocation at `data` and add `byte_offset` themselves, so they must receive both as
they wrote them, also of an empty array.
"""

from __future__ import annotations

import functools
import gc
import importlib
import time
import warnings
from collections.abc import Iterator
from typing import Any, Callable

import pytest

import dlbridge
from dlbridge.tools import abi

MODULES = {"dpctl": "dpctl.tensor", "dpnp": "dpnp.tensor"}  # of the class usm_ndarray

VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "offset": lambda x: x[1:, ::2, 1:3],
    "transposed": lambda x: x[0].T,
    "column": lambda x: x[:, 1, 2],
    "rank 0": lambda x: x[1, 2, 3],
    "backwards": lambda x: x[::-1],
    "backwards from an offset": lambda x: x[1, 2:0:-1, ::-2],
    "empty": lambda x: x[:0],
    "empty at an offset": lambda x: x[1:, 2:2, 3:],
    "empty and backwards": lambda x: x[::-1, 1:1],
}


def tensor_module(library: str) -> Any:
    with warnings.catch_warnings():  # dpctl announces that its arrays move to dpnp
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module(MODULES[library])


def array_of(dpt: Any, view: str, usm_type: str) -> Any:
    whole = dpt.reshape(dpt.arange(24, dtype="int32", usm_type=usm_type), (2, 3, 4))
    return VIEWS[view](whole)


def values_of(dpt: Any, x: Any) -> Any:
    return dpt.asnumpy(x).tolist()


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("view", VIEWS)
def test_own_arrays_return(view: str, usm_type: str, request: pytest.FixtureRequest) -> None:
    dpt = tensor_module(request.module.LIBRARY)
    x = array_of(dpt, view, usm_type)
    t = dlbridge.from_dlpack(x)
    assert t.data_ptr == x._pointer
    y = dpt.from_dlpack(t)
    assert (y._pointer, y.shape, y.dtype) == (x._pointer, x.shape, x.dtype)
    assert (y.strides, y.usm_type, y.sycl_queue.sycl_device) == (
        x.strides, usm_type, x.sycl_device)  # fmt: skip
    expected = values_of(dpt, x)
    del x, t
    gc.collect()
    assert values_of(dpt, y) == expected
    assert values_of(dpt, dpt.from_dlpack(dlbridge.from_dlpack(y))) == expected  # once more


@pytest.mark.parametrize("max_version", [None, (1, 0)])
@pytest.mark.parametrize("requested", [None, (1, 0)])
@pytest.mark.parametrize(
    "view", [each for each in VIEWS if each != "rank 0"]
)  # dpnp marks it as read-only
def test_the_struct_has_the_data_of_the_producer(
    view: str, requested: Any, max_version: Any, request: pytest.FixtureRequest
) -> None:
    """In all four pairs of structs, read with ctypes."""
    dpt = tensor_module(request.module.LIBRARY)
    x = array_of(dpt, view, "device")
    own = abi.read(x.__dlpack__())
    t = dlbridge.from_dlpack(x.__dlpack__(max_version=requested))
    for capsule in (
        t.__dlpack__(max_version=max_version),
        dlbridge.to_dlpack(x, max_version=max_version),
    ):
        passed = abi.read(capsule)
        assert (passed.data, passed.byte_offset) == (own.data, own.byte_offset)
        assert passed.shape == own.shape
    assert own.data != 0
    assert (t.data_ptr, t.byte_offset) == (own.data + own.byte_offset, 0)


# Queues ----------------------------------------------------------------------------------------

# Writes 7 to x once the host has opened the gate. The number of rounds is limited, so that a failed
# test ends.
KERNEL = """
kernel void write_behind_gate(global volatile int* gate, global int* x) {
  for (long i = 0; *gate == 0 && i < 2000000000L; ++i) {
  }
  x[0] = 7;
}
"""


@functools.cache
def all_queues() -> list[Any]:
    """Queues for all tests: Intel's runtime for the CPU may hang when a queue is destroyed while
    other work runs."""
    dpctl = importlib.import_module("dpctl")
    return [dpctl.SyclQueue() for _ in range(4)]


class GatedWrite:
    """An array, and work on its queue that writes to it when the host opens a gate."""

    def __init__(self, dpt: Any) -> None:
        dpctl = importlib.import_module("dpctl")
        memory = importlib.import_module("dpctl.memory").MemoryUSMShared
        program = importlib.import_module("dpctl.program")
        np = importlib.import_module("numpy")
        self.queue, *self.others = all_queues()
        self.complete = dpctl.event_status_type.complete
        gate, elements = memory(4, queue=self.queue), memory(4, queue=self.queue)
        self.gate, self.seen = (np.asarray(each).view("int32") for each in (gate, elements))
        self.gate[0] = self.seen[0] = 0
        self.array = dpt.usm_ndarray((1,), dtype="int32", buffer=elements)
        kernel = program.create_program_from_source(self.queue, KERNEL).get_sycl_kernel(
            "write_behind_gate"
        )
        self.work = self.queue.submit_async(kernel, [gate, elements], [1])

    def waits(self, *queues: Any) -> bool:
        """Whether new work of every queue waits for the write. Opens the gate."""
        events = [queue.submit_barrier() for queue in queues]
        deadline = time.monotonic() + 0.3
        early = False  # whether an event came before the gate was opened
        while not early and time.monotonic() < deadline:
            early = any(event.execution_status == self.complete for event in events)
            time.sleep(0.01)
        self.gate[0] = 1
        for event in events:
            event.wait()
        return not early and int(self.seen[0]) == 7


@pytest.fixture
def write(request: pytest.FixtureRequest) -> Iterator[GatedWrite]:
    gated = GatedWrite(tensor_module(request.module.LIBRARY))
    assert gated.array.sycl_queue == gated.queue
    yield gated
    gated.gate[0] = 1
    gated.work.wait()


def test_the_queue_of_a_consumer_waits(write: GatedWrite) -> None:
    """The Tensor has the queue of the array; none was named."""
    t = dlbridge.from_dlpack(write.array)
    t.__dlpack__(stream=write.others[0])
    assert write.waits(write.others[0])


def test_a_tensor_is_ready_on_the_queue_of_its_import(write: GatedWrite) -> None:
    t = dlbridge.from_dlpack(write.array, stream=write.others[0])
    u = dlbridge.from_dlpack(t, stream=write.others[1])
    u.__dlpack__(stream=write.others[2])
    assert write.waits(*write.others)


@pytest.mark.parametrize("stream", [None, -1])
def test_without_a_queue_a_consumer_does_not_wait(write: GatedWrite, stream: Any) -> None:
    """The control of the two tests above: the gate holds the write, and no other queue."""
    t = dlbridge.from_dlpack(write.array)
    t.__dlpack__(stream=stream)
    assert not write.waits(write.others[0])
