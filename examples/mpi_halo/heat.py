# SPDX-License-Identifier: BSD-3-Clause
"""Heat diffusion in a plate distributed over processes, on a C++ array and on Tensors.

    mpiexec -n 4 python -m mpi4py heat.py

The program passes the objects themselves to MPI, counts and checks what MPI does with them, and
compares the result with NumPy's on one process.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import plate
from counters import Counts, Watch
from mpi4py import MPI

import dlbridge

ROWS, COLUMNS, STEPS = 67, 1024, 40  # ROWS is not divisible by 2, 3 or 4
HOT = 100.0  # the edge above the first row; the rest is at 0


@dataclass
class Grid:
    """The memory of one process, and the rows of it that MPI sends and receives."""

    whole: Any
    above: Any  # rows of the neighbours, which MPI receives
    below: Any
    top: Any  # outermost own rows, which MPI sends
    bottom: Any
    inner: Any  # all own rows


def parts(whole: Any, rows: int, between: Callable[[int, int], Any]) -> Grid:
    ends = ((0, 1), (rows + 1, rows + 2), (1, 2), (rows, rows + 1), (1, rows + 1))
    return Grid(whole, *(between(first, end) for first, end in ends))


# [memory]
def cpp_grid(rows: int) -> Grid:
    """On a C++ array with array_traits."""
    strip = plate.Strip(rows, COLUMNS)
    return parts(strip, rows, strip.between)


def tensor_grid(rows: int) -> Grid:
    """On Tensors of NumPy's memory."""
    a = np.zeros((rows + 2, COLUMNS))
    whole = dlbridge.from_dlpack(a)
    return parts(whole, rows, lambda first, end: dlbridge.from_dlpack(a[first:end]))


# [/memory]
KINDS = {"C++ array": cpp_grid, "Tensor": tensor_grid}


# [exchange]
def exchange(comm: MPI.Comm, grid: Grid) -> list[MPI.Request]:
    """Starts to receive the rows of the neighbours, and to send the outermost own rows."""
    requests = []
    if comm.rank > 0:
        requests += [comm.Irecv(grid.above, comm.rank - 1), comm.Isend(grid.top, comm.rank - 1)]
    if comm.rank + 1 < comm.size:
        requests += [comm.Irecv(grid.below, comm.rank + 1), comm.Isend(grid.bottom, comm.rank + 1)]
    return requests


# [/exchange]
# [steps]
def compute(comm: MPI.Comm, old: Grid, new: Grid, changes: Any, watch: Watch) -> list[float]:
    """Runs all steps; returns the largest change of each step over all processes."""
    change = np.from_dlpack(changes)
    history = []
    with watch:
        for _ in range(STEPS):
            requests = exchange(comm, old)
            watch.in_flight(len(requests))
            MPI.Request.Waitall(requests)
            plate.relax(old.whole, new.whole, changes)
            comm.Allreduce(MPI.IN_PLACE, changes, op=MPI.MAX)
            watch.completed()
            history.append(float(change.max()))
            old, new = new, old
    return history


# [/steps]
# [gather]
def gather(comm: MPI.Comm, inner: Any) -> Any:
    """Gathers the rows of all processes, of either kind, in a C++ array of the first process."""
    sizes = comm.gather(np.from_dlpack(inner).size)
    if comm.rank > 0:
        comm.Gatherv(inner, None)
        return None
    rows = plate.Strip(ROWS, COLUMNS).between(1, ROWS + 1)
    comm.Gatherv(inner, [rows, sizes])
    return np.from_dlpack(rows)


# [/gather]
def compare_addresses(grid: Grid, rows: int, watch: Watch) -> None:
    """Compares the address that MPI uses with that of the memory."""
    memory = np.from_dlpack(grid.whole)
    objects = (grid.whole, grid.above, grid.below, grid.top, grid.bottom, grid.inner)
    for x, first in zip(objects, (0, 0, rows + 1, 1, rows, 1)):
        watch.compare_address(x, memory[first].ctypes.data)


def run(comm: MPI.Comm, make: Callable[[int], Grid]) -> tuple[Any, list[float], Counts]:
    """The whole plate after all steps (in the first process), its history, and the counts."""
    rows = ROWS // comm.size + (comm.rank < ROWS % comm.size)
    old, new, changes = make(rows), make(rows), make(1).inner
    halo = [x for grid in (old, new) for x in (grid.above, grid.below, grid.top, grid.bottom)]
    watch = Watch([*halo, changes])
    for grid in (old, new):
        compare_addresses(grid, rows, watch)
        if comm.rank == 0:
            np.from_dlpack(grid.above)[:] = HOT
    history = compute(comm, old, new, changes, watch)
    assert STEPS % 2 == 0  # the last step writes to the first grid
    return gather(comm, old.inner), history, watch.counts


def numpy_reference() -> tuple[Any, list[float]]:
    """The same computation on one process, without MPI and C++."""
    old, history = np.zeros((ROWS + 2, COLUMNS)), []
    old[0] = HOT
    for _ in range(STEPS):
        new = old.copy()
        new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        history.append(float(abs(new - old).max()))
        old = new
    return old[1:-1], history


def expected_counts(processes: int, kind: str) -> Counts:
    messages = 4 * (processes - 1) * STEPS
    return Counts(
        objects=12 * processes,
        at_their_memory=12 * processes,
        messages=messages,
        held_in_flight=messages,  # MPI holds the objects, not copies of them
        held_after=0,  # and releases each of them
        exports=messages + STEPS * processes if kind == "C++ array" else 0,  # Tensors are buffers
    )


def main() -> None:
    comm = MPI.COMM_WORLD
    results = {}
    for kind, make in KINDS.items():
        whole, history, counts = run(comm, make)
        if comm.rank == 0:
            expected, changes = numpy_reference()
            np.testing.assert_allclose(whole, expected, rtol=1e-12)
            np.testing.assert_allclose(history, changes, rtol=1e-12)
            print(f"{kind}: largest difference to NumPy's result {abs(whole - expected).max()}")
        del whole
        gc.collect()
        counts.arrays_alive = plate.Strip.alive
        results[kind] = comm.reduce(counts)
        if comm.rank == 0:
            expected = expected_counts(comm.size, kind)
            assert results[kind] == expected, f"{kind}: expected {expected}, got {results[kind]}"
    if comm.rank == 0:
        library = MPI.Get_library_version().split(",")[0].split("\n")[0]
        print(f"\n{ROWS} x {COLUMNS} points, {STEPS} steps, {library}")
        print(f"{f'processes: {comm.size}':44}" + "".join(f"{kind:>12}" for kind in results))
        for rows in zip(*(counts.rows() for counts in results.values())):
            print(f"{rows[0][0]:44}" + "".join(f"{number:12}" for _, number in rows))


if __name__ == "__main__":
    main()
