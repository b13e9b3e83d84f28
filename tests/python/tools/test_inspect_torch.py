"""Lazy operations of PyTorch, which its exports do not include."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import dlbridge


def verdict(x: Any, consumer: str) -> str:
    (found,) = (v for v in dlbridge.inspect(x).verdicts if v.consumer == consumer)
    return found.outcome


def test_a_view_that_is_negated_lazily() -> None:
    lazy = torch.tensor([1 + 2j, 3 + 4j]).conj().imag
    found = dlbridge.inspect(lazy)
    assert found.subject.marks == ("negated",)
    assert found.tensor is not None and found.tensor.sample == ("2", "4")
    assert lazy.tolist() == [-2, -4]
    assert not found.sound and verdict(lazy, "numpy") == "wrong"
    assert np.from_dlpack(lazy).tolist() == [2, 4]


def test_what_it_refuses_and_its_table_gives() -> None:
    for tensor in (torch.ones(2, requires_grad=True), torch.tensor([1j]).conj()):
        found = dlbridge.inspect(tensor)
        assert found.response("bare").raised == "BufferError"  # type: ignore[union-attr]
        assert found.response("give").outcome == "gave"  # type: ignore[union-attr]
        assert any("exchange table exports it" in odd.what for odd in found.oddities)
        assert verdict(tensor, "numpy") == "refuses"
