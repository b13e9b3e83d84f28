# SPDX-License-Identifier: BSD-3-Clause
"""Paddle: the exchanges of the table, and tensors whose operations it records."""

from __future__ import annotations

from typing import Any

import pytest

import extension
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is
from rows import load

LIBRARY = "paddle"

__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

paddle: Any = load(LIBRARY)


def test_no_function_writes_where_a_gradient_is_recorded() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(TypeError) as raised:
        extension.scale(x, 2.0)
    assert "stop_gradient=False while gradients are enabled" in str(raised.value)
    assert "Call the function under paddle.no_grad(), or pass x.detach()" in str(raised.value)
    extension.scale(x.detach(), 2.0)
    with paddle.no_grad():
        extension.scale(x, 2.0)
    assert x.tolist() == [4, 8]
