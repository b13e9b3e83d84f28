# SPDX-License-Identifier: BSD-3-Clause
"""as_tensor: objects with DLPack, the buffer protocol or an array interface."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import re
import struct
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any, Callable

import pytest
from cpython_build import FREE_THREADED

import dlbridge
import foreign
import producers
from dlbridge.tools import buffers


def consume(t: dlbridge.Tensor) -> foreign.Consumed:
    """The tensor as the consumer in C reads it."""
    return foreign.consume(t.__dlpack__(max_version=(1, 0)))


def address_of(memory: Any) -> int:
    return foreign.buffer(memory, 0x118)["data"]  # PyBUF_INDIRECT: any layout


# Buffers.

INT, UINT, FLOAT, BOOL, COMPLEX = 0, 1, 2, 6, 5
MATRIX = memoryview(bytearray(struct.pack("24h", *range(24)))).cast("B").cast("h", (4, 6))
TYPECODES = "bBhHiIlLqQfd"


def cast(typecode: str) -> Any:
    view: Any = memoryview(bytearray(64))
    return view.cast(typecode)


def dtype_of(typecode: str) -> tuple[int, int, int]:
    kind = FLOAT if typecode in "fd" else INT if typecode.islower() else UINT
    return (kind, cast(typecode).itemsize * 8, 1)


Buffer = tuple[str, Any, tuple[int, int, int], tuple[int, ...], tuple[int, ...], bool]
BUFFERS: list[Buffer] = [
    ("bytes", b"abc", (UINT, 8, 1), (3,), (1,), True),
    ("bytearray", bytearray(b"abc"), (UINT, 8, 1), (3,), (1,), False),
    ("empty bytes", b"", (UINT, 8, 1), (0,), (1,), True),
    ("mmap", mmap.mmap(-1, 64), (UINT, 8, 1), (64,), (1,), False),
    ("read-only mmap", mmap.mmap(-1, 64, prot=mmap.PROT_READ), (UINT, 8, 1), (64,), (1,), True),
    *((f"array {c}", array.array(c, [1, 2]), dtype_of(c), (2,), (1,), False) for c in TYPECODES),
    *(
        (f"cast to {c}", cast(c), dtype_of(c), (64 // cast(c).itemsize,), (1,), False)
        for c in TYPECODES + "nNP"
    ),
    ("cast to ?", cast("?"), (BOOL, 8, 1), (64,), (1,), False),
    ("cast to @i", cast("@i"), (INT, 32, 1), (16,), (1,), False),
    ("rank 0", memoryview(bytes(4)).cast("f", ()), (FLOAT, 32, 1), (), (), True),
    ("matrix", MATRIX, (INT, 16, 1), (4, 6), (6, 1), False),
    ("rows", MATRIX[1:3], (INT, 16, 1), (2, 6), (6, 1), False),
    ("every other row", MATRIX[::2], (INT, 16, 1), (2, 6), (12, 1), False),
    ("rows backwards", MATRIX[::-1], (INT, 16, 1), (4, 6), (-6, 1), False),
    ("one row", MATRIX[3:], (INT, 16, 1), (1, 6), (1, 1), False),
    ("no row", MATRIX[4:], (INT, 16, 1), (0, 6), (1, 1), False),
    ("read-only", MATRIX.toreadonly(), (INT, 16, 1), (4, 6), (6, 1), True),
    ("items backwards", memoryview(b"abcdef")[::-2], (UINT, 8, 1), (3,), (-2,), True),
    ("c_int", (ctypes.c_int * 3)(1, 2, 3), (INT, 32, 1), (3,), (1,), False),
    ("c_long", ctypes.c_long(7), (INT, 64, 1), (), (), False),
    ("c_double", ((ctypes.c_double * 3) * 2)(), (FLOAT, 64, 1), (2, 3), (3, 1), False),
    ("c_bool", (ctypes.c_bool * 2)(), (BOOL, 8, 1), (2,), (1,), False),
    ("c_void_p", (ctypes.c_void_p * 2)(), (UINT, 64, 1), (2,), (1,), False),
]


@pytest.mark.parametrize(
    "exporter, dtype, shape, strides, readonly",
    [each[1:] for each in BUFFERS],
    ids=[each[0] for each in BUFFERS],
)
def test_buffer(
    exporter: Any,
    dtype: tuple[int, int, int],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    readonly: bool,
) -> None:
    result = consume(dlbridge.as_tensor(exporter))
    assert (result.dtype, result.device, result.flags) == (dtype, (1, 0), int(readonly))
    assert (result.shape or (), result.strides or ()) == (shape, strides)
    assert result.tobytes() == memoryview(exporter).tobytes()
    if result.tobytes():
        assert result.data == address_of(exporter)
    if not readonly and result.tobytes():
        first = result.tobytes()[:1]
        result.write(b"\x55")
        assert memoryview(exporter).tobytes()[0] == 0x55
        result.write(first)


@pytest.mark.parametrize("keywords", [{}, {"copy": False}, {"device": "cpu"}, {"copy": True}])
def test_buffer_copied_or_not(keywords: dict[str, Any]) -> None:
    memory = bytearray(b"abcdef")
    result = consume(dlbridge.as_tensor(memoryview(memory)[::-1], **keywords))
    assert result.tobytes() == b"fedcba"
    assert (result.data == address_of(memory) + 5) == (not keywords.get("copy"))
    assert result.flags == 0


def test_buffer_stays_exported_while_the_memory_is_used() -> None:
    memory = bytearray(8)
    result = consume(dlbridge.as_tensor(memory))
    with pytest.raises(BufferError, match="Existing exports"):
        memory.append(1)
    result.release("thread")
    memory.append(1)
    assert len(memory) == 9


def test_readonly_overrides_the_flag() -> None:
    read_only = dlbridge.as_tensor(bytearray(4), readonly=True)
    assert consume(read_only).flags == 1
    with pytest.raises(BufferError):
        read_only.__dlpack__()
    writable = dlbridge.as_tensor(b"abcd", readonly=False)
    assert foreign.consume(writable.__dlpack__()).tobytes() == b"abcd"


@pytest.mark.parametrize(
    "form, code", [("F", 64), ("<F", 64), ("D", 128), ("<D", 128), ("Zf", 64), ("<Zd", 128)]
)
def test_the_complex_formats_of_ctypes(form: str, code: int) -> None:
    """CPython 3.14 states the first four, 3.15 the others."""
    form = form.replace("<", "<" if sys.byteorder == "little" else ">")
    numbers = array.array("f" if code == 64 else "d", [1, -2, 3, 0.5])
    view = buffers.get(numbers)
    view.format, view.itemsize = form.encode(), code // 8
    view.shape[0], view.strides[0] = 2, code // 8
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(buffers.View))(
        ("PyMemoryView_FromBuffer", ctypes.pythonapi)
    )
    t = dlbridge.as_tensor(make(ctypes.byref(view)))
    assert (t.dtype, t.tolist()) == (f"complex{code}", [1 - 2j, 3 + 0.5j])
    del t
    buffers.release(view)


@pytest.mark.parametrize("form", ["F", "D", "ZF", "ZD", "FF", "Z"])
def test_other_formats_are_no_complex_numbers(form: str) -> None:
    numbers = array.array("f", [1, 2])
    view = buffers.get(numbers)
    view.format = form.encode()  # with items of 4 bytes
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(buffers.View))(
        ("PyMemoryView_FromBuffer", ctypes.pythonapi)
    )
    with pytest.raises(BufferError, match=f"got '{form}': dtype differs"):
        dlbridge.as_tensor(make(ctypes.byref(view)))
    buffers.release(view)


class BigEndian(ctypes.BigEndianStructure):
    _fields_ = (("x", ctypes.c_int16),)


class Pair(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int16), ("y", ctypes.c_int16))


def released() -> memoryview:
    memory = memoryview(b"abc")
    memory.release()
    return memory


NATIVE = "expected a buffer of one native number per item; got "
CONVERT = ": dtype differs. Convert it to a type that DLPack has, or pass its bytes"
ORDER = ", in another byte order: dtype differs. Convert it to the byte order of this machine"
FOREIGN_ORDER = ctypes.c_int32.__ctype_be__

BAD_BUFFERS: list[tuple[Any, type[Exception], str]] = [
    (memoryview(b"ab").cast("c"), BufferError, f"{NATIVE}'c'{CONVERT}"),
    (ctypes.create_string_buffer(4), BufferError, f"{NATIVE}'<c'{CONVERT}"),
    (ctypes.create_unicode_buffer(4), BufferError, f"{NATIVE}'<u'{CONVERT}"),
    ((FOREIGN_ORDER * 2)(), BufferError, f"{NATIVE}'>i'{ORDER}"),
    ((ctypes.c_longdouble * 2)(), BufferError, f"{NATIVE}'<g'{CONVERT}"),
    ((ctypes.py_object * 2)(), BufferError, f"{NATIVE}'<O'{CONVERT}"),
    ((ctypes.c_char_p * 2)(), BufferError, f"{NATIVE}'<z'{CONVERT}"),
    ((Pair * 2)(), BufferError, f"{NATIVE}'T{{<h:x:<h:y:}}'{CONVERT}"),
    (BigEndian(), BufferError, f"{NATIVE}'T{{>h:x:}}'{CONVERT}"),
    (released(), ValueError, "operation forbidden on released memoryview object"),
]


@pytest.mark.parametrize(
    "exporter, error, text", BAD_BUFFERS, ids=[each[2] for each in BAD_BUFFERS]
)
def test_bad_buffer(exporter: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        dlbridge.as_tensor(exporter)
    assert str(raised.value) == text


def test_buffer_to_another_device() -> None:
    memory = bytearray(4)
    with pytest.raises(BufferError, match=r"^expected vulkan:0; got cpu: device differs\."):
        dlbridge.as_tensor(memory, device="vulkan")
    memory.append(1)  # the buffer is released


# Array interfaces.

STORE = (ctypes.c_float * 24)(*range(24))
ADDRESS = ctypes.addressof(STORE)
ABSENT = object()


class Interface:
    """Describes STORE with changed entries; ABSENT leaves an entry out."""

    def __init__(self, **changed: Any) -> None:
        entries = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (ADDRESS, False),
            "strides": None,
            "version": 3,
            **changed,
        }
        self.__array_interface__: Any = {
            key: value for key, value in entries.items() if value is not ABSENT
        }


class Index:
    """An integer of another type than int."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


