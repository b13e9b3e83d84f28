# SPDX-License-Identifier: BSD-3-Clause
"""The elements of a Tensor in Python: item, tolist, numbers, text; and the constructors."""

from __future__ import annotations

import ctypes
import gc
import json
import operator
import pickle
import struct
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dlbridge
import foreign
import producers

try:
    import ml_dtypes
except ImportError:  # not for this Python
    ml_dtypes = None  # type: ignore[assignment]


def numpy_dtype(name: str) -> Any:
    """The dtype of NumPy, or of ml_dtypes."""
    if name in np.sctypeDict:
        return np.dtype(name)
    if ml_dtypes is None:
        pytest.skip("requires ml_dtypes")
    return np.dtype(getattr(ml_dtypes, name))


def one(data: bytes, dtype: tuple[int, int, int], **fields: Any) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(producers.Producer(shape=(), dtype=dtype, fill=data, **fields))


SMALL_FLOATS = [
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
    "float6_e3m2fn", "float4_e2m1fn",
]  # fmt: skip


@pytest.mark.parametrize("name", ["float16", *SMALL_FLOATS])
def test_every_value_of_the_small_floats(name: str) -> None:
    """As ml_dtypes and NumPy convert them."""
    kind = numpy_dtype(name)
    bits = dlbridge.dtype(name).bits
    values = np.arange(2**bits, dtype="u2" if bits == 16 else "u1")
    with np.errstate(invalid="ignore"):
        expected = values.view(kind).astype(np.float64)
    p = dlbridge.from_dlpack(values)
    if bits < 8:  # one element in each byte
        code = dlbridge.dtype(name).code
        p = dlbridge.from_dlpack(
            producers.Producer(shape=values.shape, dtype=(code, bits, 1), flags=4,
                               fill=values.tobytes())
        )  # fmt: skip
    got = np.array((p if bits < 8 else p.view(name)).tolist())
    assert np.array_equal(got, expected, equal_nan=True)
    numbers = ~np.isnan(got)
    assert np.array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("bits, expected", [(4, "1f"), (6, "0123")])
def test_packed_values(bits: int, expected: str) -> None:
    values = [1, 15, 2, 14] if bits == 4 else [0, 1, 63, 62]
    packed = sum(value << (bits * i) for i, value in enumerate(values)).to_bytes(3, "little")
    t = dlbridge.from_dlpack(producers.Producer(shape=(4,), dtype=(1, bits, 1), fill=packed))
    assert t.tolist() == values
    signed = dlbridge.from_dlpack(producers.Producer(shape=(4,), dtype=(0, bits, 1), fill=packed))
    top = 1 << (bits - 1)
    assert signed.tolist() == [(value ^ top) - top for value in values]


@pytest.mark.parametrize(
    "name",
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
     "float32", "float64", "complex64", "complex128"],
)  # fmt: skip
def test_numbers_are_those_of_numpy(name: str) -> None:
    kind = np.dtype(name)
    values: list[Any]
    if kind.kind in "iu":
        values = [np.iinfo(kind).min, np.iinfo(kind).max, 3, 0]
    elif kind.kind == "c":
        values = [1.5 - 2j, 0, complex("inf"), -0.5j]
    else:
        values = [True, False, True, True] if name == "bool" else [1.5, -0.0, float("inf"), -2]
    a = np.array(values, dtype=kind).reshape(2, 2)
    t = dlbridge.from_dlpack(a)
    assert t.tolist() == a.tolist() and t.T.tolist() == a.T.tolist()
    for index in np.ndindex(2, 2):
        item, expected = t[index].item(), a[index].item()
        assert (item, type(item), repr(item)) == (expected, type(expected), repr(expected))
        assert bool(t[index]) == bool(a[index])
        assert complex(t[index]) == complex(a[index])
        for convert in (int, float):
            if kind.kind == "c":
                with pytest.raises(TypeError):
                    convert(t[index])
            elif np.isfinite(a[index]):
                assert convert(t[index]) == convert(a[index])
        if kind.kind in "iu":
            assert operator.index(t[index]) == a[index]
            assert [5, 6, 7][dlbridge.from_dlpack(np.array(1, kind))] == 6
        else:
            with pytest.raises(TypeError, match="0-d tensor of an integer dtype"):
                operator.index(t[index])
    with pytest.raises(TypeError, match="0-d tensor of an integer dtype"):
        operator.index(t[0, :1])
    assert t.tobytes() == a.tobytes() and t.T.tobytes() == a.T.tobytes()


