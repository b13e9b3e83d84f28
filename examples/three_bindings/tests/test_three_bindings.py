# SPDX-License-Identifier: BSD-3-Clause
"""One test suite for one C++ core that three extensions bind."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(params=["with_pybind11", "with_nanobind", "plain"])
def filters(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(f"three_bindings.{request.param}")


def test_luma(filters: Any) -> None:
    image = np.full((2, 3, 3), 100, dtype=np.uint8)
    out = filters.luma(image)
    assert type(out) is np.ndarray and out.dtype == np.float32
    np.testing.assert_allclose(out, np.full((2, 3), 100.0), rtol=1e-6)


def test_luma_of_torch(filters: Any) -> None:
    torch = pytest.importorskip("torch")
    out = filters.luma(torch.zeros((1, 2, 3), dtype=torch.uint8))
    assert type(out) is torch.Tensor and out.shape == (1, 2)


def test_scale(filters: Any) -> None:
    pixels = np.ones((2, 2), dtype=np.float32)
    filters.scale(pixels, 3.0)
    filters.scale(image=pixels, factor=0.5)
    assert pixels.tolist() == [[1.5, 1.5], [1.5, 1.5]]


def test_refusals(filters: Any) -> None:
    with pytest.raises(TypeError) as raised:
        filters.luma(np.zeros((2, 3)))
    assert str(raised.value) == (
        "luma(): argument 'image': expected uint8[*, *, 3] on cpu; got float64[2, 3] on cpu: "
        "dtype, rank differ"
    )
    with pytest.raises(TypeError, match=r"expected float32.*writable; got float64"):
        filters.scale(np.zeros((2, 2)), 2.0)


def test_canvas(filters: Any) -> None:
    canvas = filters.Canvas(2, 3)
    pixels = np.from_dlpack(canvas)
    pixels[...] = 1
    filters.scale(canvas, 2.0)
    del canvas
    assert pixels.tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_canvas_in_torch(filters: Any) -> None:
    torch = pytest.importorskip("torch")
    canvas = filters.Canvas(2, 3)
    torch.from_dlpack(canvas).fill_(3)
    assert np.from_dlpack(canvas).tolist() == [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]
    assert canvas.__dlpack_device__() == (1, 0)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'version'"):
        canvas.__dlpack__(version=(1, 0))


def test_canvas_without_memory(filters: Any) -> None:
    with pytest.raises((MemoryError, ValueError)):
        filters.Canvas(1 << 31, 1 << 30)


def test_the_stub_of_nanobind() -> None:
    module = importlib.import_module("three_bindings.with_nanobind")
    stub = Path(module.__file__).with_name("with_nanobind.pyi").read_text()
    assert 'Annotated[SupportsDLPack, "uint8[*, *, 3] on cpu"]' in stub