INTERFACES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"shape": (2, 3), "strides": (3, 1), "dtype": (FLOAT, 32, 1), "flags": 0}),
    ({}, {"data": ADDRESS, "byte_offset": 0, "device": (1, 0)}),
    ({"strides": ABSENT}, {"strides": (3, 1)}),
    ({"strides": (48, -8), "data": (ADDRESS + 40, False)}, {"strides": (12, -2)}),
    ({"data": (ADDRESS + 40, False)}, {"data": ADDRESS + 40}),
    ({"data": (ADDRESS, True)}, {"flags": 1}),
    ({"data": (ADDRESS, 1)}, {"flags": 1}),
    ({"data": (Index(ADDRESS), [])}, {"data": ADDRESS, "flags": 0}),
    ({"shape": [2, Index(3)], "strides": [12, 4]}, {"shape": (2, 3), "strides": (3, 1)}),
    ({"shape": (), "typestr": "<f8"}, {"shape": None, "strides": None, "dtype": (FLOAT, 64, 1)}),
    ({"shape": (1,) * 64}, {"shape": (1,) * 64}),
    ({"shape": (1, 6), "strides": (7, 4)}, {"strides": (1, 1)}),
    ({"shape": (0, 6), "strides": (7, 7), "data": (0, False)}, {"shape": (0, 6), "data": 0}),
    *(
        ({"typestr": typestr, "shape": (1,)}, {"dtype": dtype})
        for typestr, dtype in [
            ("|b1", (BOOL, 8, 1)),
            ("|i1", (INT, 8, 1)),
            ("<i2", (INT, 16, 1)),
            ("=i4", (INT, 32, 1)),
            ("<i8", (INT, 64, 1)),
            (">u1", (UINT, 8, 1)),
            ("<u8", (UINT, 64, 1)),
            ("<f2", (FLOAT, 16, 1)),
            ("<c8", (COMPLEX, 64, 1)),
            ("<c16", (COMPLEX, 128, 1)),
        ]
    ),
]  # fmt: skip


