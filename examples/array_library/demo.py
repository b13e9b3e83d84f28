# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges arrays of grid with NumPy, in both directions and without a copy."""

from __future__ import annotations

import grid
import numpy as np

matrix = grid.DoubleArray([2, 3])
a = np.from_dlpack(matrix)  # the memory of matrix
a[1, 2] = 5
print(f"NumPy writes {a[1, 2]}; grid reads {matrix[1, 2]}")

transposed = np.from_dlpack(matrix.transposed())
print(f"the transposed array has shape {transposed.shape} and strides {transposed.strides}")

x = np.arange(6, dtype="float32").reshape(2, 3)
imported = grid.from_dlpack(x)  # the memory of x
x[0, 0] = 10
print(f"grid imports a {type(imported).__name__}, whose sum is {imported.sum()}")
