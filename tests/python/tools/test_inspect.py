# SPDX-License-Identifier: BSD-3-Clause
"""dlbridge.inspect: all protocols, nothing consumed, no input trusted, and its command."""

from __future__ import annotations

import array
import ctypes
import gc
import json
import re
import struct
import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dlbridge
import foreign
from dlbridge.tools import abi, children
from dlbridge.tools.inspection import command
from dlbridge.tools.inspection.inspection import Inspection, inspect
from dlbridge.tools.inspection.reading.layout import Layout
from dlbridge.tools.inspection.rendering import picture
from producers import (
    AlwaysLegacy,
    Bare,
    Copier,
    KwEcho,
    NoDevice,
    OldStyle,
    OnInstance,
    Producer,
    Raises,
    Returns,
    VersionLiar,
)
from rows import is_from


def oddities(inspection: Inspection, level: str = "") -> str:
    return "\n".join(o.what for o in inspection.oddities if not level or o.level == level)


def verdict(inspection: Inspection, consumer: str) -> tuple[str, str]:
    (row,) = (v for v in inspection.verdicts if v.consumer == consumer)
    return row.outcome, row.text


def read_all(inspection: Inspection) -> dict[str, Any]:
    """Renders the inspection in every form; JSON restores an equal one."""
    for width in (60, 80, 120):
        text = inspection.text(width)
        assert [line for line in text.splitlines() if len(line) > width] == []
    assert "<svg" in inspection.svg
    html = inspection._repr_html_()
    assert html.startswith("<div") and html.count("<table") == html.count("</table>")
    assert repr(inspection).startswith("<dlbridge.Inspection of ")
    values: dict[str, Any] = json.loads(json.dumps(inspection.to_dict()))
    restored = Inspection.from_dict(values)
    assert restored == inspection
    assert restored.to_dict() == inspection.to_dict()
    assert restored.text() == inspection.text()
    return values


# Responses -------------------------------------------------------------------------------------


def test_reports_the_fields_of_the_producer() -> None:
    producer = Producer(
        shape=(2, 3), strides=(1, 2), byte_offset=8, dtype=(2, 32, 1), version=(1, 7), flags=1 << 40
    )
    inspection = dlbridge.inspect(producer)
    assert [each.name for each in inspection.responses if each.outcome == "gave"] == [
        "device", "bare", "1.0", "1.3", "copy", "1.0 copy",
    ]  # fmt: skip
    versioned = inspection.description("1.0")
    assert versioned is not None
    assert (versioned.shape, versioned.strides, versioned.ndim) == ((2, 3), (1, 2), 2)
    assert versioned.stride_bytes == (4, 8)
    assert (versioned.dtype, versioned.dtype_text) == ((2, 32, 1), "float32")
    assert (versioned.device, versioned.device_text) == ((1, 0), "cpu")
    assert (versioned.version, versioned.flags) == ((1, 7), 1 << 40)
    assert versioned.byte_offset == 8 and versioned.first == versioned.data + 8
    assert versioned.read_only is False and versioned.deleter_is_null is False
    assert versioned.sample == ("2", "4", "6", "3", "5", "7")
    assert versioned.sample_at_data == ("0", "2", "4", "1", "3", "5")
    assert versioned.memory == (versioned.first, versioned.first + 24)
    assert versioned.alignment == versioned.first & -versioned.first
    legacy = inspection.description("bare")
    assert legacy is not None and legacy.data in {handle.address for handle in producer.handles}
    assert (legacy.version, legacy.flags, legacy.read_only) == (None, None, None)
    read_all(inspection)


def test_copy_has_three_values() -> None:
    with pytest.raises(ValueError, match="expected copy to be True, False or None; got 5"):
        dlbridge.inspect(b"", copy=5)  # type: ignore[arg-type]


