# SPDX-License-Identifier: BSD-3-Clause
"""Memory that several processes use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from proof.registry import check, require

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "cuda_ipc" / "share.py"


@check("Another process reads and writes a Tensor's memory by an IPC handle (examples/cuda_ipc)",
       simulated=False)  # fmt: skip
def ipc_handle() -> None:
    process = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False, timeout=50
    )
    require(process.returncode == 0, process.stderr[-500:])
