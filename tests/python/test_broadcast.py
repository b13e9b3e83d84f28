# SPDX-License-Identifier: BSD-3-Clause
"""broadcast_to of the C++ headers, compared with numpy.broadcast_to."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from test_signatures import BINDINGS, module_of

# Each as a shape to broadcast and as one to broadcast to.
SHAPES: list[tuple[int, ...]] = [
    (), (1,), (2,), (3,), (0,), (1, 1), (2, 1), (1, 3), (2, 3), (3, 1), (0, 1), (2, 0), (1, 0),
    (4, 2, 3), (4, 1, 3), (1, 2, 1), (1, 1, 1), (4, 0, 3), (2, 2, 2, 2), (1, 2, 1, 2),
]  # fmt: skip


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


def arrays(shape: tuple[int, ...]) -> list[Any]:
    """Arrays of a shape: compact, column-major, backwards, with gaps."""
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    every_second: Any = (..., *(slice(None, None, 2) for _ in shape))
    backwards: Any = (..., *(slice(None, None, -1) for _ in shape))
    gaps = np.zeros([2 * n for n in shape], np.float32)[every_second]
    gaps[...] = x
    return [x, np.array(x, order="F"), x[backwards], gaps]


@pytest.mark.parametrize("source", SHAPES)
def test_every_pair_of_shapes(extension: Any, source: tuple[int, ...]) -> None:
    refused = 0
    for x, target in itertools.product(arrays(source), SHAPES):
        like = np.zeros(target, np.float32)
        try:
            expected = np.broadcast_to(x, target)
        except ValueError:
            with pytest.raises(BufferError, match="expected extents that broadcast to"):
                extension.broadcast_like(x, like)
            refused += 1
            continue
        got = extension.broadcast_like(x, like)
        assert got.shape == target
        np.testing.assert_array_equal(got, expected)
    assert refused or source in ((), (1,))


@pytest.mark.parametrize("target", SHAPES)
def test_a_number(extension: Any, target: tuple[int, ...]) -> None:
    got = extension.broadcast_number_like(0.1, np.zeros(target, np.int8))
    np.testing.assert_array_equal(got, np.broadcast_to(0.1, target))
    assert got.dtype == np.float64


def test_the_memory_is_borrowed(extension: Any) -> None:
    x = np.ones((2, 1, 3), np.float32)
    strides = extension.broadcast_strides(x, np.ones((4, 2, 5, 3), np.float32))
    assert strides.tolist() == [0, 3, 0, 1]
    expected = np.broadcast_to(x, (4, 2, 5, 3)).strides
    assert [4 * each for each in strides.tolist()] == list(expected)
