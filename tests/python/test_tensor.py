# SPDX-License-Identifier: BSD-3-Clause
"""Tensor, dtype and device as Python objects: their attributes, and the operations they refuse."""

from __future__ import annotations

import array
import copy
import ctypes
import enum
import gc
import inspect
import mmap
import pickle
import re
import struct
import sys
import weakref
from typing import Any

import pytest

import dlbridge
import foreign
import producers
from dlbridge._core import _rebuild as rebuild

# dtype and device: strings with the numbers of DLPack.

DTYPES = [
    ("bool", 6, 8, 1, 1),
    ("bool1", 6, 1, 1, 1),
    ("int4", 0, 4, 1, 1),
    ("int8", 0, 8, 1, 1),
    ("int64", 0, 64, 1, 8),
    ("uint16", 1, 16, 1, 2),
    ("float16", 2, 16, 1, 2),
    ("float64", 2, 64, 1, 8),
    ("float32x4", 2, 32, 4, 16),
    ("opaque64", 3, 64, 1, 8),
    ("bfloat16", 4, 16, 1, 2),
    ("complex32", 5, 32, 1, 4),
    ("complex128", 5, 128, 1, 16),
    ("float8_e3m4", 7, 8, 1, 1),
    ("float8_e4m3", 8, 8, 1, 1),
    ("float8_e4m3b11fnuz", 9, 8, 1, 1),
    ("float8_e4m3fn", 10, 8, 1, 1),
    ("float8_e4m3fnuz", 11, 8, 1, 1),
    ("float8_e5m2", 12, 8, 1, 1),
    ("float8_e5m2fnuz", 13, 8, 1, 1),
    ("float8_e8m0fnu", 14, 8, 1, 1),
    ("float6_e2m3fn", 15, 6, 1, 1),
    ("float6_e3m2fn", 16, 6, 1, 1),
    ("float4_e2m1fn", 17, 4, 1, 1),
    ("float4_e2m1fnx2", 17, 4, 2, 1),
    ("bcomplex32", 18, 32, 1, 4),
]


PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def pickled(value: str) -> list[str]:
    return [pickle.loads(pickle.dumps(value, protocol)) for protocol in PROTOCOLS]


def test_names_that_end_in_that_of_a_dtype_are_no_dtypes() -> None:
    class Named:
        name = "app.float32"

    class Text:
        def __str__(self) -> str:
            return "weights.float32"

    others: list[Any] = [Named(), Text()]
    for value in others:
        with pytest.raises(ValueError, match="expected dtype to be a dtype that DLPack has"):
            dlbridge.dtype(value)
        assert dlbridge.dtype("float32") != value
    Text.__module__ = "weights.of.a.framework"
    assert dlbridge.dtype(Text()) == "float32"


@pytest.mark.parametrize("name, code, bits, lanes, itemsize", DTYPES)
def test_dtype(name: str, code: int, bits: int, lanes: int, itemsize: int) -> None:
    by_numbers = dlbridge.dtype((code, bits, lanes))
    of_a_tensor = dlbridge.from_dlpack(producers.Producer(dtype=(code, bits, lanes))).dtype
    for dtype in (by_numbers, of_a_tensor, dlbridge.dtype(name), dlbridge.dtype(f"torch.{name}")):
        assert isinstance(dtype, str) and type(dtype) is dlbridge.dtype
        assert (dtype, hash(dtype), repr(dtype)) == (name, hash(name), f"dlbridge.dtype('{name}')")
        assert (dtype.code, dtype.bits, dtype.lanes) == (code, bits, lanes)
        assert dtype.itemsize == itemsize
        for same in (copy.copy(dtype), copy.deepcopy(dtype), *pickled(dtype)):
            assert (same, type(same)) == (name, dlbridge.dtype)


def test_names_are_the_characters_of_a_str() -> None:
    """A member of an Enum that is a str has another str(), and so may any subclass of str."""

    class Name(str, enum.Enum):
        dtype = "float32"
        device = "cuda:5"

    assert dlbridge.dtype(Name.dtype) == "float32"
    assert dlbridge.device(Name.device) == "cuda:5"
    other = type("Name", (str,), {"__str__": lambda self: "float32"})
    assert dlbridge.dtype(other("float64")) == "float64"


def test_dtype_of_two_numbers_has_one_lane() -> None:
    assert dlbridge.dtype((2, 32)).lanes == 1


def test_the_lanes_of_pytorch() -> None:
    assert dlbridge.dtype("torch.float4_e2m1fn_x2") == "float4_e2m1fnx2"


@pytest.mark.parametrize("other", [str, object, list, type, 1.0, 3])
def test_other_types_and_numbers_are_no_dtypes(other: Any) -> None:
    with pytest.raises(ValueError, match="expected dtype to be a dtype that DLPack has"):
        dlbridge.dtype(other)


class Named:
    """A dtype of another library."""

    name = "float32"


class float32:
    """A scalar type of another library."""


@pytest.mark.parametrize("same", ["float32", Named(), float32, dlbridge.dtype("float32")])
def test_dtype_equals_objects_of_its_name(same: Any) -> None:
    dtype = dlbridge.dtype(same)
    assert dtype == same and same == dtype and dtype == same
    assert dlbridge.dtype("float64") != same


