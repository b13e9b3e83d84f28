# SPDX-License-Identifier: BSD-3-Clause
# mypy: disable-error-code="index, misc"
"""Tensors in a block of shared memory, as docs/howto/shared_memory.md has them."""

from __future__ import annotations

import multiprocessing
from multiprocessing import shared_memory

import numpy as np
import pytest

import dlbridge

SHAPE = (2, 3)


# [worker]
def scale(name: str, factor: float) -> None:
    """Runs in the other process, and multiplies the numbers of the block where they are."""
    block = shared_memory.SharedMemory(name)
    t = dlbridge.as_tensor(block.buf[:48].cast("d", SHAPE))  # float64[2, 3]
    a = np.from_dlpack(t)
    a *= factor
    del t, a  # the block cannot be closed before
    block.close()


# [/worker]


def test_two_processes_use_one_block() -> None:
    # [block]
    block = shared_memory.SharedMemory(create=True, size=48)
    t = dlbridge.as_tensor(block.buf[:48].cast("d", SHAPE))
    np.from_dlpack(t)[...] = 2

    process = multiprocessing.get_context("spawn").Process(target=scale, args=(block.name, 3.0))
    process.start()
    process.join()
    assert t.tolist() == [[6, 6, 6], [6, 6, 6]]

    del t
    block.close()
    block.unlink()
    # [/block]


def test_a_block_in_use_is_not_closed() -> None:
    block = shared_memory.SharedMemory(create=True, size=48)
    a = np.from_dlpack(dlbridge.as_tensor(block.buf[:48].cast("d", SHAPE)))
    with pytest.raises(BufferError, match="exported pointers exist"):
        block.close()
    a[0, 0] = 1
    del a
    block.close()
    block.unlink()
