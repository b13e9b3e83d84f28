# SPDX-License-Identifier: BSD-3-Clause
"""The table of libraries: how each one creates, exports, imports and reads an array.

All tools and peer tests use a library through its row, and everything that they list about
libraries is a column of this table.
"""

from __future__ import annotations

import array as arrays
import ctypes
import importlib
import importlib.metadata
import importlib.util
import math
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

from . import abi, buffers, core, ctypes_arrays, devices, elements
from .elements import Nested


def _itself(module: Any, x: Any) -> Any:
    return x


def _index(module: Any, x: Any, key: Any) -> Any:
    return x[key]


def _transpose(module: Any, x: Any) -> Any:
    return x.T


def _tolist(module: Any, x: Any) -> Nested:
    return x.tolist()


@dataclass(frozen=True)
class Conflict:
    """Versions of a library that do not work with versions of another one."""

    versions: str  # as versions.contains() parses them
    other: str
    other_versions: str
    reason: str


@dataclass(frozen=True)
class Library:
    """One library. Every function takes the imported module first.

    A function that is None, or that raises, means that the library has no such feature.
    """

    module: str  # the name to import, which also identifies the library in the tools
    title: str
    distributions: tuple[str, ...]  # that provide it; the first installed one counts
    array: Callable[[Any, Nested, str], Any] | None = None  # new array of these values and dtype
    # Its from_dlpack: any producer, to its own array; forwards keywords where it accepts any.
    take: Callable[..., Any] | None = None
    address: Callable[[Any, Any], int] | None = None  # of the first element of its own array
    values: Callable[[Any, Any], Nested] = _tolist  # of its own array
    reads_bytes: bool = False  # values() returns the bytes in the order of memory
    # The library whose arrays and functions it passes on: DLPack's methods are that one's.
    by_way_of: str = ""
    # take reads other protocols as well, so matrix shows it nothing but DLPack's methods.
    reads_other_protocols: bool = False
    give: Callable[[Any, Any], Any] = _itself  # the object to export: the array, or a capsule
    takes_capsules: bool = False  # take accepts raw legacy capsules and no producers
    to_capsule: Callable[[Any, Any], Any] | None = None  # its function that exports a raw capsule
    from_capsule: Callable[[Any, Any], Any] | None = None  # its function that imports one
    index: Callable[[Any, Any, Any], Any] = _index
    transpose: Callable[[Any, Any], Any] = _transpose
    broadcast: Callable[[Any, Any, tuple[int, ...]], Any] | None = None
    read_only: Callable[[Any, Any], Any] | None = None  # the same memory, marked read-only
    also_import: tuple[str, ...] = ()  # submodules that the import does not load
    dtype: Callable[[Any, str], Any] = getattr  # its dtype object by name
    prepare: Callable[[], None] | None = None  # before it is imported
    device: tuple[int, int] = abi.CPU  # of the arrays that array() creates
    to_device: Callable[[Any, Any, str], Any] | None = None  # the array on "cuda" or "rocm"
    use_stream: Callable[[Any, int], None] | None = None  # makes a stream of CUDA the current one
    compiled: str = ""  # a module without which it is not usable, although its package is there
    # Arithmetic on its own array, for libraries that read memory only when they compute.
    compute: Callable[[Any, Any], Any] | None = None
    crashing_dtypes: tuple[str, ...] = ()  # whose export ends the process
    # The beginnings of the full names of types whose objects the library promises never to change.
    immutable: tuple[str, ...] = ()
    # Why it changes the dtype of what it takes; "" where its configuration is not the reason.
    why_converted: Callable[[Any, str], str] = lambda m, dtype: ""
    # What the demo and the doctor need.
    in_demo: bool = False
    has_dlpack: bool = True  # or another protocol only
    is_foreign: bool = True  # another project's library, with known defects and DLPack support
    may_import: tuple[str, ...] = ()  # libraries that its import also imports where they are
    is_exclusive_with: Mapping[str, str] = field(default_factory=dict)  # by library: the reason
    conflicts: tuple[Conflict, ...] = ()
    outdated: Mapping[str, str] = field(default_factory=dict)  # by versions: what newer ones add
    retired: str = ""  # that there are no more releases
    repository: str = ""  # owner and name on GitHub, where its defects are reported

    def load(self) -> ModuleType:
        """Imports it, and suppresses its warnings meanwhile.

        Raises ImportError, or another exception of the import.
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
        """Whether it seems to be installed; it is not imported."""
        try:
            return all(
                importlib.util.find_spec(name) is not None
                for name in filter(None, (self.module, self.compiled))
            )
        except (ImportError, ValueError):
            return False

    @property
    def version(self) -> str | None:
        """The installed version, None when none is installed; it is not imported."""
        for each in self.distributions:
            try:
                return importlib.metadata.version(each)
            except importlib.metadata.PackageNotFoundError:
                continue
        return None


# Reading with ctypes, for libraries without such functions --------------------------------------


def capsule_of(exported: Any) -> Any:
    """Converts the result of `give` to a capsule: versioned where the producer supports it."""
    if abi.is_capsule(exported):
        return exported
    try:
        return exported.__dlpack__(max_version=(1, 0))
    except TypeError:  # the producer is older than the keyword
        return exported.__dlpack__()


def address_in(capsule: Any) -> int:
    """Returns the address of the first element, and consumes the capsule."""
    tensor = abi.take(capsule)
    tensor.free()
    return tensor.contents.first


def values_in(capsule: Any) -> Nested:
    """Returns the values in host memory, and consumes the capsule."""
    tensor = abi.take(capsule)
    try:
        return elements.read(tensor.contents)
    finally:
        tensor.free()


def _buffer(values: Nested, dtype: str) -> Any:
    """Returns row-major memory of these values, for libraries that only wrap memory."""
    letter = elements.DTYPES[dtype][1]
    if letter not in arrays.typecodes:
        raise NotImplementedError(f"no buffer of {dtype}")
    shape = elements.shape_of(values)
    if 0 in shape:
        raise NotImplementedError("memoryview supports no empty shape")
    memory: Any = memoryview(arrays.array(letter, elements.flat(values)))
    return memory.cast("B").cast(memory.format, shape)


def _buffer_address(module: Any, x: Any) -> int:
    buffer = buffers.buffer_of(x)
    assert buffer is not None
    return buffer.address


def _new_capsule(values: Nested, dtype: str) -> Any:
    """Returns new memory for libraries that allocate none: dlbridge's, where it is compiled."""
    capsule = ctypes_arrays.array(values, dtype)
    if core.is_missing():
        return capsule
    return importlib.import_module("dlbridge").from_dlpack(capsule, copy=True)