@pytest.mark.parametrize("convert", [int, float, complex, dlbridge.Tensor.item])
def test_one_element_only(convert: Any) -> None:
    t = dlbridge.from_dlpack(np.arange(6.0).reshape(2, 3))
    assert convert(t[1:, 1:2]) == 4
    name = convert.__name__
    for other in (t, t[:0]):
        with pytest.raises(ValueError, match=rf"^{name}\(\) expects a tensor of one element, not"):
            convert(other)


def test_memory_that_the_host_cannot_read() -> None:
    t = dlbridge.from_dlpack(producers.Producer(shape=(1,), device=(2, 0)), stream=-1)
    for read in (int, float, complex, dlbridge.Tensor.item, dlbridge.Tensor.tolist,
                 dlbridge.Tensor.tobytes, dlbridge.Tensor.numpy):  # fmt: skip
        with pytest.raises(BufferError, match=r"CPU can read.*Copy it first, with t.to\('cpu'\)"):
            read(t)
    for name in ("__array_interface__",):
        assert not hasattr(t, name)
    assert repr(t) == "<dlbridge.Tensor float32[1] on cuda:0, row-major>"


def test_dtypes_without_a_number() -> None:
    for dtype in ((3, 64, 1), (2, 32, 2), (2, 80, 1), (0, 128, 1)):
        t = one(bytes(16), dtype)
        for read in (dlbridge.Tensor.item, dlbridge.Tensor.tolist, float):
            with pytest.raises(TypeError, match="expects a tensor of booleans, integers") as e:
                read(t)
            assert (dtype[2] != 1) == ("view it as a dtype of one lane" in str(e.value))
        assert ": " not in repr(t)


@pytest.mark.parametrize("count, words", [(0, "of no elements"), (2, "of several elements")])
def test_truth_of_other_counts_is_refused(count: int, words: str) -> None:
    with pytest.raises(ValueError, match=f"a tensor {words} has no truth value"):
        bool(dlbridge.empty(count, "int8"))


def test_truth_of_other_floats() -> None:
    assert bool(one(b"\0", (14, 8, 1))) and not one(b"\0", (12, 8, 1))
    assert not one(b"\x80", (8, 8, 1)) and bool(one(b"\3", (0, 4, 1)))


# Text.


@pytest.mark.parametrize(
    "array, text",
    [
        (np.array([[0.1, 2], [-3, np.nan]], "f4"), "[[0.1, 2.0], [-3.0, nan]]"),
        (np.array([0.1, 1 / 3]), "[0.1, 0.3333333333333333]"),
        (np.array([0.1, 65504], "f2"), "[0.1, 65500.0]"),
        (np.array([1e-45, 1e20], "f4"), "[1e-45, 1e+20]"),
        (np.array(7), "7"),
        (np.array([True, False]), "[True, False]"),
        (np.array([0.1 + 0.3j], "c8"), "[(0.1+0.3j)]"),
        (np.arange(100), "[0, 1, 2, ..., 97, 98, 99]"),
        (np.arange(200).reshape(2, 100), "[[0, 1, 2, ..., 97, 98, 99], [100, 101, 102, ..., "
                                         "197, 198, 199]]"),
    ],
)  # fmt: skip
def test_repr_shows_few_elements(array: Any, text: str) -> None:
    assert repr(dlbridge.from_dlpack(array)).endswith(f", row-major: {text}>")


def test_repr_shows_whole_numbers_of_small_floats() -> None:
    t = dlbridge.from_dlpack(np.array([0x43E0, 0x4701], "u2")).view("bfloat16")
    assert repr(t).endswith("[448.0, 33024.0]>")


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu"])
def test_repr_shows_the_digits_of_ml_dtypes(name: str) -> None:
    bits = np.arange(20, 120, 3).astype("u1")
    text = repr(dlbridge.from_dlpack(bits).view(name)).partition("row-major: ")[2][:-1]
    assert json.loads(text) == [float(str(each)) for each in bits.view(numpy_dtype(name))]


