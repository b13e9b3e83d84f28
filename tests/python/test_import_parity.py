# SPDX-License-Identifier: BSD-3-Clause
"""from_dlpack and as_tensor by exchange tables and fields of ndarrays give what they give by
__dlpack__: the same Tensor, or the same refusal, for random tensors of each library."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("import_parity.py")
COUNTS = {
    "numpy": 4000,
    "torch": 3000,
    "jax": 100,
    "tvm_ffi": 1000,
    "paddle": 1500,
    "dlbridge": 500,
}
FOUND = [name for name in COUNTS if find_spec(name) and find_spec("numpy")]


def lines(library: str, protocol_only: bool) -> list[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "DLBRIDGE_PROTOCOL_ONLY": "1" if protocol_only else "0",
        "JAX_PLATFORMS": "cpu",
    }
    result = subprocess.run(
        [sys.executable, str(PROGRAM), library, str(COUNTS[library]), "1"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize("name", FOUND)
def test_both_ways_agree(name: str) -> None:
    fast, protocol = lines(name, False), lines(name, True)
    assert len(fast) == len(protocol) == COUNTS[name]
    assert [pair for pair in zip(fast, protocol) if pair[0] != pair[1]] == []
    refused = sum("Error: " in each for each in fast)
    assert len(fast) - refused > 0  # not only refusals
