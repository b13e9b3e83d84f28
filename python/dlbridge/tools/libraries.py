"""The libraries of the field: how each one makes, gives, takes and reads an array.

One row for each library, and nothing about a library anywhere else: the demo, the doctor, the
matrix, the conformance checks and the peer tests all speak to it through its row.
"""

from __future__ import annotations

import array as buffers
import importlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable

import dlbridge

Nested = Any  # numbers in lists in lists


def _itself(module: Any, x: Any) -> Any:
    return x


def _index(module: Any, x: Any, key: Any) -> Any:
    return x[key]


def _transpose(module: Any, x: Any) -> Any:
    return x.T


def _tolist(module: Any, x: Any) -> Nested:
    return x.tolist()


@dataclass(frozen=True)
class Library:
    """How one library is spoken to. Every function gets the imported module first.

    A function that is None, or that raises, says that the library has no such thing.
    """

    module: str  # as import knows it, and the name of the library everywhere here
    title: str
    distributions: tuple[str, ...]  # that bring it; the first that is installed counts
    array: Callable[[Any, Nested, str], Any] | None = None  # of these values and dtype, new memory
    take: Callable[[Any, Any], Any] | None = None  # its from_dlpack: any producer, to its own array
    address: Callable[[Any, Any], int] | None = None  # of the first element of its own array
    values: Callable[[Any, Any], Nested] = _tolist  # of its own array
    give: Callable[[Any, Any], Any] = _itself  # what its array is handed over as: itself, a capsule
    takes_capsules: bool = False  # take wants a raw legacy capsule and no producer
    index: Callable[[Any, Any, Any], Any] = _index
    transpose: Callable[[Any, Any], Any] = _transpose
    broadcast: Callable[[Any, Any, tuple[int, ...]], Any] | None = None
    read_only: Callable[[Any, Any], Any] | None = None  # the same memory, marked read-only
    also_import: tuple[str, ...] = ()  # modules that importing the first one does not bring
    dtype: Callable[[Any, str], Any] = getattr  # its dtype object by name

    def load(self) -> ModuleType:
        """Imports it. Raises ImportError, or whatever importing it raises."""
        module = importlib.import_module(self.module)
        for each in self.also_import:
            importlib.import_module(each)
        return module

    @property
    def importable(self) -> bool:
        """Whether it seems to be there; it is not imported."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except (ImportError, ValueError):
            return False

    @property
    def version(self) -> str | None:
        """The version that is installed, None when none is; it is not imported."""
        for each in self.distributions:
            try:
                return importlib.metadata.version(each)
            except importlib.metadata.PackageNotFoundError:
                continue
        return None


def _numpy_read_only(numpy: Any, x: Any) -> Any:
    view = x[...]
    view.flags.writeable = False
    return view


_BUFFER_CODES = {
    "int8": "b",
    "uint8": "B",
    "int32": "i",
    "int64": "q",
    "float32": "f",
    "float64": "d",
}


def _shape_of(values: Nested) -> tuple[int, ...]:
    return (len(values), *_shape_of(values[0] if values else 0)) if isinstance(values, list) else ()


def _flat(values: Nested) -> list[Any]:
    return [one for part in values for one in _flat(part)] if isinstance(values, list) else [values]


def _buffer(values: Nested, dtype: str) -> Any:
    """Row-major memory of these values, for those that make arrays out of others' memory only."""
    if dtype not in _BUFFER_CODES:
        raise NotImplementedError(f"no buffer of {dtype}")
    memory: Any = memoryview(buffers.array(_BUFFER_CODES[dtype], _flat(values)))
    if 0 in _shape_of(values):
        raise NotImplementedError("memoryview cannot be given an empty shape")
    return memory.cast("B").cast(memory.format, _shape_of(values))


