# SPDX-License-Identifier: BSD-3-Clause
"""JAX: the exchanges of the table, and arrays that never change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dlbridge
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from immutable import test_a_copy_is_writable, test_an_array_is_read_only
from rows import load

LIBRARY = "jax"

__all__ = [
    "test_a_copy_is_writable",
    "test_an_array_is_read_only",
    "test_comparison",
    "test_exchange",
    "test_the_table_names_what_there_is",
]

jax: Any = load(LIBRARY)


def test_jax_takes_its_own_array_and_views_of_it() -> None:
    """JAX before 0.12 requests a legacy struct, which has no flag for read-only memory."""
    x = jax.numpy.arange(6.0)
    t = dlbridge.from_dlpack(x)
    assert jax.numpy.from_dlpack(t).tolist() == [0, 1, 2, 3, 4, 5]
    assert jax.numpy.from_dlpack(t[2:]).tolist() == [2, 3, 4, 5]
    assert jax.numpy.from_dlpack(t.reshape(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_memory_that_the_caller_marked_as_read_only_is_not_exported_as_legacy() -> None:
    t = dlbridge.from_dlpack(np.ones(3), readonly=True)
    with pytest.raises(BufferError, match="a legacy tensor has no read-only flag"):
        t.__dlpack__()
