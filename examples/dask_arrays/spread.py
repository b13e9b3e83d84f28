# SPDX-License-Identifier: BSD-3-Clause
"""A Dask array whose blocks are Tensors, on two worker processes.

    python spread.py

Each block is created on one worker and used on the other. Probes at the sockets show that Dask
sends from the memory of the Tensor and receives into the memory of a Tensor; the kernel reports the
memory that this takes. The result is compared with NumPy's.
"""

from __future__ import annotations

from typing import Any

import blocks
import dask
import dask.array as da
import numpy as np
from distributed import Client, futures_of, wait
from probe import peak, reset_peak

BLOCKS, ROWS, COLUMNS = 8, 256, 1024
LARGE = 48 << 20  # bytes


# [array]
def make_array() -> da.Array:
    sizes = ((ROWS,) * BLOCKS, (COLUMNS,))
    return da.map_blocks(blocks.make, chunks=sizes, dtype="f8", meta=np.empty((0, 0)))


def halve(x: da.Array) -> da.Array:
    return x.map_blocks(blocks.halved, dtype="f8", meta=np.empty((0, 0)))


# [/array]
def numpy_reference() -> Any:
    i, j = np.ogrid[: BLOCKS * ROWS, :COLUMNS]
    return 1000.0 * i + j


def persist_on(worker: str, x: da.Array) -> da.Array:
    with dask.annotate(workers=[worker], allow_other_workers=False):
        result = x.persist(optimize_graph=False)
    wait(result, timeout=blocks.TIMEOUT)
    return result


def move(client: Client, sender: str, receiver: str) -> dict[str, float]:
    """Creates the blocks on one worker and uses them on the other."""
    x = persist_on(sender, make_array())
    assert np.array_equal(x.compute(), numpy_reference())
    assert halve(x).sum().compute() == numpy_reference().sum() / 2

    def reports(worker: str) -> list[dict[str, Any]]:
        tasks = [
            client.submit(blocks.report, block, workers=[worker], pure=False)
            for block in futures_of(x)
        ]
        return [task.result(timeout=blocks.TIMEOUT) for task in tasks]

    received, sent = reports(receiver), reports(sender)
    assert [each["sum"] for each in received] == [each["sum"] for each in sent]
    return {
        "moved blocks": len(received),
        "  received as Tensors": sum(each["type"] == "Tensor" for each in received),
        "  sent from the Tensor's memory": sum(each["written"] for each in sent),
        "  on the memory received into": sum(each["read"] for each in received),
        "  aligned": sum(each["aligned"] for each in received),
    }


def measure_memory(client: Client, sender: str, receiver: str) -> dict[str, float]:
    """Moves a large Tensor; returns the additional memory relative to its size."""
    large = client.submit(blocks.ones, LARGE, workers=[sender])
    wait(large, timeout=blocks.TIMEOUT)
    before = client.run(reset_peak)
    client.submit(blocks.report, large, workers=[receiver]).result(timeout=blocks.TIMEOUT)
    after = client.run(peak)
    return {
        f"  memory to {action}, per byte": round((after[worker] - before[worker]) / LARGE, 2)
        for action, worker in (("send", sender), ("receive", receiver))
    }


def count(registered: bool) -> dict[str, float]:
    with blocks.two_workers() as client:
        if registered:
            blocks.register()
            client.run(blocks.register)
        workers = sorted(client.scheduler_info()["workers"])
        return {**move(client, *workers), **measure_memory(client, *workers)}


def main() -> None:
    counts = {"pickled": count(False), "registered": count(True)}
    print(f"{BLOCKS} blocks of {ROWS} x {COLUMNS} float64, Dask {dask.__version__}")
    print(f"{'':40}" + "".join(f"{how:>12}" for how in counts))
    for label in counts["pickled"]:
        print(f"{label:40}" + "".join(f"{numbers[label]:12}" for numbers in counts.values()))
    for numbers in counts.values():
        *moved, aligned, to_send, to_receive = numbers.values()
        assert moved == [BLOCKS] * 4
        assert aligned == BLOCKS or numbers is counts["pickled"]
        assert to_send < 0.25 and 0.75 < to_receive < 1.25


if __name__ == "__main__":
    main()
