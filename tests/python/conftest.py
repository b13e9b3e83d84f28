"""Finds the compiled counterparts, and collects the files of those peers that are asked for."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

# Tools and libraries outside the folder peers, by the file that needs them.
NEEDED = {
    "test_matrix.py": "numpy",
    "test_extension_numpy.py": "numpy",
    "test_extension_torch.py": "torch",
    "test_extension_tvm_ffi.py": "tvm_ffi",
    "test_extension_stubs.py": "pybind11_stubgen",
    "test_device_streams.py": "simulated",
    "test_device_transfer.py": "simulated",
    "test_inspect_producers.py": "numpy",
    "test_inspect_torch.py": "torch",
    "test_device_conformance.py": "simulated",
}
PEERS = Path(__file__).resolve().parent / "peers"
sys.path.insert(0, str(PEERS))
pytest_plugins = ["counting"]

from rows import LIBRARIES, load  # noqa: E402 - of that folder


def needed_by(file: Path) -> str | None:
    """What a file needs: in the folder peers, the library that it is named after."""
    if file.parent != PEERS or not file.name.startswith("test_"):
        return NEEDED.get(file.name)
    stem = file.stem[len("test_") :]
    return next((name for name in LIBRARIES if name.replace(".", "_") == stem), stem)


KNOWN = {*NEEDED.values(), *map(needed_by, PEERS.glob("test_*.py"))}


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
            known = ", ".join(sorted(map(str, KNOWN)))
            raise pytest.UsageError(f"--peers: no tests for {peer!r}, only for {known}")
        try:
            load(peer)
        except ImportError as missing:
            raise pytest.UsageError(f"--peers asks for {peer}: {missing}") from None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    needed = needed_by(collection_path)
    return True if needed is not None and needed not in asked_for(config) else None


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
