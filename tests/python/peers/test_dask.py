# SPDX-License-Identifier: BSD-3-Clause
"""Dask: blocks that are Tensors, computed and sent to another process by pickle protocol 5."""

from __future__ import annotations

import array
from typing import Any

import pytest

import dlbridge
from dlbridge.tools.libraries import values_in
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "dask"
__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

dask: Any = load(LIBRARY)
VALUES = [float(i) for i in range(6)]


def line() -> dlbridge.Tensor:
    return dlbridge.as_tensor(array.array("f", VALUES))


def values(t: Any) -> Any:
    return values_in(t.__dlpack__(max_version=(1, 0)))


def doubled(t: dlbridge.Tensor) -> dlbridge.Tensor:
    return dlbridge.as_tensor(array.array("f", [2 * x for x in values(t)]))


def test_tasks_accept_and_return_tensors() -> None:
    t = line()
    delayed = dask.delayed(t)
    assert dask.compute(delayed)[0].data_ptr == t.data_ptr
    assert values(dask.delayed(doubled)(delayed).compute()) == [2 * x for x in VALUES]


def test_blocks_become_tensors() -> None:
    import numpy

    x = dask.array.from_array(numpy.arange(6, dtype="f4"), chunks=(4,))
    # Without meta, Dask slices an empty Tensor, and calls its astype if the dtype is a str.
    tensors = x.map_blocks(dlbridge.from_dlpack, meta=numpy.empty(0, "f4"))
    blocks = dask.compute(*tensors.to_delayed())
    assert [type(block) for block in blocks] == [dlbridge.Tensor] * 2
    assert [values(block) for block in blocks] == [VALUES[:4], VALUES[4:]]
    assert tensors.map_blocks(numpy.asarray, dtype="f4").sum().compute() == 15


def test_a_tensor_is_a_block() -> None:
    import numpy

    x = dask.array.from_delayed(dask.delayed(line()), (6,), "f4")
    assert values(x.compute()) == VALUES
    assert x.map_blocks(numpy.asarray).max().compute() == 5


def test_an_array_is_not_a_producer() -> None:
    with pytest.raises(TypeError, match=r"not a DLPack producer: .* got one of type Array"):
        dlbridge.from_dlpack(dask.array.ones(3))


def test_to_a_worker_and_back() -> None:
    distributed: Any = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        t = line()
        assert values(client.submit(dlbridge.as_tensor, t).result()) == VALUES
        result = client.submit(_double_on_worker, client.scatter(t)).result()
        assert (values(result), result.dtype) == ([2 * x for x in VALUES], "float32")


def _double_on_worker(t: dlbridge.Tensor) -> dlbridge.Tensor:
    """Doubles a tensor. It imports modules itself, as a worker cannot import this file."""
    import array

    import dlbridge

    return dlbridge.as_tensor(array.array("f", [2 * x for x in memoryview(t)]))
