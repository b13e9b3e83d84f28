# SPDX-License-Identifier: BSD-3-Clause
"""The program makes the picture of README.md."""

from __future__ import annotations

from pathlib import Path

import demo
import numpy as np
from PIL import Image


def test_the_picture():
    with Image.open(Path(demo.__file__).with_name("picture.png")) as kept:
        difference = np.abs(np.asarray(kept, int) - np.asarray(demo.picture(), int))
    assert difference.mean() < 0.1  # compilers round a few pixels differently
