"""Heat in a plate whose rows are spread over processes, on a C++ array and on Tensors.

    mpiexec -n 4 python -m mpi4py heat.py

MPI is handed the objects themselves. What it does with them is counted and asserted, and the
outcome is held against NumPy's on one process.
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

ROWS, COLUMNS, STEPS = 67, 1024, 40  # rows that 2, 3 and 4 processes cannot share evenly
HOT = 100.0  # the edge above the first row; all else is at 0


@dataclass
class Grid:
    """The memory of one process, and the parts of it that MPI sends and fills."""

    whole: Any
    above: Any  # the rows of the neighbours, which MPI fills
    below: Any
    top: Any  # our own outermost rows, which it sends
    bottom: Any
    inner: Any  # all rows of our own


def parts(whole: Any, rows: int, between: Callable[[int, int], Any]) -> Grid:
    ends = ((0, 1), (rows + 1, rows + 2), (1, 2), (rows, rows + 1), (1, rows + 1))
    return Grid(whole, *(between(first, end) for first, end in ends))


# [memory]
def cpp_grid(rows: int) -> Grid:
    """On a C++ array, which MPI understands by its array_traits."""
    strip = plate.Strip(rows, COLUMNS)
    return parts(strip, rows, strip.between)


def tensor_grid(rows: int) -> Grid:
    """On Tensors, here of NumPy's memory."""
    a = np.zeros((rows + 2, COLUMNS))
    whole = dlbridge.from_dlpack(a)
    return parts(whole, rows, lambda first, end: dlbridge.from_dlpack(a[first:end]))


# [/memory]
KINDS = {"C++ array": cpp_grid, "Tensor": tensor_grid}


# [exchange]
def exchange(comm: MPI.Comm, grid: Grid) -> list[MPI.Request]:
    """Starts to fill the rows of the neighbours, and to send them our own."""
    requests = []
    if comm.rank > 0:
        requests += [comm.Irecv(grid.above, comm.rank - 1), comm.Isend(grid.top, comm.rank - 1)]
    if comm.rank + 1 < comm.size:
        requests += [comm.Irecv(grid.below, comm.rank + 1), comm.Isend(grid.bottom, comm.rank + 1)]
    return requests


# [/exchange]
# [steps]
def compute(comm: MPI.Comm, old: Grid, new: Grid, changes: Any, watch: Watch) -> list[float]:
    """All steps, the last of them into `old`; gives the largest change of each, anywhere."""
    seen = np.from_dlpack(changes)
    history = []
    with watch:
        for _ in range(STEPS):
            requests = exchange(comm, old)
            watch.under_way(len(requests))
            MPI.Request.Waitall(requests)
            plate.relax(old.whole, new.whole, changes)
            comm.Allreduce(MPI.IN_PLACE, changes, op=MPI.MAX)
            watch.afterwards()
            history.append(float(seen.max()))
            old, new = new, old
    return history


# [/steps]
# [gather]
def gather(comm: MPI.Comm, inner: Any) -> Any:
    """The rows of all processes, whichever kind they are of, in a C++ array of the first one."""
    sizes = comm.gather(np.from_dlpack(inner).size)
    if comm.rank > 0:
        comm.Gatherv(inner, None)
        return None
    rows = plate.Strip(ROWS, COLUMNS).between(1, ROWS + 1)
    comm.Gatherv(inner, [rows, sizes])
    return np.from_dlpack(rows)


# [/gather]
def compare_addresses(grid: Grid, rows: int, watch: Watch) -> None:
    """The address that MPI takes, and that of the memory."""
    memory = np.from_dlpack(grid.whole)
    objects = (grid.whole, grid.above, grid.below, grid.top, grid.bottom, grid.inner)
    for x, first in zip(objects, (0, 0, rows + 1, 1, rows, 1)):
        watch.compare_address(x, memory[first].ctypes.data)


def run(comm: MPI.Comm, make: Callable[[int], Grid]) -> tuple[Any, list[float], Counts]:
    """The whole plate after all steps (in the first process), its history, and what was counted."""
    rows = ROWS // comm.size + (comm.rank < ROWS % comm.size)
    old, new, changes = make(rows), make(rows), make(1).inner
    halo = [x for grid in (old, new) for x in (grid.above, grid.below, grid.top, grid.bottom)]
    watch = Watch([*halo, changes])
    for grid in (old, new):
        compare_addresses(grid, rows, watch)
        if comm.rank == 0:
            np.from_dlpack(grid.above)[:] = HOT
    history = compute(comm, old, new, changes, watch)
    assert STEPS % 2 == 0  # the last step went into the first grid
    return gather(comm, old.inner), history, watch.counts


def numpys_own() -> tuple[Any, list[float]]:
    """The same on one process, without MPI and C++."""
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
        held_under_way=messages,  # MPI has the objects, not copies of them
        held_afterwards=0,  # and gives each of them back
        exports=messages + STEPS * processes if kind == "C++ array" else 0,  # Tensors are buffers
    )


def main() -> None:
    comm = MPI.COMM_WORLD
    found = {}
    for kind, make in KINDS.items():
        whole, history, counts = run(comm, make)
        if comm.rank == 0:
            expected, changes = numpys_own()
            np.testing.assert_allclose(whole, expected, rtol=1e-12)
            np.testing.assert_allclose(history, changes, rtol=1e-12)
            print(f"{kind}: largest difference to NumPy's outcome {abs(whole - expected).max()}")
        del whole
        gc.collect()
        counts.arrays_alive = plate.Strip.alive
        found[kind] = comm.reduce(counts)
        if comm.rank == 0:
            wanted = expected_counts(comm.size, kind)
            assert found[kind] == wanted, f"{kind}: expected {wanted}, got {found[kind]}"
    if comm.rank == 0:
        library = MPI.Get_library_version().split(",")[0].split("\n")[0]
        print(f"\n{ROWS} x {COLUMNS} points, {STEPS} steps, {library}")
        print(f"{f'processes: {comm.size}':44}" + "".join(f"{kind:>12}" for kind in found))
        for rows in zip(*(counts.rows() for counts in found.values())):
            print(f"{rows[0][0]:44}" + "".join(f"{number:12}" for _, number in rows))


if __name__ == "__main__":
    main()