@pytest.mark.parametrize("other", [None, 5, "float", object(), (2, 32, 1), float, Ellipsis])
def test_dtype_differs_from_other_objects(other: Any) -> None:
    assert dlbridge.dtype("float32") != other
    assert dlbridge.dtype("float32") != other


BAD_DTYPES = [
    "", "float", "float0", "float032", "float256", "int8x", "int8x0", "int8x65536", "Float32",
    "float32 ", "float32\0", "float32\0x", "\udc80", None, 5, (2,), (2, 0), (2, 32, 0), (19, 8),
    "float9", "float8", "int9", "complex7", "complex16", "bool3", "bfloat8",
    (2, 256), (-1, 8), (17, 8), (2, 32, 1, 1), ("2", 32), (2**70, 8), [2, 32],
]  # fmt: skip


@pytest.mark.parametrize("value", BAD_DTYPES, ids=ascii)
def test_bad_dtype(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^bad argument: expected dtype to be "):
        dlbridge.dtype(value)


DEVICES = [
    ("cpu", 1, 0), ("cpu:1", 1, 1), ("cuda:0", 2, 0), ("cuda:7", 2, 7), ("cuda_host:0", 3, 0),
    ("opencl:0", 4, 0), ("vulkan:0", 7, 0), ("metal:0", 8, 0), ("vpi:0", 9, 0), ("rocm:2", 10, 2),
    ("rocm_host:0", 11, 0), ("ext_dev:0", 12, 0), ("cuda_managed:0", 13, 0), ("oneapi:3", 14, 3),
    ("webgpu:0", 15, 0), ("hexagon:0", 16, 0), ("maia:0", 17, 0), ("trn:0", 18, 0),
    ("tpu:0", 19, 0), ("tpu_host:0", 20, 0), ("ascend:2147483647", 21, 2**31 - 1),
]  # fmt: skip


@pytest.mark.parametrize("name, code, id_", DEVICES)
def test_device(name: str, code: int, id_: int) -> None:
    of_a_tensor = dlbridge.from_dlpack(producers.Producer(device=(code, id_))).device
    for device in (of_a_tensor, dlbridge.device(name), dlbridge.device((code, id_))):
        assert isinstance(device, str) and type(device) is dlbridge.device
        shown = f"dlbridge.device('{name}')"
        assert (device, hash(device), repr(device)) == (name, hash(name), shown)
        assert (device.type, device.id, device.code) == (name.split(":")[0], id_, code)
        for same in (copy.copy(device), copy.deepcopy(device), *pickled(device)):
            assert (same, type(same)) == (name, dlbridge.device)


def test_a_device_with_a_negative_id_survives() -> None:
    device = dlbridge.from_dlpack(producers.Producer(device=(2, -1))).device
    copies: list[Any] = [
        dlbridge.device(device),
        copy.copy(device),
        copy.deepcopy(device),
        *pickled(device),
    ]
    for same in copies:
        assert (same, same.code, same.id, type(same)) == ("cuda:-1", 2, -1, dlbridge.device)
    with pytest.raises(ValueError):
        dlbridge.device("cuda:-1")


@pytest.mark.parametrize("cls", [dlbridge.dtype, dlbridge.device])
def test_the_types_cannot_be_modified(cls: Any) -> None:
    if sys.version_info >= (3, 10):
        with pytest.raises(TypeError, match="immutable type"):
            cls.name = "mine"


@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor])
def test_device_names_the_cpu_by_its_first_ordinal(function: Any) -> None:
    p = producers.Producer(device=(1, 1))
    t = dlbridge.from_dlpack(p)
    for moved in (function(p, device="cpu"), function(t, device="cpu:1"), t.to("cpu")):
        assert (moved.device, moved.readonly) == ("cpu", False)
        assert foreign.consume(moved.__dlpack__(max_version=(1, 0))).device == (1, 0)
    assert (t.device, function(t).device, t.to("cpu").data_ptr) == ("cpu:1", "cpu:1", t.data_ptr)


def test_device_without_an_id_is_the_first() -> None:
    assert dlbridge.device("cuda") == "cuda:0"
    assert dlbridge.device("cpu:0") == "cpu"


@pytest.mark.parametrize("id_", [-1, -(2**31)])
def test_device_of_a_negative_id(id_: int) -> None:
    """A producer may have it, although a caller cannot name it."""
    t = dlbridge.from_dlpack(producers.Producer(device=(2, id_)))
    assert t.__dlpack_device__() == (2, id_)
    assert (t.device, t.device.type, t.device.id, t.device.code) == (f"cuda:{id_}", "cuda", id_, 2)


class Jax:
    def __init__(self, platform: Any, id_: Any) -> None:
        self.platform = platform
        self.id = id_

    def __str__(self) -> str:
        return "TFRT_DEVICE"


class Torch:
    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


