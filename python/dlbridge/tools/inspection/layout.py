"""Arithmetic on shapes and strides: order, reach, aliasing. Knows no memory and no library.

Everything is in elements and in Python's integers, so that hostile extents overflow nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

MOST_TRIED = 10_000  # steps of the search for what is at one place
MOST_SORTED = 1 << 16  # elements whose places are compared one by one to find shared ones


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of compact memory in which the last dimension is fastest.

    >>> row_major((2, 3))
    (3, 1)
    """
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def first_indices(shape: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """The first indices in logical order, however large the shape is.

    >>> first_indices((2, 3), 4)
    [(0, 0), (0, 1), (0, 2), (1, 0)]
    """
    found = []
    for number in range(min(math.prod(shape), most)):
        index = []
        for extent in reversed(shape):
            number, place = divmod(number, extent)
            index.append(place)
        found.append(tuple(reversed(index)))
    return found


@dataclass(frozen=True)
class Layout:
    """Where the elements lie, counted in elements from the first one."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def moving(self) -> list[int]:
        """The dimensions in which one can move: those of more than one index."""
        return [i for i, extent in enumerate(self.shape) if extent > 1]

    @property
    def backwards(self) -> list[int]:
        return [i for i in self.moving if self.strides[i] < 0]

    @property
    def broadcast(self) -> list[int]:
        """The dimensions whose indices all lead to the same place."""
        return [i for i in self.moving if self.strides[i] == 0]

    def _compact(self, dimensions: list[int]) -> bool:
        """Whether there are no gaps when these dimensions are walked from the slowest on."""
        expected = 1
        for i in reversed(dimensions):
            if self.strides[i] != expected:
                return False
            expected *= self.shape[i]
        return True

    def is_row_major(self, *, strict: bool = False) -> bool:
        """Compact, last dimension fastest. Relaxed: extents of 1 and empty tensors do not count."""
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
        """Without gaps, forwards, in whatever order of dimensions."""
        slowest_first = sorted(self.moving, key=lambda i: -self.strides[i])
        return self.size == 0 or self._compact(slowest_first)

    @property
    def order(self) -> str:
        """The order of the elements in memory, in one word or a few."""
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
        """The lowest and the highest place that an element has; (0, 0) when there is none."""
        if self.size == 0:
            return (0, 0)
        steps = [(n - 1) * stride for n, stride in zip(self.shape, self.strides)]
        return (sum(s for s in steps if s < 0), sum(s for s in steps if s > 0))

    @property
    def shares(self) -> bool | None:
        """Whether elements share a place; None where that is too much to find out."""
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
            return False  # every step leads past all that smaller steps can reach
        if self.size > MOST_SORTED:
            return None
        places = [0]
        for n, stride in zip(self.shape, self.strides):
            places = [place + i * stride for place in places for i in range(n)]
        return len(set(places)) < len(places)

    def at(self, place: int) -> Iterator[tuple[int, ...]]:
        """The indices of the elements at a place; broadcast dimensions stay at 0.

        >>> list(Layout((2, 3), (3, 1)).at(4)), list(Layout((2, 3), (1, 1)).at(2))
        ([(1, 1)], [(0, 2), (1, 1)])
        """
        if self.size == 0:
            return
        far_first = sorted(self.moving, key=lambda i: -abs(self.strides[i]))
        far_first = [i for i in far_first if self.strides[i] != 0]
        left = [(0, 0, 0)]  # what the dimensions after each one can add: least, most, divisor
        for i in reversed(far_first):
            low, high, divisor = left[-1]
            step = (self.shape[i] - 1) * self.strides[i]
            left.append(
                (low + min(step, 0), high + max(step, 0), math.gcd(divisor, self.strides[i]))
            )
        left.reverse()
        index = [0] * len(self.shape)
        tried = 0

        def search(depth: int, missing: int) -> Iterator[tuple[int, ...]]:
            nonlocal tried
            tried += 1
            low, high, divisor = left[depth]
            if not low <= missing <= high or tried > MOST_TRIED:
                return
            if divisor == 0 or missing % divisor:
                if missing == 0 and divisor == 0:
                    yield tuple(index)
                return
            i, (low, high, _) = far_first[depth], left[depth + 1]
            stride = self.strides[i]
            # missing - k * stride must lie in [low, high]; -(-a // b) rounds up
            if stride > 0:
                first, last = -((high - missing) // stride), (missing - low) // stride
            else:
                first, last = -((low - missing) // stride), (missing - high) // stride
            for k in range(max(0, first), min(self.shape[i] - 1, last) + 1):
                index[i] = k
                yield from search(depth + 1, missing - k * stride)
            index[i] = 0

        yield from search(0, place)


def _dimensions(which: list[int]) -> str:
    """
    >>> _dimensions([0]), _dimensions([0, 2])
    ('dimension 0', 'dimensions 0, 2')
    """
    return f"dimension{'s' if len(which) > 1 else ''} {', '.join(map(str, which))}"
