# SPDX-License-Identifier: BSD-3-Clause
"""Finds the compiled test modules, and collects the files of the requested peers."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

# Requirements of the files outside the folder peers.
REQUIREMENTS = {
    "test_matrix.py": "numpy",
    "test_help.py": "numpy",
    "test_show.py": "numpy",
    "test_tensor_values.py": "numpy",
    "test_comparisons.py": "numpy",
    "test_broadcast.py": "numpy",
    "test_converted.py": "ml_dtypes",
    "test_element_types.py": "ml_dtypes",
    "test_extension_numpy.py": "numpy",
    "test_or_other_arrays.py": "polars",
    "test_choices.py": "torch",
    "test_or_other_numbers.py": "torch",
    "test_torch_in_place.py": "torch",
    "test_data_loader.py": "torch",
    "test_shared_memory.py": "numpy",
    "test_vectorize.py": "torch",
    "test_extension_torch.py": "torch",
    "test_extension_tvm_ffi.py": "tvm_ffi",
    "test_extension_stubs.py": "pybind11_stubgen",
    "test_docstrings.py": "numpy",
    "test_given.py": "numpy",
    "test_given_stubs.py": "torch",
    "test_own_stub.py": "pybind11_stubgen",  # mypy is installed beside it
    "test_nanobind_extension.py": "numpy",
    "test_moved_extensions.py": "numpy",
    "test_visible_classes.py": "numpy",
    "test_remedies.py": "numpy",
    "test_inspect_producers.py": "numpy",
    "test_inspect_torch.py": "torch",
}
# The libraries to which test_visible_classes.py gives objects; they need not exchange tensors.
READERS = {"pandas", "matplotlib", "scipy", "skimage", "xarray"}
PEERS = Path(__file__).resolve().parent / "peers"
sys.path.insert(0, str(PEERS))
pytest_plugins = ["counting"]
MODULES = Path(os.environ.get("DLBRIDGE_TEST_MODULES", ""))
EXTENSIONS = [each for each in ("extension", "nanobind_extension") if [*MODULES.glob(f"{each}.*")]]

from rows import LIBRARIES, load  # noqa: E402 - from the folder peers


def requirement_of(file: Path) -> str | None:
    """The library that a file requires: in the folder peers, the one in its name."""
    if file.name.startswith("test_device_"):
        return "simulated"
    if file.parent != PEERS or not file.name.startswith("test_"):
        return REQUIREMENTS.get(file.name)
    stem = file.stem[len("test_") :]
    return next((name for name in LIBRARIES if name.replace(".", "_") == stem), stem)


KNOWN = {
    "simulated",
    *READERS,
    *REQUIREMENTS.values(),
    *map(requirement_of, PEERS.glob("test_*.py")),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--peers",
        default=os.environ.get("DLBRIDGE_TEST_PEERS", ""),
        metavar="NAMES",
        help="--peers=numpy,torch: libraries to test against (default: DLBRIDGE_TEST_PEERS). A "
        "missing library is an error; files of other libraries are not collected.",
    )


def requested(config: pytest.Config) -> set[str]:
    return {name for name in str(config.getoption("--peers")).split(",") if name}


def pytest_configure(config: pytest.Config) -> None:
    modules = os.environ.get("DLBRIDGE_TEST_MODULES", "")
    if not list(Path(modules).glob("foreign*.so")):
        raise pytest.UsageError(
            "expected DLBRIDGE_TEST_MODULES to name the directory with the compiled test modules "
            f"(python-modules in the build directory); got {modules!r}"
        )
    sys.path.insert(0, modules)
    for peer in sorted(requested(config)):
        if peer not in KNOWN:
            known = ", ".join(sorted(map(str, KNOWN)))
            raise pytest.UsageError(f"--peers: no tests for {peer!r}, only for {known}")
        try:
            load(peer)
        except ImportError as error:
            raise pytest.UsageError(f"--peers: cannot import {peer}: {error}") from None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    library = requirement_of(collection_path)
    return True if library is not None and library not in requested(config) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrizes `library` with the requested rows of the file's LIBRARIES, and dlbridge."""
    if "library" in metafunc.fixturenames:
        names = {"dlbridge", *requested(metafunc.config)}
        table = {k: v for k, v in metafunc.module.LIBRARIES.items() if k in names}
        metafunc.parametrize("library", table.values(), ids=table.keys())


@pytest.fixture(params=EXTENSIONS)
def extension(request: pytest.FixtureRequest) -> Any:
    """The modules of the same functions by pybind11 and by nanobind that were built."""
    return importlib.import_module(request.param)


def pytest_collection_finish() -> None:
    """Freezes the objects of the peers, so that the many collections in tests are fast."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """Freezes what the former modules left, such as the reports and what jax has compiled."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    return f"peers: {', '.join(sorted(requested(config))) or 'none'}"
