# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of every kind and the real consumers, for test_inspect_verdicts.py.

Runs in child processes, as some consumers crash.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import struct
import sys
import warnings
from typing import Any, Callable

import foreign
from dlbridge.tools import abi
from dlbridge.tools.inspection.inspection import inspect
from dlbridge.tools.libraries import LIBRARIES
from dlbridge.tools.matrix import values as matrix_values

# What libraries without 64 bits make of a dtype.
NARROWER = {
    "float64": "float32", "complex128": "complex64", "int64": "int32", "uint64": "uint32",
}  # fmt: skip
ALIGNED = struct.pack("<64f", *range(64))
COMPACT = (3, 1)


class Producer:
    """A correct producer whose capsules have exactly the given fields."""

    legacy_only = False

    def __init__(self, *, shift: int = 0, content: bytes = ALIGNED, **words: Any) -> None:
        words.setdefault("shape", (2, 3))
        words.setdefault("strides", COMPACT)
        words.setdefault("data", abi.memory(content, shift=shift))
        self.version = words.pop("version", (1, 3))
        self.words = words
        self.kept: list[foreign.Handle] = []  # for those without a deleter

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.words.get("device", abi.CPU)  # type: ignore[no-any-return]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        versioned = max_version is not None and max_version[0] >= 1 and not self.legacy_only
        if not versioned and self.words.get("flags", 0) & abi.READ_ONLY:
            raise BufferError("read-only memory has no legacy capsule")
        self.kept.append(foreign.tensor(version=self.version, **self.words))
        return self.kept[-1].capsule(versioned)


class LegacyOnly(Producer):
    legacy_only = True


