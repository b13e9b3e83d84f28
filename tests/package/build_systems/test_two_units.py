# SPDX-License-Identifier: BSD-3-Clause
"""Calls both units of the extension."""

from __future__ import annotations

import numpy as np
import pytest
from two_units import norms, scale


def test_both_units():
    rows = np.arange(12, dtype="float32").reshape(4, 3)
    out = norms(rows)
    assert type(out) is np.ndarray
    np.testing.assert_allclose(out, np.linalg.norm(rows, axis=1), rtol=1e-6)
    scale(out, 2)
    np.testing.assert_allclose(out, 2 * np.linalg.norm(rows, axis=1), rtol=1e-6)


def test_a_refusal():
    with pytest.raises(TypeError, match=r"norms.*'rows': expected float32\[\*, \*\] on cpu; got"):
        norms(np.zeros(3))
