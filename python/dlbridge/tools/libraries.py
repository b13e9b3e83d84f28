"""The libraries of the field: how each one makes, gives, takes and reads an array.

One row for each library, and nothing about a library anywhere else: the demo, the doctor, the
matrix, the conformance checks and the peer tests all speak to it through its row.
"""

from __future__ import annotations

import array as buffers
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import dlbridge
from dlbridge.tools import abi, elements, handmade
from dlbridge.tools.elements import Nested


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
    # Its from_dlpack: any producer, to its own array; passes keywords on where it knows any.
    take: Callable[..., Any] | None = None
    address: Callable[[Any, Any], int] | None = None  # of the first element of its own array
    values: Callable[[Any, Any], Nested] = _tolist  # of its own array
    give: Callable[[Any, Any], Any] = _itself  # what its array is handed over as: itself, a capsule
    takes_capsules: bool = False  # take wants a raw legacy capsule and no producer
    to_capsule: Callable[[Any, Any], Any] | None = None  # its function that makes a raw capsule
    from_capsule: Callable[[Any, Any], Any] | None = None  # and the one that takes one
    index: Callable[[Any, Any, Any], Any] = _index
    transpose: Callable[[Any, Any], Any] = _transpose
    broadcast: Callable[[Any, Any, tuple[int, ...]], Any] | None = None
    read_only: Callable[[Any, Any], Any] | None = None  # the same memory, marked read-only
    also_import: tuple[str, ...] = ()  # modules that importing the first one does not bring
    dtype: Callable[[Any, str], Any] = getattr  # its dtype object by name
    prepare: Callable[[], None] | None = None  # before it is imported
    device: tuple[int, int] = abi.CPU  # where its arrays are that array() makes
    # Arithmetic on its own array, for those that look at memory only when they compute with it.
    compute: Callable[[Any, Any], Any] | None = None

    def load(self) -> ModuleType:
        """Imports it; what it warns of meanwhile is its own affair.

        Raises ImportError, or whatever importing it raises.
        """
        if self.prepare is not None:
            self.prepare()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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


# Read by ctypes where a library cannot say it itself -----------------------------------------


def capsule_of(given: Any) -> Any:
    """What `give` returned, as a capsule: versioned where the producer knows of it."""
    if abi.is_capsule(given):
        return given
    try:
        return given.__dlpack__(max_version=(1, 0))
    except TypeError:  # older than the keyword
        return given.__dlpack__()


def address_in(capsule: Any) -> int:
    """The address of the first element; the capsule is used up."""
    taken = abi.take(capsule)
    taken.free()
    return taken.contents.first


def values_in(capsule: Any) -> Nested:
    """The values in the CPU's memory; the capsule is used up."""
    taken = abi.take(capsule)
    try:
        return elements.read(taken.contents)
    finally:
        taken.free()


def _buffer(values: Nested, dtype: str) -> Any:
    """Row-major memory of these values, for those that make arrays out of others' memory only."""
    codes = {"int8": "b", "uint8": "B", "int32": "i", "int64": "q", "float32": "f", "float64": "d"}
    if dtype not in codes:
        raise NotImplementedError(f"no buffer of {dtype}")
    shape = elements.shape_of(values)
    if 0 in shape:
        raise NotImplementedError("memoryview cannot be given an empty shape")
    memory: Any = memoryview(buffers.array(codes[dtype], elements.flat(values)))
    return memory.cast("B").cast(memory.format, shape)


def _numpy_array(numpy: Any, values: Nested, dtype: str) -> Any:
    """Of NumPy's own dtypes: by name it also knows those of ml_dtypes, once that is imported."""
    return numpy.array(values, dtype=getattr(numpy, "bool_" if dtype == "bool" else dtype))


def _numpy(values: Nested, dtype: str) -> Any:
    """NumPy's array, for those that make their arrays of nothing else."""
    return _numpy_array(importlib.import_module("numpy"), values, dtype)


# What is longer than a line --------------------------------------------------------------------


def _numpy_read_only(numpy: Any, x: Any) -> Any:
    view = x[...]
    view.flags.writeable = False
    return view


def _arrow_array(pyarrow: Any, values: Nested, dtype: str) -> Any:
    """An Array where it has one dimension, which is immutable; else a Tensor."""
    if isinstance(values, list) and not isinstance((values or [0])[0], list):
        return pyarrow.array(values, type=getattr(pyarrow, dtype.replace("bool", "bool_"))())
    return pyarrow.Tensor.from_numpy(_numpy(values, dtype))