class Sound(Producer):
    """Shares its memory unless a copy is requested, which it marks."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.original = foreign.tensor(**fields)

    def export(self, versioned: bool, **fields: Any) -> object:
        if self.requests[-1].get("copy"):
            return super().export(versioned, flags=abi.IS_COPIED)
        return super().export(versioned, data=self.original.address)


class SoundEcho(Sound):
    """Accepts any keyword, and reports any device."""

    def __init__(self, reported: Any = (1, 0)) -> None:
        super().__init__()
        self.reported = reported

    def __dlpack_device__(self) -> Any:
        return self.reported


def test_frees_every_capsule_once() -> None:
    producer = Sound(shape=(3, 2), strides=(2, 1))
    before = foreign.accounts()
    inspection = dlbridge.inspect(producer)
    gc.collect()
    assert producer.exports == producer.calls == [1] * len(producer.handles)
    assert len(producer.handles) > 5
    exports, freed = foreign.accounts()
    assert exports - before[0] == freed - before[1] == len(producer.handles)
    assert inspection.sound
    assert all(call.gil and not call.pending for h in producer.handles for call in h.log)


def test_leaves_a_producer_as_it_was() -> None:
    producer = Ignores()
    before = producer.original.snapshot()
    dlbridge.inspect(producer)
    assert producer.original.snapshot() == before
    requests = {tuple(sorted(keywords)) for keywords in producer.requests}
    assert requests == {
        (), ("max_version",), ("copy",), ("copy", "max_version"), ("dl_device", "max_version"),
    }  # fmt: skip


@pytest.mark.parametrize("versioned", [False, True])
def test_a_capsule_is_left_unconsumed(versioned: bool) -> None:
    handle = foreign.tensor()
    capsule = handle.capsule(versioned)
    inspection = dlbridge.inspect(capsule)
    assert [each.name for each in inspection.responses] == ["capsule"]
    assert inspection.tensor is not None and inspection.tensor.data == handle.address
    assert inspection.tensor.capsule == ("dltensor_versioned" if versioned else "dltensor")
    assert verdict(inspection, "tensorflow")[0] == ("refuses" if versioned else "shares")
    assert verdict(inspection, "numpy")[0] == "refuses"
    assert handle.calls == 0
    read_all(inspection)
    assert dlbridge.from_dlpack(capsule).data_ptr == handle.address
    after_use = dlbridge.inspect(capsule)
    assert not after_use.sound and "capsule is used" in oddities(after_use, "defect")
    gc.collect()
    assert handle.calls == 1


def test_exchange_table() -> None:
    table = foreign.exchange_table()

    class Fast(foreign.Exported):
        __dlpack_c_exchange_api__ = foreign.exchange_capsule(table)

    handle = foreign.tensor(shape=(4,), strides=(2,), byte_offset=4)
    before = foreign.accounts()
    inspection = dlbridge.inspect(Fast(handle))
    for name in ("give", "lend"):
        description = inspection.description(name)
        assert description is not None
        assert (description.data, description.byte_offset) == (handle.address, 4)
        assert (description.shape, description.strides) == ((4,), (2,))
    after = foreign.accounts()
    assert after[0] - before[0] == after[1] - before[1] == 1
    bare = inspection.response("bare")
    assert bare is not None and bare.outcome == "absent"
    assert verdict(inspection, "tvm_ffi")[0] == "shares"
    assert verdict(inspection, "torch")[0] == "refuses"
    read_all(inspection)


@pytest.mark.parametrize("missing", ["give", "lend"])
def test_exchange_table_with_gaps_and_failures(missing: Any) -> None:
    class Gappy(foreign.Exported):
        __dlpack_c_exchange_api__ = foreign.exchange_capsule(
            foreign.exchange_table(missing=[missing])
        )

    class Failing(foreign.Exported):
        __dlpack_c_exchange_api__ = foreign.exchange_capsule(
            foreign.exchange_table(failing=[missing])
        )

    response = dlbridge.inspect(Gappy(foreign.tensor())).response(missing)
    assert response is not None and response.outcome == "absent" and "has no" in response.said
    before = foreign.accounts()
    response = dlbridge.inspect(Failing(foreign.tensor())).response(missing)
    assert response is not None and response.outcome == "raised"
    after = foreign.accounts()
    assert after[0] - before[0] == after[1] - before[1]


def test_buffers() -> None:
    numbers = array.array("d", [1, 2, 3])
    inspection = dlbridge.inspect(memoryview(numbers)[::-2])
    assert inspection.tensor is not None
    assert inspection.tensor.first == numbers.buffer_info()[0] + 16
    assert (inspection.tensor.shape, inspection.tensor.strides) == ((2,), (-2,))
    assert inspection.tensor.byte_strides == (-16,)
    assert inspection.tensor.sample == ("3", "1")
    assert (inspection.tensor.dtype, inspection.tensor.read_only) == ((2, 64, 1), False)
    assert verdict(inspection, "numpy")[0] == "refuses"
    assert dlbridge.inspect(b"abc").tensor.read_only  # type: ignore[union-attr]
    numbers.append(4)  # which an exported buffer would forbid
    read_all(inspection)


class Interface:
    def __init__(self, **words: Any) -> None:
        self.words = words

    @property
    def __array_interface__(self) -> Any:
        return self.words


@pytest.mark.parametrize(
    ("typestr", "strides", "dtype", "elements"),
    [
        ("<f4", None, (2, 32, 1), None),
        ("<f4", (12, 4), (2, 32, 1), (3, 1)),
        ("<f4", (13, 4), (2, 32, 1), None),
        (">f4", (12, 4), None, (3, 1)),
        ("|b1", (3, 1), (6, 8, 1), (3, 1)),
        ("|V8", (24, 8), None, (3, 1)),
    ],
)
def test_array_interface(typestr: str, strides: Any, dtype: Any, elements: Any) -> None:
    data = abi.memory(bytes(64))
    inspection = dlbridge.inspect(
        Interface(shape=(2, 3), typestr=typestr, data=(data, True), strides=strides)
    )
    assert inspection.tensor is not None
    assert (inspection.tensor.data, inspection.tensor.read_only) == (data, True)
    assert (inspection.tensor.dtype, inspection.tensor.strides) == (dtype, elements)
    assert inspection.tensor.byte_strides == strides
    read_all(inspection)


@pytest.mark.parametrize(
    ("typestr", "size"),
    [(">i4", 4), ("|V8", 8), ("<U5", 20), ("|S3", 3), ("<m8[ns]", 8), ("|O8", 8), ("|t3", 0)],
)
@pytest.mark.parametrize("has_strides", [False, True])
def test_elements_without_a_dtype_have_the_size_that_the_interface_states(
    typestr: str, size: int, has_strides: bool
) -> None:
    step = size or 1
    data, strides = abi.memory(bytes(160)), (3 * step, step) if has_strides else None
    inspection = dlbridge.inspect(
        Interface(shape=(2, 3), typestr=typestr, data=(data, True), strides=strides)
    )
    tensor, text = inspection.tensor, inspection.text(80)
    assert tensor is not None and tensor.dtype is None
    assert tensor.item_bytes == tensor.element_bytes == size
    if not size and not has_strides:
        assert tensor.stride_bytes is None and tensor.memory is None
        assert "2, 3: 6 elements\n" in text and "Strides in elements: +3" in text
        assert "Left: elements from the first one" in text
    if size:
        assert tensor.stride_bytes == (3 * size, size)
        assert tensor.memory == (data, data + 6 * size) and tensor.readable
        assert f"format {typestr!r}, {size} bytes each\n" in text
        assert f"2, 3: 6 elements, {6 * size} bytes\n" in text
        assert f"Strides in bytes: +{3 * size} in dimension 0, +{size} in dimension 1." in text
    assert " 0 bytes" not in text
    read_all(inspection)


def test_elements_without_a_dtype_have_the_size_that_the_buffer_states() -> None:
    class Pair(ctypes.BigEndianStructure):
        _fields_ = (("a", ctypes.c_int16), ("b", ctypes.c_int32))

    inspection = dlbridge.inspect((Pair * 3)())
    assert inspection.tensor is not None and inspection.tensor.dtype is None
    assert inspection.tensor.element_bytes == ctypes.sizeof(Pair)
    assert f"3: 3 elements, {3 * ctypes.sizeof(Pair)} bytes\n" in inspection.text(80)
    read_all(inspection)


def test_one_byte_and_one_element_are_singular() -> None:
    at = abi.memory(bytes(16))
    one = Interface(shape=(1,), typestr="|u1", data=(at + 1, True), strides=(1,))
    text = dlbridge.inspect(one).text(80)
    assert "strides         1 element; 1 byte\n" in text
    assert "is aligned to 1 byte;" in text
    text = dlbridge.inspect(Producer(shape=(2,), strides=(1,), byte_offset=1)).text(80)
    assert "is 1 byte after the data pointer" in text
    assert "1 bytes" not in text and "1 elements" not in text


# Invalid tensors -------------------------------------------------------------------------------

NOWHERE = 0x7000_0000_0008
BIG = 1 << 61

HOSTILE: dict[str, dict[str, Any]] = {
    "ndim -1": {"ndim": -1},
    "ndim least": {"ndim": -(1 << 31)},
    "ndim 10^6": {"ndim": 10**6},
    "ndim 65": {"ndim": 65},
    "shape NULL": {"shape": None, "ndim": 2},
    "shape nowhere": {"shape": NOWHERE, "ndim": 2},
    "strides nowhere": {"strides": NOWHERE},
    "data NULL": {"data": 0},
    "data nowhere": {"data": NOWHERE},
    "data at the end": {"data": (1 << 64) - 8},
    "offset at the end": {"byte_offset": (1 << 64) - 8},
    "extent negative": {"shape": (-2, 3)},
    "too many bytes": {"shape": (BIG, 4), "strides": (4, 1)},
    "too many elements": {"shape": (BIG, BIG), "strides": (BIG, 1)},
    "strides beyond": {"strides": (BIG, BIG)},
    "strides below": {"strides": (-BIG, -BIG)},
    "bits 0": {"dtype": (2, 0, 1)},
    "lanes 0": {"dtype": (2, 32, 0)},
    "lanes most": {"dtype": (2, 255, 65535)},
    "code 200": {"dtype": (200, 32, 1)},
    "device 0": {"device": (0, 0)},
    "device 99": {"device": (99, -7)},
    "device least": {"device": (-(1 << 31), 5)},
    "all flags": {"flags": (1 << 64) - 1},
    "deleter NULL": {"deleter": False},
    "major 7": {"version": (7, 0), "ndim": -5, "shape": NOWHERE},
    "major 0": {"version": (0, 9)},
    "minor most": {"version": (1, 4294967295)},
}
LEGAL = {"deleter NULL", "minor most", "all flags", "lanes most", "ndim 65", "ndim 10^6"}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_tensors(case: str) -> None:
    producer = Producer(**HOSTILE[case])
    inspection = dlbridge.inspect(producer)
    gc.collect()
    freed = 0 if case == "deleter NULL" else 1
    assert producer.calls == [freed] * len(producer.handles)
    read_all(inspection)
    if case not in LEGAL:
        assert not inspection.sound, oddities(inspection)
    assert not inspection.oddities[0].what.endswith("..")
    raw = dlbridge.inspect(producer.export("version" in HOSTILE[case]))
    assert raw.responses[0].name == "capsule"
    read_all(raw)


def test_another_major_version_is_not_read() -> None:
    producer = Producer(version=(7, 0), ndim=-5)
    response = dlbridge.inspect(producer).response("1.0")
    assert response is not None
    assert (response.outcome, response.version, response.description) == (
        "unreadable",
        (7, 0),
        None,
    )
    # NumPy before 2.1 requests no version, and reads the struct as one of DLPack 0.
    error = "BufferError: version 7.0" if is_from("numpy", "2.1.0") else "ValueError: ndim is -5"
    assert verdict(dlbridge.inspect(producer), "numpy") == ("refuses", error)
    for consumer in ("torch", "jax"):
        assert verdict(dlbridge.inspect(producer), consumer)[0] == "refuses"


@pytest.mark.parametrize("name", [None, b"", b"tensor", b"used_dltensor", b"\xff\xfe", b"x" * 999])
def test_capsules_of_other_names(name: bytes | None) -> None:
    handle = foreign.tensor()
    inspection = dlbridge.inspect(handle.capsule(name=name))
    assert not inspection.sound
    read_all(inspection)

    class Wrong(KwEcho):
        def __dlpack__(self, **keywords: Any) -> object:
            return handle.capsule(name=name)

    inspection = dlbridge.inspect(Wrong())
    assert not inspection.sound
    assert verdict(inspection, "numpy")[0] in ("refuses", "unknown")
    read_all(inspection)


def test_capsules_that_lead_nowhere_are_not_dropped() -> None:
    """Neither their tensor nor their deleter nor their destructor is valid."""
    at = ctypes.pythonapi.PyCapsule_New
    at.restype, at.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    block = ctypes.create_string_buffer(struct.pack("<10Q", *[NOWHERE] * 10))
    good = abi.destructor_of(foreign.tensor().capsule())
    for pointer in (NOWHERE, ctypes.addressof(block)):
        for destructor in (None, NOWHERE, good):
            capsule = at(pointer, b"dltensor", destructor)
            inspection = dlbridge.inspect(Returns(capsule))
            read_all(inspection)
            if destructor is not None:
                abi.rename(capsule, "spent")  # the test does not drop them either
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(capsule))


ANSWERS: list[Any] = [None, 5, "capsule", (1, 0), object(), [], {}, b"dltensor", NotImplemented]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda x: type(x).__name__)
def test_answers_that_are_no_capsules(answer: Any) -> None:
    inspection = dlbridge.inspect(Returns(answer))
    assert not inspection.sound and "expected a capsule" in oddities(inspection, "defect")
    read_all(inspection)


class Nonsense(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text either")


RAISED: list[BaseException] = [
    ValueError("two\nlines"),
    BufferError(),
    TypeError("what?"),
    MemoryError("none"),
    RecursionError("deep"),
    SystemExit(3),
    GeneratorExit(),
    Nonsense(),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda x: type(x).__name__)
def test_exceptions_are_reported(error: BaseException) -> None:
    inspection = dlbridge.inspect(Raises(error))
    response = inspection.response("bare")
    assert response is not None
    assert (response.outcome, response.raised) == ("raised", type(error).__name__)
    assert not inspection.sound and inspection.tensor is None
    read_all(inspection)


def test_control_c_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        dlbridge.inspect(Raises(KeyboardInterrupt()))


DEVICES: list[Any] = [
    None, 1, "cpu", (), (1,), (1, 0, 0), ("1", "0"), (1, None), [1, 0], (99, 0), (-1, -1),
    (2, 0), (10**30, 10**30), {1: 0}, ValueError("no device"), TypeError(), SystemExit(1),
]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_devices_that_are_none(device: Any) -> None:
    inspection = dlbridge.inspect(SoundEcho(device))
    assert not inspection.sound
    read_all(inspection)


TABLES: list[Any] = [
    0, 1, NOWHERE, -1, 1 << 70, None, "table", 1.5, object(), lambda: None, True, [],
]  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=lambda x: str(x)[:20])
def test_exchange_tables_that_lead_nowhere(table: Any) -> None:
    class Fast(Sound):
        __dlpack_c_exchange_api__ = table

    inspection = dlbridge.inspect(Fast())
    response = inspection.response("give")
    assert response is not None
    assert response.outcome == ("absent" if table is None else "unreadable")
    assert inspection.sound == (table is None)
    read_all(inspection)


def test_exchange_tables_of_no_code() -> None:
    words = ctypes.create_string_buffer(struct.pack("<2I6Q", 1, 3, 0, *[NOWHERE] * 5))
    data = ctypes.addressof(words)
    aimed = ctypes.create_string_buffer(struct.pack("<2I6Q", 1, 3, 0, *[data] * 5))
    old = ctypes.create_string_buffer(struct.pack("<2I6Q", 2, 0, 0, *[data] * 5))
    for table in (words, aimed, old):

        class Fast(Producer):
            __dlpack_c_exchange_api__ = ctypes.addressof(table)

        inspection = dlbridge.inspect(Fast())
        assert {inspection.response(n).outcome for n in ("give", "lend")} == {"unreadable"}  # type: ignore[union-attr]
        read_all(inspection)


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"shape": 3},
        {"shape": (2,), "typestr": 4},
        {"shape": (2,), "typestr": "", "data": (0, False)},
        {"shape": (2,), "typestr": "<f4", "data": None},
        {"shape": (2,), "typestr": "<f4", "data": (NOWHERE, False)},
        {"shape": (2,), "typestr": "<f4", "data": (-8, False)},
        {"shape": (2,), "typestr": "<f4", "data": (1 << 80, False)},
        {"shape": (-2,), "typestr": "<f4", "data": (8, False)},
        {"shape": (1 << 90,) * 70, "typestr": "<f999999", "data": (8, False)},
        {"shape": (2,), "typestr": "<f4", "data": (8, 1), "strides": (1, 2, 3)},
        {"shape": ("2",), "typestr": "<f4", "data": (8, 1)},
    ],
    ids=str,
)
def test_array_interfaces_that_are_none(words: Any) -> None:
    inspection = dlbridge.inspect(Interface(**words))
    assert not inspection.sound
    read_all(inspection)


class Thorny:
    """Every attribute raises, also that of its class."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise OSError(f"no access to {name}")


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        if name.startswith("__dlpack") or name in ("__module__", "__qualname__"):
            raise OSError(f"no access to {name}")
        return super().__getattribute__(name)