class Old(Producer):
    """Accepts only the keyword stream."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return super().__dlpack__()


class Bare(Producer):
    def __dlpack__(self) -> Any:  # type: ignore[override]
        return super().__dlpack__()


class NoDevice:
    def __init__(self) -> None:
        self.behind = Producer()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.behind.__dlpack__(**keywords)


def _of_bytes(dtype: tuple[int, int, int], content: bytes) -> Callable[[], Producer]:
    return lambda: Producer(shape=(4,), strides=(1,), dtype=dtype, content=content * 64)


FLOATS = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
SHIFTED = [[4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]

# The factory and the expected values; None where the values are undefined.
CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "plain": (Producer, FLOATS),
    "aligned to 4": (lambda: Producer(shift=4), FLOATS),
    "aligned to 16": (lambda: Producer(shift=16), FLOATS),
    "aligned to 32": (lambda: Producer(shift=32), FLOATS),
    "byte offset 16": (lambda: Producer(byte_offset=16), SHIFTED),
    "byte offset 64": (
        lambda: Producer(byte_offset=64),
        [[16.0, 17.0, 18.0], [19.0, 20.0, 21.0]],
    ),
    "strides NULL": (lambda: Producer(strides=None, version=(1, 0)), FLOATS),
    "column-major": (lambda: Producer(strides=(1, 2)), [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]),
    "permuted": (
        lambda: Producer(shape=(2, 2, 2), strides=(2, 4, 1)),
        [[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]],
    ),
    "gaps": (lambda: Producer(shape=(3,), strides=(2,)), [0.0, 2.0, 4.0]),
    "rows with gaps": (lambda: Producer(strides=(4, 1)), [[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]]),
    "windows": (lambda: Producer(strides=(1, 1)), [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]),
    "broadcast": (lambda: Producer(strides=(0, 1)), [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]),
    "backwards": (
        lambda: Producer(shape=(3,), strides=(-1,), data=abi.memory(ALIGNED) + 8),
        [2.0, 1.0, 0.0],
    ),
    "rank 0": (lambda: Producer(shape=(), strides=()), 0.0),
    "empty, NULL": (lambda: Producer(shape=(2, 0), strides=(0, 1), data=0), [[], []]),
    "empty, with a pointer": (lambda: Producer(shape=(2, 0), strides=(0, 1)), [[], []]),
    "empty, of three dimensions": (
        lambda: Producer(shape=(2, 0, 4), strides=(0, 4, 1)),
        [[], []],
    ),
    "empty, with odd strides": (lambda: Producer(shape=(2, 0), strides=(7, 7)), [[], []]),
    "one index, stride 999": (lambda: Producer(shape=(1, 3), strides=(999, 1)), [FLOATS[0]]),
    "one index, stride -5": (lambda: Producer(shape=(1, 3), strides=(-5, 1)), [FLOATS[0]]),
    "read-only": (lambda: Producer(flags=abi.READ_ONLY), FLOATS),
    "copied": (lambda: Producer(flags=abi.IS_COPIED), FLOATS),
    "unknown flag": (lambda: Producer(flags=1 << 40), FLOATS),
    "version 1.99": (lambda: Producer(version=(1, 99)), FLOATS),
    "version 2.0": (lambda: Producer(version=(2, 0)), FLOATS),
    "legacy only": (LegacyOnly, FLOATS),
    "old": (Old, FLOATS),
    "bare": (Bare, FLOATS),
    "no device": (NoDevice, FLOATS),
    "deleter NULL": (lambda: Producer(deleter=False), FLOATS),
    "CPU 1": (lambda: Producer(device=(1, 1)), FLOATS),
    "cuda_host": (lambda: Producer(device=(3, 0)), FLOATS),
    "unknown device": (lambda: Producer(device=(99, 0)), None),
    "ndim -1": (lambda: Producer(ndim=-1), "none that could be right"),
    "ndim 40": (lambda: Producer(shape=(1,) * 40, strides=(1,) * 40), None),
    "lanes 2": (
        lambda: Producer(shape=(3, 2), strides=(2, 1), dtype=(2, 32, 2)),
        [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]], [[8.0, 9.0], [10.0, 11.0]]],
    ),
    "unknown dtype": (lambda: Producer(dtype=(200, 32, 1)), None),
    "bits 0": (lambda: Producer(dtype=(2, 0, 1)), None),
    "bool": (_of_bytes((6, 8, 1), b"\1\0"), [True, False, True, False]),
    "int8": (_of_bytes((0, 8, 1), b"\2\3"), [2, 3, 2, 3]),
    "uint8": (_of_bytes((1, 8, 1), b"\2\3"), [2, 3, 2, 3]),
    "uint16": (_of_bytes((1, 16, 1), struct.pack("<H", 5)), [5] * 4),
    "int32": (_of_bytes((0, 32, 1), struct.pack("<i", -5)), [-5] * 4),
    "int64": (_of_bytes((0, 64, 1), struct.pack("<q", -5)), [-5] * 4),
    "uint64": (_of_bytes((1, 64, 1), struct.pack("<Q", 5)), [5] * 4),
    "float16": (_of_bytes((2, 16, 1), struct.pack("<e", 0.5)), [0.5] * 4),
    "float64": (_of_bytes((2, 64, 1), struct.pack("<d", 0.5)), [0.5] * 4),
    "bfloat16": (_of_bytes((4, 16, 1), b"\0\x3f"), [0.5] * 4),
    "float8_e4m3fn": (_of_bytes((10, 8, 1), b"\x38"), None),
    "float8_e3m4": (_of_bytes((7, 8, 1), b"\x38"), None),
    "float8_e8m0fnu": (_of_bytes((14, 8, 1), b"\x38"), None),
    "float4_e2m1fn": (_of_bytes((17, 4, 1), b"\x22"), None),
    "float4_e2m1fn in pairs": (_of_bytes((17, 4, 2), b"\x22"), None),
    "float6_e2m3fn": (_of_bytes((15, 6, 1), b"\x22"), None),
    "int4": (_of_bytes((0, 4, 1), b"\x22"), None),
    "bool in one bit": (_of_bytes((6, 1, 1), b"\1"), None),
    "complex32": (_of_bytes((5, 32, 1), bytes(4)), None),
    "complex64": (_of_bytes((5, 64, 1), struct.pack("<ff", 1, 2)), None),
    "complex128": (_of_bytes((5, 128, 1), struct.pack("<dd", 1, 2)), None),
    "opaque": (_of_bytes((3, 64, 1), bytes(8)), None),
    "letters": (ctypes.c_wchar * 3, None),
    "bytes": (lambda: bytearray(range(3)), [0, 1, 2]),
    "capsule, legacy": (lambda: Producer().__dlpack__(), FLOATS),
    "capsule, versioned": (lambda: Producer().__dlpack__(max_version=(1, 0)), FLOATS),
    "capsule, versioned 2.0": (
        lambda: Producer(version=(2, 0)).__dlpack__(max_version=(1, 0)),
        FLOATS,
    ),
}


# The consumers ---------------------------------------------------------------------------------


class Consumer:
    """Imports a library; calls it as the row of inspection/consumers.py describes."""

    def __init__(self, name: str) -> None:
        self.name = name
        row = LIBRARIES[name]
        self.module = row.load()
        self.row = row

    def take(self, x: Any) -> Any:
        if self.name in OTHERS:
            return OTHERS[self.name][0](self.module, x)
        assert self.row.take is not None
        if self.row.takes_capsules and not abi.is_capsule(x):
            x = x.__dlpack__()
        return self.row.take(self.module, x)

    def address(self, x: Any) -> int | None:
        if self.name in OTHERS:
            return OTHERS[self.name][1](x)  # type: ignore[no-any-return]
        assert self.row.address is not None
        return self.row.address(self.module, x)

    def values(self, x: Any) -> Any:
        if self.name in OTHERS:
            return OTHERS[self.name][2](x)
        if self.name == "tvm_ffi":
            return importlib.import_module("numpy").from_dlpack(x).tolist()
        return self.row.values(self.module, x)


def _nothing(x: Any) -> None:
    return None


def _mpi_take(module: Any, x: Any) -> Any:
    """Sends the tensor to its own process, and returns the received bytes."""
    mpi = importlib.import_module("mpi4py.MPI")
    received_bytes = bytearray(256)
    mpi.COMM_SELF.Sendrecv(x, dest=0, recvbuf=[received_bytes, mpi.BYTE], source=0)
    return received_bytes


# Take, address and values of the consumers whose call differs from Library.take, or whose address
# cannot be compared.
OTHERS: dict[str, tuple[Any, Any, Any]] = {
    "mpi4py": (_mpi_take, _nothing, _nothing),
    "dpnp": (
        lambda m, x: importlib.import_module("dpnp.tensor").from_dlpack(x),
        lambda x: x.ctypes.data,
        lambda x: x.tolist(),
    ),
    "mlx": (
        lambda m, x: importlib.import_module("mlx.core").from_dlpack(x),
        lambda x: 0,
        lambda x: x.tolist(),
    ),
    "mxnet": (
        lambda m, x: m.nd.from_dlpack(x if abi.is_capsule(x) else x.__dlpack__()),
        _nothing,
        lambda x: x.asnumpy().tolist(),
    ),
}


# In the child ----------------------------------------------------------------------------------


def judge(case: str) -> dict[str, list[str]]:
    """Returns the verdict of each consumer."""
    make, _ = CASES[case]
    return {v.consumer: [v.outcome, v.text] for v in inspect(make()).verdicts}


def judge_all() -> dict[str, Any]:
    return {case: judge(case) for case in CASES}


def take(consumer: str, case: str, read: bool) -> list[str]:
    """Returns the actual outcome, in the terms of a verdict, and the exception."""
    warnings.simplefilter("ignore")
    library = Consumer(consumer)
    make, expected = CASES[case]
    source = make()
    first = inspect(source, copy=False).tensor
    try:
        result = library.take(source)
    except BaseException as raised:
        return ["refuses", f"{type(raised).__name__}: {raised}"]
    print("TAKEN", file=sys.stderr, flush=True)
    address = library.address(result)
    values = None
    try:
        if read:
            values = library.values(result)
        if read and consumer == "tensorflow" and first is not None and first.dtype == (2, 32, 1):
            values = (result + result).numpy() / 2  # an operation, which requires alignment
            values = values.tolist()
    except BaseException as raised:
        return ["breaks", f"{type(raised).__name__}: {raised}"]
    dtype = matrix_values.dtype_of(result)
    del result, source
    if case == "deleter NULL":
        gc.collect()  # frees remaining references
    if expected is not None and values is not None and values != expected:
        return ["wrong", repr(values)]
    # Some consumers do not report an address.
    if address is None or first is None or address == first.first:
        return ["shares", ""]
    # Some do not name the dtype either.
    is_narrower = dtype is not None and dtype == NARROWER.get(first.dtype_text)
    return ["converts" if is_narrower else "copies", ""]


def readable() -> dict[str, bool]:
    """Whether the values of a case are defined, and readable in every library."""
    hard = {"bfloat16", "lanes 2", "ndim -1"}
    return {case: values is not None and case not in hard for case, (_, values) in CASES.items()}
