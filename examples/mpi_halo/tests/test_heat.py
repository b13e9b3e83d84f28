"""The program, on several processes; it asserts what it shows."""

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
    "MPIEXEC_TIMEOUT": "60",  # in seconds; all processes are ended then
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI: with few cores too
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_program(processes):
    assert MPIEXEC is not None, "no mpiexec: install an MPI"
    command = [MPIEXEC, "-n", str(processes), sys.executable, "-m", "mpi4py", str(PROGRAM)]
    done = subprocess.run(
        command, env={**os.environ, **LIMITS}, capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"processes: {processes} " in done.stdout
    if processes == 4:
        shown = Path(__file__).with_name("counted.txt").read_text()
        assert shown.split("[counted]\n")[1].split("[/counted]")[0] in done.stdout