def _numpy_array(numpy: Any, values: Nested, dtype: str) -> Any:
    """Uses NumPy's own dtypes: by name NumPy also finds those of ml_dtypes once it is imported."""
    return numpy.array(values, dtype=getattr(numpy, "bool_" if dtype == "bool" else dtype))


def _numpy(values: Nested, dtype: str) -> Any:
    """Returns a NumPy array, for libraries whose arrays wrap NumPy's."""
    return _numpy_array(importlib.import_module("numpy"), values, dtype)


# Functions of single libraries ------------------------------------------------------------------


def _cupy_to_device(cupy: Any, x: Any, device: str) -> Any:
    if device != "cuda":
        raise ValueError(f"CuPy has no arrays on {device!r}")
    return x


def _jax_is_narrow(jax: Any, dtype: str) -> str:
    is_wide = dtype in ("int64", "uint64", "float64", "complex128")
    return "jax_enable_x64 is off" if is_wide and not jax.config.jax_enable_x64 else ""


def _numpy_read_only(numpy: Any, x: Any) -> Any:
    view = x[...]
    view.flags.writeable = False
    return view


def _arrow_array(pyarrow: Any, values: Nested, dtype: str) -> Any:
    """Returns an Array, which is immutable, for one dimension; otherwise a Tensor."""
    if isinstance(values, list) and not isinstance((values or [0])[0], list):
        return pyarrow.array(values, type=getattr(pyarrow, dtype.replace("bool", "bool_"))())
    return pyarrow.Tensor.from_numpy(_numpy(values, dtype))


