# SPDX-License-Identifier: BSD-3-Clause
"""Libraries that get a Tensor: the same result as of the ndarray, or a refusal that says why."""

from __future__ import annotations

import importlib
import os
import warnings

import pytest
from consumers_of_tensors import ARRAYS, ROWS, Row

import dlbridge

# The session `consumers` installs all of them, and requires each.
REQUIRED = os.environ.get("DLBRIDGE_REQUIRE_CONSUMERS", "")


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_tensor_in_place_of_an_array(row: Row) -> None:
    try:
        module = importlib.import_module(row.library)
    except ImportError:
        if REQUIRED:
            raise
        pytest.skip(f"requires {row.library}")
    array = ARRAYS[row.array]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = row.use(module, array)
        tensor = dlbridge.from_dlpack(array)
        if row.refuses:
            with pytest.raises(Exception) as raised:
                row.use(module, tensor)
            assert row.refuses in str(raised.value)
        else:
            assert row.use(module, tensor) == expected


def test_twenty_libraries_are_covered() -> None:
    assert len({row.library for row in ROWS} - {"numpy", "jax.numpy"}) >= 20
