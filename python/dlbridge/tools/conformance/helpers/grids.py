# SPDX-License-Identifier: BSD-3-Clause
"""A reference for views: numbers in memory with strides, in Python alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .exports import compact_strides

Key = Any  # an int, a slice, None, Ellipsis, or a tuple of these


@dataclass(frozen=True)
class Grid:
    """An array of numbers. Its views have the meaning that they have in the array API.

    Without numbers, which are not known of every array, it still has the shape of a view.
    """

    numbers: tuple[Any, ...] | None  # of the memory
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int = 0

    @classmethod
    def of(cls, numbers: Iterable[Any] | None, shape: tuple[int, ...]) -> Grid:
        """Returns a row-major array of these numbers."""
        return cls(None if numbers is None else tuple(numbers), shape, compact_strides(shape))

    def flat(self) -> list[Any] | None:
        """Returns the numbers in row-major order; None where they are not known."""
        if self.numbers is None:
            return None
        return [
            self.numbers[self.first + sum(map(_product, zip(index, self.strides)))]
            for index in itertools.product(*map(range, self.shape))
        ]

    def __getitem__(self, key: Key) -> Grid:
        keys = list(key) if isinstance(key, tuple) else [key]
        used = sum(each is not None and each is not Ellipsis for each in keys)
        if Ellipsis not in keys:
            keys.append(Ellipsis)
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (len(self.shape) - used)
        shape, strides, first, dimension = [], [], self.first, 0
        for each in keys:
            if each is None:
                shape.append(1)
                strides.append(0)
                continue
            extent, stride = self.shape[dimension], self.strides[dimension]
            dimension += 1
            if isinstance(each, slice):
                start, stop, step = each.indices(extent)
                shape.append(len(range(start, stop, step)))
                strides.append(stride * step)
                first += start * stride if shape[-1] else 0
            else:
                first += range(extent)[each] * stride
        return Grid(self.numbers, tuple(shape), tuple(strides), first)

    def transpose(self, *axes: int) -> Grid:
        return Grid(
            self.numbers,
            tuple(self.shape[axis] for axis in axes),
            tuple(self.strides[axis] for axis in axes),
            self.first,
        )

    permute = transpose  # its name in PyTorch

    def swapaxes(self, one: int, other: int) -> Grid:
        axes = list(range(len(self.shape)))
        axes[one], axes[other] = axes[other], axes[one]
        return self.transpose(*axes)

    @property
    def T(self) -> Grid:
        return self.swapaxes(0, 1)

    @property
    def mT(self) -> Grid:
        return self.swapaxes(-2, -1)

    def reshape(self, shape: tuple[int, ...]) -> Grid:
        assert math.prod(shape) == math.prod(self.shape)
        return Grid.of(self.flat(), shape)

    def broadcast(self, shape: tuple[int, ...]) -> Grid:
        """Adds first dimensions, and repeats extents of 1."""
        added = len(shape) - len(self.shape)
        own = zip(self.shape, self.strides, shape[added:])
        steps = [0 if extent == 1 != wanted else stride for extent, stride, wanted in own]
        return Grid(self.numbers, shape, (0,) * added + tuple(steps), self.first)


def _product(pair: tuple[int, int]) -> int:
    return pair[0] * pair[1]