@pytest.mark.parametrize("changed, expected", INTERFACES)
def test_interface(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    result = consume(dlbridge.as_tensor(Interface(**changed)))
    assert {name: getattr(result, name) for name in expected} == expected


def test_interface_keeps_the_object_alive() -> None:
    x = Interface()
    p = producers.Producer()
    x.capsule = p.export(True)  # type: ignore[attr-defined]
    result = consume(dlbridge.as_tensor(x))
    del x
    gc.collect()
    assert p.calls == [0]
    result.release("thread")
    assert p.calls == [1]


class Changing(Index):
    """Calls a function while the consumer reads it."""

    def __init__(self, value: int, change: Callable[[], object]) -> None:
        super().__init__(value)
        self.change = change

    def __index__(self) -> int:
        self.change()
        gc.collect()
        return self.value


@pytest.mark.parametrize("entry", ["shape", "strides"])
def test_interface_may_change_while_it_is_read(entry: str) -> None:
    """as_tensor uses the values of the start."""
    dims: dict[str, list[Any]] = {"shape": [2, 3], "strides": [4, 8]}
    x = Interface(data=(int(str(ADDRESS)), False), **dims)

    def change() -> None:
        x.__array_interface__.clear()
        del dims[entry][:]

    dims[entry][:] = [Changing(value, change) for value in dims[entry]]
    result = consume(dlbridge.as_tensor(x))
    assert (result.shape, result.strides, result.data) == ((2, 3), (1, 2), ADDRESS)
    assert x.__array_interface__ == {}


class Described:
    """An array interface whose data is an object with the buffer protocol, as Pillow's."""

    def __init__(self, data: Any, shape: Any, typestr: str, **others: Any) -> None:
        self.__array_interface__ = {
            "version": 3, "data": data, "shape": shape, "typestr": typestr, **others
        }  # fmt: skip


def test_an_array_interface_on_a_buffer() -> None:
    memory = bytearray(struct.pack("<8h", *range(8)))
    x = Described(memory, (2, 2), "<i2", offset=4)
    t = dlbridge.as_tensor(x)
    assert t.tolist() == [[2, 3], [4, 5]] and not t.readonly
    memory[4] = 9
    assert t.tolist()[0][0] == 9
    with pytest.raises(BufferError):
        memory.append(0)  # the buffer is exported
    x = Described(memory, (3,), "<i2", offset=14, strides=(-6,))
    assert dlbridge.as_tensor(x).tolist() == [7, 4, 1]
    frozen = dlbridge.as_tensor(Described(bytes(memory), (8,), "<i2"))
    assert frozen.readonly and frozen.tolist()[7] == 7
    assert dlbridge.as_tensor(Described(b"", (0, 3), "<i2")).shape == (0, 3)
    del t, x
    gc.collect()
    memory.append(0)


@pytest.mark.parametrize(
    "x",
    [
        Described(bytes(8), (5,), "<i2"),
        Described(bytes(8), (4,), "<i2", offset=2),
        Described(bytes(8), (4,), "<i2", offset=-2),
        Described(bytes(8), (4,), "<i2", offset=9),
        Described(bytes(8), (2,), "<i2", strides=(-2,)),
        Described(bytes(8), (2**62, 4), "<i2"),
        Described(bytes(8), (0,), "<i2", offset=9),
        Described(memoryview(bytes(8))[::2], (2,), "<i2"),
        Described(None, (4,), "<i2"),
        Described([0, False], (4,), "<i2"),
        Described(3, (4,), "<i2"),
    ],
)
def test_an_array_interface_beyond_its_buffer_is_refused(x: Any) -> None:
    with pytest.raises(BufferError, match="array interface"):
        dlbridge.as_tensor(x)


@pytest.mark.skipif(not FREE_THREADED, reason="test_interface_may_change_while_it_is_read tests it")
def test_an_interface_that_other_threads_change() -> None:
    """The values that as_tensor reads stay alive."""
    x = Interface()
    shape, data = [2, 3], [ADDRESS, False]
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            x.__array_interface__.update(shape=tuple(shape), data=tuple(data))

    threads = [threading.Thread(target=change) for _ in range(2)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 0.5
    try:
        while time.monotonic() < end:
            t = dlbridge.as_tensor(x)
            assert (t.shape, t.data_ptr) == ((2, 3), ADDRESS)
    finally:
        done.set()
        for thread in threads:
            thread.join()


MALFORMED = (
    "malformed tensor: expected {} to be {}; got {{}}. The producer is broken; it "
    "should follow version 3 of the array interface"
)
ENTRIES = MALFORMED.format(
    "the array interface", "a dict with shape, typestr, and data as (address, read-only)"
)
SHAPE = MALFORMED.format("shape", "up to 64 integers of 0 and above")
COUNT = MALFORMED.format("strides", "as many integers of 64 bits as shape")
DATA = MALFORMED.format("data", "(address, read-only)")
OFFSET = MALFORMED.format("offset", "an integer of 0 and above")
BUFFER = MALFORMED.format("data", "(address, read-only), or an object with the buffer protocol")
MEMORY = MALFORMED.format("data", "a contiguous buffer in which all elements lie")
TYPESTR = "expected a dtype of numbers in native byte order; got '{}'"
STEPS = (
    "expected strides that are multiples of the item size of 4 bytes; got others: layout "
    "differs. Pass a compact copy, as numpy.array(x) makes it"
)


class Undecided:
    def __bool__(self) -> bool:
        raise ValueError("neither")


BAD_INTERFACES: list[tuple[dict[str, Any], str]] = [
    ({"data": ABSENT}, BUFFER),
    ({"data": None}, BUFFER),
    ({"data": ADDRESS}, BUFFER),
    ({"data": [ADDRESS, False]}, BUFFER),
    ({"data": (ADDRESS,)}, ENTRIES),
    ({"data": bytearray(23)}, MEMORY),
    ({"data": bytearray(24), "offset": 1}, MEMORY),
    *(
        ({"data": bytearray(24), "offset": offset}, OFFSET)
        for offset in (-1, 2**70, "0", 1.5)
    ),
    *(
        ({key: value}, ENTRIES)
        for key, values in {
            "shape": [ABSENT, None],
            "typestr": [ABSENT, None, b"<f4", 5, "\udc80", "<f4\0"],
        }.items()
        for value in values
    ),
    *(
        ({"shape": shape}, SHAPE)
        for shape in (5, (1,) * 65, (2.0, 3), ("2", 3), (2**63, 1), (None,), (2, Index(2**64)))
    ),
    *(
        ({"strides": strides}, COUNT)
        for strides in (5, (12,), (12, 4, 4), (), (12.0, 4), (2**63, 4))
    ),
    ({"shape": (-2, -3)}, SHAPE),
    ({"shape": {2, 3}}, SHAPE),
    *(({"data": (address, False)}, DATA) for address in (None, 1.5, "0", 2**64, -(2**64))),
    ({"data": (ADDRESS, Undecided())}, DATA),
    *(
        ({"typestr": typestr}, TYPESTR.format(typestr) + (ORDER if typestr[:1] == ">" else CONVERT))
        for typestr in (
            ">f4", "<f", "f4", "", "<f5", "<f16", "|V4", "|O8", "<M8", "|S4", "<U4", "<f4x", "<f-4",
            "<c4", "<b4", "<g4", "<f04x",
        )
    ),
    ({"strides": (13, 4)}, STEPS),
    ({"strides": (12, 2)}, STEPS),
    (
        {"mask": [True]},
        "expected mask to be None, as DLPack carries no mask; got {}: layout differs. Fill the "
        "masked elements, and pass the result",
    ),
    (
        {"data": (0, False)},
        "tensor without data: expected memory; got null data for float32[2, 3] on cpu. Correct the "
        "description of the array",
    ),
    (
        {"shape": (2**62, 2)},
        "size overflows: expected a size in bits that fits 64 bits; got shape "
        "[4611686018427387904, 2]. Correct the description of the array",
    ),
]  # fmt: skip


@pytest.mark.parametrize("changed, text", BAD_INTERFACES)
def test_bad_interface(changed: dict[str, Any], text: str) -> None:
    x = Interface(**changed)
    with pytest.raises(BufferError) as raised:
        dlbridge.as_tensor(x)
    pattern = re.escape(text).replace(re.escape("{}"), ".*")
    assert type(raised.value) is BufferError
    assert re.fullmatch(pattern, str(raised.value)), str(raised.value)


@pytest.mark.parametrize("interface", [None, 5, [], "shape"])
def test_no_dict(interface: Any) -> None:
    x = Interface()
    x.__array_interface__ = interface
    with pytest.raises(BufferError) as raised:
        dlbridge.as_tensor(x)
    assert str(raised.value) == ENTRIES.format(f"{interface!r} of type {type(interface).__name__}")


@pytest.mark.parametrize("stream", ["text", 0, 2.5, -7, 2**70, True])
def test_a_bad_stream_of_a_cuda_interface_is_that_of_the_producer(stream: Any) -> None:
    interface = {"version": 3, "shape": (2,), "typestr": "<f4", "data": (4096, False)}
    x = SimpleNamespace(__cuda_array_interface__={**interface, "stream": stream})
    with pytest.raises(BufferError) as raised:
        dlbridge.as_tensor(x)
    assert str(raised.value) == MALFORMED.format("stream", "None, 1, 2 or a handle").replace(
        "{}", f"{stream!r} of type {type(stream).__name__}"
    )


# Which protocol is used.


class Both(bytearray):
    """A buffer that also has DLPack, on other memory."""

    def __init__(self, *rest: Any) -> None:
        super().__init__(*rest)
        self.target: Any = producers.Producer()

    def __dlpack_device__(self) -> Any:
        return self.target.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.target.__dlpack__(**keywords)


def test_dlpack_comes_first() -> None:
    x = Both(b"abcd")
    assert dlbridge.as_tensor(x).data_ptr == x.target.handle.address


@pytest.mark.parametrize("refusal", [BufferError, TypeError])  # TypeError: up to NumPy 1.23
def test_the_buffer_is_used_when_dlpack_refuses(refusal: type[Exception]) -> None:
    """NumPy below 2.1 exports read-only memory as a buffer but not by DLPack."""
    x = Both(b"abcd")
    x.target = producers.Raises(refusal("read-only"))
    assert dlbridge.as_tensor(x).data_ptr == address_of(x)
    x.target = producers.OldStyle()
    assert dlbridge.as_tensor(x, copy=False).data_ptr == address_of(x)


def test_the_first_refusal_is_raised_when_both_refuse() -> None:
    x: Any = Both(b"abcd")
    error = x.target.exception = BufferError("refused")
    x.target = producers.Raises(error)
    with pytest.raises(BufferError) as raised:
        dlbridge.as_tensor(x, device="vulkan:0")
    assert raised.value is not error  # there is a buffer, on another device
    x = producers.Raises(error)
    with pytest.raises(BufferError) as raised:
        dlbridge.as_tensor(x)
    assert raised.value is error


@pytest.mark.parametrize("exception", [RuntimeError("refused"), KeyboardInterrupt()])
def test_other_exceptions_are_raised(exception: BaseException) -> None:
    x = Both(b"abcd")
    x.target = producers.Raises(exception)
    with pytest.raises(type(exception)) as raised:
        dlbridge.as_tensor(x)
    assert raised.value is exception


def test_a_capsule() -> None:
    handle = foreign.tensor()
    assert dlbridge.as_tensor(handle.capsule()).data_ptr == handle.address


@pytest.mark.parametrize("keywords", [{}, {"device": "cpu"}, {"copy": False}])
def test_a_tensor(keywords: dict[str, Any]) -> None:
    p = producers.Producer(flags=1)
    t = dlbridge.as_tensor(dlbridge.from_dlpack(p), **keywords)
    assert (t.data_ptr, t.readonly) == (p.handle.address, True)
    assert not dlbridge.as_tensor(t, readonly=False).readonly
    assert t.readonly


class Either(ctypes.Union):
    _fields_ = (("number", ctypes.c_float), ("bits", ctypes.c_int32))


class Packed(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("number", ctypes.c_float), ("bits", ctypes.c_int32))


@pytest.mark.parametrize("class_", [Either, Packed])
def test_items_of_several_fields_are_no_numbers(class_: Any) -> None:
    """ctypes states the format of a byte for a union, and a packed structure up to Python 3.11."""
    with pytest.raises(BufferError, match="one native number per item"):
        dlbridge.as_tensor((class_ * 2)())
