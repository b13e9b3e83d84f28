# SPDX-License-Identifier: BSD-3-Clause
"""cuda.core: its views of CPU memory, which need no driver."""

from __future__ import annotations

import array
from typing import Any

import pytest

import dlbridge
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "cuda.core"
__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

utils: Any = load(LIBRARY).utils
View: Any = utils.StridedMemoryView
NO_STREAM = -1


def line() -> dlbridge.Tensor:
    return dlbridge.as_tensor(array.array("f", [1, 2, 3]))


def test_a_view_by_any_interface() -> None:
    t = line()
    view = View.from_any_interface(t, stream_ptr=NO_STREAM)
    assert (view.ptr, view.shape, view.is_device_accessible) == (t.data_ptr, (3,), False)


def test_an_argument() -> None:
    @utils.args_viewable_as_strided_memory((0,))  # type: ignore[untyped-decorator, unused-ignore]
    def address(x: Any) -> int:
        return int(x.view(NO_STREAM).ptr)

    t = line()
    assert address(t) == t.data_ptr


def test_the_stream_must_be_explicit() -> None:
    with pytest.raises(BufferError, match="stream=None is ambiguous"):
        View.from_dlpack(line(), stream_ptr=None)
