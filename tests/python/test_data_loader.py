# SPDX-License-Identifier: BSD-3-Clause
# mypy: disable-error-code="attr-defined, type-arg"
"""Tensors from the workers of PyTorch's DataLoader, as docs/howto/data_loader.md has them."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import dlbridge

# JAX, if another test of this process has imported it, and CPython from 3.12 on warn of a fork
# beside other threads. The workers use no library that has such threads.
pytestmark = pytest.mark.filterwarnings(r"ignore:.*fork\(\)")


def decode(index: int) -> dlbridge.Tensor:
    """Stands for a function of an extension, which returns memory of C++."""
    frame = dlbridge.empty((2, 3), "float32")
    np.from_dlpack(frame)[...] = index
    return frame


# [dataset]
class Frames(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_dlpack(decode(index))  # the memory of C++, without a copy


# [/dataset]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_batches(method: str) -> None:
    # [loader]
    loader = DataLoader(Frames(), batch_size=4, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert [tuple(batch.shape) for batch in batches] == [(4, 2, 3), (4, 2, 3)]
    assert [batch[:, 0, 0].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # [/loader]


# [collate]
def collate(frames: list[dlbridge.Tensor]) -> torch.Tensor:
    return torch.stack([torch.from_dlpack(frame) for frame in frames])


# [/collate]


class RawFrames(Frames):
    def __getitem__(self, index: int) -> Any:
        return decode(index)


def test_tensors_of_dlbridge_need_a_collate_function() -> None:
    with pytest.raises(TypeError, match=r"found <class 'dlbridge\.Tensor'>"):
        list(DataLoader(RawFrames(), batch_size=4))
    loader = DataLoader(RawFrames(), batch_size=4, num_workers=1, collate_fn=collate)
    assert [batch[:, 0, 0].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]