@pytest.mark.parametrize(
    "value, name",
    [
        (Jax("gpu", 2), "cuda:2"),
        (Jax("cpu", 0), "cpu"),
        (Jax("rocm", 1), "rocm:1"),
        (Jax("tpu", 4), "tpu:4"),
        (Torch("cuda:3"), "cuda:3"),
        (Torch("xpu"), "oneapi:0"),
        (Torch("xpu:1"), "oneapi:1"),
        (Torch("mps:0"), "metal:0"),
        ((1, None), "cpu"),  # as Paddle returns it
    ],
)
def test_device_of_a_framework(value: Any, name: str) -> None:
    assert dlbridge.device(value) == name


BAD_DEVICES = [
    "", "gpu", "cpu:", "cpu:x", "cpu: 1", "cpu\0", "cuda:-1", "cuda:2147483648", "CPU", "\udc80",
    None, 5, (1,), (99, 0), (1, 0, 0), ("cpu", 0), (2**40, 0), [1, 0], Jax("gpu", "first"),
    Jax("gpu\0", 0), Jax(b"gpu", 0), Jax("quantum" * 9, 0),
]  # fmt: skip


@pytest.mark.parametrize("value", BAD_DEVICES, ids=lambda x: ascii(x)[:24])
def test_bad_device(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^bad argument: expected device to be "):
        dlbridge.device(value)


@pytest.mark.parametrize(
    "call",
    [
        lambda device: dlbridge.empty(2, "int8", device=device),
        lambda device: dlbridge.from_dlpack(producers.Producer(), device=device),
        lambda device: dlbridge.from_dlpack(producers.Producer()).to(device),
    ],
)
def test_an_unknown_device_type_is_a_bad_value(call: Any) -> None:
    with pytest.raises(ValueError, match=r"expected device to be of a DLPack device type"):
        call((99, 0))


@pytest.mark.parametrize("kind", [int, float, complex, bool])
def test_a_dtype_equals_the_type_of_its_numbers(kind: type) -> None:
    assert dlbridge.dtype(kind) == kind and dlbridge.dtype("int8") != kind


@pytest.mark.parametrize("cls", [dlbridge.dtype, dlbridge.device])
def test_text_types_are_final_and_safe(cls: type) -> None:
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (cls,), {})
    with pytest.raises(TypeError, match="is not safe"):
        str.__new__(cls, "anything")
    with pytest.raises(TypeError):
        cls()


@pytest.mark.parametrize("make", [dlbridge.dtype, dlbridge.device])
@pytest.mark.parametrize("length", range(100, 104))
def test_a_long_text_is_truncated(make: Any, length: int) -> None:
    """Between two characters, or inside one."""
    with pytest.raises(ValueError) as raised:
        make("x" * length + "\N{SNOWMAN}" * 100)
    assert type(raised.value) is ValueError
    assert re.search(
        r"\.\.\.(\. numpy\.dtype\(\) reads NumPy's other names, such as 'f4')?$", str(raised.value)
    )


# Pickling: keeps the elements, their order and the read-only flag.


def elements(t: dlbridge.Tensor) -> bytes:
    """The elements in row-major order, as the consumer in C reads them."""
    return foreign.consume(t.__dlpack__(max_version=(1, 0))).tobytes()


def block(t: dlbridge.Tensor) -> bytes:
    """The bytes of a compact tensor."""
    return ctypes.string_at(t.data_ptr, t.nbytes)


ONES = (ctypes.c_uint8 * 8)(*[0xFF] * 8)

SHAPES: list[tuple[str, dict[str, Any], tuple[int, ...] | None]] = [
    ("row-major", {}, (3, 1)),
    ("column-major", {"strides": (1, 2)}, (1, 2)),
    ("steps", {"strides": (12, 3)}, (3, 1)),
    ("backwards", {"strides": (-3, -1), "byte_offset": 40}, (3, 1)),
    ("broadcast", {"strides": (0, 1)}, (3, 1)),
    ("null strides", {"strides": None}, (3, 1)),
    ("one element", {"shape": (), "byte_offset": 12}, ()),
    ("no element", {"shape": (3, 0, 2), "data": None}, (2, 2, 1)),
    ("read-only", {"flags": 1}, (3, 1)),
    ("copied", {"flags": 2}, (3, 1)),
    ("bfloat16", {"dtype": (4, 16, 1)}, (3, 1)),
    ("float32x4", {"dtype": (2, 32, 4)}, (3, 1)),
    ("size 1", {"shape": (1, 6, 1), "strides": (99, 1, -5)}, None),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "fields, strides", [each[1:] for each in SHAPES], ids=[each[0] for each in SHAPES]
)
def test_pickle(fields: dict[str, Any], strides: tuple[int, ...] | None, protocol: int) -> None:
    t = dlbridge.from_dlpack(producers.Producer(**fields))
    unpickled = pickle.loads(pickle.dumps(t, protocol=protocol))
    assert type(unpickled) is dlbridge.Tensor
    assert (unpickled.shape, unpickled.dtype, unpickled.device) == (t.shape, t.dtype, "cpu")
    assert strides is None or unpickled.strides == strides
    assert elements(unpickled) == elements(t)
    assert unpickled.data_ptr != t.data_ptr or t.size == 0
    assert (unpickled.readonly, unpickled.flags & 2) == (t.readonly, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "flags, nbytes, last", [(0, 8, 0x0F), (4, 15, 0xFF)], ids=["packed", "padded"]
)
def test_pickle_elements_below_a_byte(flags: int, nbytes: int, last: int, protocol: int) -> None:
    """The bits after the last element, which do not belong to the tensor, become 0."""
    t = dlbridge.from_dlpack(producers.Producer(shape=(3, 5), dtype=(0, 4, 1), flags=flags))
    unpickled = pickle.loads(pickle.dumps(t, protocol=protocol))
    assert (unpickled.nbytes, unpickled.shape, unpickled.dtype, unpickled.flags) == (
        nbytes,
        (3, 5),
        "int4",
        flags,
    )
    assert block(unpickled) == block(t)[:-1] + bytes([block(t)[-1] & last])


