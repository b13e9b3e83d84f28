# SPDX-License-Identifier: BSD-3-Clause
"""The program, and other objects in shared memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from shared import Shared

import dlbridge

PROGRAM = Path(__file__).parents[1] / "shared.py"


def test_program():
    result = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    print(result.stdout)


def test_all_mappings_share_the_memory(tmp_path):
    t = dlbridge.from_dlpack(np.arange(3.0))
    shared = Shared.of({"t": t, "name": "x"}, tmp_path / "memory")
    one, other = shared.open(), shared.open()
    assert one["name"] == "x" and one["t"].data_ptr % 4096 == 0
    np.from_dlpack(one["t"])[1] = 7
    assert np.from_dlpack(other["t"]).tolist() == [0, 7, 2]
    assert np.from_dlpack(t).tolist() == [0, 1, 2]  # the file has the only copy


def test_the_read_only_mark_is_kept(tmp_path):
    shared = Shared.of(dlbridge.from_dlpack(np.ones(3), readonly=True), tmp_path / "memory")
    assert shared.open().readonly


@pytest.mark.parametrize("shape", [(0, 3), (), (4096,)])
def test_sizes(shape, tmp_path):
    tensors = [dlbridge.from_dlpack(np.full(shape, i, dtype="uint8")) for i in range(2)]
    for i, t in enumerate(Shared.of(tensors, tmp_path / "memory").open()):
        assert t.shape == shape and (np.from_dlpack(t) == i).all()
