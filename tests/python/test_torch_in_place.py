# SPDX-License-Identifier: BSD-3-Clause
"""Methods of PyTorch that change the extents of a tensor in place, also in the structs that it
exported: what was imported before keeps its own extents."""

from __future__ import annotations

import gc
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dlbridge
from bindings import MODULES

peer: Any = torch


def twice(x: torch.Tensor) -> torch.Tensor:
    return x.unsqueeze_(0).unsqueeze_(0)


CHANGES: list[Callable[[torch.Tensor], Any]] = [torch.Tensor.t_, twice, torch.Tensor.squeeze_]


class ByProtocol:
    """A producer without an exchange table."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x = x

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


class Legacy(ByProtocol):
    def __dlpack__(self) -> Any:  # type: ignore[override]
        return self.x.__dlpack__()


WAYS: list[Callable[[torch.Tensor], Any]] = [lambda x: x, ByProtocol, Legacy]


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "shared"])
@pytest.mark.parametrize("change", CHANGES, ids=["t_", "unsqueeze_", "squeeze_"])
@pytest.mark.parametrize("way", WAYS, ids=["table", "protocol", "legacy"])
def test_a_tensor_keeps_its_extents(
    way: Callable[[torch.Tensor], Any], change: Callable[[torch.Tensor], Any], is_shared: bool
) -> None:
    x = torch.arange(6.0).reshape(1, 6) if change is torch.Tensor.squeeze_ else torch.ones(2, 3)
    shape, values = tuple(x.shape), x.tolist()
    t = dlbridge.from_dlpack(way(x))
    earlier: list[Any] = []
    if is_shared:
        earlier = [dlbridge.from_dlpack(t), dlbridge.from_dlpack(t.__dlpack__(max_version=(1, 3)))]
    change(x)
    assert tuple(x.shape) != shape or change is torch.Tensor.t_
    assert t.shape == shape
    exported = [t.__dlpack__(max_version=(1, 3)), t.__dlpack__()]
    for each in (t, t[...], *earlier, *map(dlbridge.from_dlpack, exported)):
        assert each.shape == shape
        assert np.asarray(each).tolist() == np.from_dlpack(each).tolist() == values
        assert peer.from_dlpack(each).tolist() == values
        assert memoryview(each).shape == shape
        assert len(each) == shape[0]


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "shared"])
@pytest.mark.parametrize("rank", [8, 9, 40])
def test_memory_of_other_extents_is_not_read(rank: int, is_shared: bool) -> None:
    x = torch.zeros((1,) * (rank - 1) + (4,))
    t = dlbridge.from_dlpack(x)
    shared = dlbridge.from_dlpack(t) if is_shared else t
    x.squeeze_()
    del x
    gc.collect()
    others = [torch.zeros((3,) * 3 + (1,) * (rank - 3)) for _ in range(50)]
    for each in (t, shared, t[...]):
        assert each.shape == (1,) * (rank - 1) + (4,)
    assert len(others) == 50


@pytest.mark.parametrize("way", WAYS, ids=["table", "protocol", "legacy"])
@pytest.mark.parametrize("name", MODULES)
def test_an_extension_keeps_the_extents(name: str, way: Callable[[torch.Tensor], Any]) -> None:
    extension = importlib.import_module(name)
    x, y = torch.zeros(2, 3), torch.zeros(2, 3)
    keeper = extension.keep(way(x), way(y))
    x.t_()
    y.unsqueeze_(0)
    del x, y
    gc.collect()
    assert keeper.typed_extents() == [2, 3]
    assert keeper.any_extents() == [2, 3]


@pytest.mark.parametrize("rank", [0, 1, 8, 9, 40])
@pytest.mark.parametrize("name", MODULES)
def test_an_extension_keeps_extents_of_any_rank(name: str, rank: int) -> None:
    """More tensors at once than the extension keeps memory for, and again in that memory."""
    extension = importlib.import_module(name)
    for _ in range(3):
        shapes = [(1,) * (rank - 1) + (extent,) * min(rank, 1) for extent in range(2, 9)]
        tensors = [torch.zeros(shape) for shape in shapes]
        keepers = [extension.keep(torch.zeros(2, 3), x) for x in tensors]
        for x in tensors:
            x.squeeze_()
        del tensors
        gc.collect()
        assert [keeper.any_extents() for keeper in keepers] == [list(shape) for shape in shapes]
        assert all(keeper.typed_extents() == [2, 3] for keeper in keepers)
        del keepers[::2]
        assert [keeper.any_extents() for keeper in keepers] == [list(each) for each in shapes[1::2]]