class Worse(metaclass=Meta):
    pass


@pytest.mark.parametrize(
    "x", [None, 5, "text", [1, 2], {}, object(), int, len, json, Thorny(), Worse(), Worse, ...],
    ids=lambda x: type.__getattribute__(type(x), "__name__"),
)  # fmt: skip
def test_what_is_no_tensor_at_all(x: Any) -> None:
    inspection = dlbridge.inspect(x)
    assert inspection.tensor is None and not inspection.sound
    assert {v.outcome for v in inspection.verdicts} <= {"refuses", "unknown"}
    read_all(inspection)


@pytest.mark.parametrize("type_", [2, 4, 7, 8, 10, 13, 14, 15, 16, 17, 21])
def test_device_memory_is_never_read(type_: int) -> None:
    inspection = dlbridge.inspect(Producer(device=(type_, 0), data=foreign.trap(), byte_offset=8))
    assert inspection.tensor is not None
    assert inspection.tensor.readable is None and inspection.tensor.sample == ()
    assert "Memory" in inspection.text()
    read_all(inspection)


# Oddities --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("producer", "level", "text", "consumer", "outcome"),
    [
        (Producer(byte_offset=16), "risk", "16 bytes after", "onnxruntime", "wrong"),
        (Producer(byte_offset=16), "risk", "16 bytes after", "tensorflow", "refuses"),
        (Producer(strides=(-3, 1)), "risk", "negative", "torch", "crashes"),
        (Producer(strides=(0, 1)), "risk", "share one address", "jax", "refuses"),
        (Producer(strides=(6, 2)), "risk", "gaps", "mpi4py", "refuses"),
        (Producer(strides=(1, 1)), "risk", "overlap", "jax", "refuses"),
        (Producer(strides=(1, 2)), "note", "column-major", "tensorflow", "refuses"),
        (Producer(strides=None), "note", "NULL", "numpy", "shares"),
        (Producer(strides=None, version=(1, 2)), "defect", "forbidden", "numpy", "shares"),
        (Producer(deleter=False), "risk", "deleter is NULL", "jax", "breaks"),
        (Producer(device=(1, 3)), "risk", "cpu:3; dlpack.h sets the index", "jax", "refuses"),
        (Producer(flags=1), "note", "read-only", "torch", "shares"),
        (Producer(dtype=(2, 32, 2)), "risk", "2 lanes", "tensorflow", "wrong"),
        (Producer(dtype=(0, 4, 1)), "risk", "elements share bytes", "numpy", "refuses"),
        (Producer(dtype=(0, 4, 1), flags=4), "risk", "a byte of its own", "numpy", "refuses"),
        (Producer(shape=(), strides=()), "note", "no dimensions", "warp", "refuses"),
        (Producer(shape=(0, 3)), "note", "no elements", "mlx", "copies"),
        (Producer(shape=(1, 3), strides=(-9, 1)), "risk", "extent 1", "mlx", "refuses"),
        (AlwaysLegacy(), "risk", "legacy capsule also", "pyarrow", "refuses"),
        (AlwaysLegacy(), "risk", "legacy capsule also", "mpi4py", "refuses"),
        (OldStyle(), "risk", "does not accept max_version", "pyarrow", "refuses"),
        (OldStyle(), "risk", "does not accept max_version", "numpy", "shares"),
        (Bare(), "risk", "does not accept max_version", "jax", "refuses"),
        (VersionLiar(), "defect", "Without max_version", "onnxruntime", "refuses"),
        (NoDevice(), "defect", "no __dlpack_device__", "torch", "refuses"),
        (OnInstance(), "risk", "Only the instance", "numpy", "shares"),
        (KwEcho(), "note", "unknown keywords", "numpy", "shares"),
        (Copier(True), "defect", "own memory", "numpy", "shares"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_oddities_and_the_consumers_that_they_affect(
    producer: Any, level: str, text: str, consumer: str, outcome: str
) -> None:
    inspection = dlbridge.inspect(producer)
    if isinstance(producer, Copier):
        producer.marks = False
        inspection = dlbridge.inspect(Ignores())
    assert text in oddities(inspection, level), inspection
    assert verdict(inspection, consumer)[0] == outcome, inspection
    read_all(inspection)


class Ignores(Producer):
    """Exports the same memory for copy=True."""

    def __init__(self) -> None:
        super().__init__()
        self.original = foreign.tensor()

    def export(self, versioned: bool, **fields: Any) -> object:
        return self.original.capsule(versioned)


class Marked(Ignores):
    """Marks its versioned capsules as read-only."""

    def __init__(self) -> None:
        super().__init__()
        self.original = foreign.tensor(flags=1)


def test_pinned_memory_in_a_capsule_of_the_cpu_is_sound() -> None:
    pinned = dlbridge.inspect(SoundEcho((3, 0)))
    assert "is (3, 0); the capsule has (1, 0)" in oddities(pinned, "risk") and pinned.sound


def test_read_only_by_one_protocol_only() -> None:
    class Both(Ignores):
        elsewhere = 0

        @property
        def __array_interface__(self) -> Any:
            data = (self.elsewhere or self.original.address, True)
            return {"shape": (2, 3), "typestr": "<f4", "data": data, "version": 3}

    inspection = dlbridge.inspect(Both())
    assert "read-only by its __array_interface__" in oddities(inspection, "defect")
    assert [each.facet for each in inspection.differences if each.protocol == "array"] == [
        "read-only"
    ]
    Both.elsewhere = abi.memory(bytes(24))
    inspection = dlbridge.inspect(Both())
    assert "read-only by its" not in oddities(inspection)
    assert "different addresses" in oddities(inspection, "risk")
    facets = {each.facet for each in inspection.differences if each.protocol == "array"}
    assert facets == {"address", "read-only"}


def test_legacy_of_read_only_memory() -> None:
    inspection = dlbridge.inspect(Marked())
    assert "It is read-only memory in a legacy capsule" in oddities(inspection, "risk")
    assert "legacy capsule" not in oddities(dlbridge.inspect(dlbridge.as_tensor(b"abc"))).replace(
        "exports no legacy capsule", ""
    )


def test_big_memory_is_copied_only_on_request() -> None:
    producer = Producer(shape=(5 << 20,), strides=(0,))
    assert dlbridge.inspect(producer).response("copy").outcome == "skipped"  # type: ignore[union-attr]
    assert not any(keywords.get("copy") for keywords in producer.requests)
    assert dlbridge.inspect(producer, copy=True).response("copy").outcome == "gave"  # type: ignore[union-attr]
    small = Producer()
    assert dlbridge.inspect(small, copy=False).response("copy").outcome == "skipped"  # type: ignore[union-attr]


# The picture -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "strides", "position", "indices"),
    [
        ((2, 3), (3, 1), 4, [(1, 1)]),
        ((2, 3), (-3, 1), -2, [(1, 1)]),
        ((2, 3), (1, 1), 2, [(0, 2), (1, 1)]),
        ((2, 3), (6, 2), 3, []),
        ((), (), 0, [()]),
        ((4, 2), (0, 1), 1, [(0, 1)]),
        ((3,), (1 << 62,), 1 << 63, [(2,)]),
        ((1000, 1000, 1000), (6, 4, 2), 3, []),
    ],
)
def test_the_indices_at_a_position(shape: Any, strides: Any, position: int, indices: Any) -> None:
    assert sorted(Layout(shape, strides).at(position)) == indices


@pytest.mark.parametrize(
    ("shape", "strides", "order", "shares"),
    [
        ((2, 3), (3, 1), "row-major", False),
        ((2, 3), (1, 2), "column-major", False),
        ((6,), (1,), "row-major and column-major", False),
        ((1, 3), (99, 1), "row-major and column-major", False),
        ((2, 3, 4), (1, 8, 2), "permuted", False),
        ((2, 3), (-3, 1), "backwards in dimension 0", False),
        ((2, 3), (-3, -1), "backwards in dimensions 0, 1", False),
        ((2, 3), (0, 1), "broadcast over dimension 0", True),
        ((2, 3), (6, 2), "with gaps", False),
        ((2, 3), (1, 1), "overlapping", True),
        ((2, 2), (2, 3), "with gaps", False),
        ((3, 3), (1, 2), "overlapping", True),
        ((0, 3), (9, 9), "empty", False),
        ((), (), "one element", False),
    ],
)
def test_orders(shape: Any, strides: Any, order: str, shares: bool) -> None:
    layout = Layout(shape, strides)
    assert (layout.order, layout.shares) == (order, shares)


def memory_lines(producer: Any) -> list[str]:
    """The grid of the picture, without the arrows, which test_show.py tests."""
    lines = dlbridge.inspect(producer).text(80).splitlines()
    begin = lines.index("Memory") + 1
    rows = lines[begin : next(i for i, s in enumerate(lines) if s.startswith("  Left:"))]
    words = (" ".join(line.split()) for line in rows if not line.lstrip().startswith("dim "))
    return [re.sub("(?: ?[|v^])+$", "", line) for line in words]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({}, ["0 [0,0] 0,1 0,2", "+12 1,0 1,1 1,2"]),
        ({"strides": (4, 1)}, ["0 [0,0] 0,1 0,2 .", "+16 1,0 1,1 1,2"]),
        ({"shape": (3,), "strides": (-1,)}, ["-8 2 1 [0]"]),
        ({"shape": (3, 2), "strides": (0, 1)}, ["0 [:,0] :,1"]),
        ({"shape": (2,), "strides": (1,), "byte_offset": 8}, ["0 data . [0] 1"]),
        ({"shape": (), "strides": ()}, ["0 [()]"]),
        ({"shape": (2, 2), "strides": (1, 1)}, ["0 [0,0] 0,1+ 1,1"]),
        (
            {"shape": (2, 2, 3), "strides": (6, 3, 1)},
            ["0 [0,0,0] 0,0,1 0,0,2", "+12 0,1,0 0,1,1 0,1,2", "",
             "+24 1,0,0 1,0,1 1,0,2", "+36 1,1,0 1,1,1 1,1,2"],
        ),
    ],
)  # fmt: skip
def test_pictures(fields: Any, lines: list[str]) -> None:
    assert memory_lines(Producer(**fields)) == lines


