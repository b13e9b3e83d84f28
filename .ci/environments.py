"""The environments of the Python tests: their packages, and the libraries that must pass there."""

from __future__ import annotations

from dataclasses import dataclass

# The tests of what the tools state about libraries: known defects, and reactions to a tensor.
STATEMENTS = ("tests/python/tools/test_known.py", "tests/python/tools/test_inspect_verdicts.py")


@dataclass(frozen=True)
class Peers:
    """An environment for the Python tests: its packages, and the libraries that must pass."""

    name: str
    packages: tuple[str, ...]
    peers: tuple[str, ...]
    tests: tuple[str, ...] = ("tests/python/peers", *STATEMENTS)  # run for these peers only
    heavy: bool = False  # omitted by --fast

    @property
    def tags(self) -> list[str]:
        """The tags of its session. The longest one starts first."""
        return ["slow"] if self.heavy else ["first"] if self.name == "newest" else []


TORCH = "torch==2.13.0"
NEWEST = {  # by the name of the package
    "numpy": "numpy",
    "ml_dtypes": "ml_dtypes",
    TORCH: "torch",
    "jax": "jax",
    "array-api-strict": "array_api_strict",
    "apache-tvm-ffi": "tvm_ffi",
    "pybind11-stubgen": "pybind11_stubgen",
}
# A pinned version below is the one whose behaviour the tables describe.
OTHERS = {
    "numpy": "numpy",
    "pyarrow==26.0.1": "pyarrow",
    "onnxruntime==1.31.1": "onnxruntime",
    "warp-lang==1.19.0": "warp",
    "dask[array]": "dask",
    "array-api-compat": "array_api_compat",
    "joblib": "joblib",
    "cuda-core==1.2.2": "cuda.core",
    "cupy-cuda12x==14.2.0": "cupy",
    "nanobind==3.1.0": "nanobind",
}
MORE_OF_THE_FIELD = ("mpi4py", "mpich", "rich")
ALL = ("tests/python", "--ignore=tests/python/test_soak.py")  # the session soak repeats more often
TABLE = ("test_exchange", "test_the_table_names_what_there_is")
TABLE_OF_NUMPY = tuple(f"tests/python/peers/test_numpy.py::{name}" for name in TABLE)
PEERS = [
    Peers("newest", (*NEWEST, "mypy", "rich"), tuple(NEWEST.values()), ALL),
    Peers("numpy-1", ("numpy==1.26.4", "ml_dtypes"), ("numpy",),  # has no max_version
          (*ALL, "--ignore-glob=*/tools/test_[!ik]*")),  # of the tools, inspect and known only
    # The last one that exports compact arrays without strides.
    Peers("numpy-2.2", ("numpy==2.2.6", "ml_dtypes"), ("numpy",),
          (*ALL, "--ignore=tests/python/tools", "-k", "extension or numpy")),
    Peers("others", (*OTHERS, "cuda-bindings", "distributed", "ml_dtypes"), tuple(OTHERS.values())),
    Peers("mlx", ("mlx==0.32.4", "mlx-cpu==0.32.4", "numpy"), ("mlx",)),
    # These require other versions of packages of the environment newest, or are large.
    Peers("tensorflow", ("tensorflow-cpu==2.21.0",), ("tensorflow",),
          ("tests/python/peers", *STATEMENTS, "tests/python/test_extension_callers.py"),
          heavy=True),
    Peers("paddle", ("paddlepaddle==3.3.1", "setuptools"), ("paddle",),
          ("tests/python/peers", *STATEMENTS, "tests/python/test_import_parity.py"), heavy=True),
    # The last release of MXNet uses names that NumPy 1.24 removed. NumPy 1.22 has no wheels for the
    # Python versions that the other libraries support; 1.23 implements the same DLPack.
    Peers("mxnet", ("mxnet==1.9.1", "numpy==1.23.5"), ("mxnet", "numpy"),
          ("tests/python/peers/test_mxnet.py", *STATEMENTS, *TABLE_OF_NUMPY), heavy=True),
    # Intel's arrays on a SYCL device that is a CPU: those of dpnp, and the former ones of dpctl.
    Peers("oneapi", ("dpctl==0.22.1", "dpnp==0.20.0", "intel-opencl-rt"), ("dpnp",), heavy=True),
    Peers("oneapi-0.21", ("dpctl==0.21.1", "intel-opencl-rt"), ("dpctl",), heavy=True),
]  # fmt: skip
TOOLS = {"ml_dtypes", "pybind11_stubgen"}  # peers that exchange no tensors themselves
