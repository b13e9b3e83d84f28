# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program on several processes; the program checks its own results."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "heat.py"
BESIDE_PYTHON = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(BESIDE_PYTHON) if BESIDE_PYTHON.exists() else shutil.which("mpiexec")
LIMITS = {
    "MPIEXEC_TIMEOUT": "60",  # seconds; mpiexec then ends all processes
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI: allow more than cores
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_program(processes):
    assert MPIEXEC is not None, "no mpiexec: install an MPI"
    command = [MPIEXEC, "-n", str(processes), sys.executable, "-m", "mpi4py", str(PROGRAM)]
    result = subprocess.run(
        command, env={**os.environ, **LIMITS}, capture_output=True, text=True, timeout=90
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"processes: {processes} " in result.stdout
    if processes == 4:
        expected = Path(__file__).with_name("counted.txt").read_text()
        assert expected.split("[counted]\n")[1].split("[/counted]")[0] in result.stdout
