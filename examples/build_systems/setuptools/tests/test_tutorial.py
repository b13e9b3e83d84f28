# SPDX-License-Identifier: BSD-3-Clause
"""The code of docs/tutorials/first_extension.md."""

from __future__ import annotations

# [imports]
import numpy as np
import torch
from norms import norms

# [/imports]


def test_calls():
    # [call]
    a = np.array([[3, 4], [6, 8]], dtype="float32")
    assert isinstance(norms(a), np.ndarray)
    assert norms(a).tolist() == [5, 10]

    x = torch.from_numpy(a)
    assert isinstance(norms(x), torch.Tensor)
    assert norms(x.T).tolist() == norms(x.T.contiguous()).tolist()  # any strides, without a copy
    # [/call]


def test_a_refusal(capsys):
    # [refusal]
    try:
        norms(np.zeros((2, 3, 4)))
    except TypeError as error:
        print(error)
    # [/refusal]
    assert capsys.readouterr().out == (
        "norms(): argument 'rows': expected float32[*, *] on cpu; "
        "got float64[2, 3, 4] on cpu: dtype, rank differ\n"
    )
