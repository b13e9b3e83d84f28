# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges of grid's arrays with NumPy and PyTorch, on the same memory."""

from __future__ import annotations

import gc
import weakref

import grid
import numpy as np
import pytest
import torch


def address(x):
    return x.data_ptr() if isinstance(x, torch.Tensor) else x.ctypes.data


@pytest.fixture
def matrix():
    array = grid.DoubleArray([2, 3])
    array[1, 2] = 5
    return array


def test_an_array_is_read_and_changed_by_numpy():
    # [export]
    matrix = grid.DoubleArray([2, 3])
    matrix[1, 2] = 5
    a = np.from_dlpack(matrix)
    assert a.tolist() == [[0, 0, 0], [0, 0, 5]]
    a[0, 0] = 7
    assert matrix[0, 0] == 7 and matrix.sum() == 12
    # [/export]


def test_an_array_of_numpy_is_imported():
    # [import]
    a = np.arange(6, dtype="float32").reshape(2, 3)
    imported = grid.from_dlpack(a)
    assert type(imported) is grid.FloatArray and imported.shape == [2, 3]
    imported[0, 0] = 1
    assert a[0, 0] == 1
    # [/import]


def test_numpy_and_torch_read_it_without_a_copy(matrix):
    a = np.from_dlpack(matrix)
    t = torch.from_dlpack(matrix)
    assert a.tolist() == t.tolist() == [[0, 0, 0], [0, 0, 5]]
    assert address(a) == address(t)
    t[0, 0] = 7
    assert matrix[0, 0] == a[0, 0] == 7


def test_views_are_exported_with_their_strides(matrix):
    t = torch.from_dlpack(matrix.transposed())
    assert (tuple(t.shape), t.stride()) == ((3, 2), (1, 3))


def test_memory_outlives_the_array():
    t = torch.from_dlpack(grid.FloatArray([1000]))
    gc.collect()
    assert t.dtype == torch.float32 and t.sum() == 0


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_tensors_are_imported_without_a_copy(make):
    x = make(np.arange(6, dtype="float32").reshape(2, 3))
    imported = grid.from_dlpack(x)
    assert type(imported) is grid.FloatArray and imported.shape == [2, 3] and imported.sum() == 15
    assert address(np.from_dlpack(imported)) == address(x)
    assert grid.from_dlpack(grid.from_dlpack(imported).transposed())[2, 1] == 5
    x[0, 0] = 1
    assert imported[0, 0] == 1


def test_imported_memory_lives_as_long_as_its_arrays():
    x = np.zeros((2, 3))
    reference = weakref.ref(x)
    view = grid.from_dlpack(x).transposed()
    del x
    assert reference() is not None and view.shape == [3, 2]
    del view
    assert reference() is None


def test_scalars_and_empty_arrays():
    assert np.from_dlpack(grid.FloatArray([])).shape == ()
    assert np.from_dlpack(grid.FloatArray([0, 3])).shape == (0, 3)
    assert grid.from_dlpack(np.zeros((0, 3))).sum() == 0


def test_read_only_memory_is_copied_or_refused():
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(TypeError, match="writability differs"):
        grid.from_dlpack(frozen)
    imported = grid.copy(frozen)
    imported[0,] = 2
    assert imported.sum() == 4 and frozen.sum() == 3


def test_the_error_lists_the_reason_of_each_overload():
    with pytest.raises(TypeError) as raised:
        grid.from_dlpack(np.zeros(3, "int64"))
    text = str(raised.value)
    assert "expected float32[...] on cpu, writable; got int64[3] on cpu: dtype differs" in text
    assert "expected float64[...] on cpu, writable; got int64[3] on cpu: dtype differs" in text


def test_a_member_view_keeps_its_array_alive(matrix):
    d = np.from_dlpack(grid.diagonal(matrix))
    matrix[1, 1] = 4
    assert d.tolist() == [0, 4]
    del matrix
    gc.collect()
    assert d.tolist() == [0, 4]
