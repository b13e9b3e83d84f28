# SPDX-License-Identifier: BSD-3-Clause
"""Draws an image, filters it, and saves all four images side by side in picture.png."""

from __future__ import annotations

from pathlib import Path

import image_filter
import numpy as np
from PIL import Image

SIZE, GAP = 160, 12  # pixels


def drawing() -> np.ndarray:
    """Three discs of light that overlap, as uint8[SIZE, SIZE, 3]."""
    y, x = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
    angles = np.radians([90, 210, 330])
    distance = np.hypot(x[..., None] - 0.4 * np.cos(angles), y[..., None] + 0.4 * np.sin(angles))
    return np.where(distance < 0.55, 255 - 150 * distance, 40).astype("uint8")


def side_by_side(images: list[np.ndarray]) -> Image.Image:
    picture = Image.new("RGBA", (len(images) * (SIZE + GAP) - GAP, SIZE))  # transparent
    for i, image in enumerate(images):
        picture.paste(Image.fromarray(image), (i * (SIZE + GAP), 0))
    return picture


def picture() -> Image.Image:
    image = drawing()
    luma = image_filter.luma(image)
    blurred = image_filter.box_blur(luma, radius=8)
    bright = image_filter.threshold(blurred, level=128.0)
    for name, result in (("luma", luma), ("box_blur", blurred), ("threshold", bright)):
        kind = f"{type(result).__module__}.{type(result).__name__}"
        print(f"{name:10} {kind} {result.dtype}{list(result.shape)}, mean {result.mean():.2f}")
    as_bytes = [x.astype("uint8") for x in (luma, blurred)] + [bright.astype("uint8") * 255]
    return side_by_side([image, *as_bytes])


if __name__ == "__main__":
    picture().save(Path(__file__).with_name("picture.png"), optimize=True)