@pytest.mark.parametrize("shape, strides", [((3,), None), ((3, 1), (1, 3)), ((3,), (2,))])
def test_bytes_have_no_bits_of_other_elements(
    shape: tuple[int, ...], strides: tuple[int, ...] | None
) -> None:
    t: Any = dlbridge.from_pointer(ctypes.addressof(ONES), shape, "int4", strides=strides)
    assert t.tobytes() == b"\xff\x0f"
    for protocol in PROTOCOLS:
        assert block(pickle.loads(pickle.dumps(t, protocol=protocol))) == b"\xff\x0f"


def test_pickle_keeps_the_order_of_elements_below_a_byte() -> None:
    t: Any = dlbridge.from_pointer(ctypes.addressof(ONES), (3, 5), "int4", strides=(1, 3))
    assert pickle.loads(pickle.dumps(t)).strides == (1, 3)


def test_pickle_out_of_band_copies_nothing() -> None:
    p = producers.Producer()
    t = dlbridge.from_dlpack(p)
    buffers: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(t, protocol=5, buffer_callback=buffers.append)
    (buffer,) = buffers
    assert foreign.buffer(buffer.raw(), 0)["data"] == t.data_ptr == p.handle.address
    assert len(stream) < 200
    unpickled = pickle.loads(stream, buffers=buffers)
    assert unpickled.data_ptr == t.data_ptr
    del t, unpickled, buffer, buffers
    assert p.calls == [1]


def out_of_band(**fields: Any) -> bytes:
    t = dlbridge.from_dlpack(producers.Producer(**fields))
    return pickle.dumps(t, protocol=5, buffer_callback=lambda _: None)


@pytest.mark.parametrize("flags", [0, 1])
def test_a_tensor_unpickled_on_read_only_memory_is_read_only(flags: int) -> None:
    """For example a read-only map of a shared file."""
    with mmap.mmap(-1, 24, prot=mmap.PROT_READ) as memory:
        unpickled = pickle.loads(out_of_band(flags=flags), buffers=[memory])
        assert unpickled.readonly
        assert foreign.consume(unpickled.__dlpack__(max_version=(1, 0))).flags == 1
        with pytest.raises(BufferError):
            unpickled.__dlpack__()
        del unpickled


def test_a_tensor_unpickled_on_writable_memory_keeps_its_flag() -> None:
    assert pickle.loads(out_of_band(flags=1), buffers=[bytearray(24)]).readonly
    assert not pickle.loads(out_of_band(), buffers=[bytearray(24)]).readonly


@pytest.mark.parametrize(
    "buffer", [array.array("d", [1, 2, 3]), memoryview(bytearray(24)).cast("B", (4, 6))]
)
def test_unpickling_accepts_buffers_of_the_right_size(buffer: Any) -> None:
    unpickled = pickle.loads(out_of_band(), buffers=[buffer])
    assert unpickled.data_ptr == foreign.buffer(buffer, 0)["data"]


@pytest.mark.parametrize(
    "buffer",
    [
        bytearray(23),
        bytearray(25),
        bytearray(),
        memoryview(bytearray(48))[::2],
        memoryview(bytearray(24))[::-1],
        array.array("d", range(24)),
    ],
    ids=["short", "long", "empty", "steps", "backwards", "24 of 8 bytes"],
)
def test_unpickling_refuses_other_buffers(buffer: Any) -> None:
    with pytest.raises(ValueError, match="whose bytes do not fit its shape"):
        pickle.loads(out_of_band(), buffers=[buffer])


@pytest.mark.parametrize(
    "dtype, shape, size",
    [
        ("float32", (-1, -6), 24),
        ("float32", (0, -1), 0),
        ("float32", (2**62,), 0),
        ("float64", (2**61,), 0),
        ("int4", (2**63 - 1,), 0),
        ("uint8", (2**32, 2**32), 0),
        ("uint8", (1,) * 65, 1),
    ],
)
def test_invalid_pickles_are_refused(dtype: str, shape: tuple[int, ...], size: int) -> None:
    with pytest.raises(ValueError, match="whose bytes do not fit its shape"):
        rebuild(bytearray(size), dtype, shape, "C", False, 0)


@pytest.mark.parametrize("dtype", ["float", "float7x0"])
def test_a_pickle_of_an_unknown_dtype_is_refused(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"of an unknown dtype, '{dtype}'$"):
        rebuild(bytearray(4), dtype, (1,), "C", False, 0)


