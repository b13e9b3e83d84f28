# SPDX-License-Identifier: BSD-3-Clause
"""Calls the same functions through each binding."""

from __future__ import annotations

import importlib

import numpy as np

for name in ("with_pybind11", "with_nanobind", "plain"):
    filters = importlib.import_module(f"three_bindings.{name}")
    canvas = filters.Canvas(2, 3)  # an array class of C++
    pixels = np.from_dlpack(canvas)
    pixels[...] = 1
    filters.scale(canvas, 2.5)
    print(f"{name}: {pixels.tolist()}")
    try:
        filters.luma(pixels)
    except TypeError as error:
        print(f"  {error}")
