# SPDX-License-Identifier: BSD-3-Clause
"""Calls the extensions of both build systems."""

from __future__ import annotations

import degrees
import norms
import numpy as np

rows = np.array([[3, 4], [6, 8], [5, 12]], dtype="float32")
print("setuptools    norms(rows)          ", norms.norms(rows).tolist())
print("meson-python  fahrenheit([0, 100]) ", degrees.fahrenheit(np.array([0.0, 100.0])).tolist())