def test_a_picture_of_much_is_short() -> None:
    inspection = dlbridge.inspect(Producer(shape=(10**6, 10**6), strides=(10**6, 1)))
    drawing = picture.draw(inspection.tensor, 6)
    assert drawing is not None and len(drawing.rows) <= picture.MOST_ROWS
    assert all(len(row.cells) <= 6 for row in drawing.rows)
    assert drawing.rows[-1].cells[-1].label == "999999,999999"
    assert len(inspection.svg) < 40_000


# The command -----------------------------------------------------------------------------------


def run(*arguments: str, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dlbridge", "inspect", *arguments],
        capture_output=True,
        text=True,
        cwd=where,
        timeout=120,
    )


def test_command() -> None:
    process = run("array:array('d', [1, 2, 3])")
    assert process.returncode == 0, process.stderr
    assert "float64[3] on cpu" in process.stdout
    process = run("--json", "array:array('d', [1, 2, 3])")
    values = json.loads(process.stdout)
    assert Inspection.from_dict(values).tensor.sample == ("1", "2", "3")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("what", "status", "message"),
    [
        ("array", 2, "expected MODULE:EXPR"),
        (":x", 2, "expected MODULE:EXPR"),
        ("array:", 2, "expected MODULE:EXPR"),
        ("no_such_module:x", 1, "ModuleNotFoundError"),
        ("array:no_such_name", 1, "NameError"),
        ("array:[no_such_name for i in 'a']", 1, "NameError"),
        ("array:1 +", 1, "SyntaxError"),
        ("os:_exit(7)", 1, "exit status 7"),
        ("sys:exit(7)", 1, "SystemExit"),
        ("ctypes:string_at(1)", 1, "SIGSEGV"),
        ("time:sleep(99)", 1, "no answer within 2 s"),
        ("builtins:print('noise') or 5", 1, ""),
    ],
)
def test_command_of_expressions_that_fail(what: str, status: int, message: str) -> None:
    process = run("--timeout", "2" if "sleep" in what else "60", what)
    assert process.returncode == status
    assert message in process.stderr and "Traceback" not in process.stderr
    if status == 1 and message:
        failure = json.loads(
            run("--json", "--timeout", "2" if "sleep" in what else "60", what).stdout
        )
        assert message in failure["failed"] and failure["sound"] is False


