# SPDX-License-Identifier: BSD-3-Clause
"""MXNet, which exchanges raw capsules only: for reading, for writing, and on foreign memory."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import ctypes_library
import dlbridge
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "mxnet"
__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

mx: Any = load(LIBRARY)


@pytest.mark.parametrize("method", ["to_dlpack_for_read", "to_dlpack_for_write"])
def test_both_capsules_share_the_array(method: str) -> None:
    x = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    t = dlbridge.from_dlpack(getattr(x, method)())
    ctypes.c_float.from_address(t.data_ptr + 4).value = 20
    assert x.asnumpy().tolist() == [[1, 20, 3], [4, 5, 6]]
    x[1, 0] = 40
    x.wait_to_read()
    values: Any = memoryview(t).tolist()
    assert values == [[1, 20, 3], [40, 5, 6]]


def test_it_computes_on_foreign_memory() -> None:
    source = ctypes_library.make([1.0, 2.0, 3.0], "float32")
    x = mx.nd.from_dlpack(dlbridge.to_dlpack(dlbridge.from_dlpack(source)))
    x *= 2
    x.wait_to_read()
    assert list((ctypes.c_float * 3).from_address(source.address)) == [2, 4, 6]


def test_an_array_is_not_a_producer() -> None:
    with pytest.raises(TypeError, match=r"not a DLPack producer: .* got one of type NDArray"):
        dlbridge.from_dlpack(mx.nd.ones(3))
