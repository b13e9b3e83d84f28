# SPDX-License-Identifier: BSD-3-Clause
"""PyArrow: the exchanges of Tensors, and its Arrays, which are immutable and one-dimensional."""

from __future__ import annotations

import array
import gc
from typing import Any

import pytest

import ctypes_library
import dlbridge
from dlbridge.tools import abi
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "pyarrow"
__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

pa: Any = load(LIBRARY)


def test_an_array_on_foreign_memory() -> None:
    source = ctypes_library.make([1.0, 2.0, 3.0], "float32")
    t = dlbridge.from_dlpack(source)
    x = pa.Array.from_dlpack(t)
    assert (x.buffers()[1].address, x.to_pylist()) == (t.data_ptr, [1, 2, 3])
    del t
    gc.collect()
    assert (source.frees, x.to_pylist()) == ([0], [1, 2, 3])
    del x
    gc.collect()
    assert source.frees == [1]


@pytest.mark.parametrize(
    "source",
    [
        ctypes_library.make([[1.0, 2.0]], "float32"),
        ctypes_library.index(ctypes_library.make([1.0] * 3, "float32"), slice(None, None, 2)),
    ],
    ids=["rank 2", "stepped"],
)
def test_other_layouts_are_refused(source: Any) -> None:
    with pytest.raises(pa.ArrowInvalid, match="Only contiguous one dimensional tensor"):
        pa.Array.from_dlpack(dlbridge.from_dlpack(source))
    gc.collect()
    assert source.frees == [1]


def test_a_slice_of_an_array() -> None:
    x = pa.array(range(6), pa.int32())
    t = dlbridge.from_dlpack(x[2:5])
    assert t.data_ptr == x.buffers()[1].address + 8
    assert (memoryview(t).tolist(), t.readonly) == ([2, 3, 4], True)


def test_arrow_releases_its_memory() -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    t = dlbridge.from_dlpack(pa.array(range(1000), pa.int64()))
    assert pa.total_allocated_bytes() > before
    del t
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_a_column_of_tensors() -> None:
    import numpy

    source = numpy.arange(24.0).reshape(2, 3, 4)
    t = dlbridge.from_dlpack(pa.FixedShapeTensorArray.from_numpy_ndarray(source))
    assert (t.shape, t.dtype, t.readonly) == ((2, 3, 4), "float64", True)
    values: Any = memoryview(t).tolist()
    assert values == source.tolist()


@pytest.mark.filterwarnings("ignore:Exporting an unversioned DLPack capsule")  # the second request
@pytest.mark.parametrize(
    "values, text",
    [([1, None], "arrays with no nulls"), (["a"], "string"), ([[1]], "list"), ([True], "boolean")],
)
def test_what_arrow_refuses_to_export(values: Any, text: str) -> None:
    with pytest.raises(pa.ArrowTypeError, match=text):
        dlbridge.from_dlpack(pa.array(values))


def test_a_chunked_array_is_not_a_producer() -> None:
    with pytest.raises(TypeError, match=r"not a DLPack producer: .*ChunkedArray"):
        dlbridge.from_dlpack(pa.chunked_array([[1], [2]]))


def test_a_read_only_tensor_stays_read_only() -> None:
    x = pa.Tensor.from_dlpack(dlbridge.as_tensor(array.array("f", [1, 2]), readonly=True))
    assert not x.is_mutable
    assert abi.read(x.__dlpack__(max_version=(1, 3))).flags & abi.READ_ONLY