@pytest.mark.parametrize("array", [np.zeros((9, 9, 9)), np.zeros((0, 3)), np.zeros((41, 6, 2))])
def test_repr_leaves_other_elements_out(array: Any) -> None:
    assert repr(dlbridge.from_dlpack(array)).endswith("row-major>")


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_shown_floats_round_to_the_element(name: str) -> None:
    kind = numpy_dtype(name)
    unsigned = f"u{kind.itemsize}"
    bits = np.random.default_rng(5).integers(0, 2 ** (8 * kind.itemsize), 500).astype(unsigned)
    for value in bits.view(kind)[:, None]:
        t = dlbridge.from_dlpack(value.view(unsigned)).view(name)
        text = repr(t).rpartition("[")[2].rstrip("]>")
        rounded, expected = np.array([float(text)]).astype(kind), value
        with np.errstate(invalid="ignore"):
            is_nan = np.isnan(rounded.astype(float)) & np.isnan(expected.astype(float))
            assert is_nan or (rounded == expected), text


def test_memory_of_a_stream_is_not_shown() -> None:
    for device in ((3, 0), (13, 0), (11, 0)):
        t = dlbridge.from_dlpack(producers.Producer(device=device), stream=-1)
        assert repr(t).endswith("row-major>")


def test_html_for_notebooks() -> None:
    t = dlbridge.from_dlpack(np.arange(24.0).reshape(4, 6)[::2, 1:])
    html = t._repr_html_()
    assert html.count("<svg") == 1 and "float64[2, 5]" in html and "2,4" not in repr(t)
    assert "1,4" in html and "Strides in bytes" in html
    assert "<svg" not in t[:0]._repr_html_()
    device = dlbridge.from_dlpack(producers.Producer(device=(2, 0)), stream=-1)
    assert "<svg" in device._repr_html_()


# NumPy's protocols.


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint32", "uint64", "float32"])
def test_the_type_is_that_of_numpy(name: str) -> None:
    a = np.arange(3, dtype=name)
    t = dlbridge.from_dlpack(a)
    for array in (np.asarray(t), np.array(t), t.numpy(), t.to_numpy(), np.asarray(memoryview(t)),
                  t.__array__()):  # fmt: skip
        assert array.dtype.num == a.dtype.num and array.dtype.type is getattr(np, name)
        assert np.issubdtype(array.dtype, getattr(np, name))
    letter: Any = memoryview(t).format
    elements: Any = memoryview(t).cast("B").cast(letter).tolist()
    assert elements == a.tolist()
    assert struct.calcsize("=" + memoryview(t).format) in (t.itemsize, 4)


def test_array_interface() -> None:
    a = np.arange(6, dtype="i2").reshape(2, 3)
    for array in (a, a.T, a[::-1, ::2], np.array(5.0), np.zeros((0, 2), "c8")):
        t = dlbridge.from_dlpack(array)
        interface, expected = t.__array_interface__, array.__array_interface__
        if not array.size:
            interface["data"] = expected["data"]
        expected.pop("descr")
        assert interface == expected
    frozen = a.copy()
    frozen.flags.writeable = False
    assert dlbridge.as_tensor(frozen).__array_interface__["data"][1] is True
    assert not hasattr(dlbridge.from_dlpack(np.zeros(3, "u2")).view("bfloat16"),
                       "__array_interface__")  # fmt: skip


def test_numpy_dtype() -> None:
    for name in ("bool", "int64", "float16", "complex128", "bfloat16"):
        kind = numpy_dtype(name)
        t = dlbridge.from_dlpack(np.zeros(16, "u1")).view(name)
        assert t.__numpy_dtype__ == kind and isinstance(t.__numpy_dtype__, np.dtype)
        assert (t.dtype.kind, t.dtype.name) == (kind.kind if name != "bfloat16" else "V", name)
        assert type(t.dtype.name) is str and t.dtype.byteorder == kind.byteorder
        if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4):
            assert np.result_type(t) == kind
    packed = dlbridge.from_dlpack(producers.Producer(shape=(4,), dtype=(0, 4, 1)))
    assert not hasattr(packed, "__numpy_dtype__")
    assert not hasattr(packed, "__array_namespace__")  # no arithmetic


