# SPDX-License-Identifier: BSD-3-Clause
"""An extension of a previous version beside the present package and an extension of its headers.

The session `previous` compiles image_filter as that version had it, and norms as it is.
"""

from __future__ import annotations

import sys

import image_filter
import norms
import numpy as np
import pytest
import torch

import dlbridge

KINDS = {
    np.ndarray: np.asarray,
    torch.Tensor: torch.from_numpy,
    dlbridge.Tensor: dlbridge.from_dlpack,
}


def pixels() -> np.ndarray:
    return np.arange(12, dtype="float32").reshape(3, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_results_pass_from_one_to_the_other(kind):
    blurred = image_filter.box_blur(KINDS[kind](pixels()), radius=0)
    lengths = norms.norms(blurred)
    assert type(blurred) is kind and type(lengths) is kind
    expected = np.linalg.norm(pixels(), axis=1)
    np.testing.assert_allclose(np.from_dlpack(lengths), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_both_write_into_and_release_the_same_memory(kind):
    array = pixels()
    held = sys.getrefcount(array)
    image_filter.gain(KINDS[kind](array), factor=2)
    assert (array == 2 * pixels()).all()
    for _ in range(100):
        norms.norms(KINDS[kind](array))
        image_filter.box_blur(KINDS[kind](array))
    assert sys.getrefcount(array) == held


@pytest.mark.parametrize("call", (image_filter.box_blur, norms.norms))
def test_each_refuses_with_reasons_of_its_own(call):
    with pytest.raises(TypeError, match=r"expected float32\[\*, \*\] on cpu; got int64\[2\]"):
        call(np.arange(2))
