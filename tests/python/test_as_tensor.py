"""as_tensor: whatever describes memory, by DLPack, as a buffer or as an array interface."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import struct
from typing import Any, Callable

import pytest

import dlbridge
import foreign
import producers


def consumed(t: dlbridge.Tensor) -> foreign.Consumed:
    """The tensor as the plain-C consumer reads it."""
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
    ("mmap for reading", mmap.mmap(-1, 64, prot=mmap.PROT_READ), (UINT, 8, 1), (64,), (1,), True),
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
    ("for reading", MATRIX.toreadonly(), (INT, 16, 1), (4, 6), (6, 1), True),
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
    taken = consumed(dlbridge.as_tensor(exporter))
    assert (taken.dtype, taken.device, taken.flags) == (dtype, (1, 0), int(readonly))
    assert (taken.shape or (), taken.strides or ()) == (shape, strides)
    assert taken.tobytes() == memoryview(exporter).tobytes()
    if taken.tobytes():
        assert taken.data == address_of(exporter)
    if not readonly and taken.tobytes():
        first = taken.tobytes()[:1]
        taken.write(b"\x55")
        assert memoryview(exporter).tobytes()[0] == 0x55
        taken.write(first)


@pytest.mark.parametrize("how", [{}, {"copy": False}, {"device": "cpu"}, {"copy": True}])
def test_buffer_copied_or_not(how: dict[str, Any]) -> None:
    memory = bytearray(b"abcdef")
    taken = consumed(dlbridge.as_tensor(memoryview(memory)[::-1], **how))
    assert taken.tobytes() == b"fedcba"
    assert (taken.data == address_of(memory) + 5) == ("copy" not in how or not how["copy"])
    assert taken.flags == 0


def test_buffer_stays_exported_as_long_as_the_memory_is_used() -> None:
    memory = bytearray(8)
    taken = consumed(dlbridge.as_tensor(memory))
    with pytest.raises(BufferError, match="Existing exports"):
        memory.append(1)
    taken.release("thread")
    memory.append(1)
    assert len(memory) == 9


def test_readonly_is_the_callers_word() -> None:
    marked = dlbridge.as_tensor(bytearray(4), readonly=True)
    assert consumed(marked).flags == 1
    with pytest.raises(BufferError):
        marked.__dlpack__()
    promised = dlbridge.as_tensor(b"abcd", readonly=False)
    assert foreign.consume(promised.__dlpack__()).tobytes() == b"abcd"


class BigEndian(ctypes.BigEndianStructure):
    _fields_ = (("x", ctypes.c_int16),)


class Pair(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int16), ("y", ctypes.c_int16))


def released() -> memoryview:
    memory = memoryview(b"abc")
    memory.release()
    return memory


NATIVE = "expected a buffer of one native number per item; got "
VIEW_IT = ": dtype differs. View it as a type that DLPack has"
FOREIGN_ORDER = ctypes.c_int32.__ctype_be__

BAD_BUFFERS: list[tuple[Any, type[Exception], str]] = [
    (memoryview(b"ab").cast("c"), BufferError, f"{NATIVE}'c'{VIEW_IT}"),
    (ctypes.create_string_buffer(4), BufferError, f"{NATIVE}'<c'{VIEW_IT}"),
    (ctypes.create_unicode_buffer(4), BufferError, f"{NATIVE}'<u'{VIEW_IT}"),
    ((FOREIGN_ORDER * 2)(), BufferError, f"{NATIVE}'>i'{VIEW_IT}"),
    ((ctypes.c_longdouble * 2)(), BufferError, f"{NATIVE}'<g'{VIEW_IT}"),
    ((ctypes.py_object * 2)(), BufferError, f"{NATIVE}'<O'{VIEW_IT}"),
    ((ctypes.c_char_p * 2)(), BufferError, f"{NATIVE}'<z'{VIEW_IT}"),
    ((Pair * 2)(), BufferError, f"{NATIVE}'T{{<h:x:<h:y:}}'{VIEW_IT}"),
    (BigEndian(), BufferError, f"{NATIVE}'T{{>h:x:}}'{VIEW_IT}"),
    (released(), ValueError, "operation forbidden on released memoryview object"),
]


@pytest.mark.parametrize(
    "exporter, error, text", BAD_BUFFERS, ids=[each[2] for each in BAD_BUFFERS]
)
def test_bad_buffer(exporter: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as refused:
        dlbridge.as_tensor(exporter)
    assert str(refused.value) == text


def test_buffer_to_another_device() -> None:
    memory = bytearray(4)
    with pytest.raises(BufferError, match=r"^expected cuda:0; got cpu: device differs\."):
        dlbridge.as_tensor(memory, device="cuda")
    memory.append(1)  # nothing holds it any more


# Array interfaces.

STORE = (ctypes.c_float * 24)(*range(24))
ADDRESS = ctypes.addressof(STORE)
ABSENT = object()


class Interface:
    """Describes the store, but for what is given; ABSENT leaves an entry out."""

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
    """An integer that is no int."""

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


@pytest.mark.parametrize("changed, seen", INTERFACES)
def test_interface(changed: dict[str, Any], seen: dict[str, Any]) -> None:
    taken = consumed(dlbridge.as_tensor(Interface(**changed)))
    assert {name: getattr(taken, name) for name in seen} == seen


def test_interface_keeps_the_object() -> None:
    x = Interface()
    x.gone = gone = producers.Producer()  # type: ignore[attr-defined]
    x.capsule = gone.give(True)  # type: ignore[attr-defined]
    taken = consumed(dlbridge.as_tensor(x))
    del x
    gc.collect()
    assert gone.calls == [0]
    taken.release("thread")
    assert gone.calls == [1]


class Changing(Index):
    """Changes what it is part of while it is read."""

    def __init__(self, value: int, change: Callable[[], object]) -> None:
        super().__init__(value)
        self.change = change

    def __index__(self) -> int:
        self.change()
        gc.collect()
        return self.value


@pytest.mark.parametrize("where", ["shape", "strides"])
def test_interface_may_change_while_it_is_read(where: str) -> None:
    """What was there when the reading began is what counts."""
    dims: dict[str, list[Any]] = {"shape": [2, 3], "strides": [4, 8]}
    x = Interface(data=(int(str(ADDRESS)), False), **dims)

    def change() -> None:
        x.__array_interface__.clear()
        del dims[where][:]

    dims[where][:] = [Changing(value, change) for value in dims[where]]
    taken = consumed(dlbridge.as_tensor(x))
    assert (taken.shape, taken.strides, taken.data) == ((2, 3), (1, 2), ADDRESS)
    assert x.__array_interface__ == {}


MALFORMED = (
    "malformed tensor: expected {}; got another array interface. The producer is broken; it "
    "should follow version 3 of the interface"
)
ENTRIES = MALFORMED.format("a dict with shape, typestr, and data as (address, read-only)")
COUNT = MALFORMED.format("up to 64 integers in shape, and as many in strides")
DATA = MALFORMED.format("data as (address, read-only)")
TYPESTR = "expected a typestr of one native number; got '{}'" + VIEW_IT
STEPS = (
    "expected strides that are multiples of the item size of 4 bytes; got others: layout "
    "differs. Copy it to a compact array first"
)


class Undecided:
    def __bool__(self) -> bool:
        raise ValueError("neither")


BAD_INTERFACES: list[tuple[dict[str, Any], str]] = [
    *(
        ({key: value}, ENTRIES)
        for key, values in {
            "shape": [ABSENT, None],
            "typestr": [ABSENT, None, b"<f4", 5, "\udc80"],
            "data": [ABSENT, None, bytearray(24), ADDRESS, (ADDRESS,), [ADDRESS, False]],
        }.items()
        for value in values
    ),
    *(
        ({"shape": shape}, COUNT)
        for shape in (5, (1,) * 65, (2.0, 3), ("2", 3), (2**63, 1), (None,), (2, Index(2**64)))
    ),
    *(
        ({"strides": strides}, COUNT)
        for strides in (5, (12,), (12, 4, 4), (), (12.0, 4), (2**63, 4))
    ),
    ({"shape": (-2, -3)}, MALFORMED.format("extents of 0 and above")),
    *(({"data": (address, False)}, DATA) for address in (None, 1.5, "0", 2**64, -(2**64))),
    ({"data": (ADDRESS, Undecided())}, DATA),
    *(
        ({"typestr": typestr}, TYPESTR.format(typestr))
        for typestr in (
            ">f4", "<f", "f4", "", "<f5", "<f16", "|V4", "|O8", "<M8", "|S4", "<U4", "<f4x", "<f-4",
            "<c4", "<b4", "<g4", "<f04x",
        )
    ),
    ({"strides": (13, 4)}, STEPS),
    ({"strides": (12, 2)}, STEPS),
    ({"mask": object()}, MALFORMED.format("an array without a mask, which DLPack cannot carry")),
    (
        {"data": (0, False)},
        "tensor without data: expected memory; got null data for float32[2, 3] on cpu. Correct the "
        "description of the array",
    ),
    (
        {"shape": (2**62, 2)},
        "size overflows: expected a size that fits 64 bits; got shape [4611686018427387904, 2]. "
        "Correct the description of the array",
    ),
]  # fmt: skip


@pytest.mark.parametrize("changed, text", BAD_INTERFACES)
def test_bad_interface(changed: dict[str, Any], text: str) -> None:
    x = Interface(**changed)
    with pytest.raises(BufferError) as refused:
        dlbridge.as_tensor(x)
    assert (type(refused.value), str(refused.value)) == (BufferError, text)


@pytest.mark.parametrize("interface", [None, 5, [], "shape"])
def test_no_dict(interface: Any) -> None:
    x = Interface()
    x.__array_interface__ = interface
    with pytest.raises(BufferError) as refused:
        dlbridge.as_tensor(x)
    assert str(refused.value) == ENTRIES


# Which road is taken.


class Both(bytearray):
    """Speaks DLPack too, for other memory than its own."""

    def __init__(self, *rest: Any) -> None:
        super().__init__(*rest)
        self.behind: Any = producers.Producer()

    def __dlpack_device__(self) -> Any:
        return self.behind.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.behind.__dlpack__(**keywords)


def test_dlpack_comes_first() -> None:
    x = Both(b"abcd")
    assert dlbridge.as_tensor(x).data_ptr == x.behind.handle.address


@pytest.mark.parametrize("refusal", [BufferError, TypeError])  # TypeError: up to NumPy 1.23
def test_a_buffer_serves_when_dlpack_refuses(refusal: type[Exception]) -> None:
    """NumPy below 2.1 has no mark for read-only memory, and refuses it; its buffers have one."""
    x = Both(b"abcd")
    x.behind = producers.Raises(refusal("read-only"))
    assert dlbridge.as_tensor(x).data_ptr == address_of(x)
    x.behind = producers.OldStyle()
    assert dlbridge.as_tensor(x, copy=False).data_ptr == address_of(x)


def test_the_first_refusal_counts_when_both_refuse() -> None:
    x: Any = Both(b"abcd")
    mine = x.behind.exception = BufferError("mine")
    x.behind = producers.Raises(mine)
    with pytest.raises(BufferError) as refused:
        dlbridge.as_tensor(x, device="cuda:0")
    assert refused.value is not mine  # a buffer there was, on the wrong device
    x = producers.Raises(mine)
    with pytest.raises(BufferError) as refused:
        dlbridge.as_tensor(x)
    assert refused.value is mine


@pytest.mark.parametrize("exception", [RuntimeError("mine"), KeyboardInterrupt()])
def test_other_refusals_are_final(exception: BaseException) -> None:
    x = Both(b"abcd")
    x.behind = producers.Raises(exception)
    with pytest.raises(type(exception)) as raised:
        dlbridge.as_tensor(x)
    assert raised.value is exception


def test_a_capsule_is_a_tensor_too() -> None:
    handle = foreign.tensor()
    assert dlbridge.as_tensor(handle.capsule()).data_ptr == handle.address


@pytest.mark.parametrize("how", [{}, {"device": "cpu"}, {"copy": False}])
def test_a_tensor_is_as_good_as_it_is(how: dict[str, Any]) -> None:
    p = producers.Producer(flags=1)
    t = dlbridge.as_tensor(dlbridge.from_dlpack(p), **how)
    assert (t.data_ptr, t.readonly) == (p.handle.address, True)
    assert not dlbridge.as_tensor(t, readonly=False).readonly
    assert t.readonly
