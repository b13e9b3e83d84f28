# SPDX-License-Identifier: BSD-3-Clause
"""Calls the filters with arrays of NumPy."""

from __future__ import annotations

import numpy as np
from cython_filter import filters

image = np.full((2, 3, 3), 100, "uint8")
gray = filters.luma(image)
print(f"luma returns an {type(gray).__name__} of {gray.dtype}: {gray.tolist()}")
filters.scale(gray.T, 0.5)  # in place, through any strides
print(f"scale has written {gray.tolist()}")
try:
    filters.mean(gray.T)
except TypeError as error:
    print(error)
