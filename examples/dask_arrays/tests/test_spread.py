# SPDX-License-Identifier: BSD-3-Clause
"""The program, which checks its own results, and that the probes detect a copy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import blocks
import dask.array as da
import numpy as np
import pytest

import dlbridge

PROGRAM = Path(__file__).parents[1] / "spread.py"


def test_program():
    result = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "moved blocks" in result.stdout
    print(result.stdout)


@pytest.fixture(scope="module", params=["pickled", "registered"])
def how(request):
    return request.param


@pytest.fixture(scope="module")
def client(how):
    with blocks.two_workers() as client:
        if how == "registered":  # lasts for the process, so it comes second
            blocks.register()
            client.run(blocks.register)
        yield client


def copied_first(block):
    return blocks.report(dlbridge.from_dlpack(block, copy=True))


def moved(client, nbytes):
    """Creates a Tensor on one worker; returns a function that runs tasks on it on either one."""
    workers = sorted(client.scheduler_info()["workers"])
    block = client.submit(blocks.ones, nbytes, workers=workers[:1], pure=False)

    def run(task, worker):
        future = client.submit(task, block, workers=[workers[worker]], pure=False)
        return future.result(timeout=blocks.TIMEOUT)

    return run


def test_a_copy_is_detected(client):
    run = moved(client, 1 << 20)
    assert run(blocks.report, 1)["read"] and run(blocks.report, 0)["written"]
    assert not run(copied_first, 1)["read"] and not run(copied_first, 0)["written"]


def test_large_tensors(client, how):
    """Dask splits large frames. Only pickled Tensors are received into one block."""
    run = moved(client, 72 << 20)
    received = run(blocks.report, 1)
    assert received["sum"] == (72 << 20) / 8
    assert received["read"] == (how == "pickled")
    assert run(blocks.report, 0)["written"]


def test_a_result_is_a_tensor(client):
    t = client.submit(blocks.ones, 800).result(timeout=blocks.TIMEOUT)
    assert type(t) is dlbridge.Tensor and np.from_dlpack(t).sum() == 100


def read_only():
    return dlbridge.from_dlpack(np.ones(5), readonly=True)


def column_major():
    return dlbridge.from_dlpack(np.arange(6.0).reshape(2, 3).T)


def test_mark_and_order_are_kept(client):
    assert client.submit(read_only).result(timeout=blocks.TIMEOUT).readonly
    t = client.submit(column_major).result(timeout=blocks.TIMEOUT)
    assert t.strides == (1, 3) and np.from_dlpack(t).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_operations_of_dask(client):
    """Dask slices Tensors and converts them to arrays, but cannot concatenate them."""
    sizes = {"chunks": ((4, 4), (6,)), "dtype": "f8", "meta": np.empty((0, 0))}
    x = da.map_blocks(blocks.make, **sizes)
    expected = 1000.0 * np.arange(8)[:, None] + np.arange(6)
    assert np.array_equal(x.compute(), expected)
    assert x.max(axis=0).compute().tolist() == expected.max(axis=0).tolist()
    assert np.array_equal(x[1:3].compute(), expected[1:3])
    y = x.map_blocks(np.from_dlpack, dtype=x.dtype)
    assert np.array_equal(y[3:5].compute(), expected[3:5])
    assert np.array_equal(y.rechunk((8, 3)).compute(), expected)
