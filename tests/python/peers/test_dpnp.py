# SPDX-License-Identifier: BSD-3-Clause
"""Intel's XPU arrays (kDLOneAPI), on a SYCL device that is a CPU: exchanged both ways, not read."""

from __future__ import annotations

import gc
from typing import Any, Callable

import dpctl
import dpnp
import dpnp.tensor as dpt
import numpy as np
import pytest

import dlbridge
import producers
from exchanges import test_exchange, test_the_table_names_what_there_is
from usm_arrays import (
    VIEWS,
    test_a_tensor_is_ready_on_the_queue_of_its_import,
    test_own_arrays_return,
    test_the_queue_of_a_consumer_waits,
    test_the_struct_has_the_data_of_the_producer,
    test_without_a_queue_a_consumer_does_not_wait,
    write,
)

LIBRARY = "dpnp"
__all__ = [  # run in this file
    "test_a_tensor_is_ready_on_the_queue_of_its_import",
    "test_exchange",
    "test_own_arrays_return",
    "test_the_queue_of_a_consumer_waits",
    "test_the_struct_has_the_data_of_the_producer",
    "test_the_table_names_what_there_is",
    "test_without_a_queue_a_consumer_does_not_wait",
    "write",
]

ONEAPI = (14, 0)


def of_dpnp(shape: tuple[int, ...], dtype: str) -> Any:
    return dpnp.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def of_usm(shape: tuple[int, ...], dtype: str) -> Any:
    return dpt.reshape(dpt.arange(int(np.prod(shape)), dtype=dtype), shape)


def usm(x: Any) -> Any:
    return x if isinstance(x, dpt.usm_ndarray) else x.get_array()


def import_like(x: Any, t: Any) -> Any:
    """Imports a Tensor with the library of x."""
    return dpt.from_dlpack(t) if isinstance(x, dpt.usm_ndarray) else dpnp.from_dlpack(t)


Maker = Callable[[tuple[int, ...], str], Any]
makers = pytest.mark.parametrize("make", [of_dpnp, of_usm])


@makers
@pytest.mark.parametrize("view", VIEWS)
def test_export_and_import_without_a_copy(make: Maker, view: str) -> None:
    """dpnp exports the base with a byte offset. The Tensor has the address with the offset added,
    and gives both back."""
    x = VIEWS[view](make((2, 3, 4), "float32"))
    t = dlbridge.from_dlpack(x)
    assert (t.__dlpack_device__(), str(t.device)) == (ONEAPI, "oneapi:0")
    assert (t.shape, t.dtype) == (x.shape, "float32")
    assert t.data_ptr == usm(x)._pointer
    y = import_like(x, t)
    assert type(y) is type(x)
    assert usm(y)._pointer == usm(x)._pointer
    assert dpnp.asnumpy(y).tolist() == dpnp.asnumpy(x).tolist()


@makers
def test_arrays_that_dpnp_does_not_import(make: Maker) -> None:
    """dpnp searches the memory above `data`, and refuses NULL. Another producer may add the offset
    to the address, as most do. If this fails, dpnp has been corrected."""
    x = make((2, 3), "int32")
    p = producers.Producer(device=ONEAPI, data=usm(x)._pointer + 12, dtype=(0, 32, 1),
                           strides=(-3, 1))  # fmt: skip
    with pytest.raises(ValueError, match="can not accommodate"):
        import_like(x, dlbridge.from_dlpack(p))
    p = producers.Producer(device=ONEAPI, data=0, dtype=(0, 32, 1), shape=(0, 3))
    with pytest.raises(TypeError, match="__cinit__"):
        import_like(x, dlbridge.from_dlpack(p))


@makers
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float32", "complex64"])
def test_dtypes(make: Maker, dtype: str) -> None:
    x = make((2, 3), dtype)
    t = dlbridge.from_dlpack(x)
    assert t.dtype == dtype
    assert str(import_like(x, t).dtype) == dtype


@makers
def test_memory_is_shared(make: Maker) -> None:
    x = make((2, 3), "int32")
    y = import_like(x, dlbridge.from_dlpack(x))
    y[1, 2] = 77
    assert int(x[1, 2]) == 77


@makers
def test_freed_once(make: Maker) -> None:
    """A foreign tensor on SYCL's memory, imported by dpnp through a Tensor."""
    x = make((2, 3), "int32")
    p = producers.Producer(device=ONEAPI, data=usm(x)._pointer, dtype=(0, 32, 1))
    y = import_like(x, dlbridge.from_dlpack(p))
    gc.collect()
    assert (p.calls, usm(y)._pointer) == ([0], usm(x)._pointer)
    assert dpnp.asnumpy(y).tolist() == [[0, 1, 2], [3, 4, 5]]
    del y
    gc.collect()
    assert p.calls == p.exports == [1]


@makers
def test_the_memory_outlives_the_array(make: Maker) -> None:
    t = dlbridge.from_dlpack(make((2, 3), "int32"))
    gc.collect()
    assert dpnp.asnumpy(dpnp.from_dlpack(t)).tolist() == [[0, 1, 2], [3, 4, 5]]


@makers
def test_the_producer_moves_the_memory(make: Maker) -> None:
    x = make((2, 3, 4), "float32")
    for t in (dlbridge.from_dlpack(x, device="cpu"), dlbridge.as_tensor(x, device="cpu")):
        assert t.device == "cpu"
        assert np.asarray(t).tolist() == dpnp.asnumpy(x).tolist()
    with pytest.raises(dlbridge.CopyForbiddenError, match="one from oneapi:0 to cpu") as raised:
        dlbridge.from_dlpack(x, device="cpu", copy=False)
    assert "without a copy" in str(raised.value.__cause__)  # dpnp's message
    with pytest.raises(BufferError, match=r"^expected oneapi:0; got cpu: ") as out_of_reach:
        dlbridge.from_dlpack(np.ones(3), device="oneapi:0")
    assert "unsupported device" in str(out_of_reach.value.__cause__)  # NumPy's message


@makers
def test_host_access_is_refused(make: Maker) -> None:
    t = dlbridge.from_dlpack(make((2, 3), "float32"))
    for access in (memoryview, np.asarray, np.from_dlpack):
        with pytest.raises((BufferError, RuntimeError)):
            access(t)
    with pytest.raises(BufferError, match="memory that the CPU can read"):
        t.__dlpack__(dl_device=(1, 0))


@makers
def test_a_queue_is_passed_to_the_producer(make: Maker) -> None:
    x = make((2, 3), "float32")
    t = dlbridge.from_dlpack(x, stream=dpctl.SyclQueue(x.sycl_device))
    assert t.data_ptr == usm(x)._pointer
    with pytest.raises(TypeError, match="SyclQueue"):  # dpnp's message
        dlbridge.from_dlpack(x, stream=1)


def test_dpnp_imports_host_memory() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = dpnp.from_dlpack(dlbridge.from_dlpack(a))
    assert dpnp.asnumpy(x).tolist() == a.tolist()
