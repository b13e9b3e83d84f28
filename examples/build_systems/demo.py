# SPDX-License-Identifier: BSD-3-Clause
"""Calls the extension of each build system."""

from __future__ import annotations

import norms_by_meson
import norms_by_setuptools
import numpy as np

rows = np.array([[3, 4], [6, 8], [5, 12]], "float32")
for module in (norms_by_setuptools, norms_by_meson):
    print(f"{module.__name__:20} {module.norms(rows).tolist()}")
