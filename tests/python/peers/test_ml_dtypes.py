# SPDX-License-Identifier: BSD-3-Clause
"""ml_dtypes: NumPy arrays of narrow floats and integers on the same memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dlbridge
import foreign
import producers

# Name, dtype of DLPack, flags, the bytes of two numbers, and the numbers.
NARROW: list[tuple[str, tuple[int, int, int], int, bytes, list[float]]] = [
    ("bfloat16", (4, 16, 1), 0, b"\x80\x3f\x00\xc0", [1, -2]),
    ("float8_e3m4", (7, 8, 1), 0, b"\x30\xc0", [1, -2]),
    ("float8_e4m3", (8, 8, 1), 0, b"\x38\xc0", [1, -2]),
    ("float8_e4m3b11fnuz", (9, 8, 1), 0, b"\x58\xe0", [1, -2]),
    ("float8_e4m3fn", (10, 8, 1), 0, b"\x38\xc0", [1, -2]),
    ("float8_e4m3fnuz", (11, 8, 1), 0, b"\x40\xc8", [1, -2]),
    ("float8_e5m2", (12, 8, 1), 0, b"\x3c\xc0", [1, -2]),
    ("float8_e5m2fnuz", (13, 8, 1), 0, b"\x40\xc4", [1, -2]),
    ("float8_e8m0fnu", (14, 8, 1), 0, b"\x7f\x80", [1, 2]),
    ("int4", (0, 4, 1), 4, b"\x01\x0e", [1, -2]),
    ("uint4", (1, 4, 1), 4, b"\x01\x0e", [1, 14]),
    ("float6_e2m3fn", (15, 6, 1), 4, b"\x08\x30", [1, -2]),
    ("float6_e3m2fn", (16, 6, 1), 4, b"\x0c\x30", [1, -2]),
    ("float4_e2m1fn", (17, 4, 1), 4, b"\x02\x0c", [1, -2]),
]


@pytest.mark.parametrize("name, dtype, flags, fill, numbers", NARROW)
def test_as_an_array(
    name: str, dtype: tuple[int, int, int], flags: int, fill: bytes, numbers: list[float]
) -> None:
    p = producers.Producer(dtype=dtype, flags=flags, fill=fill, shape=(2,))
    t = dlbridge.from_dlpack(p)
    array: Any = np.asarray(t)
    assert array.dtype == getattr(ml_dtypes, name)
    assert t.dtype == array.dtype
    assert array.astype(np.float32).tolist() == numbers
    assert array.__array_interface__["data"][0] == p.handle.address
    array[0] = numbers[1]
    assert np.asarray(t).astype(np.float32)[0] == numbers[1]
    del t, array
    assert p.calls == [1]


def test_strides_and_flags_are_kept() -> None:
    p = producers.Producer(dtype=(4, 16, 1), strides=(1, 2), flags=1)
    array: Any = np.asarray(dlbridge.from_dlpack(p))
    assert (array.strides, array.flags.writeable) == ((2, 4), False)


TAKES: list[Any] = [dlbridge.from_dlpack, dlbridge.as_tensor]


def names_of_ml_dtypes() -> list[str]:
    """The dtypes that ml_dtypes adds to NumPy."""
    found = [getattr(ml_dtypes, name) for name in dir(ml_dtypes)]
    return [each.__name__ for each in found if isinstance(each, type) and np.dtype(each).num > 255]


@pytest.mark.parametrize("take", TAKES)
@pytest.mark.parametrize("name", names_of_ml_dtypes())
def test_every_array_is_imported(name: str, take: Any) -> None:
    """NumPy exports none of them, unless its user has registered the dtype."""
    x = np.array([[1, 0, 1], [0, 1, 1]]).astype(getattr(ml_dtypes, name))
    for array in (x, x[:, ::-2], x.T, x[1, 2, ...], x[:0], x.view(type("D", (np.ndarray,), {}))):
        t = take(array)
        assert (t.dtype, t.shape, t.byte_strides) == (name, array.shape, array.strides)
        back: Any = np.asarray(t)
        assert back.dtype == array.dtype and np.shares_memory(back, array) == (array.size > 0)
        assert back.tobytes() == array.tobytes()
        assert (t.readonly, t.flags & 2, t.itemsize) == (False, 0, x.itemsize)
    copy = take(x, copy=True)
    assert (copy.flags & 2, copy.readonly) == (2, False)
    assert not np.shares_memory(np.asarray(copy), x)
    assert np.asarray(copy).tobytes() == x.tobytes()
    assert take(x, copy=False, device="cpu").data_ptr == x.ctypes.data
    capsule = dlbridge.to_dlpack(x, max_version=(1, 1))
    assert np.asarray(dlbridge.from_dlpack(capsule)).dtype == x.dtype
    x.flags.writeable = False
    assert take(x).readonly and not take(x, copy=True).readonly


@pytest.mark.parametrize("name, dtype, flags, fill, numbers", NARROW)
def test_an_array_as_others_read_it(
    name: str, dtype: tuple[int, int, int], flags: int, fill: bytes, numbers: list[float]
) -> None:
    x = np.array(numbers, dtype=np.float32).astype(getattr(ml_dtypes, name))
    t = dlbridge.from_dlpack(x)
    tensor = foreign.consume(t.__dlpack__(max_version=(1, 1)))
    assert (tensor.dtype, tensor.flags, tensor.data) == (dtype, flags, x.ctypes.data)
    tensor.release()
    assert t.tobytes() == fill and x.tobytes() == fill
    if name != "float8_e8m0fnu":
        assert t.tolist() == numbers


def test_a_foreign_byte_order_is_refused() -> None:
    x = np.ones(3, np.dtype(ml_dtypes.bfloat16).newbyteorder())
    for take in TAKES:
        with pytest.raises(BufferError, match=r"got '[<>]V2', in another byte order") as raised:
            take(x)
        remedy = str(raised.value).rpartition("Pass ")[2]
        t = take(eval(remedy, {"x": x}))
        assert np.asarray(t).astype("f4").tolist() == [1, 1, 1]


@pytest.mark.skipif(
    not hasattr(getattr(np, "dtypes", None), "register_dlpack_dtype"), reason="requires NumPy 2.5"
)
def test_a_registered_dtype_is_exported_by_numpy() -> None:
    code = """if True:
        import ml_dtypes, numpy as np, dlbridge
        x = np.array([1, -2], ml_dtypes.bfloat16)
        before = dlbridge.from_dlpack(x)
        np.dtypes.register_dlpack_dtype((4, 16), x.dtype)
        for t in (before, dlbridge.from_dlpack(x), dlbridge.as_tensor(x)):
            assert (t.dtype, t.data_ptr) == ("bfloat16", x.ctypes.data)
            assert np.from_dlpack(t).dtype == np.asarray(t).dtype == x.dtype
        assert dlbridge.from_dlpack(x, copy=True).flags == 2
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_packed_elements_are_refused() -> None:
    """They have fewer bytes than an array of the same size would read."""
    for dtype in ((0, 4, 1), (15, 6, 1), (17, 4, 1)):
        t = dlbridge.from_dlpack(producers.Producer(dtype=dtype))
        with pytest.raises(BufferError, match=r"^expected elements of whole bytes"):
            np.asarray(t)


@pytest.mark.parametrize(
    "name", ["int2", "uint2", "int4", "uint4", "float6_e2m3fn", "float4_e2m1fn"]
)
def test_view_and_empty_have_elements_of_a_byte(name: str) -> None:
    array = np.array([1, 0, 1, 1, 0], dtype=getattr(ml_dtypes, name))
    for t in (
        dlbridge.from_dlpack(array.view("u1")).view(array.dtype),
        dlbridge.from_dlpack(array.view("u1")).view(getattr(ml_dtypes, name)),
    ):
        assert (t.shape, t.tolist()) == ((5,), [1, 0, 1, 1, 0])
        assert np.asarray(t).dtype == array.dtype
    new = dlbridge.empty((3, 5), array.dtype)
    assert (new.shape, new.nbytes, new.numpy().dtype) == ((3, 5), 15, array.dtype)
    assert new.flags == foreign.consume(new.__dlpack__(max_version=(1, 1))).flags == 4