def test_command_finds_what_a_module_creates_at_its_first_use(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "from array import array\n"
        "def __getattr__(name):\n"
        "    if name != 'make': raise AttributeError(name)\n"
        "    return lambda *numbers: array('b', numbers)\n"
    )
    for what in ("make(1, 2)", "(lambda: make(*range(2)))()", "[make(i, 2) for i in range(3)][1]"):
        process = run(f"late:{what}", where=tmp_path)
        assert (process.returncode, process.stderr) == (0, ""), what


def test_names_do_not_control_the_terminal() -> None:
    x = type("Red\x1b[31m\a", (), {})()
    assert "Red\\x1b[31m\\x07" in dlbridge.inspect(x).text()


def test_command_of_a_type_without_attributes() -> None:
    process = run("metaclass_producers:Array()", where=Path(__file__).parent)
    assert "float32[2] on cpu" in process.stdout, process.stderr


def test_a_failed_inspection_is_not_taken_for_a_failed_expression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: Any, **keywords: Any) -> Any:
        raise RuntimeError("not this one")

    monkeypatch.setattr(command, "inspect", fail)
    answer = children.Answer("returned", command.examine("array:array('d')", None))
    assert command.why_failed(answer) == "the inspection failed: RuntimeError: not this one"
    with pytest.raises(NameError):
        command.examine("array:no_such_name", None)
    process = run("odd_producers:Interrupts()", where=Path(__file__).parent)
    assert process.stderr.endswith("the inspection failed: KeyboardInterrupt\n")