def _arrow_address(pyarrow: Any, x: Any) -> int:
    if isinstance(x, pyarrow.Tensor):
        return int(x.to_numpy().ctypes.data)
    return int(x.buffers()[1].address + x.offset * (x.type.bit_width // 8))


def _onnx_value(onnxruntime: Any, values: Nested, dtype: str) -> Any:
    """Allocates memory: an OrtValue over NumPy's memory does not keep it alive for a consumer."""
    source = _numpy(values, dtype)
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(source.shape, source.dtype, "cpu", 0)
    value.update_inplace(source)
    return value


def opencl_variables(prefix: Path) -> dict[str, str]:
    """Returns the variable with the path of the CPU's OpenCL driver, where pip installed it."""
    driver = prefix / "lib" / "libintelocl.so"
    return {"OCL_ICD_FILENAMES": str(driver)} if driver.exists() else {}


def _find_opencl() -> None:
    for name, path in opencl_variables(Path(sys.prefix)).items():
        os.environ.setdefault(name, path)


def _quiet_warp() -> None:
    config: Any = importlib.import_module("warp.config")
    config.log_level = 40  # by default it prints a banner to standard output


def _warp_take(warp: Any, x: Any) -> Any:
    warp.init()  # creating an array initialises Warp, importing one does not
    return warp.from_dlpack(x)


def _dask_block(dask: Any, x: Any) -> Any:
    """Returns the first block of an array as computed; compute() would copy it."""
    key = x.__dask_keys__()
    while isinstance(key, list):
        key = key[0]
    return dask.get(x.__dask_graph__(), key)


def _dpctl_tensor() -> Any:
    with warnings.catch_warnings():  # of its move to dpnp
        warnings.simplefilter("ignore")
        return importlib.import_module("dpctl.tensor")


def _dlbridge_array(dlbridge: Any, values: Nested, dtype: str) -> Any:
    content = elements.encode(values, dtype)
    x = dlbridge.empty(elements.shape_of(values), dtype)
    ctypes.memmove(x.data_ptr, content, len(content))
    return x


def _dpnp_address(dpnp: Any, x: Any) -> int:
    """Returns the address of dpnp's array, or of NumPy's, which dpnp returns for CPU memory."""
    own = x.get_array() if isinstance(x, dpnp.ndarray) else x
    return int(own._pointer if hasattr(own, "_pointer") else own.ctypes.data)


def _mxnet_values(mxnet: Any, x: Any) -> Nested:
    """NumPy has no bfloat16, and would return its bits."""
    is_bfloat16 = "bfloat16" in str(x.dtype)
    return values_in(x.to_dlpack_for_read()) if is_bfloat16 else x.asnumpy().tolist()


def _paddle_values(paddle: Any, x: Any) -> Nested:
    """NumPy has no bfloat16, and would return its bits."""
    return (x.astype("float32") if x.dtype == paddle.bfloat16 else x).numpy().tolist()


ROWS = [
    Library(
        "array",
        "Python's array",  # no DLPack, but the buffer protocol
        (),
        array=lambda m, values, dtype: _buffer(values, dtype),
        take=lambda m, x: memoryview(x),
        address=_buffer_address,
        in_demo=True,
        has_dlpack=False,
        is_foreign=False,
    ),
    Library(
        "dlbridge",
        "dlbridge",
        ("dlbridge",),
        array=_dlbridge_array,
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.data_ptr,
        values=lambda m, x: values_in(m.to_dlpack(x, max_version=(1, 0))),
        to_capsule=lambda m, x: m.to_dlpack(x),
        from_capsule=lambda m, x: m.from_dlpack(x),
        index=lambda m, x, key: m.from_dlpack(ctypes_arrays.index(capsule_of(x), key)),
        transpose=lambda m, x: m.from_dlpack(ctypes_arrays.transpose(capsule_of(x))),
        broadcast=lambda m, x, shape: m.from_dlpack(ctypes_arrays.broadcast(capsule_of(x), shape)),
        read_only=lambda m, x: m.from_dlpack(x, readonly=True),
        to_device=lambda m, x, device: m.from_dlpack(x, device=device),
        compiled="dlbridge._core",
        is_foreign=False,
        conflicts=(
            Conflict("0 to 9", "numpy", "1.0 to 1.22.99", "NumPy has from_dlpack since 1.23"),
        ),
    ),
    Library(
        "numpy",
        "NumPy",
        ("numpy",),
        repository="numpy/numpy",
        array=_numpy_array,
        in_demo=True,
        outdated={"1.23 to 2.0.99": "NumPy exports versioned capsules since 2.1"},
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.__array_interface__["data"][0],
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        read_only=_numpy_read_only,
    ),
    Library(
        "torch",
        "PyTorch",
        ("torch",),
        repository="pytorch/pytorch",
        array=lambda m, values, dtype: m.tensor(values, dtype=getattr(m, dtype)),
        in_demo=True,
        is_exclusive_with={"tensorflow": "their shared objects have conflicted in many releases"},
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=lambda m, x: x.data_ptr(),
        to_capsule=lambda m, x: m.utils.dlpack.to_dlpack(x),
        from_capsule=lambda m, x: m.utils.dlpack.from_dlpack(x),
        transpose=lambda m, x: x.t(),
        broadcast=lambda m, x, shape: x.expand(shape),
        to_device=lambda m, x, device: x.to(device),
        use_stream=lambda m, handle: m.cuda.set_stream(m.cuda.ExternalStream(handle)),
    ),
    Library(
        "jax",
        "JAX",
        ("jax",),
        repository="jax-ml/jax",
        array=lambda m, values, dtype: m.numpy.asarray(values, dtype=dtype),
        in_demo=True,
        take=lambda m, x, **how: m.dlpack.from_dlpack(x, **how),
        address=lambda m, x: x.unsafe_buffer_pointer(),
        to_device=lambda m, x, device: m.device_put(x, m.devices(device)[0]),
        broadcast=lambda m, x, shape: m.numpy.broadcast_to(x, shape),
        also_import=("jax.numpy", "jax.dlpack"),
        immutable=("jaxlib.",),
        why_converted=_jax_is_narrow,
    ),
    Library(
        "tensorflow",
        "TensorFlow",
        ("tensorflow", "tensorflow-cpu"),
        repository="tensorflow/tensorflow",
        array=lambda m, values, dtype: m.constant(values, dtype=dtype),
        in_demo=True,
        take=lambda m, x: m.experimental.dlpack.from_dlpack(x),
        takes_capsules=True,
        address=lambda m, x: address_in(m.experimental.dlpack.to_dlpack(x)),
        values=lambda m, x: x.numpy().tolist(),
        to_capsule=lambda m, x: m.experimental.dlpack.to_dlpack(x),
        from_capsule=lambda m, x: m.experimental.dlpack.from_dlpack(x),
        transpose=lambda m, x: m.transpose(x),
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        compute=lambda m, x: x + x,
        crashing_dtypes=("string", "variant", "resource"),
        immutable=("tensorflow.python.framework.ops.",),  # and no variable
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
        device=(devices.CUDA, 0),
        to_device=_cupy_to_device,
        use_stream=lambda m, handle: m.cuda.ExternalStream(handle).use(),
        in_demo=True,
    ),
    Library(
        "tvm_ffi",
        "tvm-ffi",
        ("apache-tvm-ffi",),
        repository="apache/tvm-ffi",
        may_import=("torch",),
        array=lambda m, values, dtype: m.from_dlpack(_new_capsule(values, dtype)),
        in_demo=True,
        take=lambda m, x: m.from_dlpack(x),
        address=lambda m, x: x.data_ptr(),
        values=lambda m, x: values_in(x.__dlpack__()),
        to_capsule=lambda m, x: x.__dlpack__(),
        from_capsule=lambda m, x: m.from_dlpack(x),
        index=lambda m, x, key: m.from_dlpack(ctypes_arrays.index(capsule_of(x), key)),
        transpose=lambda m, x: m.from_dlpack(ctypes_arrays.transpose(capsule_of(x))),
        broadcast=lambda m, x, shape: m.from_dlpack(ctypes_arrays.broadcast(capsule_of(x), shape)),
    ),
    Library(
        "paddle",
        "Paddle",
        ("paddlepaddle", "paddlepaddle-gpu"),
        repository="PaddlePaddle/Paddle",
        array=lambda m, values, dtype: m.to_tensor(values, dtype=dtype),
        in_demo=True,
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
        by_way_of="numpy",
        read_only=_numpy_read_only,
        also_import=("array_api_compat.numpy",),
    ),
    Library(
        "mxnet",
        "MXNet",
        ("mxnet",),
        repository="apache/mxnet",
        array=lambda m, values, dtype: m.nd.array(values, dtype=dtype),
        give=lambda m, x: x.to_dlpack_for_read(),
        take=lambda m, x: m.nd.from_dlpack(x),
        takes_capsules=True,
        address=lambda m, x: address_in(x.to_dlpack_for_read()),
        values=_mxnet_values,
        to_capsule=lambda m, x: x.to_dlpack_for_write(),
        from_capsule=lambda m, x: m.nd.from_dlpack(x),
        broadcast=lambda m, x, shape: m.nd.broadcast_to(x.reshape((1, -1)), shape),
        conflicts=(
            Conflict(
                "1.0 to 1.9.1", "numpy", "1.24 to 9", "it uses numpy.bool: install 'numpy<1.24'"
            ),
        ),
        retired="MXNet was retired in 2023: 1.9.1 is its last release",
    ),
    Library(
        "mpi4py",
        "mpi4py",  # has buffers of bytes, but no arrays
        ("mpi4py",),
        repository="mpi4py/mpi4py",
        take=lambda m, x: m.MPI.buffer.frombuffer(x),
        address=lambda m, x: x.address,
        values=lambda m, x: list(memoryview(x)),
        reads_bytes=True,
        reads_other_protocols=True,
        also_import=("mpi4py.MPI",),
    ),
    Library(
        "dask",
        "Dask",  # has blocks of other libraries' arrays; NumPy's here
        ("dask",),
        array=lambda m, values, dtype: m.array.from_array(_numpy(values, dtype)).persist(),
        by_way_of="numpy",
        give=_dask_block,
        take=lambda m, x: m.array.from_array(importlib.import_module("numpy").from_dlpack(x)),
        address=lambda m, x: _dask_block(m, x).__array_interface__["data"][0],
        values=lambda m, x: x.compute().tolist(),
        index=lambda m, x, key: x[key].persist(),
        transpose=lambda m, x: x.T.persist(),
        broadcast=lambda m, x, shape: m.array.broadcast_to(x, shape).persist(),
        also_import=("dask.array",),
    ),
    Library("joblib", "joblib", ("joblib",)),  # passes pickled arrays
    Library(
        "dpctl",
        "dpctl",  # up to 0.21; its arrays have since moved to dpnp
        ("dpctl",),
        repository="IntelPython/dpctl",
        array=lambda m, values, dtype: _dpctl_tensor().asarray(values, dtype=dtype),
        take=lambda m, x, **how: _dpctl_tensor().from_dlpack(x, **how),
        address=lambda m, x: x._pointer if hasattr(x, "_pointer") else x.ctypes.data,
        values=lambda m, x: (_dpctl_tensor().asnumpy(x) if hasattr(x, "_pointer") else x).tolist(),
        broadcast=lambda m, x, shape: _dpctl_tensor().broadcast_to(x, shape),
        prepare=_find_opencl,
        device=(devices.ONEAPI, 0),
    ),
    Library(
        "dpnp",
        "dpnp",
        ("dpnp",),
        repository="IntelPython/dpnp",
        array=lambda m, values, dtype: m.array(values, dtype=dtype),
        take=lambda m, x, **how: m.from_dlpack(x, **how),
        address=_dpnp_address,
        values=lambda m, x: m.asnumpy(x).tolist(),
        broadcast=lambda m, x, shape: m.broadcast_to(x, shape),
        prepare=_find_opencl,
        device=(devices.ONEAPI, 0),
    ),
    Library(
        "mlx",
        "MLX",
        ("mlx",),
        repository="ml-explore/mlx",
        array=lambda m, values, dtype: m.core.array(
            values, dtype=getattr(m.core, "bool_" if dtype == "bool" else dtype)
        ),
        take=lambda m, x: m.core.from_dlpack(x),
        reads_other_protocols=True,
        address=lambda m, x: address_in(x.__dlpack__()),
        broadcast=lambda m, x, shape: m.core.broadcast_to(x, shape),
        from_capsule=lambda m, x: m.core.from_dlpack(x),
        also_import=("mlx.core",),
    ),
    Library(
        "pyarrow",
        "PyArrow",
        ("pyarrow",),
        repository="apache/arrow",
        array=_arrow_array,
        take=lambda m, x, **how: m.Tensor.from_dlpack(x, **how),
        address=_arrow_address,
        values=lambda m, x: x.to_numpy().tolist() if isinstance(x, m.Tensor) else x.to_pylist(),
    ),
    Library(
        "onnxruntime",
        "ONNX Runtime",
        ("onnxruntime", "onnxruntime-gpu"),
        repository="microsoft/onnxruntime",
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
        repository="NVIDIA/warp",
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
        "cuda.core",  # has views of other libraries' memory
        ("cuda-core",),
        repository="NVIDIA/cuda-python",
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
    Library(  # imports in C++ extensions, with a compiler
        "nanobind", "nanobind", ("nanobind",), repository="wjakob/nanobind"
    ),
]

LIBRARIES: dict[str, Library] = {row.module: row for row in ROWS}


def immutable_by(type_: str) -> Library | None:
    """Returns the library that promises never to change objects of a type, by its full name.

    >>> immutable_by("jaxlib._jax.ArrayImpl").title, immutable_by("numpy.ndarray")
    ('JAX', None)
    """
    return next((row for row in ROWS if type_.startswith(row.immutable or ("\0",))), None)


# Packages without arrays of their own that have no more releases.
RETIRED_PACKAGES = {
    "intel_extension_for_pytorch": "Intel's extension for PyTorch ended with 2.8: PyTorch has "
    "'xpu' devices of its own",
}


# Cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One array for an exchange: its values and its layout in memory."""

    name: str
    make: Callable[[Library, Any], Any]  # raises where the library has no such array
    values: Nested  # that the consumer must read
    dtype: str = "float32"


# Each value is exact in its dtype, and in no narrower one; no square is its own transpose.
GRID = [[4.0 * i + j + 2.0**-12 for j in range(4)] for i in range(4)]
LINE = [
    *(-0.0, 1 + 2.0**-23, 2.0, 2.0**24 - 1, (2 - 2.0**-23) * 2.0**127, 2.0**-149),
    *(math.nan, -math.inf, 8.0, -9.5, 10.0),
]


PLANES = [[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]


def new(library: Library, module: Any, values: Nested, dtype: str = "float32") -> Any:
    """Creates an array of the library. Raises NotImplementedError where it has no arrays."""
    if library.array is None:
        raise NotImplementedError(f"{library.title} has no arrays of its own")
    return library.array(module, values, dtype)


def _indexed(values: Nested, key: Any) -> Callable[[Library, Any], Any]:
    return lambda library, m: library.index(m, new(library, m, values), key)


def _needs(what: Any, library: Library, name: str) -> Any:
    if what is None:
        raise NotImplementedError(f"{library.title} has no {name} arrays")
    return what


def read_only_of(library: Library) -> Callable[[Any, Any], Any] | None:
    """Returns its function that makes an array read-only; no function where all arrays are."""
    return library.read_only or (_itself if library.immutable else None)


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
        Case("unaligned", _indexed(LINE, slice(1, None)), LINE[1:]),
        Case("stepped", _indexed(LINE, slice(None, None, 2)), LINE[::2]),
        Case("backwards", _indexed(LINE, slice(None, None, -1)), LINE[::-1]),
        Case(
            "broadcast",
            lambda lib, m: _needs(lib.broadcast, lib, "broadcast")(m, new(lib, m, LINE), (2, 11)),
            [LINE, LINE],
        ),
        Case("rank 0", lambda lib, m: new(lib, m, LINE[1]), LINE[1]),
        Case("extents of 1", lambda lib, m: new(lib, m, PLANES), PLANES),
        Case("size 0", lambda lib, m: new(lib, m, [[], []]), [[], []]),
        Case(
            "read-only",
            lambda lib, m: _needs(read_only_of(lib), lib, "read-only")(m, new(lib, m, GRID)),
            GRID,
        ),
        _of("bool", [True, False, True]),
        _of("int8", [-128, -1, 127]),
        _of("int32", [-(2**31), 2**24 + 1, 2**31 - 1]),
        _of("int64", [-(2**63), 2**40 + 1, 2**53 + 1]),
        _of("uint8", [1, 128, 255]),
        _of("uint64", [1, 2**63 + 1, 2**64 - 1]),
        _of("float16", [-0.0, 1 + 2.0**-10, 65504.0, 2.0**-24, math.nan, -math.inf]),
        _of("bfloat16", [-0.0, 1 + 2.0**-7, (2 - 2.0**-7) * 2.0**127, math.nan, -math.inf]),
        _of("float64", [-0.0, 1 + 2.0**-40, sys.float_info.max, 2.0**-1074, math.nan, -math.inf]),
        _of("complex64", [complex(-0.0, 1 + 2.0**-23), complex(math.inf, -0.0), 3j]),
        _of("complex128", [complex(-0.0, 1 + 2.0**-40), complex(math.nan, -math.inf), 3j]),
    ]
}
