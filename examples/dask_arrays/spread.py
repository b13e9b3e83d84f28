"""A Dask array whose blocks are Tensors, on two worker processes.

    python spread.py

Each block is made on one worker and used on the other. Probes on their sockets show that what is
sent is the memory of the Tensor, and that what arrives becomes the memory of a Tensor; the kernel
says how much memory that took. The outcome is held against NumPy's.
"""

from __future__ import annotations

from typing import Any

import blocks
import dask
import dask.array as da
import numpy as np
from distributed import Client, futures_of, wait
from probe import peak, start_weighing

BLOCKS, ROWS, COLUMNS = 8, 256, 1024
LARGE = 48 << 20  # bytes


# [array]
def make_array() -> da.Array:
    sizes = ((ROWS,) * BLOCKS, (COLUMNS,))
    return da.map_blocks(blocks.make, chunks=sizes, dtype="f8", meta=np.empty((0, 0)))


def halve(x: da.Array) -> da.Array:
    return x.map_blocks(blocks.halved, dtype="f8", meta=np.empty((0, 0)))


# [/array]
def numpys_own() -> Any:
    i, j = np.ogrid[: BLOCKS * ROWS, :COLUMNS]
    return 1000.0 * i + j


def kept_by(worker: str, x: da.Array) -> da.Array:
    with dask.annotate(workers=[worker], allow_other_workers=False):
        kept = x.persist(optimize_graph=False)
    wait(kept, timeout=blocks.PATIENCE)
    return kept


def move(client: Client, here: str, there: str) -> dict[str, float]:
    """Makes the blocks on one worker and uses them on the other."""
    x = kept_by(here, make_array())
    assert np.array_equal(x.compute(), numpys_own())
    assert halve(x).sum().compute() == numpys_own().sum() / 2

    def reports(worker: str) -> list[dict[str, Any]]:
        tasks = [
            client.submit(blocks.report, block, workers=[worker], pure=False)
            for block in futures_of(x)
        ]
        return [task.result(timeout=blocks.PATIENCE) for task in tasks]

    arrived, sent = reports(there), reports(here)
    assert [each["sum"] for each in arrived] == [each["sum"] for each in sent]
    return {
        "blocks that moved": len(arrived),
        "  Tensors when they arrive": sum(each["type"] == "Tensor" for each in arrived),
        "  sent from their own memory": sum(each["written"] for each in sent),
        "  in the memory that the socket filled": sum(each["read"] for each in arrived),
        "  aligned": sum(each["aligned"] for each in arrived),
    }


def weigh(client: Client, here: str, there: str) -> dict[str, float]:
    """Moves a large Tensor; the memory that it took, as a part of its size."""
    large = client.submit(blocks.ones, LARGE, workers=[here])
    wait(large, timeout=blocks.PATIENCE)
    before = client.run(start_weighing)
    client.submit(blocks.report, large, workers=[there]).result(timeout=blocks.PATIENCE)
    after = client.run(peak)
    return {
        f"  memory to {what}, per byte": round((after[worker] - before[worker]) / LARGE, 2)
        for what, worker in (("send", here), ("receive", there))
    }


def count(registered: bool) -> dict[str, float]:
    with blocks.two_workers() as client:
        if registered:
            blocks.register()
            client.run(blocks.register)
        workers = sorted(client.scheduler_info()["workers"])
        return {**move(client, *workers), **weigh(client, *workers)}


def main() -> None:
    counted = {"pickled": count(False), "registered": count(True)}
    print(f"{BLOCKS} blocks of {ROWS} x {COLUMNS} float64, Dask {dask.__version__}")
    print(f"{'':40}" + "".join(f"{how:>12}" for how in counted))
    for what in counted["pickled"]:
        print(f"{what:40}" + "".join(f"{numbers[what]:12}" for numbers in counted.values()))
    for numbers in counted.values():
        *moved, aligned, to_send, to_receive = numbers.values()
        assert moved == [BLOCKS] * 4
        assert aligned == BLOCKS or numbers is counted["pickled"]
        assert to_send < 0.25 and 0.75 < to_receive < 1.25


if __name__ == "__main__":
    main()