def test_command_finds_modules_where_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import array\nprint('noise')\nx = array.array('b', [1])\n")
    process = run("--html", "page.html", "mine:x", where=tmp_path)
    assert process.returncode == 0, process.stderr
    assert "noise" not in process.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_memory_that_is_not_readable_is_not_copied() -> None:
    process = run("dlbridge:from_pointer(4096, (3,), 'float32')")
    assert process.returncode == 1, process.stderr
    assert process.stdout.count("not called: the memory is not") == 2
    assert "NOT READABLE" in process.stdout


def test_the_folder_of_the_page() -> None:
    for path in ("no/such/folder/page.html", "/"):
        process = run("--html", path, "array:array('b')")
        assert (process.returncode, "--html: expected" in process.stderr) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="the folder is in use")
def test_a_folder_that_was_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "deleted"
    folder.mkdir()
    program = (
        "import os, sys; os.rmdir(os.getcwd()); sys.argv[1:] = ['inspect', 'array:array(\"b\")'];"
        "from dlbridge.__main__ import main; sys.exit(main())"
    )
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True
    )
    assert (process.returncode, process.stderr) == (0, "")


def test_import_of_dlbridge_is_light() -> None:
    program = (
        "import sys, dlbridge; print([m for m in sys.modules if m.startswith('dlbridge.tools')])"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("what", "headline"),
    [
        ([1, 2], "not a tensor: list supports none of the protocols"),
        (Producer, f"not a tensor: {Producer.__module__}.Producer is a class"),
        (Raises(BufferError("no")), "exports no tensor"),
    ],
)
def test_the_headline_of_what_is_no_tensor(what: object, headline: str) -> None:
    assert inspect(what).text().splitlines()[1] == headline