@pytest.mark.parametrize("shape", [("2",), (2.0,), (2**64,), (None,)])
def test_a_shape_of_other_types_is_refused(shape: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        rebuild(bytearray(8), "uint8", shape, "C", False, 0)


def test_unknown_flags_are_dropped() -> None:
    assert rebuild(bytearray(8), "uint8", (8,), "C", False, 2**64 - 1).flags == 4


BY_ITS_LIBRARY = "Copy it to the CPU first, with its own library"


@pytest.mark.parametrize("device", [(4, 0), (8, 0), (14, 1)])
def test_the_remedy_for_devices_whose_memory_dlbridge_does_not_copy(
    device: tuple[int, int],
) -> None:
    t = dlbridge.from_dlpack(producers.Producer(device=device))
    one = dlbridge.from_dlpack(producers.Producer(device=device, shape=(1,)))
    for act in (t.tolist, t.tobytes, t.numpy, one.item, lambda: bool(one), lambda: float(one)):
        with pytest.raises(BufferError, match=BY_ITS_LIBRARY):
            act()


@pytest.mark.parametrize("device", [(2, 0), (4, 0), (14, 1)])
def test_device_memory_is_not_pickled(device: tuple[int, int]) -> None:
    by_dlbridge = "Copy it first, with from_dlpack(t, device='cpu')"
    t = dlbridge.from_dlpack(producers.Producer(device=device))
    for function in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError) as raised:
            function(t)
        assert str(raised.value) == (
            f"cannot pickle a tensor float32[2, 3] on {t.device}: the CPU cannot read its memory. "
            + (by_dlbridge if device == (2, 0) else BY_ITS_LIBRARY)
        )


