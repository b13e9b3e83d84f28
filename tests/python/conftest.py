"""Finds the compiled counterparts, and collects the files of those peers that are asked for."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path

import pytest

# Libraries that dlbridge exchanges tensors with, and tools, by the file that proves it.
PEERS = {
    "test_numpy.py": "numpy",
    "test_ml_dtypes.py": "ml_dtypes",
    "test_torch.py": "torch",
    "test_extension_numpy.py": "numpy",
    "test_extension_torch.py": "torch",
    "test_extension_tvm_ffi.py": "tvm_ffi",
    "test_extension_stubs.py": "pybind11_stubgen",
    "test_device_streams.py": "simulated",
    "test_device_transfer.py": "simulated",
    "test_dpnp.py": "dpnp",
    "test_inspect_producers.py": "numpy",
    "test_inspect_torch.py": "torch",
    "test_inspect_verdicts.py": "numpy",
}
# Those that need no file of their own: one table of all callers has them.
CALLERS = {"array_api_strict", "jax", "tensorflow"}
KNOWN = sorted({*PEERS.values(), *CALLERS})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--peers",
        default=os.environ.get("DLBRIDGE_TEST_PEERS", ""),
        metavar="NAMES",
        help="--peers=numpy,torch: libraries to test against (default: DLBRIDGE_TEST_PEERS). One "
        "that is asked for and missing is an error; the file of another is not collected.",
    )


def asked_for(config: pytest.Config) -> set[str]:
    return {name for name in str(config.getoption("--peers")).split(",") if name}


def pytest_configure(config: pytest.Config) -> None:
    modules = os.environ.get("DLBRIDGE_TEST_MODULES", "")
    if not list(Path(modules).glob("foreign*.so")):
        raise pytest.UsageError(
            "DLBRIDGE_TEST_MODULES must name the directory with the compiled counterparts "
            f"(python-modules in the build directory), and is {modules!r}"
        )
    sys.path.insert(0, modules)
    for peer in sorted(asked_for(config)):
        if peer not in KNOWN:
            raise pytest.UsageError(f"--peers: no tests for {peer!r}, only for {KNOWN}")
        try:
            importlib.import_module(peer)
        except ImportError as missing:
            raise pytest.UsageError(f"--peers asks for {peer}: {missing}") from None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    peer = PEERS.get(collection_path.name)
    return True if peer is not None and peer not in asked_for(config) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives `library` every row of the file's LIBRARIES that is asked for, and our own."""
    if "library" in metafunc.fixturenames:
        chosen = {"dlbridge", *asked_for(metafunc.config)}
        table = {k: v for k, v in metafunc.module.LIBRARIES.items() if k in chosen}
        metafunc.parametrize("library", table.values(), ids=table.keys())


def pytest_collection_finish() -> None:
    """Takes what the peers brought along out of the collector's sight: many tests collect."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    return f"peers: {', '.join(sorted(asked_for(config))) or 'none'}"
