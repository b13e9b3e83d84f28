# SPDX-License-Identifier: BSD-3-Clause
# mypy: disable-error-code="index, misc"
"""The program of docs/howto/shared_memory.md, which test_shared_memory.py runs."""

# [program]
import multiprocessing
from multiprocessing import shared_memory

import numpy as np

import dlbridge

SHAPE = (2, 3)


def scale(name: str, factor: float) -> None:
    """Runs in the other process, and multiplies the numbers of the block where they are."""
    block = shared_memory.SharedMemory(name)
    t = dlbridge.as_tensor(block.buf[:48].cast("d", SHAPE))  # float64[2, 3]
    a = np.from_dlpack(t)
    a *= factor
    del t, a  # the block cannot be closed before
    block.close()


if __name__ == "__main__":
    block = shared_memory.SharedMemory(create=True, size=48)
    t = dlbridge.as_tensor(block.buf[:48].cast("d", SHAPE))
    np.from_dlpack(t)[...] = 2

    process = multiprocessing.get_context("spawn").Process(target=scale, args=(block.name, 3.0))
    process.start()
    process.join()
    print(t.tolist())  # [[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]]

    del t
    block.close()
    block.unlink()
# [/program]