@pytest.mark.parametrize("function", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("fields", [{}, {"strides": (1, 2)}, {"flags": 1}, {"device": (3, 0)}])
def test_copies_are_independent(fields: dict[str, Any], function: Any) -> None:
    p = producers.Producer(**fields)
    t = dlbridge.from_dlpack(p)
    duplicate = function(t)
    assert (elements(duplicate), duplicate.strides) == (elements(t), t.strides)
    assert (duplicate.readonly, duplicate.device) == (t.readonly, "cpu")
    assert duplicate.data_ptr != t.data_ptr


# The buffer protocol, as memoryview and the consumer in C use it.


def test_an_empty_buffer_is_contiguous_whatever_its_stride() -> None:
    t = dlbridge.from_dlpack(producers.Producer(shape=(6,)))[0:0:2]
    m = memoryview(t)
    assert m.c_contiguous and m.f_contiguous and m.tobytes() == b""


SIMPLE, WRITABLE, FORMAT, ND = 0, 0x1, 0x4, 0x8
STRIDES = 0x10 | ND
C, F, ANY = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
INDIRECT = 0x100 | STRIDES
FULL_RO, FULL = INDIRECT | FORMAT, INDIRECT | FORMAT | WRITABLE

LAYOUTS: dict[str, dict[str, Any]] = {
    "row-major": {},
    "column-major": {"strides": (1, 2)},
    "both": {"shape": (1, 6), "strides": (77, 1)},
    "neither": {"strides": (6, 2)},
    "backwards": {"strides": (-3, -1), "byte_offset": 40},
    "broadcast": {"strides": (0, 0)},
    "null strides": {"strides": None},
    "one element": {"shape": ()},
    "no element": {"shape": (2, 0), "strides": (2**62, 2**62), "data": None},
    "read-only": {"flags": 1},
}
# The layouts that each request accepts, and the expectation in the BufferError of the others.
REQUESTS: list[tuple[int, set[str], str]] = [
    (
        SIMPLE,
        {"row-major", "both", "null strides", "one element", "no element", "read-only"},
        "a row-major tensor",
    ),
    (
        ND,
        {"row-major", "both", "null strides", "one element", "no element", "read-only"},
        "a row-major tensor",
    ),
    (
        C,
        {"row-major", "both", "null strides", "one element", "no element", "read-only"},
        "a row-major tensor",
    ),
    (F, {"column-major", "both", "one element", "no element"}, "a column-major tensor"),
    (ANY, set(LAYOUTS) - {"neither", "backwards", "broadcast"}, "a row-major or column-major"),
    (STRIDES, set(LAYOUTS), ""),
    (INDIRECT, set(LAYOUTS), ""),
    (FULL_RO, set(LAYOUTS), ""),
    (FULL, set(LAYOUTS) - {"read-only"}, "writable memory"),
    (STRIDES | WRITABLE, set(LAYOUTS) - {"read-only"}, "writable memory"),
]


@pytest.mark.parametrize(
    "flags, accepted, expectation", REQUESTS, ids=[hex(each[0]) for each in REQUESTS]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_buffer(layout: str, flags: int, accepted: set[str], expectation: str) -> None:
    p = producers.Producer(**LAYOUTS[layout])
    t = dlbridge.from_dlpack(p)
    if layout not in accepted:
        with pytest.raises(BufferError) as raised:
            foreign.buffer(t, flags)
        assert str(raised.value).startswith(f"expected {expectation}")
        assert ". Request a " in str(raised.value)
        return
    b = foreign.buffer(t, flags)
    assert b["data"] == t.data_ptr or t.size == 0
    assert b["data"] != 0
    assert (b["len"], b["itemsize"], b["owned"], b["suboffsets"]) == (4 * t.size, 4, True, None)
    assert b["readonly"] == (layout == "read-only")
    assert b["format"] == ("f" if flags & FORMAT else None)
    assert b["ndim"] == (t.ndim if flags & ND else 1)
    assert b["shape"] == (t.shape if flags & ND and t.ndim else None)
    wrapped = tuple((each + 2**63) % 2**64 - 2**63 for each in t.byte_strides or ())
    strides = wrapped if flags & STRIDES == STRIDES and t.ndim else None
    assert b["strides"] == strides
    contiguous = (t.c_contiguous, t.f_contiguous, t.c_contiguous or t.f_contiguous)
    assert tuple(map(bool, b["contiguous"])) == contiguous or not flags & ND
    del t
    assert p.calls == [1]  # the buffer was released


# The letters of C's long are those of NumPy's own integers of its size.
LONG = 8 * struct.calcsize("l")
FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
    "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
    "complex64": "Zf", "complex128": "Zd", f"int{LONG}": "l", f"uint{LONG}": "L",
}  # fmt: skip


@pytest.mark.parametrize("name, code, bits, lanes, itemsize", DTYPES)
def test_buffer_of_every_dtype(name: str, code: int, bits: int, lanes: int, itemsize: int) -> None:
    t = dlbridge.from_dlpack(producers.Producer(dtype=(code, bits, lanes)))
    if name in FORMATS:
        m = memoryview(t)
        assert (m.format, m.itemsize, m.shape, m.obj) == (FORMATS[name], itemsize, (2, 3), t)
        return
    with pytest.raises(BufferError) as raised:
        memoryview(t)
    assert str(raised.value) == (
        f"expected a dtype that buffers can name; got {name}[2, 3] on cpu: dtype differs. "
        "View it as another dtype such as uint8, packed elements after reshape(-1)"
    )


@pytest.mark.parametrize(
    "device, is_readable", [((1, 5), 1), ((3, 0), 1), ((13, 1), 1), ((2, 0), 0)]
)
def test_buffer_of_every_kind_of_device(device: tuple[int, int], is_readable: int) -> None:
    t = dlbridge.from_dlpack(producers.Producer(device=device))
    if is_readable:
        elements: Any = memoryview(t).tolist()
        assert elements == [[0, 1, 2], [3, 4, 5]]
        return
    with pytest.raises(BufferError) as raised:
        memoryview(t)
    assert str(raised.value) == (
        f"expected memory that the CPU can read; got float32[2, 3] on {t.device}: device differs. "
        "Copy it to the host first"
    )


def test_buffer_keeps_the_tensor_alive() -> None:
    p = producers.Producer()
    m: Any = memoryview(dlbridge.from_dlpack(p))[1:]
    gc.collect()
    assert (p.calls, m.tolist()) == ([0], [[3, 4, 5]])
    m.release()
    assert p.calls == [1]


def test_buffer_writes_to_the_memory() -> None:
    p = producers.Producer()
    memoryview(dlbridge.from_dlpack(p))[1, 2] = 77
    assert foreign.consume(p.handle.capsule()).tobytes()[-4:] == struct.pack("f", 77)


# The attributes of a Tensor.

ATTRIBUTES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {},
        {
            "shape": (2, 3), "strides": (3, 1), "byte_strides": (12, 4), "ndim": 2, "size": 6,
            "itemsize": 4, "nbytes": 24, "dtype": "float32", "device": "cpu", "readonly": False,
            "byte_offset": 0, "flags": 0, "c_contiguous": True, "f_contiguous": False,
            "version": (1, 0),
        },
        "float32[2, 3] on cpu, row-major",
    ),
    (
        {"strides": (1, 2), "flags": 1, "version": (1, 9)},
        {"byte_strides": (4, 8), "readonly": True, "flags": 1, "c_contiguous": False,
         "f_contiguous": True, "version": (1, 9)},
        "float32[2, 3] on cpu, column-major, read-only",
    ),
    (
        {"strides": (-6, 2), "byte_offset": 24},
        {"strides": (-6, 2), "byte_offset": 0, "c_contiguous": False, "f_contiguous": False},
        "float32[2, 3] on cpu, strides [-6, 2]",
    ),
    (
        {"strides": None},
        {"strides": (3, 1), "byte_strides": (12, 4), "c_contiguous": True},
        "float32[2, 3] on cpu, row-major",
    ),
    (
        {"shape": None, "strides": None, "ndim": 0, "dtype": (5, 128, 1)},
        {"shape": (), "strides": (), "byte_strides": (), "ndim": 0, "size": 1, "nbytes": 16,
         "c_contiguous": True, "f_contiguous": True},
        "complex128[] on cpu, row-major",
    ),
    (
        {"shape": (4, 0, 2), "data": None, "device": (2, 3)},
        {"size": 0, "nbytes": 0, "data_ptr": 0, "device": "cuda:3", "c_contiguous": True,
         "f_contiguous": True},
        "float32[4, 0, 2] on cuda:3, row-major",
    ),
    (
        {"shape": (1, 6, 1), "strides": (99, 1, -(2**63))},
        {"strides": (99, 1, -(2**63)), "c_contiguous": True, "f_contiguous": True},
        "float32[1, 6, 1] on cpu, row-major",
    ),
    (
        {"dtype": (17, 4, 1), "shape": (5,)},
        {"itemsize": 1, "nbytes": 3, "byte_strides": None, "strides": (1,)},
        "float4_e2m1fn[5] on cpu, row-major",
    ),
    (
        {"dtype": (17, 4, 1), "shape": (5,), "flags": 4},
        {"itemsize": 1, "nbytes": 5, "byte_strides": (1,), "flags": 4},
        "float4_e2m1fn[5] on cpu, row-major",
    ),
    (
        {"device": (4, 0), "byte_offset": 8, "flags": 1 << 40},
        {"byte_offset": 8, "flags": 1 << 40, "device": "opencl:0"},
        "float32[2, 3] on opencl:0, row-major",
    ),
]  # fmt: skip


