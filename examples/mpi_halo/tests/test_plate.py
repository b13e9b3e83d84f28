# SPDX-License-Identifier: BSD-3-Clause
"""The module on one process: the step, lifetimes, and that the counters detect a copy."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import plate
import pytest
from mpi4py import MPI

import dlbridge

sys.path.insert(0, str(Path(__file__).parents[1]))

import counters

SELF = MPI.COMM_SELF


def test_a_step():
    before = np.arange(20.0).reshape(4, 5) ** 2
    after, changes = before.copy(), np.zeros((1, 5))
    plate.relax(before, after, changes)
    expected = before.copy()
    expected[1:-1, 1:-1] = (
        before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:]
    ) / 4
    np.testing.assert_array_equal(after, expected)
    np.testing.assert_array_equal(changes, [abs(expected - before).max(axis=0)])
    with pytest.raises(ValueError, match="differ in size"):
        plate.relax(before, after[1:], changes)


def test_rows_keep_their_strip_alive():
    rows = plate.Strip(3, 4).between(1, 3)
    gc.collect()
    a = np.from_dlpack(rows)
    assert plate.Strip.alive == 1 and a.shape == (2, 4) and not a.any()
    del rows
    assert plate.Strip.alive == 1
    del a
    assert plate.Strip.alive == 0
    with pytest.raises(IndexError, match="no such rows"):
        plate.Strip(3, 4).between(4, 6)
    with pytest.raises(ValueError, match="a row and a column"):
        plate.Strip(0, 4)


@pytest.mark.parametrize("kind", ["C++ array", "Tensor"])
def test_mpi_reads_and_writes_the_memory(kind):
    """A persistent send transfers the values at the time of each start."""
    if kind == "Tensor":
        memory = np.zeros((3, 4))
        source, target = (dlbridge.from_dlpack(memory[i : i + 1]) for i in (0, 2))
    else:
        strip = plate.Strip(1, 4)
        memory = np.from_dlpack(strip)
        source, target = strip.between(0, 1), strip.between(2, 3)
    requests = [SELF.Send_init(source, 0), SELF.Recv_init(target, 0)]
    for value in (1.0, 2.0):
        memory[0] = value
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        assert memory[2].tolist() == [value] * 4
    for request in requests:
        request.Free()


# The counters detect copies, references and new arrays.


def test_a_copy_has_another_address():
    a = np.zeros(3)
    watch = counters.Watch([])
    watch.compare_address(dlbridge.from_dlpack(a), a.ctypes.data)
    watch.compare_address(dlbridge.from_dlpack(a, copy=True), a.ctypes.data)
    assert (watch.counts.objects, watch.counts.at_their_memory) == (2, 1)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_an_export_that_stays_alive_is_counted(count):
    rows = plate.Strip(1, 4).between(0, 1)
    with counters.Watch([rows]) as watch:
        capsules = [rows.__dlpack__(max_version=(1, 0)) for _ in range(2)]
        watch.in_flight(2)
        del capsules[count:]
        watch.completed()
    counts = watch.counts
    assert (counts.exports, counts.held_in_flight, counts.held_after) == (2, 2, count)


def test_new_arrays_are_counted():
    with counters.Watch([]) as watch:
        plate.Strip(1, 1)
    assert watch.counts.arrays_created == 1 and plate.Strip.alive == 0


def test_what_mpi_refuses():
    strip = plate.Strip(3, 4)
    column = dlbridge.from_dlpack(np.from_dlpack(strip)[:, 0])
    with pytest.raises(BufferError, match="not contiguous"):
        SELF.Isend(column, 0)
    frozen = dlbridge.from_dlpack(strip, readonly=True)
    with pytest.raises(BufferError, match="not writable"):
        SELF.Irecv(frozen, 0)
