# SPDX-License-Identifier: BSD-3-Clause
"""A function in the limited API, whose module serves every later Python."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from cython_filter import limited


def test_total_of_any_strides():
    x = np.arange(6, dtype="float32")
    assert limited.total(x[::-2]) == limited.total(torch.from_numpy(x)[1::2]) == 9


class Legacy:
    """A producer that ignores max_version, as DLPack 1.0 permits."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, max_version=None):
        return self.array.__dlpack__()


def test_total_of_a_legacy_tensor():
    assert limited.total(Legacy(np.arange(4, dtype="float32"))) == 6


def test_refusals():
    with pytest.raises(BufferError, match=r"expected float32\[\*\] on cpu; got float64\[2, 3\]"):
        limited.total(np.zeros((2, 3)))


def test_nothing_leaks():
    x = np.zeros(3, "float32")
    wrong = np.zeros(3)
    counts = [sys.getrefcount(each) for each in (x, wrong)]
    for _ in range(100):
        limited.total(x)
        limited.total(Legacy(x))
        with pytest.raises(BufferError):
            limited.total(wrong)
        with pytest.raises(BufferError):
            limited.total(Legacy(wrong))
    assert [sys.getrefcount(each) for each in (x, wrong)] == counts


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no suffix for the limited API")
def test_the_module_is_of_the_limited_api():
    assert Path(limited.__file__).name == "limited.abi3.so"
