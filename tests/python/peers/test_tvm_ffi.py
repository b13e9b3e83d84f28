# SPDX-License-Identifier: BSD-3-Clause
"""tvm-ffi: the exchanges of the table, and a Tensor as an argument of its functions."""

from __future__ import annotations

from typing import Any

import pytest

import ctypes_library
import dlbridge
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "tvm_ffi"
__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

tvm_ffi: Any = load(LIBRARY)


def test_an_argument_of_a_function() -> None:
    source = ctypes_library.make([1.0, 2.0], "float32")
    t = dlbridge.from_dlpack(source)
    x = tvm_ffi.get_global_func("testing.echo")(t)
    assert (type(x), x.data_ptr) == (dlbridge.Tensor, source.address)  # by the exchange table
    del x, t
    assert source.frees == [1]


@pytest.mark.parametrize(
    "requirement, key",
    [("require_alignment", slice(1, 2)), ("require_contiguous", slice(None, None, 2))],
    ids=["aligned", "contiguous"],
)
def test_requirements_that_a_tensor_does_not_meet(requirement: str, key: slice) -> None:
    source = ctypes_library.index(ctypes_library.make([1.0] * 4, "float32"), key)
    value = 64 if requirement == "require_alignment" else True
    with pytest.raises(RuntimeError):
        tvm_ffi.from_dlpack(dlbridge.from_dlpack(source), **{requirement: value})
    assert source.frees == [1]
