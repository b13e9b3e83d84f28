# SPDX-License-Identifier: BSD-3-Clause
"""Lazy operations of PyTorch, which its exports do not include."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import dlbridge


def verdict(x: Any, consumer: str) -> str:
    (row,) = (v for v in dlbridge.inspect(x).verdicts if v.consumer == consumer)
    return row.outcome


def test_a_view_that_is_negated_lazily() -> None:
    lazy = torch.tensor([1 + 2j, 3 + 4j]).conj().imag
    inspection = dlbridge.inspect(lazy)
    assert inspection.subject.marks == ("negated",)
    assert inspection.tensor is not None and inspection.tensor.sample == ("2", "4")
    assert lazy.tolist() == [-2, -4]
    assert not inspection.sound and verdict(lazy, "numpy") == "wrong"
    assert np.from_dlpack(lazy).tolist() == [2, 4]


def test_its_table_exports_what_dlpack_refuses() -> None:
    for tensor in (torch.ones(2, requires_grad=True), torch.tensor([1j]).conj()):
        inspection = dlbridge.inspect(tensor)
        assert inspection.response("bare").raised == "BufferError"  # type: ignore[union-attr]
        assert inspection.response("give").outcome == "gave"  # type: ignore[union-attr]
        assert any("exchange table exports it" in odd.what for odd in inspection.oddities)
        assert verdict(tensor, "numpy") == "refuses"
        assert "every" not in str(inspection)
    refused = dlbridge.inspect(torch.ones(2, requires_grad=True))
    assert refused.sound  # no standard forbids it
    assert [odd.level for odd in refused.oddities if "exchange table" in odd.what] == ["risk"]


def test_integers_below_a_byte_are_exported_as_bytes() -> None:
    inspection = dlbridge.inspect(torch.zeros(8, dtype=torch.uint8).view(torch.uint4))  # type: ignore[attr-defined]
    assert any("the array's is uint4" in odd.what for odd in inspection.oddities)
    assert not inspection.sound


def test_a_tensor_whose_memory_was_released() -> None:
    """PyTorch would copy from NULL."""
    x = torch.zeros(3)
    x.untyped_storage().resize_(0)
    assert "NULL" in str(dlbridge.inspect(x))
