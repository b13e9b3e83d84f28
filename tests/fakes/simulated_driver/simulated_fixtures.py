# SPDX-License-Identifier: BSD-3-Clause
"""A pytest fixture that runs tests in a process whose loader finds the simulated drivers.

To use it, put this folder on sys.path and write in a conftest.py:
from simulated_fixtures import simulated_drivers
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Callable, Union

import pytest

from simulated import run_inside

Test = Union[Callable[[], object], str, os.PathLike[str]]


class SimulatedDrivers:
    """A callable that runs a function or a file in a separate process, and fails if that fails."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(
        self, test: Test, *, devices: int = 2, environment: Mapping[str, str] | None = None
    ) -> None:
        __tracebackhide__ = True
        process = run_inside(test, drivers=self.folder, devices=devices, environment=environment)
        if process.returncode != 0:
            pytest.fail(
                f"{test}: exit status {process.returncode}\n{process.stdout}{process.stderr}",
                pytrace=False,
            )


@pytest.fixture
def simulated_drivers() -> SimulatedDrivers:
    """Runs tests with the drivers of the folder that SIMULATED_DRIVERS names."""
    folder = os.environ.get("SIMULATED_DRIVERS", "")
    if not os.path.isdir(folder):
        raise pytest.UsageError(
            f"set SIMULATED_DRIVERS to the folder of libcuda.so.1; it is {folder!r}"
        )
    return SimulatedDrivers(folder)