ROWS = [
    Library(
        "array",
        "Python's array",  # no DLPack, but the buffer protocol
        (),
        array=lambda m, values, dtype: _buffer(values, dtype),
        take=lambda m, x: memoryview(x),
        address=lambda m, x: dlbridge.as_tensor(x).data_ptr,
    ),
    Library(
        "dlbridge",
        "dlbridge",
        ("dlbridge",),
        array=lambda m, values, dtype: m.as_tensor(_buffer(values, dtype)),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.data_ptr,
        values=lambda m, x: memoryview(x).tolist(),
        read_only=lambda m, x: m.from_dlpack(x, readonly=True),
    ),
    Library(
        "numpy",
        "NumPy",
        ("numpy",),
        array=lambda m, values, dtype: m.array(values, dtype=dtype),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.__array_interface__["data"][0],
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        read_only=_numpy_read_only,
    ),
    Library(
        "torch",
        "PyTorch",
        ("torch",),
        array=lambda m, values, dtype: m.tensor(values, dtype=getattr(m, dtype)),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.data_ptr(),
        transpose=lambda m, x: x.t(),
        broadcast=lambda m, x, shape: x.expand(shape),
    ),
    Library(
        "jax",
        "JAX",
        ("jax",),
        array=lambda m, values, dtype: m.numpy.asarray(values, dtype=dtype),
        take=lambda m, x: m.dlpack.from_dlpack(x),
        address=lambda m, x: x.unsafe_buffer_pointer(),
        also_import=("jax.numpy", "jax.dlpack"),
    ),
    Library(
        "tensorflow",
        "TensorFlow",
        ("tensorflow", "tensorflow-cpu"),
        array=lambda m, values, dtype: m.constant(values, dtype=dtype),
        take=lambda m, x: m.experimental.dlpack.from_dlpack(x),
        takes_capsules=True,
        address=lambda m, x: x.numpy().ctypes.data,
        values=lambda m, x: x.numpy().tolist(),
        transpose=lambda m, x: m.transpose(x),
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
    ),
    Library(
        "cupy",
        "CuPy",
        ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy"),
        array=lambda m, values, dtype: m.asarray(values, dtype=dtype),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.data.ptr,
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
    ),
    Library(
        "tvm_ffi",
        "tvm-ffi",
        ("apache-tvm-ffi",),
        array=lambda m, values, dtype: m.from_dlpack(dlbridge.as_tensor(_buffer(values, dtype))),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.data_ptr(),
        values=lambda m, x: memoryview(dlbridge.from_dlpack(x)).tolist(),
    ),
    Library(
        "paddle",
        "Paddle",
        ("paddlepaddle", "paddlepaddle-gpu"),
        array=lambda m, values, dtype: m.to_tensor(values, dtype=dtype),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.data_ptr(),
        transpose=lambda m, x: x.t(),
        broadcast=lambda m, x, shape: m.expand(x, shape),
    ),
    Library(
        "array_api_strict",
        "array-api-strict",
        ("array-api-strict",),
        array=lambda m, values, dtype: m.asarray(values, dtype=getattr(m, dtype)),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: dlbridge.from_dlpack(x).data_ptr,
        values=lambda m, x: memoryview(dlbridge.from_dlpack(x)).tolist(),
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
    ),
    Library("mxnet", "MXNet", ("mxnet",)),
    Library("mpi4py", "mpi4py", ("mpi4py",)),
    Library("dask", "Dask", ("dask",)),
    Library("dpctl", "dpctl", ("dpctl",)),
    Library("dpnp", "dpnp", ("dpnp",)),
    Library("mlx", "MLX", ("mlx",)),
    Library("pyarrow", "PyArrow", ("pyarrow",)),
    Library("onnxruntime", "ONNX Runtime", ("onnxruntime", "onnxruntime-gpu")),
    Library("warp", "Warp", ("warp-lang",)),
    Library("cuda.core", "cuda.core", ("cuda-core",)),
]

LIBRARIES: dict[str, Library] = {row.module: row for row in ROWS}


# Cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One array that is exchanged: what it holds, and how it lies in memory."""

    name: str
    make: Callable[[Library, Any], Any]  # raises where the library has no such array
    values: Nested  # of what arrives
    dtype: str = "float32"


GRID = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
LINE = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def new(library: Library, module: Any, values: Nested, dtype: str = "float32") -> Any:
    """An array of the library's own. Raises NotImplementedError where it makes none."""
    if library.array is None:
        raise NotImplementedError(f"{library.title} has no arrays of its own")
    return library.array(module, values, dtype)


def _indexed(values: Nested, key: Any) -> Callable[[Library, Any], Any]:
    return lambda library, m: library.index(m, new(library, m, values), key)


def _needs(what: Any, library: Library, name: str) -> Any:
    if what is None:
        raise NotImplementedError(f"{library.title} has no {name} arrays")
    return what


def _of(dtype: str, values: Nested) -> Case:
    return Case(dtype, lambda library, m: new(library, m, values, dtype), values, dtype)


CASES = {
    case.name: case
    for case in [
        Case("row-major", lambda lib, m: new(lib, m, GRID), GRID),
        Case("vector", lambda lib, m: new(lib, m, LINE), LINE),
        Case(
            "transposed",
            lambda lib, m: lib.transpose(m, new(lib, m, GRID)),
            [list(column) for column in zip(*GRID)],
        ),
        Case("offset", _indexed(GRID, slice(1, None)), GRID[1:]),
        Case("stepped", _indexed(LINE, slice(None, None, 2)), LINE[::2]),
        Case("backwards", _indexed(LINE, slice(None, None, -1)), LINE[::-1]),
        Case(
            "broadcast",
            lambda lib, m: _needs(lib.broadcast, lib, "broadcast")(m, new(lib, m, LINE), (2, 6)),
            [LINE, LINE],
        ),
        Case("rank 0", lambda lib, m: new(lib, m, 7.0), 7.0),
        Case("size 0", lambda lib, m: new(lib, m, [[], []]), [[], []]),
        Case(
            "read-only",
            lambda lib, m: _needs(lib.read_only, lib, "read-only")(m, new(lib, m, GRID)),
            GRID,
        ),
        _of("bool", [True, False, True]),
        _of("int8", [-1, 2, 3]),
        _of("int32", [-1, 2, 3]),
        _of("int64", [-1, 2, 3]),
        _of("uint8", [1, 2, 255]),
        _of("float16", [0.5, 1.0, 2.0]),
        _of("bfloat16", [0.5, 1.0, 2.0]),
        _of("float64", [0.5, 1.0, 2.0]),
        _of("complex64", [1 + 2j, 3j]),
    ]
}
