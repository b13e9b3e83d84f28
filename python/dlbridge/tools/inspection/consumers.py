"""The consumers: how each library asks for a tensor. What it makes of one is in cases/."""

from __future__ import annotations

from dataclasses import dataclass

from dlbridge.tools import abi

LEGACY, VERSIONED, BOTH = (abi.LEGACY,), (abi.VERSIONED,), (abi.LEGACY, abi.VERSIONED)


@dataclass(frozen=True)
class Ask:
    """One question that a consumer asks."""

    road: str
    takes: tuple[str, ...] = BOTH  # capsules, by name; none are meant where the road gives none
    error: str = ""  # what it raises for another one
    goes_on: tuple[str, ...] = ()  # the exceptions after which it asks its next question


@dataclass(frozen=True)
class Consumer:
    """One row: how a library asks. What it does with the answer is in cases.py."""

    name: str
    title: str
    version: str  # with which all of this was seen
    call: str
    asks: tuple[Ask, ...]
    needs_device: str = ""  # what it raises where there is no __dlpack_device__
    needs_stream: bool = False  # it says stream=, and knows no way without
    capsules: tuple[str, ...] = ()  # the raw capsules that it takes, by name
    no_capsule: str = "AttributeError"  # what it raises for others
    no_tensor: str = "AttributeError"  # what it raises for an object without __dlpack__
    always_copies: bool = False
    legacy_note: str = ""  # what it makes of a legacy tensor


TYPE_ERROR = ("TypeError",)
MODERN = (Ask("1.0", goes_on=TYPE_ERROR), Ask("bare"))

ROWS = [
    Consumer(
        "numpy", "NumPy", "2.4.6", "numpy.from_dlpack(x)", MODERN,
        legacy_note="the result is read-only, as a legacy capsule may be",
    ),
    Consumer(
        "torch", "PyTorch", "2.13.0", "torch.from_dlpack(x)", MODERN,
        needs_device="AttributeError", capsules=BOTH, no_capsule="RuntimeError",
        no_tensor="RuntimeError",
    ),
    Consumer(
        "jax", "JAX", "0.10.2", "jax.dlpack.from_dlpack(x)",
        (Ask("bare", LEGACY, "JaxRuntimeError"),),
        needs_device="TypeError", needs_stream=True, no_capsule="TypeError",
        no_tensor="TypeError",
    ),
    Consumer(
        "tensorflow", "TensorFlow", "2.21.0", "tf.experimental.dlpack.from_dlpack(x.__dlpack__())",
        (Ask("bare", LEGACY, "InvalidArgumentError"),),
        capsules=LEGACY, no_capsule="InvalidArgumentError",
    ),
    Consumer(
        "tvm_ffi", "tvm-ffi", "0.1.15.post2", "tvm_ffi.from_dlpack(x)",
        (Ask("give", goes_on=("absent", "BufferError")), Ask("bare", LEGACY, "ValueError")),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "pyarrow", "PyArrow", "26.0.1", "pyarrow.Tensor.from_dlpack(x)",
        (Ask("1.3", VERSIONED, "ValueError"),),
    ),
    Consumer(
        "mpi4py", "mpi4py", "4.1.2", "comm.Send(x)",
        (
            Ask("buffer", goes_on=("absent", "BufferError", "TypeError", "ValueError")),
            Ask("1.0", VERSIONED, "BufferError", goes_on=TYPE_ERROR),
            Ask("bare", LEGACY, "BufferError"),
        ),
        needs_device="TypeError", no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "dpnp", "dpnp", "0.20.0", "dpnp.tensor.from_dlpack(x)", MODERN,
        needs_device="TypeError", no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "paddle", "Paddle", "3.3.1", "paddle.from_dlpack(x)", MODERN,
        needs_device="AttributeError", capsules=BOTH, no_capsule="ValueError",
        no_tensor="ValueError",
    ),
    Consumer(
        "mlx", "MLX", "0.32.4", "mx.from_dlpack(x)",
        (Ask("bare", goes_on=("TypeError", "BufferError")), Ask("1.0"), Ask("buffer")),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError", always_copies=True,
    ),
    Consumer(
        "onnxruntime", "ONNX Runtime", "1.31.1", "OrtValue.from_dlpack(x)",
        (Ask("bare", LEGACY, "TypeError"),),
        capsules=LEGACY, no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "warp", "Warp", "1.19.0", "warp.from_dlpack(x)",
        (Ask("bare", LEGACY, "TypeError"),),
        needs_device="AttributeError", needs_stream=True, capsules=LEGACY, no_capsule="TypeError",
        no_tensor="TypeError",
    ),
    Consumer(
        "mxnet", "MXNet", "1.9.1", "mx.nd.from_dlpack(x.__dlpack__())",
        (Ask("bare", LEGACY, "AssertionError"),),
        capsules=LEGACY, no_capsule="AssertionError",
    ),
    Consumer(
        "nanobind", "nanobind", "3.1.0", "f(x), of an nb::ndarray<> parameter",
        (Ask("1.0", goes_on=("TypeError", "BufferError")), Ask("bare", goes_on=("TypeError",)),
         Ask("buffer")),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError",
    ),
]  # fmt: skip

CONSUMERS = {row.name: row for row in ROWS}
