# SPDX-License-Identifier: BSD-3-Clause
"""Imports random tensors of one library, and prints each result or refusal as a line of JSON.

As a program: python import_parity.py LIBRARY COUNT SEED. Two processes with the same arguments make
the same tensors: one that uses exchange tables and the fields of ndarrays, and one with
DLBRIDGE_PROTOCOL_ONLY=1, which calls __dlpack__ for each. Their lines must be equal.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import sys
import warnings
from random import Random
from typing import Any, Callable

import dlbridge

Make = Callable[[Random], Any]

KEYWORDS: list[dict[str, Any]] = [
    *({} for _ in range(8)), *({"copy": True} for _ in range(3)), {"copy": False}, {"copy": None},
    {"readonly": True}, {"readonly": False}, {"stream": None}, {"device": "cpu"},
]  # fmt: skip


def random_index(random: Random, shape: Any) -> tuple[Any, ...]:
    """An index of a view: slices with steps, integers, new dimensions."""
    index: list[Any] = []
    for extent in shape:
        kind = random.randrange(6)
        if kind == 0 and extent > 0:
            index.append(random.randrange(extent))
        elif kind < 3:
            index.append(slice(random.randrange(extent + 1), None, random.choice([1, 2, 3])))
        else:
            index.append(slice(None))
    if random.randrange(5) == 0:
        index.insert(random.randrange(len(index) + 1), None)
    return tuple(index)


def random_shape(random: Random) -> tuple[int, ...]:
    rank = random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8, 9])
    extents = [0, 1, 1, 2, 2, 3, 5] if rank < 5 else [1, 1, 2]
    return tuple(random.choice(extents) for _ in range(rank))


def of_numpy(random: Random) -> Any:
    import numpy as np

    letter = random.choice("?bBhHiIlLqQefdFDgmMSOV")
    shape = random_shape(random)
    if letter == "O":
        x = np.full(shape, None)
    else:
        type_ = {"S": "S3", "V": "V4", "m": "m8[s]", "M": "M8[s]"}.get(letter, letter)
        count = math.prod(shape)
        bytes_ = random.randbytes(count * np.dtype(type_).itemsize)
        if letter == "?":
            bytes_ = bytes(each & 1 for each in bytes_)
        x = np.frombuffer(bytearray(bytes_), type_, count).reshape(shape)
    for _ in range(random.randrange(3)):
        kind = random.randrange(9)
        if kind == 0:
            x = x.transpose(random.sample(range(x.ndim), x.ndim))
        elif kind == 1:
            x = np.asarray(x[random_index(random, x.shape)])
        elif kind == 2 and np.ndim(x):
            x = np.flip(x, random.randrange(x.ndim))
        elif kind == 3:
            x = np.broadcast_to(x, (2, *x.shape))
        elif kind == 4 and isinstance(x, np.ndarray):
            x = x.copy()
            x.flags.writeable = False
        elif kind == 5 and isinstance(x, np.ndarray) and letter not in "OSV":
            x = x.astype(x.dtype.newbyteorder())
        elif kind == 6 and isinstance(x, np.ndarray) and x.ndim and letter in "hiqfd":
            record = np.zeros(x.shape, [("a", "i1"), ("b", x.dtype)])  # strides of odd bytes
            record["b"] = x
            x = record["b"]
        elif kind == 7:
            x = derived(x, random) if isinstance(x, np.ndarray) else x
    return x


def refuse(*arguments: Any, **keywords: Any) -> Any:
    raise BufferError("refused by a derived class")


def derived(array: Any, random: Random) -> Any:
    """The array as an object of a derived class; some redefine a method, some in the object."""
    import numpy as np

    redefined = random.choice([{}, {}, {"__dlpack__": refuse}, {"__dlpack_device__": refuse}])
    in_object = random.random() < 0.3
    x = array.view(type("Derived", (np.ndarray,), {} if in_object else redefined))
    if in_object:
        vars(x).update(redefined)
    return x


def of_torch(random: Random) -> Any:
    import torch

    dtypes = [
        torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.uint8,
        torch.int8, torch.int16, torch.int32, torch.int64, torch.complex64, torch.complex128,
        torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32,
    ]  # fmt: skip
    dtype = random.choice(dtypes)
    shape = random_shape(random)
    count = math.prod(shape)
    x = torch.tensor([random.randrange(2) for _ in range(count)], dtype=torch.float32).to(dtype)
    x = x.reshape(shape)
    for _ in range(random.randrange(3)):
        with contextlib.suppress(RuntimeError, NotImplementedError):  # not for every dtype
            x = random.choice(TORCH_VIEWS)(x, random)
    return x


TORCH_VIEWS: list[Callable[[Any, Random], Any]] = [
    lambda x, random: x.permute(random.sample(range(x.ndim), x.ndim)),
    lambda x, random: x[random_index(random, x.shape)],
    lambda x, random: x.expand((2, *x.shape)),
    lambda x, random: x.requires_grad_(),
    lambda x, random: x.conj(),
    lambda x, random: x.imag,
    lambda x, random: x.conj().imag,
    lambda x, random: sys.modules["torch"]._neg_view(x),
    lambda x, random: sys.modules["torch"].nn.Parameter(x, random.random() < 0.3),
    lambda x, random: x.to_sparse(),
    lambda x, random: x.to("meta"),
    lambda x, random: x.detach(),
]


def of_jax(random: Random) -> Any:
    import numpy as np

    jnp: Any = importlib.import_module("jax.numpy")

    shape = random_shape(random)
    dtype = random.choice(["float32", "bfloat16", "float16", "int32", "uint8", "bool", "complex64"])
    return jnp.asarray(np.arange(math.prod(shape)).reshape(shape), dtype)


def of_tvm_ffi(random: Random) -> Any:
    import numpy as np
    import tvm_ffi

    dtype = random.choice(["float32", "float64", "int8", "int64", "uint16", "bool"])
    shape = random_shape(random)
    return tvm_ffi.from_dlpack(np.arange(math.prod(shape)).reshape(shape).astype(dtype))


def of_paddle(random: Random) -> Any:
    paddle: Any = importlib.import_module("paddle")
    dtype = random.choice(["float32", "float64", "int8", "int32", "int64", "bool", "complex64"])
    shape = random_shape(random)
    x = paddle.to_tensor([random.randrange(2) for _ in range(math.prod(shape))], dtype="float32")
    x = x.astype(dtype).reshape(shape)
    if x.ndim and random.randrange(3) == 0:
        x = x.transpose(random.sample(range(x.ndim), x.ndim))
    if random.randrange(4) == 0:
        x.stop_gradient = False
    return x


def of_dlbridge(random: Random) -> Any:
    import numpy as np

    shape = random_shape(random)
    return dlbridge.from_dlpack(np.arange(math.prod(shape), dtype="float32").reshape(shape).T)


LIBRARIES: dict[str, Make] = {
    "numpy": of_numpy, "torch": of_torch, "jax": of_jax, "tvm_ffi": of_tvm_ffi,
    "paddle": of_paddle, "dlbridge": of_dlbridge,
}  # fmt: skip


def strides_that_matter(t: dlbridge.Tensor) -> list[int | None]:
    """The strides that lead to a second element. NumPy up to 2.2 states no others."""
    used = [t.size > 0 and extent > 1 for extent in t.shape]
    return [stride if matters else None for stride, matters in zip(t.strides, used)]


def describe(t: dlbridge.Tensor, x: Any) -> dict[str, Any]:
    """What an importer can learn of a Tensor, and what it exports."""
    data = memoryview(b"") if t.size == 0 else None
    with contextlib.suppress(BufferError):  # a dtype without a format
        data = memoryview(t)
    again = dlbridge.from_dlpack(t.__dlpack__(max_version=(1, 3)))
    return {
        "shape": t.shape, "strides": strides_that_matter(t), "dtype": str(t.dtype),
        "device": str(t.device), "readonly": t.readonly, "flags": t.flags, "version": t.version,
        "values": None if data is None else data.tobytes().hex(),
        "same memory": address_of(x) in (None, t.data_ptr),
        "exported": [strides_that_matter(again), again.flags, again.data_ptr == t.data_ptr],
    }  # fmt: skip


def address_of(x: Any) -> int | None:
    for name in ("data_ptr", "unsafe_buffer_pointer"):
        with contextlib.suppress(Exception):
            return int(getattr(x, name)())
    with contextlib.suppress(Exception):
        return int(x.ctypes.data)
    return None


def main(library: str, count: int, seed: int) -> None:
    warnings.simplefilter("ignore")
    importlib.import_module(library)
    for number in range(count):
        choices = Random(f"{library} {seed} {number}")
        x = LIBRARIES[library](choices)
        keywords = choices.choice(KEYWORDS)
        take = choices.choice([dlbridge.from_dlpack, dlbridge.as_tensor])
        try:
            outcome: Any = describe(take(x, **keywords), x)
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        print(json.dumps([number, take.__name__, str(keywords), outcome]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
