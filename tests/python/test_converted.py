# SPDX-License-Identifier: BSD-3-Clause
"""Converted parameters of extension functions, compared with NumPy's astype and ml_dtypes."""

from __future__ import annotations

import gc
import itertools
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_element_types import FLOATS, assert_same, tensor_of, type_named
from test_signatures import BINDINGS, module_of

import dlbridge
from producers import Producer

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
STANDARD = ("bool", *INTEGERS, "float32", "float64", "float16")  # of NumPy itself
SOURCES = (*STANDARD, *FLOATS[1:])
TARGETS = (*INTEGERS, "float32", "float64", "float16", "bfloat16", "float8_e4m3fn")


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


def dtype_named(name: str) -> Any:
    return type_named(name) if name in FLOATS else np.dtype(name)


def numbers(name: str) -> Any:
    """Numbers of a dtype, with its extremes, and for a float with NaN and infinity."""
    dtype = dtype_named(name)
    random = np.random.default_rng(3)
    if name in INTEGERS:
        limits = np.iinfo(dtype)
        chosen = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 7]
        return np.concatenate(
            [np.array(chosen, dtype), random.integers(limits.min, limits.max, 57, dtype, True)]
        )
    if name == "bool":
        return random.integers(0, 2, 64).astype(bool)
    bits = random.integers(0, 256, 60 * dtype.itemsize, np.uint8).view(dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([bits, np.array([1.5, 0.25, 448, 3], dtype)])


def tensor(array: Any, name: str) -> Any:
    return dlbridge.as_tensor(array) if name in STANDARD else tensor_of(array, name)


def array_of(result: Any, name: str) -> Any:
    if name in STANDARD:
        return np.asarray(result)
    return np.asarray(result.view(f"uint{dtype_named(name).itemsize * 8}")).view(dtype_named(name))


def expected(array: Any, name: str) -> Any:
    """The numbers rounded once: ml_dtypes converts doubles and large integers to float first."""
    dtype = dtype_named(name)
    if array.dtype.itemsize == 1 and array.dtype.name in FLOATS:
        array = array.astype(np.float32)  # NumPy has no cast between some floats of 8 bits
    if name not in ("bfloat16", "float8_e4m3fn") or array.dtype.name not in ("float64", *INTEGERS):
        return array.astype(dtype)
    wide = array.astype(np.float32)
    exact = np.longdouble(array) == np.longdouble(wide)
    return np.where(exact, wide.astype(dtype), nearest(array, wide, dtype))


def nearest(array: Any, wide: Any, dtype: Any) -> Any:
    """Rounds numbers that are no floats: towards them, a float that is half way is moved."""
    above = np.longdouble(array) > np.longdouble(wide)
    moved = np.nextafter(wide, np.where(above, np.float32(np.inf), -np.float32(np.inf)))
    half_way = (wide.view(np.uint32) & 0xFFFF) == (0x8000 if dtype.itemsize == 2 else 0)
    if dtype.itemsize == 1:
        half_way = (wide.view(np.uint32) & 0xFFFFF) == 0x80000
    return np.where(half_way & np.isfinite(wide), moved, wide).astype(dtype)


def converts(source: str, target: str) -> bool:
    return target not in INTEGERS or np.can_cast(dtype_named(source), dtype_named(target), "safe")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, at an overflow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_pair_of_dtypes(extension: Any, source: str, target: str) -> None:
    array = numbers(source)
    function = getattr(extension, f"converted_{target}")
    if not converts(source, target):
        with pytest.raises(TypeError, match=r"converted from narrower integers; .* dtype differs"):
            function(tensor(array, source))
        return
    got = array_of(function(tensor(array, source)), target)
    assert got.dtype == dtype_named(target)
    if target in INTEGERS:
        assert got.tolist() == array.astype(target).tolist()
    else:
        assert_same(got, expected(array, target))


def layouts() -> dict[str, Any]:
    x = np.arange(24, dtype=np.int16).reshape(4, 6) - 5
    many = np.arange(64, dtype=np.int16).reshape((2,) * 6)
    cube = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    return {
        "row-major": x,
        "column-major": np.asfortranarray(x),
        "transposed": cube.transpose(2, 0, 1),
        "stepped": x[::2, 1::3],
        "backwards": x[::-1, ::-1],
        "partly backwards": cube[:, ::-2, 1:],
        "broadcast": np.broadcast_to(x[0], (5, 6)),
        "one number": np.broadcast_to(np.int16(7), (2, 3)),
        "extents of 1": cube[:1, :, :1],
        "0-d": np.array(-3, np.int16),
        "empty": x[:, :0],
        "empty, stepped": cube[::2, 4:, ::-1],
        "of higher rank": many.transpose(5, 0, 3, 1, 2, 4),
        "within a record": np.ones(4, [("a", "i2"), ("b", "i2")])["b"],
    }


@pytest.mark.parametrize("name", layouts())
@pytest.mark.parametrize("target", ["float32", "float64", "int64", "float16"])
def test_every_layout(extension: Any, name: str, target: str) -> None:
    array = layouts()[name]
    got = getattr(extension, f"converted_{target}")(array)
    assert type(got) is np.ndarray and got.flags.c_contiguous
    assert got.shape == array.shape and got.dtype == target
    np.testing.assert_array_equal(got, array.astype(target))


@pytest.mark.parametrize("dtype", ["bool", "float64", "uint64"])
def test_misaligned_elements(extension: Any, dtype: str) -> None:
    memory = np.zeros(8 * 9 + 1, np.uint8)
    array = memory[1:].view(dtype)[: 9 if dtype != "bool" else None]
    array[:] = np.arange(array.size) % 2
    assert extension.converted_float32(array).tolist() == array.astype(np.float32).tolist()


def test_bools_of_other_bytes_are_true(extension: Any) -> None:
    array = np.array([0, 1, 2, 255], np.uint8).view(bool)
    assert extension.converted_float32(array).tolist() == [0, 1, 1, 1]


COPIED, ADDRESS = 2, 3  # of property_of_...


@pytest.mark.parametrize("name", ["property_of_span", "property_of_converted"])
def test_the_dtype_itself_is_not_copied(extension: Any, name: str) -> None:
    function = getattr(extension, name)
    x = np.asfortranarray(np.ones((3, 4), np.float32))[::2, ::-1]
    assert function(x, ADDRESS) == x.ctypes.data
    assert (function(x, 0), function(x, 1)) == (2, -3)
    assert function(x, COPIED) == 0
    y = x.astype(np.int8)
    assert (function(y, 0), function(y, 1)) == (4, 1)
    assert function(y, COPIED) == 1
    assert function(y, ADDRESS) % 64 == 0


def test_the_layout_is_that_of_the_parameter(extension: Any) -> None:
    for dtype, order in itertools.product(["float32", "int8"], ["C", "F"]):
        x = np.ones((3, 4), dtype)
        x = x if order == "C" else np.asfortranarray(x)
        rows, columns = extension.property_of_row_major, extension.property_of_column_major
        assert (rows(x, 0), rows(x, 1)) == (4, 1)
        assert (columns(x, 0), columns(x, 1)) == (1, 3)
        assert rows(x, COPIED) == (dtype != "float32" or order != "C")
        assert columns(x, COPIED) == (dtype != "float32" or order != "F")


def test_the_alignment_is_that_of_the_parameter(extension: Any) -> None:
    memory = np.zeros(200, np.uint8)
    start = -memory.ctypes.data % 64 + 4
    x = memory[start : start + 16].view(np.float32).reshape(2, 2)
    assert extension.property_of_aligned(x, COPIED) == 1
    assert extension.property_of_aligned(x, ADDRESS) % 64 == 0


def test_complex_numbers_are_refused(extension: Any) -> None:
    with pytest.raises(TypeError, match=r"got complex64\[2\] on cpu: dtype differs. Pass its real"):
        extension.sum_converted(np.ones(2, np.complex64))
    assert extension.sum_converted(np.array([1 + 2j, 3], np.complex64).real) == 4


def test_memory_of_devices_is_refused(extension: Any) -> None:
    p = Producer(shape=(3,), dtype=(0, 32, 1), device=(8, 0))
    message = (
        r"expected float32\[\*\] on cpu, converted from real dtypes; got int32\[3\] on metal:0: "
        r"device differs. Copy it to the CPU first"
    )
    for function in (extension.sum_converted, extension.double_converted):
        with pytest.raises(TypeError, match=message):
            function(p)
    assert p.exports == p.calls == [1, 1]


def test_packed_and_opaque_elements_are_refused(extension: Any) -> None:
    packed = dlbridge.as_tensor(np.zeros(2, np.uint8)).view("float4_e2m1fnx2")
    with pytest.raises(TypeError, match=r"dtype differs. Convert its dtype first"):
        extension.sum_converted(packed)


def test_plain_functions_of_the_binding_library(extension: Any) -> None:
    x = np.array([1, 2], np.int16)
    assert extension.plain_sum_converted(x) == 3
    assert extension.plain_sum_converted(x.astype(np.float32)) == 3
    with pytest.raises(TypeError, match="converted from real dtypes"):
        extension.plain_sum_converted(x[:, None])
    # A parameter without conversions, and overloads, which are first tried without them.
    assert extension.plain_sum_exact(x.astype(np.float32)) == 3
    with pytest.raises(TypeError, match="incompatible function arguments"):
        extension.plain_sum_exact(x)
    assert extension.cast_converted(x) == 6
    kinds = [extension.plain_kind(x.astype(t)) for t in ("float32", "float64", "int8")]
    assert kinds == ["converted", "double", "converted"]


def test_overloads_are_tried_in_their_order(extension: Any) -> None:
    x = np.array([1, 2], np.int16)
    kinds = [extension.kind(x.astype(t)) for t in ("float32", "float64", "int8")]
    assert kinds == ["converted", "double", "converted"]
    with pytest.raises(TypeError, match=r"complex64.* Pass its real part"):
        extension.kind(x.astype(np.complex64))


def test_fast_functions_constructors_and_static_methods(extension: Any) -> None:
    x = np.array([1, 2], np.uint8)
    assert extension.fast_sum_converted(x) == 3
    assert extension.fast_double_converted(x).tolist() == [2, 4]
    with pytest.raises(TypeError, match=r"fast_sum_converted\(\): .* rank differs"):
        extension.fast_sum_converted(x[:, None])
    assert "converted from real dtypes" in extension.fast_sum_converted.__doc__
    assert extension.Summed(x).sum == extension.Summed.of(x) == 3
    with pytest.raises(TypeError, match=r"\(\): argument 'x': .* Pass its real part"):
        extension.Summed(x.astype(np.complex128))


def test_signatures_state_the_conversion(extension: Any) -> None:
    text = '"float32[*] on cpu, converted from real dtypes"'
    assert text in extension.sum_converted.__doc__
    assert text in extension.sum_converted_or_zero.__doc__
    assert text in extension.sum_converted_list.__doc__
    text = '"int32[*] on cpu, converted from narrower integers"'
    assert text in extension.sum_converted_integers.__doc__
    assert "converted" not in extension.sum.__doc__


def test_the_original_is_freed_once(extension: Any) -> None:
    for function in (extension.sum_converted, extension.double_converted):
        p = Producer(shape=(3,), dtype=(0, 32, 1), fill=b"\1\0\0\0" * 3)
        result = function(p)
        assert result == 3 if function is extension.sum_converted else result.tolist() == [2] * 3
        assert p.exports == p.calls == [1]


def test_failed_copies(extension: Any) -> None:
    for too_large, type_, message in (
        (np.broadcast_to(np.int8(1), (2**26, 2**20)), MemoryError, "expected host memory of"),
        (np.broadcast_to(np.int8(1), (2**40, 2**20)), TypeError, "a size in bits that fits"),
    ):
        before = sys.getrefcount(too_large)
        for function in (extension.property_of_span, extension.property_of_converted):
            with pytest.raises(type_, match=message) as raised:
                function(too_large, COPIED)
            del raised
        gc.collect()
        assert sys.getrefcount(too_large) == before


def test_jax_and_torch_dtypes(extension: Any) -> None:
    jax = pytest.importorskip("jax.numpy")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        x = jax.array([1, -2, 0.5], getattr(jax, name))
        assert extension.sum_converted(x) == -0.5
    doubled = extension.double_converted(jax.array([1.5, 2], jax.bfloat16))
    assert doubled.dtype == jax.float32 and doubled.tolist() == [3, 4]
    assert np.dtype(ml_dtypes.bfloat16).itemsize == 2
