# SPDX-License-Identifier: BSD-3-Clause
"""Calls the extension with arrays of NumPy and PyTorch, as README.md does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from degrees import fahrenheit


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_layouts(make):
    celsius = np.random.default_rng(0).random((5, 4), dtype="float32")
    out = fahrenheit(make(celsius)[::2])
    assert type(out) is type(make(celsius))
    np.testing.assert_allclose(out, celsius[::2] * 1.8 + 32, rtol=1e-6)


def test_calls():
    # [calls]
    a = fahrenheit(np.array([0.0, 100.0]))
    assert repr(a) == "array([ 32., 212.], dtype=float32)"  # NumPy in, NumPy out
    x = fahrenheit(torch.tensor([0.0, 100.0]))
    assert repr(x) == "tensor([ 32., 212.])"  # PyTorch in, PyTorch out
    # [/calls]


def test_a_refusal():
    with pytest.raises(TypeError, match=r"fahrenheit\(\): argument 'celsius': .* complex64\[3\]"):
        fahrenheit(np.zeros(3, "complex64"))
