# SPDX-License-Identifier: BSD-3-Clause
"""Calls the same functions through each binding, of one binary for every CPython."""

from __future__ import annotations

import importlib

import numpy as np

for name in ("plain", "with_nanobind", "with_cython"):
    signal = importlib.import_module(f"one_binary.{name}")
    track = signal.Track(4)  # an array class of C++
    samples = np.from_dlpack(track)
    samples[1] = 3
    signal.scale(track, 2)
    print(f"{name}: {samples.tolist()}, smoothed {signal.smooth(samples).tolist()}")
    try:
        signal.smooth(samples[:, None])
    except TypeError as error:
        print(f"  {error}")