@pytest.mark.parametrize("fields, attributes, shown", ATTRIBUTES)
def test_attributes(fields: dict[str, Any], attributes: dict[str, Any], shown: str) -> None:
    p = producers.Producer(**fields)
    t = dlbridge.from_dlpack(p)
    assert {name: getattr(t, name) for name in attributes} == attributes
    assert repr(t).startswith(f"<dlbridge.Tensor {shown}") and repr(t).endswith(">")
    assert (": " in repr(t)) == (t.device == "cpu" and t.size > 0)
    assert (type(t.dtype), type(t.device)) == (dlbridge.dtype, dlbridge.device)
    if t.size:
        handle_offset = 0 if t.byte_offset else fields.get("byte_offset", 0)
        assert t.data_ptr == p.handle.address + handle_offset


def test_repr_of_the_largest_rank() -> None:
    t = dlbridge.from_dlpack(
        producers.Producer(shape=(1,) * 63 + (2,), strides=(2**62,) * 63 + (2,))
    )
    text = repr(t)
    assert text.startswith("<dlbridge.Tensor float32[1, 1, ")
    assert len(text) < 700 and text.isprintable()


def test_legacy_has_no_version() -> None:
    assert dlbridge.from_dlpack(producers.Bare()).version is None


@pytest.mark.parametrize("device", [(2, 1), (13, 0)])
def test_cuda_array_interface(device: tuple[int, int]) -> None:
    p = producers.Producer(device=device, flags=1, strides=(6, 2), dtype=(5, 64, 1))
    t: Any = dlbridge.from_dlpack(p)
    assert t.__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": "<c8",
        "data": (p.handle.address, True),
        "strides": (48, 16),
        "version": 3,
        "stream": 1,  # the stream of the import
    }


@pytest.mark.parametrize(
    "fields", [{}, {"device": (3, 0)}, {"device": (10, 0)}, {"device": (2, 0), "dtype": (4, 16, 1)}]
)
def test_no_cuda_array_interface(fields: dict[str, Any]) -> None:
    t = dlbridge.from_dlpack(producers.Producer(**fields))
    assert not hasattr(t, "__cuda_array_interface__")


# Operations that a Tensor does not have.


@pytest.mark.parametrize(
    "operation",
    [
        lambda t: t + 1, lambda t: 1 + t, lambda t: -t, lambda t: t @ t, lambda t: t < t,
        lambda t: setattr(t, "shape", (6,)),
        lambda t: setattr(t, "extra", 1), lambda t: delattr(t, "dtype"), lambda t: t(),
    ],
)  # fmt: skip
def test_array_operations_are_refused(operation: Any) -> None:
    with pytest.raises((TypeError, AttributeError)):
        operation(dlbridge.from_dlpack(producers.Producer()))


def test_comparison_and_hash() -> None:
    p = producers.Producer()
    t, other = dlbridge.from_dlpack(p), dlbridge.from_dlpack(p)
    assert t == t and t != other
    assert hash(t) == hash(t)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dlbridge.Tensor(),
        lambda: dlbridge.Tensor([1]),  # type: ignore[call-arg]
        lambda: dlbridge.Tensor.__new__(dlbridge.Tensor),
        lambda: object.__new__(dlbridge.Tensor),
        lambda: type("Sub", (dlbridge.Tensor,), {}),
        lambda: object().__reduce_ex__(2) and dlbridge.from_dlpack(producers.Bare()).__reduce__(),
    ],
)
def test_the_type_is_final_and_has_no_constructor(make: Any) -> None:
    with pytest.raises(TypeError):
        make()


def test_weak_references() -> None:
    calls: list[Any] = []
    p = producers.Producer()
    t = dlbridge.from_dlpack(p)
    reference = weakref.ref(t, lambda ref: calls.append((ref(), p.calls)))
    assert reference() is t
    del t
    assert reference() is None
    assert calls == [(None, [0])]  # called before the deleter
    assert p.calls == [1]


# The truth of one element.


def truth_of(data: bytes, dtype: tuple[int, int, int], shape: tuple[int, ...] = ()) -> bool:
    return bool(dlbridge.from_dlpack(producers.Producer(shape=shape, dtype=dtype, fill=data)))