def test_flags_have_the_attributes_of_numpy() -> None:
    t: Any = dlbridge.from_dlpack(np.arange(3.0))
    flags: Any = t.flags
    assert flags == 0 and type(flags) is not int and flags.aligned and flags.writeable
    frozen: Any = dlbridge.from_dlpack(t, readonly=True)
    assert frozen.flags == 1 and not frozen.flags.writeable
    misaligned = np.zeros(9, "u1")[1:].view("f8")
    assert not dlbridge.from_dlpack(misaligned).flags.aligned
    assert dlbridge.from_dlpack(misaligned).flags.writeable
    for each in (flags, frozen.flags, dlbridge.from_dlpack(misaligned).flags):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(each, protocol)) == int(each)


FOREIGN_DTYPES = [">f4", ">i8", ">c16", "longdouble", "clongdouble"]


@pytest.mark.skipif(sys.byteorder != "little", reason="the letters are those of little-endian")
@pytest.mark.parametrize("text", FOREIGN_DTYPES)
def test_dtypes_that_only_have_the_name_of_one_of_dlpack(text: str) -> None:
    foreign = np.dtype(text)
    a = np.zeros(3, foreign)
    with pytest.raises(ValueError, match="dtype"):
        dlbridge.dtype(foreign)
    with pytest.raises(ValueError, match="dtype"):
        dlbridge.empty((3,), foreign)
    with pytest.raises(ValueError, match="dtype"):
        dlbridge.from_pointer(a.ctypes.data, a.shape, foreign, owner=a)
    t = dlbridge.from_dlpack(np.zeros(4, "f4"))
    assert t.dtype != foreign and t.dtype == np.dtype("f4")


def test_integers_that_do_not_fit_64_bits() -> None:
    t: Any = dlbridge.from_dlpack(np.arange(6))
    for call in (t.reshape, t.permute):
        for value in (10**30, 2**63, (2, 2**63), -(2**63) - 1):
            with pytest.raises(ValueError):
                call(value)


@pytest.mark.parametrize("where", ["cuda", "rocm"])
def test_a_copy_that_is_forbidden_needs_no_driver(where: str) -> None:
    t = dlbridge.from_dlpack(np.arange(6))
    with pytest.raises(dlbridge.CopyForbiddenError):
        t.to(where, copy=False)
    with pytest.raises(dlbridge.CopyForbiddenError):
        dlbridge.as_tensor(bytearray(8), device=where, copy=False)
    with pytest.raises(dlbridge.CopyForbiddenError):
        t.__dlpack__(dl_device=(2 if where == "cuda" else 10, 0), copy=False)
    assert t.ctypes.data == t.data_ptr


def test_copies() -> None:
    a = np.arange(6.0).reshape(2, 3)
    t = dlbridge.from_dlpack(a, readonly=True)
    copied = t.copy()
    assert np.array_equal(np.asarray(copied), a) and not np.shares_memory(np.asarray(copied), a)
    assert not copied.readonly and t.readonly
    assert t.to("cpu").data_ptr == t.data_ptr and t.to(device="cpu").readonly
    assert t.to("cpu", copy=True).data_ptr != t.data_ptr
    with pytest.raises(TypeError):
        t.to()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="device"):
        t.to("nowhere")


# Constructors.


