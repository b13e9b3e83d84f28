# SPDX-License-Identifier: BSD-3-Clause
"""The filters, called with arrays of three libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import image_filter
import numpy as np
import pytest
import torch

import dlbridge

LIBRARIES = {"numpy": np.asarray, "torch": torch.from_numpy, "dlbridge": dlbridge.from_dlpack}
KINDS = {"numpy": np.ndarray, "torch": torch.Tensor, "dlbridge": dlbridge.Tensor}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


def test_results_are_of_the_callers_library(library):
    pixels = np.arange(24, dtype="uint8").reshape(2, 4, 3)
    out = image_filter.luma(LIBRARIES[library](pixels))
    assert type(out) is KINDS[library]
    expected = pixels @ np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(np.from_dlpack(out), expected, rtol=1e-5)


def test_the_callers_library_allocates_the_result():
    # [call]
    image = np.zeros((480, 640, 3), dtype="uint8")
    assert isinstance(image_filter.luma(image), np.ndarray)
    assert isinstance(image_filter.luma(torch.from_numpy(image)), torch.Tensor)
    # [/call]


def test_blur(library):
    image = np.zeros((5, 6), dtype="float32")
    image[2, 3] = 9
    out = np.from_dlpack(image_filter.box_blur(LIBRARIES[library](image)))
    expected = np.zeros((5, 6))
    expected[1:4, 2:5] = 1
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    assert image_filter.box_blur(image, radius=0).tolist() == image.tolist()
    with pytest.raises(ValueError, match="radius must not be negative"):
        image_filter.box_blur(image, radius=-1)


def test_gain_writes_into_the_callers_memory(library):
    image = np.ones((2, 3), dtype="float32")
    assert image_filter.gain(LIBRARIES[library](image), factor=3) is None
    assert (image == 3).all()


def test_views_need_no_copy():
    image = np.arange(12, dtype="float32").reshape(3, 4)
    image_filter.gain(image[::2, ::-1].T)
    assert image.tolist() == [[0, 2, 4, 6], [4, 5, 6, 7], [16, 18, 20, 22]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_overloads(library, dtype):
    image = np.array([[0, 1], [2, 3]], dtype=dtype)
    out = image_filter.threshold(LIBRARIES[library](image), 2)
    assert type(out) is KINDS[library]
    assert np.from_dlpack(out).tolist() == [[False, False], [True, True]]


def test_fast_function(library):
    image = np.array([[1, 2], [3, 6]], dtype="float32")
    assert image_filter.mean(LIBRARIES[library](image)) == 3
    assert image_filter.mean(image=image) == 3
    with pytest.raises(TypeError, match="is missing argument 'image'"):
        image_filter.mean()


def test_any_dtype_by_visit():
    for dtype in ("uint8", "int64", "float32", "float64"):
        assert image_filter.brightest(np.array([[1, 7], [3, 2]], dtype=dtype).T) == 7
    with pytest.raises(BufferError, match="got float16"):
        image_filter.brightest(np.zeros((2, 2), dtype="float16"))


def test_plain_pybind11_functions_accept_tensors(library):
    assert image_filter.pixels(LIBRARIES[library](np.zeros((2, 3), "int8"))) == 6


def test_returns_names_the_library_of_the_result():
    out = image_filter.ramp(2, 4)
    assert type(out) is np.ndarray
    assert out.tolist() == [[0, 0.25, 0.5, 0.75]] * 2


def test_torch_is_read_by_its_exchange_table(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("__dlpack__ was called")

    monkeypatch.setattr(torch.Tensor, "__dlpack__", refuse)
    assert image_filter.mean(torch.ones(2, 2)) == 1
    assert type(image_filter.box_blur(torch.ones(2, 2))) is torch.Tensor


# PyTorch's special tensors, as docs/howto/frameworks.md has them -------------------------------


class Picture(torch.Tensor):
    pass


def test_a_parameter_is_accepted():
    parameter = torch.nn.Parameter(torch.ones(2, 2))
    assert image_filter.mean(parameter) == 1
    out = image_filter.box_blur(parameter)
    assert type(out) is torch.Tensor and not out.requires_grad


def test_a_subclass_returns_the_type_of_its_library():
    assert type(image_filter.box_blur(torch.ones(2, 2).as_subclass(Picture))) is torch.Tensor

    class Canvas(np.ndarray):
        pass

    assert type(image_filter.box_blur(np.ones((2, 2), "float32").view(Canvas))) is np.ndarray


def test_a_conjugated_view_is_refused():
    z = torch.tensor([1 + 2j])
    with pytest.raises(TypeError, match="conjugate bit"):
        image_filter.brightest(z.conj())
    with pytest.raises(BufferError, match="got complex64"):
        image_filter.brightest(z.conj().resolve_conj())


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_a_fake_tensor_is_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(2, 2)
    with pytest.raises(TypeError, match="null data"):
        image_filter.mean(fake)
    with pytest.raises(TypeError, match="meta"):
        image_filter.mean(torch.ones(2, 2, device="meta"))


# Stubs ----------------------------------------------------------------------------------------


def test_mypy_accepts_the_stubs(tmp_path):
    command = [sys.executable, "-m", "pybind11_stubgen", "image_filter", "-o", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    stub = tmp_path / "image_filter.pyi"
    expected = Path(__file__).with_name("signatures.txt").read_text()
    signatures = [line for line in expected.splitlines() if line.startswith("def ")]
    generated = stub.read_text().splitlines()
    assert signatures and [line for line in signatures if line not in generated] == []
    # mypy ignores Annotated, so overloads that differ only in dtype are equal to it.
    strict = ["--strict", "--disable-error-code=overload-cannot-match"]
    command = [sys.executable, "-m", "mypy", *strict, str(stub)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