@pytest.mark.parametrize(
    "format, dtype",
    [("?", (6, 8, 1)), ("b", (0, 8, 1)), ("q", (0, 64, 1)), ("H", (1, 16, 1)), ("e", (2, 16, 1)),
     ("f", (2, 32, 1)), ("d", (2, 64, 1)), ("2f", (5, 64, 1)), ("2d", (5, 128, 1))],
)  # fmt: skip
@pytest.mark.parametrize("value", [0, 1, -0.0, -1])
def test_truth(format: str, dtype: tuple[int, int, int], value: float) -> None:
    if format in "?bqH":
        value = abs(int(value))
    values = [0, value] if format.startswith("2") else [value]
    data = struct.pack("=" + format, *values)
    for shape in ((), (1,), (1, 1)):
        assert truth_of(data, dtype, shape) is bool(value)


def test_truth_of_bfloat16() -> None:
    for data, truth in ((b"\0\0", False), (b"\0\x80", False), (b"\x80\x3f", True)):
        assert truth_of(data, (4, 16, 1)) is truth


def test_tensors_without_a_truth_value() -> None:
    for shape in ((2,), (0,), (2, 3)):
        with pytest.raises(ValueError, match=r"bool\(\) expects a tensor of one element, not"):
            truth_of(bytes(24), (2, 32, 1), shape)
    for dtype in ((3, 64, 1), (2, 32, 4), (5, 8, 1), (5, 24, 1)):
        with pytest.raises(TypeError, match=r"bool\(\) expects a tensor of booleans, integers"):
            truth_of(bytes(24), dtype)
    with pytest.raises(BufferError, match="CPU can read"):
        bool(dlbridge.from_dlpack(producers.Producer(shape=(), device=(2, 0)), stream=-1))


# Every attribute can be read, or is missing.

TENSORS: list[dict[str, Any]] = [
    *({"device": (type, 0)} for type in (1, 2, 3, 4, 10, 13, 14)),
    *({"dtype": dtype} for dtype in ((0, 4, 1), (2, 32, 4), (3, 64, 1), (4, 16, 1), (5, 24, 1))),
    *({"shape": shape} for shape in ((), (3,), (0,))),
]


@pytest.mark.parametrize("fields", TENSORS, ids=str)
def test_the_attributes_of_every_tensor_can_be_listed(fields: dict[str, Any]) -> None:
    t = dlbridge.from_dlpack(producers.Producer(**fields).export(True))
    assert dict(inspect.getmembers(t))["device"] == t.device


def test_attributes_for_numpy_are_missing_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    t = dlbridge.from_dlpack(producers.Producer())
    monkeypatch.setitem(sys.modules, "numpy", None)
    for name in ("ctypes", "__numpy_dtype__"):
        with pytest.raises(
            AttributeError, match=rf"^a tensor float32\[2, 3\] on cpu has no {name}$"
        ):
            getattr(t, name)


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (4, 0), (14, 0)])
def test_the_address_of_an_empty_tensor(device: tuple[int, int]) -> None:
    """It is that of the export: 0, except on oneAPI, where data leads to the allocation."""
    p = producers.Producer(shape=(0, 3), device=device, byte_offset=8)
    t: Any = dlbridge.from_dlpack(p.export(True))
    exported = foreign.consume(t.__dlpack__(max_version=(1, 0), stream=None))
    assert t.data_ptr == exported.data + exported.byte_offset
    assert (t.data_ptr != 0) == (device == (14, 0)) and t.byte_offset == 0
    if device == (2, 0):
        assert t.__cuda_array_interface__["data"] == (0, False)


@pytest.mark.parametrize("numbers", [(0, 24, 1), (1, 3, 1), (2, 80, 1), (2, 9, 1), (6, 16, 4)])
def test_a_dtype_of_any_width(numbers: tuple[int, int, int]) -> None:
    dtype = dlbridge.dtype(numbers)
    for other in (dlbridge.dtype(dtype), copy.deepcopy(dtype), pickle.loads(pickle.dumps(dtype))):
        assert (other, other.code, other.bits, other.lanes) == (dtype, *numbers)
    assert dlbridge.empty(4, dtype).dtype == dtype


class ExchangedDtype:
    """A dtype with the exchange of dmlc/dlpack#172, which tvm-ffi reads too."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def __dlpack_data_type__(self) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def test_the_exchange_of_dtypes() -> None:
    assert dlbridge.dtype(ExchangedDtype((4, 16, 1))) == "bfloat16"
    assert dlbridge.empty(2, ExchangedDtype((2, 64, 1))).dtype == "float64"
    with pytest.raises(ValueError, match=r"\(code, bits, lanes\) of a DLPack dtype"):
        dlbridge.dtype(ExchangedDtype((2, 64, 0)))
    with pytest.raises(LookupError, match="its own"):
        dlbridge.dtype(ExchangedDtype(LookupError("its own")))


@pytest.mark.parametrize("name", ["int1", "int3", "uint7", "int24", "float80", "complex160"])
def test_names_of_numbers_that_a_library_has(name: str) -> None:
    assert dlbridge.dtype(name) == name
