# SPDX-License-Identifier: BSD-3-Clause
"""Tests of a library whose arrays never change. The module of a library imports them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dlbridge
from rows import LIBRARIES

WAYS = [dlbridge.from_dlpack, dlbridge.as_tensor]


def _array(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    row = LIBRARIES[request.module.LIBRARY]
    module = row.load()
    assert row.array is not None
    return row, module, row.array(module, [[1.0, 2.0], [3.0, 4.0]], "float32")


@pytest.mark.parametrize("way", WAYS)
def test_an_array_is_read_only(way: Any, request: pytest.FixtureRequest) -> None:
    row, module, x = _array(request)
    t = way(x)
    for each in (t, t[1:], t.T, t[0, 0]):
        assert each.readonly
        assert not np.asarray(each).flags.writeable
        assert not np.from_dlpack(each).flags.writeable
        assert memoryview(each).readonly
        # The library hands out legacy structs, which have no flag for that.
        assert dlbridge.from_dlpack(each.__dlpack__()).data_ptr == each.data_ptr
    assert dlbridge.from_dlpack(dlbridge.to_dlpack(x)).data_ptr == t.data_ptr
    with pytest.raises(ValueError, match="read-only"):
        np.from_dlpack(t)[0] = 9
    assert row.values(module, x) == [[1, 2], [3, 4]]


@pytest.mark.parametrize("keywords", [{}, {"device": "cpu"}], ids=["copy", "to cpu"])
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_writable(
    way: Any, keywords: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    row, module, x = _array(request)
    t = way(x, copy=True, **keywords)
    assert not t.readonly
    assert t.data_ptr != dlbridge.from_dlpack(x).data_ptr
    np.from_dlpack(t)[0] = 9
    assert t.tolist() == [[9, 9], [3, 4]]
    assert row.values(module, x) == [[1, 2], [3, 4]]
