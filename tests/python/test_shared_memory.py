# SPDX-License-Identifier: BSD-3-Clause
# mypy: disable-error-code="index, misc"
"""Tensors in a block of shared memory, as docs/howto/shared_memory.md has them."""

from __future__ import annotations

import subprocess
import sys
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import pytest

import dlbridge

SHAPE = (2, 3)


def test_two_processes_use_one_block() -> None:
    program = Path(__file__).with_name("shared_block.py")
    result = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "[[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]]\n"), result


def test_a_block_in_use_is_not_closed() -> None:
    block = shared_memory.SharedMemory(create=True, size=48)
    a = np.from_dlpack(dlbridge.as_tensor(block.buf[:48].cast("d", SHAPE)))
    with pytest.raises(BufferError, match="exported pointers exist"):
        block.close()
    a[0, 0] = 1
    del a
    block.close()
    block.unlink()
