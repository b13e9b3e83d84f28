# SPDX-License-Identifier: BSD-3-Clause
"""Colours each point of a sphere as the nearest point of a cloud, and saves picture.png."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import point_cloud
from PIL import Image

SIZE, POINTS = 240, 80


def sphere() -> tuple[np.ndarray, np.ndarray]:
    """The points of a sphere that are seen, as float32[n, 3], and where they are in the picture."""
    y, x = np.mgrid[1 : -1 : SIZE * 1j, -1 : 1 : SIZE * 1j].astype("float32")
    seen = x**2 + y**2 < 1
    z = np.sqrt(1 - x[seen] ** 2 - y[seen] ** 2)
    return np.stack([x[seen], y[seen], z], axis=1), seen


def picture() -> Image.Image:
    random = np.random.default_rng(7)
    cloud = random.normal(size=(POINTS, 3)).astype("float32")
    cloud /= np.linalg.norm(cloud, axis=1, keepdims=True)
    colours = random.integers(70, 256, (POINTS, 3))
    queries, seen = sphere()
    found = point_cloud.nearest(queries, cloud)
    print(f"{len(queries)} queries, {len(cloud)} points: {found.dtype}[{len(found)}]")
    pixels = np.zeros((SIZE, SIZE, 4), "uint8")  # transparent
    pixels[seen, :3] = colours[found] * (0.35 + 0.65 * queries[:, 2:])  # darker at the edge
    pixels[seen, 3] = 255
    return Image.fromarray(pixels)


if __name__ == "__main__":
    picture().save(Path(__file__).with_name("picture.png"), optimize=True)
