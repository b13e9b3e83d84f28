# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of 16 and 8 bits of the C++ headers, compared with those of NumPy and ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from test_signatures import BINDINGS, module_of

import dlbridge

FLOATS = (
    "float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


def test_a_function_of_float16(extension: Any) -> None:
    # [half]
    y = extension.halved(np.array([1, 3], "float16"))
    assert y.dtype == "float16" and y.tolist() == [0.5, 1.5]
    # [/half]


def type_named(name: str) -> Any:
    return np.dtype(np.float16 if name == "float16" else getattr(ml_dtypes, name))


def bits_of(array: Any) -> Any:
    return array.view(f"uint{array.dtype.itemsize * 8}")


def patterns(name: str) -> Any:
    """All bit patterns of a type, as an array of the type."""
    bits = type_named(name).itemsize * 8
    return np.arange(2**bits).astype(f"uint{bits}").view(type_named(name))


def tensor_of(array: Any, name: str) -> Any:
    """A Tensor of the dtype, which NumPy does not export unless it has the type itself."""
    return dlbridge.as_tensor(bits_of(array)).view(name)


def assert_same(got: Any, expected: Any) -> None:
    """Compares bits, but not those of NaNs."""
    nan = np.isnan(expected.astype(np.float32))
    assert (np.isnan(got.astype(np.float32)) == nan).all()
    assert (bits_of(got)[~nan] == bits_of(expected)[~nan]).all()


def floats() -> Any:
    """Numbers with every exponent, near and at the middle between numbers of fewer bits."""
    upper = np.arange(2**16, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return (upper[:, None] | lower).ravel().view(np.float32)


@pytest.mark.parametrize("name", FLOATS)
def test_every_bit_pattern_becomes_its_float_and_returns(extension: Any, name: str) -> None:
    all_numbers = patterns(name)
    decode = getattr(extension, f"decode_{name}")
    got = np.from_dlpack(decode(tensor_of(all_numbers, name)))
    assert np.array_equal(got, np.from_dlpack(decode(all_numbers)), equal_nan=True)
    assert_same(got, all_numbers.astype(np.float32))
    back = getattr(extension, f"encode_{name}")(got)
    assert_same(back.view(type_named(name)), all_numbers)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, at an overflow
@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_rounded_to_the_nearest_even_number(extension: Any, name: str) -> None:
    numbers = floats()
    got = getattr(extension, f"encode_{name}")(numbers)
    assert_same(got.view(type_named(name)), numbers.astype(type_named(name)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_doubles_are_rounded_once(extension: Any) -> None:
    exact = floats().astype(np.float64)
    numbers = np.concatenate([exact, np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])
    got = extension.encode_double_float16(numbers).view(np.float16)
    assert_same(got, numbers.astype(np.float16))
    # ml_dtypes rounds a double to float first. A number that is no float and not between two floats
    # of which one is the middle of two numbers has the same result.
    with_middle = (bits_of(numbers.astype(np.float32)) & 0xFFFF) == 0x8000
    got = extension.encode_double_bfloat16(numbers[~with_middle]).view(ml_dtypes.bfloat16)
    assert_same(got, numbers[~with_middle].astype(ml_dtypes.bfloat16))
    middle = np.float64(1 + 2**-8)
    around = np.array([np.nextafter(middle, 0), middle, np.nextafter(middle, 2)])
    assert extension.encode_double_bfloat16(around).tolist() == [0x3F80, 0x3F80, 0x3F81]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_are_rounded_once(extension: Any) -> None:
    numbers = np.random.default_rng(1).integers(-(2**16), 2**16, 10000)
    got = extension.encode_int64_float16(numbers).view(np.float16)
    assert_same(got, numbers.astype(np.float16))
    # 2^62 + 2^54 is half way between two numbers; as a float, the next integer is so too.
    around = np.array([2**62 + 2**54 - 1, 2**62 + 2**54, 2**62 + 2**54 + 1, -(2**63)])
    assert extension.encode_int64_bfloat16(around).tolist() == [0x5E80, 0x5E80, 0x5E81, 0xDF00]


@pytest.mark.parametrize("make", [tensor_of, lambda array, _: array], ids=["tensor", "array"])
def test_a_tensor_of_bfloat16_is_written_to(extension: Any, make: Any) -> None:
    numbers = np.array([1, -2, 0.5], ml_dtypes.bfloat16)
    extension.negate_bfloat16(make(numbers, "bfloat16"))
    assert numbers.tolist() == [-1, 2, -0.5]
    numbers.flags.writeable = False
    with pytest.raises(
        TypeError, match=r"got bfloat16\[3\] on cpu, read-only: writability differs"
    ):
        extension.negate_bfloat16(numbers)
    with pytest.raises(TypeError, match=r"expected bfloat16\[\*\] on cpu, writable; got float16"):
        extension.negate_bfloat16(numbers.astype(np.float16))


def test_signatures_name_the_dtype(extension: Any) -> None:
    assert '"bfloat16[*] on cpu, writable"' in extension.negate_bfloat16.__doc__
    assert '"float8_e4m3fn[*] on cpu"' in extension.decode_float8_e4m3fn.__doc__