def _arrow_address(pyarrow: Any, x: Any) -> int:
    if isinstance(x, pyarrow.Tensor):
        return int(x.to_numpy().ctypes.data)
    return int(x.buffers()[1].address + x.offset * (x.type.bit_width // 8))


def _onnx_value(onnxruntime: Any, values: Nested, dtype: str) -> Any:
    """In memory of its own: over NumPy's, it would not keep that alive for whom it is given to."""
    source = _numpy(values, dtype)
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(source.shape, source.dtype, "cpu", 0)
    value.update_inplace(source)
    return value


def _find_opencl() -> None:
    """Names the CPU's OpenCL driver to the loader, where pip brought it into this environment."""
    driver = Path(sys.prefix) / "lib" / "libintelocl.so"
    if driver.exists():
        os.environ.setdefault("OCL_ICD_FILENAMES", str(driver))


def _quiet_warp() -> None:
    config: Any = importlib.import_module("warp.config")
    config.log_level = 40  # it greets everybody on standard output


def _warp_take(warp: Any, x: Any) -> Any:
    warp.init()  # which making an array does, and taking one does not
    return warp.from_dlpack(x)


def _dask_block(dask: Any, x: Any) -> Any:
    """The first block of an array as the tasks leave it; compute() would copy it."""
    key = x.__dask_keys__()
    while isinstance(key, list):
        key = key[0]
    return dask.get(x.__dask_graph__(), key)


def _dpctl_tensor() -> Any:
    with warnings.catch_warnings():  # that it will be dpnp's
        warnings.simplefilter("ignore")
        return importlib.import_module("dpctl.tensor")


def _dpnp_address(dpnp: Any, x: Any) -> int:
    """Of its own array; of NumPy's, in which it gives back what is in the CPU's memory."""
    own = x.get_array() if isinstance(x, dpnp.ndarray) else x
    return int(own._pointer if hasattr(own, "_pointer") else own.ctypes.data)


def _mxnet_values(mxnet: Any, x: Any) -> Nested:
    """NumPy has no bfloat16, and would show its bits."""
    is_bfloat16 = "bfloat16" in str(x.dtype)
    return values_in(x.to_dlpack_for_read()) if is_bfloat16 else x.asnumpy().tolist()


def _paddle_values(paddle: Any, x: Any) -> Nested:
    """NumPy has no bfloat16, and would show its bits."""
    return (x.astype("float32") if x.dtype == paddle.bfloat16 else x).numpy().tolist()


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
        array=lambda m, values, dtype: m.from_dlpack(handmade.array(values, dtype), copy=True),
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.data_ptr,
        values=lambda m, x: values_in(m.to_dlpack(x, max_version=(1, 0))),
        to_capsule=lambda m, x: m.to_dlpack(x),
        from_capsule=lambda m, x: m.from_dlpack(x),
        index=lambda m, x, key: m.from_dlpack(handmade.index(capsule_of(x), key)),
        transpose=lambda m, x: m.from_dlpack(handmade.transpose(capsule_of(x))),
        broadcast=lambda m, x, shape: m.from_dlpack(handmade.broadcast(capsule_of(x), shape)),
        read_only=lambda m, x: m.from_dlpack(x, readonly=True),
    ),
    Library(
        "numpy",
        "NumPy",
        ("numpy",),
        array=_numpy_array,
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.__array_interface__["data"][0],
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        read_only=_numpy_read_only,
    ),
    Library(
        "torch",
        "PyTorch",
        ("torch",),
        array=lambda m, values, dtype: m.tensor(values, dtype=getattr(m, dtype)),
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.data_ptr(),
        to_capsule=lambda m, x: m.utils.dlpack.to_dlpack(x),
        from_capsule=lambda m, x: m.utils.dlpack.from_dlpack(x),
        transpose=lambda m, x: x.t(),
        broadcast=lambda m, x, shape: x.expand(shape),
    ),
    Library(
        "jax",
        "JAX",
        ("jax",),
        array=lambda m, values, dtype: m.numpy.asarray(values, dtype=dtype),
        take=lambda m, x, **how: m.dlpack.from_dlpack(x, **how),
        address=lambda m, x: x.unsafe_buffer_pointer(),
        broadcast=lambda m, x, shape: m.numpy.broadcast_to(x, shape),
        also_import=("jax.numpy", "jax.dlpack"),
    ),
    Library(
        "tensorflow",
        "TensorFlow",
        ("tensorflow", "tensorflow-cpu"),
        array=lambda m, values, dtype: m.constant(values, dtype=dtype),
        take=lambda m, x: m.experimental.dlpack.from_dlpack(x),
        takes_capsules=True,
        address=lambda m, x: address_in(m.experimental.dlpack.to_dlpack(x)),
        values=lambda m, x: x.numpy().tolist(),
        to_capsule=lambda m, x: m.experimental.dlpack.to_dlpack(x),
        from_capsule=lambda m, x: m.experimental.dlpack.from_dlpack(x),
        transpose=lambda m, x: m.transpose(x),
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        compute=lambda m, x: x + x,
    ),
    Library(
        "cupy",
        "CuPy",
        ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy"),
        array=lambda m, values, dtype: m.asarray(values, dtype=dtype),
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.data.ptr,
        from_capsule=lambda m, x: m.from_dlpack(x),
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        device=(2, 0),
    ),
    Library(
        "tvm_ffi",
        "tvm-ffi",
        ("apache-tvm-ffi",),
        array=lambda m, values, dtype: m.from_dlpack(  # it allocates nothing itself
            dlbridge.from_dlpack(handmade.array(values, dtype), copy=True)
        ),
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.data_ptr(),
        values=lambda m, x: values_in(x.__dlpack__()),
        to_capsule=lambda m, x: x.__dlpack__(),
        from_capsule=lambda m, x: m.from_dlpack(x),
        index=lambda m, x, key: m.from_dlpack(handmade.index(capsule_of(x), key)),
        transpose=lambda m, x: m.from_dlpack(handmade.transpose(capsule_of(x))),
        broadcast=lambda m, x, shape: m.from_dlpack(handmade.broadcast(capsule_of(x), shape)),
    ),
    Library(
        "paddle",
        "Paddle",
        ("paddlepaddle", "paddlepaddle-gpu"),
        array=lambda m, values, dtype: m.to_tensor(values, dtype=dtype),
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.data_ptr(),
        values=_paddle_values,
        to_capsule=lambda m, x: m.utils.dlpack.to_dlpack(x),
        from_capsule=lambda m, x: m.utils.dlpack.from_dlpack(x),
        transpose=lambda m, x: x.t(),
        broadcast=lambda m, x, shape: m.expand(x, shape),
    ),
    Library(
        "array_api_strict",
        "array-api-strict",
        ("array-api-strict",),
        array=lambda m, values, dtype: m.asarray(values, dtype=getattr(m, dtype)),
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x._array.ctypes.data,
        values=lambda m, x: x._array.tolist(),
        index=lambda m, x, key: x[(key, ...)],
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
    ),
    Library(
        "array_api_compat",
        "array-api-compat",  # its namespace around NumPy
        ("array-api-compat",),
        array=lambda m, values, dtype: m.numpy.asarray(values, dtype=getattr(m.numpy, dtype)),
        take=lambda m, x, **how: m.numpy.from_dlpack(x, **how),
        address=lambda m, x: x.__array_interface__["data"][0],
        broadcast=lambda m, x, shape: m.numpy.broadcast_to(x, shape),
        read_only=_numpy_read_only,
        also_import=("array_api_compat.numpy",),
    ),
    Library(
        "mxnet",
        "MXNet",
        ("mxnet",),
        array=lambda m, values, dtype: m.nd.array(values, dtype=dtype),
        give=lambda m, x: x.to_dlpack_for_read(),
        take=lambda m, x: m.nd.from_dlpack(x),
        takes_capsules=True,
        address=lambda m, x: address_in(x.to_dlpack_for_read()),
        values=_mxnet_values,
        to_capsule=lambda m, x: x.to_dlpack_for_write(),
        from_capsule=lambda m, x: m.nd.from_dlpack(x),
        broadcast=lambda m, x, shape: m.nd.broadcast_to(x.reshape((1, -1)), shape),
    ),
    Library(
        "mpi4py",
        "mpi4py",  # has buffers of bytes, and no arrays
        ("mpi4py",),
        take=lambda m, x: m.MPI.buffer.frombuffer(x),
        address=lambda m, x: x.address,
        values=lambda m, x: list(memoryview(x)),
        also_import=("mpi4py.MPI",),
    ),
    Library(
        "dask",
        "Dask",  # has blocks of other libraries' arrays; here of NumPy's
        ("dask",),
        array=lambda m, values, dtype: m.array.from_array(_numpy(values, dtype)).persist(),
        give=_dask_block,
        take=lambda m, x: m.array.from_array(importlib.import_module("numpy").from_dlpack(x)),
        address=lambda m, x: _dask_block(m, x).__array_interface__["data"][0],
        values=lambda m, x: x.compute().tolist(),
        index=lambda m, x, key: x[key].persist(),
        transpose=lambda m, x: x.T.persist(),
        broadcast=lambda m, x, shape: m.array.broadcast_to(x, shape).persist(),
        also_import=("dask.array",),
    ),
    Library("joblib", "joblib", ("joblib",)),  # carries what pickle carries
    Library(
        "dpctl",
        "dpctl",  # up to 0.21: its arrays are in dpnp since
        ("dpctl",),
        array=lambda m, values, dtype: _dpctl_tensor().asarray(values, dtype=dtype),
        take=lambda m, x, **how: _dpctl_tensor().from_dlpack(x, **how),
        address=lambda m, x: x._pointer if hasattr(x, "_pointer") else x.ctypes.data,
        values=lambda m, x: (_dpctl_tensor().asnumpy(x) if hasattr(x, "_pointer") else x).tolist(),
        broadcast=lambda m, x, shape: _dpctl_tensor().broadcast_to(x, shape),
        prepare=_find_opencl,
        device=(14, 0),
    ),
    Library(
        "dpnp",
        "dpnp",
        ("dpnp",),
        array=lambda m, values, dtype: m.array(values, dtype=dtype),
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=_dpnp_address,
        values=lambda m, x: m.asnumpy(x).tolist(),
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        prepare=_find_opencl,
        device=(14, 0),
    ),
    Library(
        "mlx",
        "MLX",
        ("mlx",),
        array=lambda m, values, dtype: m.core.array(
            values, dtype=getattr(m.core, "bool_" if dtype == "bool" else dtype)
        ),
        take=lambda m, x: m.core.from_dlpack(x),
        address=lambda m, x: address_in(x.__dlpack__()),
        broadcast=lambda m, x, shape: m.core.broadcast_to(x, shape),
        from_capsule=lambda m, x: m.core.from_dlpack(x),
        also_import=("mlx.core",),
    ),
    Library(
        "pyarrow",
        "PyArrow",
        ("pyarrow",),
        array=_arrow_array,
        take=lambda m, x, **how: m.Tensor.from_dlpack(x, **how),
        address=_arrow_address,
        values=lambda m, x: x.to_numpy().tolist() if isinstance(x, m.Tensor) else x.to_pylist(),
    ),
    Library(
        "onnxruntime",
        "ONNX Runtime",
        ("onnxruntime", "onnxruntime-gpu"),
        array=_onnx_value,
        take=lambda m, x: m.OrtValue.from_dlpack(x),
        address=lambda m, x: x.data_ptr(),
        values=lambda m, x: x.numpy().tolist(),
        to_capsule=lambda m, x: x._ortvalue.to_dlpack(),
    ),
    Library(
        "warp",
        "Warp",
        ("warp-lang",),
        array=lambda m, values, dtype: m.array(values, dtype=getattr(m, dtype)),
        take=_warp_take,
        address=lambda m, x: x.ptr,
        values=lambda m, x: x.numpy().tolist(),
        to_capsule=lambda m, x: m.to_dlpack(x),
        from_capsule=lambda m, x: m.from_dlpack(x),
        transpose=lambda m, x: x.transpose(),
        prepare=_quiet_warp,
    ),
    Library(
        "cuda.core",
        "cuda.core",  # has views of others' memory
        ("cuda-core",),
        array=lambda m, values, dtype: m.utils.StridedMemoryView.from_dlpack(
            _numpy(values, dtype), stream_ptr=-1
        ),
        take=lambda m, x: m.utils.StridedMemoryView.from_dlpack(x, stream_ptr=-1),
        address=lambda m, x: x.ptr,
        values=lambda m, x: values_in(capsule_of(x)),
        index=lambda m, x, key: m.utils.StridedMemoryView.from_dlpack(
            x.exporting_obj[key], stream_ptr=-1
        ),
        transpose=lambda m, x: m.utils.StridedMemoryView.from_dlpack(
            x.exporting_obj.T, stream_ptr=-1
        ),
        read_only=lambda m, x: m.utils.StridedMemoryView.from_dlpack(
            _numpy_read_only(None, x.exporting_obj), stream_ptr=-1
        ),
        also_import=("cuda.core.utils",),
    ),
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
    in_memory: Nested = None  # the values in the order of memory, where that is another


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
            in_memory=GRID,
        ),
        Case("offset", _indexed(GRID, slice(1, None)), GRID[1:]),
        Case("unaligned", _indexed(LINE, slice(1, None)), LINE[1:]),
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
