# SPDX-License-Identifier: BSD-3-Clause
"""Calls the extension with arrays of NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from norms import norms


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_norms(make):
    rows = np.random.default_rng(0).random((5, 4), dtype="float32")
    out = norms(make(rows)[::2])
    assert type(out) is type(make(rows))
    np.testing.assert_allclose(out, np.linalg.norm(rows[::2], axis=1), rtol=1e-6)


def test_a_refusal():
    with pytest.raises(TypeError, match=r"norms.*'rows': expected float32\[\*, \*\] on cpu; got"):
        norms(np.zeros(3))
