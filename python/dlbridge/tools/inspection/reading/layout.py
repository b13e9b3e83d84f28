# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic on shapes and strides: order, reach, overlap.

All numbers are integers of Python and count elements, so that invalid extents cannot overflow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...elements import offsets, row_major, span

MOST_TRIED = 10_000  # steps of the search for the elements at an offset
MOST_SORTED = 1 << 16  # elements whose offsets are compared to detect overlap


@dataclass(frozen=True)
class Layout:
    """The offsets of elements, counted in elements from the first one."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def moving(self) -> list[int]:
        """The dimensions with more than one index."""
        return [i for i, extent in enumerate(self.shape) if extent > 1]

    @property
    def backwards(self) -> list[int]:
        return [i for i in self.moving if self.strides[i] < 0]

    @property
    def broadcast(self) -> list[int]:
        """The dimensions of stride 0 with more than one index."""
        return [i for i in self.moving if self.strides[i] == 0]

    def _compact(self, dimensions: list[int]) -> bool:
        """Whether these dimensions, slowest first, leave no gaps."""
        expected = 1
        for i in reversed(dimensions):
            if self.strides[i] != expected:
                return False
            expected *= self.shape[i]
        return True

    def is_row_major(self, *, strict: bool = False) -> bool:
        """Compact, last dimension fastest. Unless strict, extents of 1 and empty tensors match."""
        if strict:
            return self.strides == row_major(self.shape)
        return self.size == 0 or self._compact(self.moving)

    def is_column_major(self, *, strict: bool = False) -> bool:
        """Compact, first dimension fastest."""
        if strict:
            return self.strides == row_major(self.shape[::-1])[::-1]
        return self.size == 0 or self._compact(self.moving[::-1])

    @property
    def is_compact(self) -> bool:
        """Without gaps and negative strides, in any order of dimensions."""
        slowest_first = sorted(self.moving, key=lambda i: -self.strides[i])
        return self.size == 0 or self._compact(slowest_first)

    @property
    def order(self) -> str:
        """The order of the elements in memory, in a few words."""
        if self.size == 0:
            return "empty"
        if not self.shape:
            return "one element"
        if self.is_row_major():
            both = " and column-major" if self.is_column_major() else ""
            return f"row-major{both}"
        if self.is_column_major():
            return "column-major"
        if self.backwards:
            return f"backwards in {_dimensions(self.backwards)}"
        if self.broadcast:
            return f"broadcast over {_dimensions(self.broadcast)}"
        if self.is_compact:
            return "permuted"
        return "overlapping" if self.shares else "with gaps"

    @property
    def reach(self) -> tuple[int, int]:
        """The lowest and the highest offset of an element; (0, 0) for an empty tensor."""
        return span(self.shape, self.strides)

    @property
    def shares(self) -> bool | None:
        """Whether elements overlap; None where the search would take too long."""
        if self.size == 0 or not self.moving:
            return False
        if self.broadcast:
            return True
        lowest, highest = self.reach
        if self.size > highest - lowest + 1:
            return True
        reached = 0
        for i in sorted(self.moving, key=lambda i: abs(self.strides[i])):
            if abs(self.strides[i]) <= reached:
                break
            reached += (self.shape[i] - 1) * abs(self.strides[i])
        else:
            return False  # every stride is larger than the reach of all smaller strides
        if self.size > MOST_SORTED:
            return None
        return len(set(offsets(self.shape, self.strides))) < self.size

    def at(self, offset: int) -> Iterator[tuple[int, ...]]:
        """Yields the indices of the elements at an offset; broadcast dimensions stay at 0.

        >>> list(Layout((2, 3), (3, 1)).at(4)), list(Layout((2, 3), (1, 1)).at(2))
        ([(1, 1)], [(0, 2), (1, 1)])
        """
        if self.size == 0:
            return
        far_first = sorted(self.moving, key=lambda i: -abs(self.strides[i]))
        far_first = [i for i in far_first if self.strides[i] != 0]
        remaining = [(0, 0, 0)]  # what the remaining dimensions can add: least, most, divisor
        for i in reversed(far_first):
            low, high, divisor = remaining[-1]
            step = (self.shape[i] - 1) * self.strides[i]
            remaining.append(
                (low + min(step, 0), high + max(step, 0), math.gcd(divisor, self.strides[i]))
            )
        remaining.reverse()
        index = [0] * len(self.shape)
        tried = 0

        def search(depth: int, distance: int) -> Iterator[tuple[int, ...]]:
            nonlocal tried
            tried += 1
            low, high, divisor = remaining[depth]
            if not low <= distance <= high or tried > MOST_TRIED:
                return
            if divisor == 0 or distance % divisor:
                if distance == 0 and divisor == 0:
                    yield tuple(index)
                return
            i, (low, high, _) = far_first[depth], remaining[depth + 1]
            stride = self.strides[i]
            # missing - k * stride must lie in [low, high]; -(-a // b) rounds up
            if stride > 0:
                first, last = -((high - distance) // stride), (distance - low) // stride
            else:
                first, last = -((low - distance) // stride), (distance - high) // stride
            for k in range(max(0, first), min(self.shape[i] - 1, last) + 1):
                index[i] = k
                yield from search(depth + 1, distance - k * stride)
            index[i] = 0

        yield from search(0, offset)


def _dimensions(which: list[int]) -> str:
    """
    >>> _dimensions([0]), _dimensions([0, 2])
    ('dimension 0', 'dimensions 0, 2')
    """
    return f"dimension{'s' if len(which) > 1 else ''} {', '.join(map(str, which))}"
