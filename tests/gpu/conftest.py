"""Tests on a real CUDA GPU, with each installed library that finds one. At least one must."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

LIBRARIES = ("cupy", "torch", "jax")


def finds_gpu(name: str) -> bool:
    try:
        module: Any = importlib.import_module(name)
        if name == "torch":
            return bool(module.cuda.is_available())
        if name == "jax":
            return any(each.platform == "gpu" for each in module.devices())
        return bool(module.cuda.runtime.getDeviceCount())
    except Exception:  # the library raises its own exceptions if there is no driver
        return False


AVAILABLE = [name for name in LIBRARIES if finds_gpu(name)]


def pytest_configure(config: pytest.Config) -> None:
    if not AVAILABLE:
        raise pytest.UsageError(f"none of {', '.join(LIBRARIES)} is installed and finds a GPU")


def pytest_report_header(config: pytest.Config) -> str:
    return f"with a GPU: {', '.join(AVAILABLE)}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        needed = {mark.args[0] for mark in item.iter_markers("needs")}
        if not needed <= set(AVAILABLE):
            item.add_marker(pytest.mark.skip(f"needs {', '.join(sorted(needed))} with a GPU"))
