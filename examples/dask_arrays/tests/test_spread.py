"""The program, which asserts what it shows; and probes that would notice a copy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import blocks
import numpy as np
import pytest

import dlbridge

PROGRAM = Path(__file__).parents[1] / "spread.py"


def test_program():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "blocks that moved" in done.stdout
    print(done.stdout)


@pytest.fixture(scope="module")
def client():
    with blocks.two_workers() as client:
        yield client


def copied_first(block):
    return blocks.report(dlbridge.from_dlpack(block, copy=True))


def test_a_copy_is_seen(client):
    here, there = sorted(client.scheduler_info()["workers"])
    block = client.submit(blocks.ones, 1 << 20, workers=[here])

    def run(task, worker):
        return client.submit(task, block, workers=[worker], pure=False).result(timeout=30)

    assert run(blocks.report, there)["read"] and run(blocks.report, here)["written"]
    assert not run(copied_first, there)["read"] and not run(copied_first, here)["written"]


def test_a_result_of_dasks_is_a_tensor(client):
    t = client.submit(blocks.ones, 800).result(timeout=30)
    assert type(t) is dlbridge.Tensor and np.from_dlpack(t).sum() == 100


def read_only():
    return dlbridge.from_dlpack(np.ones(5), readonly=True)


def column_major():
    return dlbridge.from_dlpack(np.arange(6.0).reshape(2, 3).T)


def test_mark_and_order_travel(client):
    assert client.submit(read_only).result(timeout=30).readonly
    t = client.submit(column_major).result(timeout=30)
    assert t.strides == (1, 3) and np.from_dlpack(t).tolist() == [[0, 3], [1, 4], [2, 5]]