def test_equal_verdicts_share_a_line() -> None:
    text = " ".join(inspect([1, 2]).text().split())
    assert text.count("it has no __dlpack__") == 4  # of four exceptions
    assert "refuses NumPy, TensorFlow, PyArrow, MXNet: AttributeError: it has no" in text
    html = inspect([1, 2])._repr_html_()
    assert html.count("it has no __dlpack__") == 4 and html.count("<span title=") == 14


def test_a_conversion_is_no_copy() -> None:
    inspection = inspect(array.array("d", [1, 2]))
    assert verdict(inspection, "mlx") == ("converts", "copies into a narrower dtype: float64")
    assert "1 with another dtype" in inspection.text()
    assert verdict(inspect(array.array("f", [1, 2])), "mlx")[0] == "copies"


def test_the_access_by_a_legacy_capsule() -> None:
    for writeable, access in ((None, "not stated"), (True, "not stated"), (False, "read-only")):
        x: Any = AlwaysLegacy()
        if writeable is not None:
            x.flags = SimpleNamespace(writeable=writeable)
        inspection = inspect(x)
        lines = inspection.text().splitlines()
        assert f"  access          {access}; a legacy capsule has no read-only flag" in lines
        assert lines[1].endswith(", read-only") == (access == "read-only")
        assert ("It is read-only" in oddities(inspection)) == (access == "read-only")


def test_inspect_accepts_a_title() -> None:
    assert inspect(b"x", title="mine").text().startswith("bytes\nmine\n")


def test_a_proxy_of_a_dead_object() -> None:
    class Array:
        pass

    proxy = weakref.proxy(Array())
    assert "no tensor" in str(dlbridge.inspect(proxy)).lower()
