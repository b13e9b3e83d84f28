"""A fixture for pytest that runs a test where the simulated drivers are found.

In a conftest.py, with this folder on sys.path: from simulated_fixtures import simulated_drivers
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Callable, Union

import pytest

from simulated import run_inside

Test = Union[Callable[[], object], str, os.PathLike[str]]


class SimulatedDrivers:
    """Called with a function or a file: passes when that passes in a process of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(
        self, what: Test, *, devices: int = 2, environment: Mapping[str, str] | None = None
    ) -> None:
        __tracebackhide__ = True
        ended = run_inside(what, drivers=self.folder, devices=devices, environment=environment)
        if ended.returncode != 0:
            pytest.fail(
                f"{what} ended with {ended.returncode}\n{ended.stdout}{ended.stderr}",
                pytrace=False,
            )


@pytest.fixture
def simulated_drivers() -> SimulatedDrivers:
    """The drivers of the folder that the environment variable SIMULATED_DRIVERS names."""
    folder = os.environ.get("SIMULATED_DRIVERS", "")
    if not os.path.isdir(folder):
        raise pytest.UsageError(f"SIMULATED_DRIVERS names the folder of libcuda.so.1: {folder!r}")
    return SimulatedDrivers(folder)
