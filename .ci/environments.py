# SPDX-License-Identifier: BSD-3-Clause
"""The environments of the Python tests: the libraries that must pass in each, and the tests.

The packages of an environment are the dependency group of its name in pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass

# The tests of what the tools state about libraries: known defects, and reactions to a tensor.
STATEMENTS = ("tests/python/tools/test_known.py", "tests/python/tools/test_inspect_verdicts.py")

# Import, export, Tensor, lifetime and bad input.
CORE = tuple(f"tests/python/{name}.py" for name in (
    "test_as_tensor", "test_bad_input", "test_consume", "test_foreign_module", "test_lifetime",
    "test_produce", "test_tensor", "test_tensor_values", "test_tensor_views",
))  # fmt: skip
# The Python tests of the session `quick`.
QUICK = (*CORE, "tests/python/peers/test_numpy.py", "tests/python/peers/test_torch.py")


@dataclass(frozen=True)
class Peers:
    """An environment for the Python tests: the libraries that must pass, and the tests."""

    name: str
    peers: tuple[str, ...]
    tests: tuple[str, ...] = ("tests/python/peers", *STATEMENTS)  # run for these peers only
    torch: bool = False  # needs PyTorch, where pip finds a build without CUDA
    longest: bool = False  # starts first

    @property
    def group(self) -> str:
        return self.name.replace(".", "-")


ALL = ("tests/python", "--ignore=tests/python/test_soak.py")  # the session soak repeats more often
TABLE = ("test_exchange", "test_the_table_names_what_there_is")
TABLE_OF_NUMPY = tuple(f"tests/python/peers/test_numpy.py::{name}" for name in TABLE)
NEWEST = ("numpy", "ml_dtypes", "jax", "array_api_strict", "tvm_ffi", "pybind11_stubgen")
READERS = ("pandas", "matplotlib", "scipy", "skimage", "xarray")  # call np.asarray
PEERS = [
    # `quick` has run its tests with the same NumPy and PyTorch.
    Peers("newest", (*NEWEST, *READERS, "torch"), (*ALL, *(f"--ignore={each}" for each in QUICK)),
          torch=True, longest=True),
    Peers("numpy-1", ("numpy",),  # has no max_version
          (*CORE, "tests/python/test_extension_numpy.py", "tests/python/peers", *STATEMENTS)),
    # The last one that exports compact arrays without strides.
    Peers("numpy-2.2", ("numpy",),
          ("tests/python/test_extension_numpy.py", "tests/python/peers/test_numpy.py")),
    Peers("others", ("numpy", "pyarrow", "onnxruntime", "warp", "dask", "array_api_compat",
                     "joblib", "cuda.core", "cupy", "nanobind")),
    Peers("mlx", ("mlx",)),
    # These require other versions of packages of the environment newest, or are large.
    Peers("tensorflow", ("tensorflow",),
          ("tests/python/peers", *STATEMENTS, "tests/python/test_extension_callers.py")),
    Peers("paddle", ("paddle",),
          ("tests/python/peers", *STATEMENTS, "tests/python/test_import_parity.py")),
    # The last release of MXNet uses names that NumPy 1.24 removed. NumPy 1.22 has no wheels for the
    # Python versions that the other libraries support; 1.23 implements the same DLPack.
    Peers("mxnet", ("mxnet", "numpy"),
          ("tests/python/peers/test_mxnet.py", *STATEMENTS, *TABLE_OF_NUMPY)),
    # Intel's arrays on a SYCL device that is a CPU: those of dpnp, and the former ones of dpctl.
    Peers("oneapi", ("dpnp",)),
    Peers("oneapi-0.21", ("dpctl",)),
]  # fmt: skip
TOOLS = {"ml_dtypes", "pybind11_stubgen", *READERS}  # peers that exchange no tensors themselves
