# SPDX-License-Identifier: BSD-3-Clause
"""How each library requests a tensor. What it does with the tensor is in cases/.

A library whose requests have changed has a row for each kind of request, the oldest first.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import abi
from ..libraries import LIBRARIES
from ..versions import reaches

LEGACY, VERSIONED, BOTH = (abi.LEGACY,), (abi.VERSIONED,), (abi.LEGACY, abi.VERSIONED)


@dataclass(frozen=True)
class Request:
    """One call of a consumer."""

    protocol: str  # of protocols.TITLES
    accepts: tuple[str, ...] = BOTH  # capsules, by name; irrelevant for protocols without capsules
    error: str = ""  # the exception for another capsule
    continues_after: tuple[str, ...] = ()  # the exceptions after which the next request follows


@dataclass(frozen=True)
class Consumer:
    """How a library imports an object."""

    name: str  # of its row in tools.libraries
    versions: tuple[str, ...]  # with which all of this was observed, the oldest first
    call: str
    requests: tuple[Request, ...]
    needs_device: str = ""  # the exception for an object without __dlpack_device__
    needs_stream: bool = False  # always passes stream=, without a fallback
    capsules: tuple[str, ...] = ()  # the raw capsules that it accepts, by name
    no_capsule: str = "AttributeError"  # the exception for other capsules
    no_tensor: str = "AttributeError"  # the exception for an object without __dlpack__
    always_copies: bool = False
    legacy_note: str = ""  # the effect of a legacy capsule
    since: str = ""  # the first version that requests so; "" in the first row of a library

    @property
    def title(self) -> str:
        return LIBRARIES[self.name].title

    def observed(self, version: str) -> str:
        """Returns the newest observed version that another one reaches, or else the oldest one."""
        reached = [each for each in self.versions if reaches(version, each)]
        return (reached or self.versions)[-1 if reached else 0]


TYPE_ERROR = ("TypeError",)
MODERN = (Request("1.0", continues_after=TYPE_ERROR), Request("bare"))

ROWS = [
    Consumer(
        "numpy", ("1.23.5", "1.26.4"), "numpy.from_dlpack(x)",
        (Request("bare", LEGACY, "ValueError"),),
        legacy_note="the result is read-only",
    ),
    Consumer(
        "numpy", ("2.4.6", "2.5.5"), "numpy.from_dlpack(x)", MODERN,
        legacy_note="the result of a legacy capsule is read-only", since="2.1.0",
    ),
    Consumer(
        "torch", ("2.13.0",), "torch.from_dlpack(x)", MODERN,
        needs_device="AttributeError", capsules=BOTH, no_capsule="RuntimeError",
        no_tensor="RuntimeError",
    ),
    Consumer(
        "jax", ("0.10.2",), "jax.dlpack.from_dlpack(x)",
        (Request("bare", LEGACY, "JaxRuntimeError"),),
        needs_device="TypeError", needs_stream=True, no_capsule="TypeError",
        no_tensor="TypeError",
    ),
    Consumer(
        "jax", ("0.12.0.1",), "jax.dlpack.from_dlpack(x)",
        (Request("1.3", continues_after=TYPE_ERROR), Request("bare")),
        needs_device="TypeError", needs_stream=True, no_capsule="TypeError",
        no_tensor="TypeError", since="0.12.0",
    ),
    Consumer(
        "tensorflow", ("2.21.0",), "tf.experimental.dlpack.from_dlpack(x.__dlpack__())",
        (Request("bare", LEGACY, "InvalidArgumentError"),),
        capsules=LEGACY, no_capsule="InvalidArgumentError",
    ),
    Consumer(
        "tvm_ffi", ("0.1.15.post2",), "tvm_ffi.from_dlpack(x)",
        (
            Request("give", continues_after=("absent", "BufferError")),
            Request("bare", LEGACY, "ValueError"),
        ),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "pyarrow", ("26.0.1",), "pyarrow.Tensor.from_dlpack(x)",
        (Request("1.3", VERSIONED, "ValueError"),),
    ),
    Consumer(
        "mpi4py", ("4.1.2",), "comm.Send(x)",
        (
            Request(
                "buffer",
                continues_after=("absent", "BufferError", "TypeError", "ValueError"),
            ),
            Request("1.0", VERSIONED, "BufferError", continues_after=TYPE_ERROR),
            Request("bare", LEGACY, "BufferError"),
        ),
        needs_device="TypeError", no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "dpnp", ("0.20.0",), "dpnp.tensor.from_dlpack(x)", MODERN,
        needs_device="TypeError", no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "paddle", ("3.3.1",), "paddle.from_dlpack(x)", MODERN,
        needs_device="AttributeError", capsules=BOTH, no_capsule="ValueError",
        no_tensor="ValueError",
    ),
    Consumer(
        "mlx", ("0.32.4",), "mx.from_dlpack(x)",
        (
            Request("bare", continues_after=("TypeError", "BufferError")),
            Request("1.0"),
            Request("buffer"),
        ),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError", always_copies=True,
    ),
    Consumer(
        "onnxruntime", ("1.31.1",), "OrtValue.from_dlpack(x)",
        (Request("bare", LEGACY, "TypeError"),),
        capsules=LEGACY, no_capsule="TypeError", no_tensor="TypeError",
    ),
    Consumer(
        "warp", ("1.19.0",), "warp.from_dlpack(x)",
        (Request("bare", LEGACY, "TypeError"),),
        needs_device="AttributeError", needs_stream=True, capsules=LEGACY, no_capsule="TypeError",
        no_tensor="TypeError",
    ),
    Consumer(
        "mxnet", ("1.9.1",), "mx.nd.from_dlpack(x.__dlpack__())",
        (Request("bare", LEGACY, "AssertionError"),),
        capsules=LEGACY, no_capsule="AssertionError",
    ),
    Consumer(
        "nanobind", ("3.1.0",), "f(x), of an nb::ndarray<> parameter",
        (
            Request("1.0", continues_after=("TypeError", "BufferError")),
            Request("bare", continues_after=TYPE_ERROR),
            Request("buffer"),
        ),
        capsules=BOTH, no_capsule="TypeError", no_tensor="TypeError",
    ),
]  # fmt: skip

CONSUMERS = {row.name: row for row in ROWS}  # the newest row of each


def consumer_of(name: str, version: str) -> Consumer:
    """Returns the row of a library that describes one version of it.

    >>> [consumer_of("jax", each).requests[0].protocol for each in ("0.10.2", "0.12.0.1")]
    ['bare', '1.3']
    """
    rows = [row for row in ROWS if row.name == name]
    return [row for row in rows if row is rows[0] or reaches(version, row.since)][-1]


def installed() -> dict[str, str]:
    """Returns the installed version of each consumer that is installed; none is imported."""
    versions = {name: LIBRARIES[name].version for name in CONSUMERS}
    return {name: version for name, version in versions.items() if version is not None}