class Pointer:
    """An allocation of PyCUDA."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __int__(self) -> int:
        return self.address


def test_from_pointer() -> None:
    a = np.arange(24, dtype="i4").reshape(4, 6)
    address = a.ctypes.data
    for pointer in (address, ctypes.c_void_p(address), Pointer(address), np.uint64(address)):
        t = dlbridge.from_pointer(pointer, (4, 6), "int32", owner=a)
        assert np.shares_memory(np.asarray(t), a) and np.array_equal(np.asarray(t), a)
    t = dlbridge.from_pointer(address, [2, 3], np.int32, strides=(12, 2), readonly=True, owner=a)
    assert np.array_equal(np.asarray(t), a[::2, ::2]) and not np.asarray(t).flags.writeable
    assert dlbridge.from_pointer(address, 24, "int32", owner=a).shape == (24,)
    assert dlbridge.from_pointer(0, (0, 3), "int32").size == 0
    assert dlbridge.from_pointer(address + 20, 6, "int32", strides=(-1,), owner=a).tolist() == [
        5, 4, 3, 2, 1, 0,
    ]  # fmt: skip


def test_from_pointer_keeps_its_owner() -> None:
    class Owner:
        pass

    freed: list[int] = []
    import weakref

    owner = Owner()
    weakref.finalize(owner, freed.append, 1)
    memory = bytearray(64)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    t = dlbridge.from_pointer(address, 4, "uint8", owner=owner)
    del owner
    array = np.from_dlpack(t[1:])
    del t
    gc.collect()
    assert not freed
    del array
    gc.collect()
    assert freed == [1]


def test_from_pointer_on_a_device() -> None:
    t = dlbridge.from_pointer(4096, (2, 3), "float32", device=(4, 0), strides=(1, 2))
    assert (t.device, t.data_ptr, t.strides) == ("opencl:0", 4096, (1, 2))
    handle = foreign.consume(t.__dlpack__(max_version=(1, 0)))
    assert handle.flags == 0


BAD_POINTERS: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((0, 3, "int8"), {}, "got null data for int8[3] on cpu"),
    ((-8, 3, "int8"), {}, "expected ptr to be an address"),
    ((1.5, 3, "int8"), {}, "expected ptr to be an address"),
    (("8", 3, "int8"), {}, "expected ptr to be an address"),
    ((None, 3, "int8"), {}, "expected ptr to be an address"),
    ((2**64, 3, "int8"), {}, "expected ptr to be an address"),
    ((Decimal(64), 3, "int8"), {}, "expected ptr to be an address"),
    ((Fraction(64), 3, "int8"), {}, "expected ptr to be an address"),
    ((6, 3, "int32"), {}, "expected a multiple of 4 as the address; got int32[3] on cpu, aligned "
                          "to 2 bytes"),
    ((4, 3, "complex64"), {"strides": (2**62,)}, "bad argument"),
    ((8, -3, "int32"), {}, "expected shape to be"),
    ((8, (3, -1), "int32"), {}, "expected shape to be"),
    ((8, (1,) * 65, "int32"), {}, "expected shape to be"),
    ((8, "3", "int32"), {}, "expected shape to be"),
    ((8, 2**62, "int32"), {}, "got shape [4611686018427387904]"),
    ((8, (2**33, 2**33), "int8"), {}, "bad argument"),
    ((2**62, 2**62, "int16"), {}, "bad argument"),
    ((8, 3, "int32"), {"strides": (-2,)}, "bad argument"),
    ((8, 3, "int32"), {"strides": (1, 2)}, "expected strides to be"),
    ((8, 3, "int32"), {"strides": 1}, "expected strides to be"),
    ((8, 3, "int99x0"), {}, "expected dtype to be"),
    ((8, 3, "int32"), {"device": "nowhere"}, "expected device to be"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, keywords, message", BAD_POINTERS)
def test_from_pointer_refuses(arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        dlbridge.from_pointer(*arguments, **keywords)
    assert message in str(raised.value)


@pytest.mark.parametrize("digits", [b"1234", bytearray(b"1234"), memoryview(b"1234")])
def test_digits_are_no_address(digits: Any) -> None:
    with pytest.raises(ValueError, match=r"expected ptr to be an address.*as_tensor\(\) takes a"):
        dlbridge.from_pointer(digits, (1,), "int8")


def test_empty() -> None:
    for shape, dtype in (((3, 4), "float32"), (5, "int8"), ((), "complex128"), ((0, 2), "bool"),
                         ((2**20, 8), "float64")):  # fmt: skip
        t = dlbridge.empty(shape, dtype)
        assert (t.dtype, t.device, t.readonly, t.c_contiguous) == (dtype, "cpu", False, True)
        assert t.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert t.data_ptr % 64 == 0
        array = np.asarray(t)
        array[...] = 1
        assert (np.from_dlpack(t) == 1).all()


@pytest.mark.parametrize(
    "arguments, keywords",
    [((-1, "int8"), {}), ((2**62, "int32"), {}), ((3, "integer"), {}), ((3, "int8"),
     {"device": "gpu"}), ((3, "int8"), {"device": "cuda", "pinned": True})],
)  # fmt: skip
def test_empty_refuses(arguments: Any, keywords: Any) -> None:
    with pytest.raises(ValueError):
        dlbridge.empty(*arguments, **keywords)


@pytest.mark.parametrize("shape", [{2}, {2: 3}, b"ab", bytearray(b"ab"), iter((2,))])
def test_a_shape_is_a_sequence(shape: Any) -> None:
    with pytest.raises(
        ValueError, match=r"expected shape to be an integer from 0 to 2\*\*63 - 1, or"
    ):
        dlbridge.empty(shape, "int8")
    with pytest.raises(TypeError):
        dlbridge.empty(6, "int8").reshape(shape)


@pytest.mark.parametrize("name", ["readonly", "pinned"])
def test_booleans_are_no_other_values(name: str) -> None:
    call: Any = dlbridge.empty if name == "pinned" else dlbridge.from_pointer
    arguments = (3, "int8") if name == "pinned" else (64, 3, "int8")
    with pytest.raises(ValueError, match=f"expected {name} to be True or False; got 'no'"):
        call(*arguments, **{name: "no"})


@pytest.mark.parametrize(
    "name, arguments, keywords, error, text",
    [
        ("empty", (), {}, TypeError, r"empty\(\) is missing argument 'shape'"),
        ("empty", (3, "int8", "cpu"), {}, TypeError, "takes 2 positional arguments, not 3"),
        ("from_pointer", (0, 0, "int8"), {"size": 1}, TypeError, "keyword argument 'size'"),
        ("empty", (3, "int8"), {"\udc80": "cpu"}, UnicodeEncodeError, "udc80"),
    ],
)
def test_refused_calls_of_the_constructors(
    name: str, arguments: Any, keywords: Any, error: type[Exception], text: str
) -> None:
    """pybind11 itself would end the process at a keyword that has no UTF-8 form."""
    with pytest.raises(error, match=text):
        getattr(dlbridge, name)(*arguments, **keywords)
    assert dlbridge.empty(3, "int8", device="cpu", pinned=False).shape == (3,)


def test_empty_beyond_the_memory() -> None:
    with pytest.raises(MemoryError):
        dlbridge.empty(2**58, "int8")


@pytest.mark.parametrize("name", ["intc", "uintc", "longlong", "ulonglong"])
def test_dtypes_of_the_classes_of_numpy_for_c(name: str) -> None:
    cls = getattr(np, name)
    assert dlbridge.dtype(cls) == np.dtype(cls).name


def test_a_letter_of_numpy_with_another_kind() -> None:
    class Float8:  # as ml_dtypes
        name, char, kind, isnative = "float8_e4m3fnuz", "G", "V", True

    assert dlbridge.dtype(Float8()) == "float8_e4m3fnuz"
    with pytest.raises(ValueError):
        dlbridge.dtype(np.dtype("G"))


def test_empty_on_a_device_without_a_runtime() -> None:
    with pytest.raises(RuntimeError, match=r"CUDA or ROCm; got opencl:0\. Allocate with"):
        dlbridge.empty(3, "int8", device="opencl")


@pytest.mark.parametrize("value, format", [(1.5, ".2f"), (-7, "05d"), (True, "d"), (2 - 1j, ".1f")])
def test_a_0d_tensor_is_formatted_as_by_numpy(value: Any, format: str) -> None:
    a = np.array(value)
    assert f"{dlbridge.from_dlpack(a):{format}}" == f"{a[()]:{format}}"


def test_a_format_of_several_elements_is_refused_and_none_gives_str() -> None:
    t = dlbridge.from_dlpack(np.array([1.5]))
    assert f"{t}" == format(t, "") == str(t) and f"{t[0]}" == str(t[0])
    with pytest.raises(TypeError, match=r"format such as '\.2f' applies to a 0-d tensor"):
        format(t, ".2f")
    with pytest.raises(ValueError, match="Unknown format code 'q'"):
        format(t[0], "q")
    with pytest.raises(TypeError):
        t.__format__(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [bool, int, float, complex])
def test_dtype_of_a_type_of_python_is_that_of_numpy(number: type) -> None:
    # NumPy's int has 32 bits on Windows before NumPy 2
    expected = np.dtype("int64" if number is int else number)
    assert dlbridge.dtype(number) == expected.name
    assert np.asarray(dlbridge.empty(3, number)).dtype == expected


def test_the_array_interface_of_an_empty_tensor_has_an_address() -> None:
    np = pytest.importorskip("numpy")
    for t in (
        dlbridge.from_dlpack(producers.Producer(shape=(0, 3))),
        dlbridge.empty((0, 3), "float32"),
    ):
        interface = t.__array_interface__
        assert interface["data"][0] != 0 == t.data_ptr
        holder = type("Holder", (), {"__array_interface__": interface})()
        assert np.asarray(holder).shape == (0, 3)
