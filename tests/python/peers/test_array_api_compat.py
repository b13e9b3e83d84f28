# SPDX-License-Identifier: BSD-3-Clause
"""array-api-compat: its namespace for NumPy, and its functions on a Tensor."""

from __future__ import annotations

import array
from typing import Any

import pytest

import dlbridge
from exchanges import test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "array_api_compat"
__all__ = ["test_exchange", "test_the_table_names_what_there_is"]

compat: Any = load(LIBRARY)


def test_a_tensor_has_no_namespace() -> None:
    """A Tensor has no functions of the array API; its shape and device can be read."""
    t = dlbridge.as_tensor(array.array("f", [1, 2, 3]))
    assert not compat.is_array_api_obj(t)
    with pytest.raises(TypeError, match="not a supported array type"):
        compat.array_namespace(t)
    assert (compat.size(t), compat.device(t)) == (3, "cpu")
