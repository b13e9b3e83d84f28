# SPDX-License-Identifier: BSD-3-Clause
"""NumPy 1 and 2: exchanges on the same memory in both directions, for every layout and dtype."""

from __future__ import annotations

import importlib.util
import pickle
import re
import sys
from typing import Any, Callable

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import dlbridge
import foreign
import producers
from exchanges import test_exchange, test_the_table_names_what_there_is

LIBRARY = "numpy"
__all__ = ["test_exchange", "test_the_table_names_what_there_is"]  # run in this file

Array = Any

# NumPy below 2.1 accepts neither max_version, dl_device nor copy, and has no flag for read-only
# memory: arrays that it imports are read-only, except for empty ones, which it allocates itself.
NEW = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)


def whole() -> Array:
    return np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Callable[[], Array]] = {
    "C order": whole,
    "Fortran order": lambda: np.asfortranarray(whole()),
    "transposed": lambda: whole().transpose(1, 2, 0),
    "slice": lambda: whole()[1, 1:],
    "every other": lambda: whole()[:, :, ::2],
    "a column": lambda: whole()[:, :, 1:2],
    "backwards": lambda: whole()[::-1, :, ::-3],
    "broadcast": lambda: np.broadcast_to(whole(), (5, 2, 3, 4)),
    "writable broadcast": lambda: as_strided(whole(), (3, 2), (0, 4)),
    "overlapping": lambda: as_strided(whole(), (4, 4), (4, 4)),
    "rank 0": lambda: np.array(5, dtype=np.float32),
    "rank 0 view": lambda: whole()[1, 2, 3, ...],
    "no element": lambda: np.zeros((2, 0, 3), dtype=np.float32),
    "size 1, odd strides": lambda: as_strided(whole(), (1, 3, 1), (444, 16, -8)),
    "size 1, strides inside elements": lambda: as_strided(whole(), (1, 3), (7, 16)),
    "rank 32": lambda: whole()[(None,) * 29],
    "read-only": lambda: frozen(whole()),
    "unaligned": lambda: np.frombuffer(bytearray(49), np.float32, 12, 1),
    "bytes": lambda: np.frombuffer(b"0123456789ab", np.float32),
}
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def address_of(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def steps(array: Array) -> tuple[int, ...]:
    """The strides of the dimensions that have more than one element."""
    return tuple(
        stride for stride, extent in zip(array.strides, array.shape) if extent > 1 and array.size
    )


def same_memory(t: dlbridge.Tensor, array: Array) -> bool:
    byte_strides = t.byte_strides or ()
    strides = tuple(s for s, extent in zip(byte_strides, t.shape) if extent > 1 and t.size)
    return (
        (t.data_ptr == address_of(array) or array.size == 0)
        and (t.shape, strides, t.dtype) == (array.shape, steps(array), array.dtype)
        and t.device == "cpu"
    )


def same_arrays(a: Array, b: Array) -> bool:
    return (
        (address_of(a) == address_of(b) or a.size == 0)
        and (a.shape, steps(a), a.dtype) == (b.shape, steps(b), b.dtype)
        and np.array_equal(a, b)
    )


# Import.


@pytest.mark.parametrize("take", [dlbridge.from_dlpack, dlbridge.as_tensor])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_import(layout: str, take: Any) -> None:
    array = LAYOUTS[layout]()
    t = take(array)
    assert same_memory(t, array)
    assert t.readonly == (not array.flags.writeable)


@pytest.mark.parametrize("dtype", DTYPES)
def test_import_of_every_dtype(dtype: str) -> None:
    array = np.array([0, 1, 1, 0]).astype(dtype)
    for t in (dlbridge.from_dlpack(array), dlbridge.as_tensor(array)):
        assert same_memory(t, array)
        assert t.dtype == dtype == array.dtype and array.dtype == t.dtype
        assert np.dtype(str(t.dtype)) == array.dtype


# Arrays that NumPy does not export: the dtype, values, and what the remedy makes of them.
OTHER_ARRAYS: dict[str, tuple[Any, Any, Any]] = {
    "longdouble": ("g", [1, 2], ("float64", [1.0, 2.0])),
    "complex longdouble": ("G", [1, 2j], ("complex128", [1, 2j])),
    "big-endian": (">f4", [1, 2], ("float32", [1.0, 2.0])),
    "little-endian": ("<i2", [1, 2], ("int16", [1, 2])),
    "date": ("M8[s]", [1, 2], ("int64", [1, 2])),
    "foreign date": ("M8[s]", [1, 2], ("int64", [1, 2])),
    "duration": ("m8[D]", [1, -2], ("int64", [1, -2])),
    "object": ("O", [1, 2.5], ("float64", [1.0, 2.5])),
    "labels": ("U3", ["b", "a"], ("int64", [1, 0])),
    "labels of bytes": ("S3", ["b", "a"], ("int64", [1, 0])),
    "labels of objects": ("O", ["b", "a"], ("int64", [1, 0])),
    "text of numbers": ("U3", ["20", "1.5"], ("float64", [20.0, 1.5])),
    "bytes of numbers": ("S3", ["20", "1.5"], ("float64", [20.0, 1.5])),
    "record": ([("a", "i4"), ("b", "f4")], [(1, 2.0), (3, 4.0)], ("int32", [1, 3])),
    "packed record": ([("a", "f8"), ("b", "i1")], [(1, 2), (3, 4)], ("float64", [1.0, 3.0])),
}
if hasattr(getattr(np, "dtypes", None), "StringDType"):
    OTHER_ARRAYS["labels of strings"] = (np.dtypes.StringDType(), ["b", "a"], ("int64", [1, 0]))


def other_array(kind: str) -> Array:
    dtype, values, _ = OTHER_ARRAYS[kind]
    array = np.array(values, dtype)
    if kind.startswith("foreign") or array.dtype.str[1:] == "i2":
        array = array.astype(array.dtype.newbyteorder())
    elif kind == "big-endian" and sys.byteorder == "big":
        array = array.astype("<f4")
    return array


def remedy_in(message: str, of_labels: bool = False) -> str:
    """The expression of a message, which ends with it."""
    if of_labels:
        return message.partition(", or their codes, ")[2]
    found = re.search(
        r"(?:Pass |, as |integers, )((?:x|numpy)[.\[].*?\)?)(?:(?:, or| if) .*| makes it)?$",
        message,
    )
    assert found is not None, message
    return found[1]


TAKES: list[Any] = [
    dlbridge.from_dlpack,
    dlbridge.as_tensor,
    dlbridge.to_dlpack,
    lambda x: dlbridge.from_dlpack(x, copy=True),
    lambda x: dlbridge.from_dlpack(x, copy=False),
    lambda x: dlbridge.from_dlpack(x, device="cpu"),
    lambda x: dlbridge.from_dlpack(x.view(type("Derived", (np.ndarray,), {}))),
]


@pytest.mark.parametrize("take", range(len(TAKES)))
@pytest.mark.parametrize("kind", OTHER_ARRAYS)
def test_arrays_that_numpy_refuses_to_export(kind: str, take: int) -> None:
    x = other_array(kind)
    words = "^expected a dtype of numbers in native byte order; got '"
    with pytest.raises(BufferError, match=words) as raised:
        TAKES[take](x)
    with pytest.raises(Exception) as original:
        x.__dlpack__()
    assert not isinstance(raised.value, dlbridge.CopyForbiddenError)
    if NEW:
        assert type(raised.value.__cause__) is type(original.value)
    names = {"numpy": np, "x": x}
    remedy = remedy_in(str(raised.value), kind.startswith("labels"))
    t = dlbridge.from_dlpack(eval(remedy, names))
    assert (t.dtype, np.asarray(t).tolist()) == OTHER_ARRAYS[kind][2]


def test_items_without_fields_are_passed_as_bytes() -> None:
    x = np.array([b"abc", b"def"]).view("V3")
    with pytest.raises(BufferError) as raised:
        dlbridge.from_dlpack(x)
    remedy = str(raised.value).rpartition(", or ")[2]
    assert dlbridge.from_dlpack(eval(remedy, {"numpy": np, "x": x})).tobytes() == b"abcdef"


def test_strides_inside_elements_are_refused() -> None:
    x = np.array([(1, 2), (3, 4)], "i4,i2")["f0"]
    text = "multiples of the item size of 4 bytes"
    for take in (dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack):
        with pytest.raises(BufferError, match=text) as raised:
            take(x)
        t = dlbridge.from_dlpack(eval(remedy_in(str(raised.value)), {"numpy": np, "x": x}))
        assert t.tolist() == [1, 3]
    buffer: Any = memoryview(x)  # type: ignore[arg-type]
    with pytest.raises(BufferError, match=text):
        dlbridge.as_tensor(buffer)
    for take in (dlbridge.from_dlpack, dlbridge.as_tensor):
        t = take(x, copy=True)
        assert (t.tolist(), t.readonly, t.flags & 2) == ([1, 3], False, 2)
        with pytest.raises(BufferError, match=text):
            take(x, copy=False)


def test_read_only_arrays_of_every_numpy() -> None:
    """NumPy before 2.1 does not export them."""
    x = frozen(np.arange(3.0))
    for keywords, readonly in (
        ({}, True), ({"copy": True}, False), ({"copy": False}, True), ({"readonly": True}, True),
        ({"readonly": False}, False), ({"device": "cpu"}, True),
        ({"device": "cpu", "copy": True}, False),
    ):  # fmt: skip
        for take in (dlbridge.from_dlpack, dlbridge.as_tensor):
            t = take(x, **keywords)
            assert (t.readonly, t.tolist()) == (readonly, [0, 1, 2])
            assert (t.data_ptr == address_of(x)) == ("copy" not in keywords or readonly)
            assert np.asarray(t).flags.writeable == (not readonly)
    t = dlbridge.from_dlpack(x)
    del x
    assert t.tolist() == [0, 1, 2]


class Column:
    """An object with __array__: its array, or an exception; and perhaps a dtype."""

    def __init__(self, array: Any, **attributes: Any) -> None:
        self.array, self.calls = array, 0
        vars(self).update(attributes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.calls += 1
        if isinstance(self.array, BaseException):
            raise self.array
        return self.array


class OfCapsules:
    def to_dlpack(self) -> Any:
        return np.arange(3.0).__dlpack__()


NUMBERS = np.arange(3.0)
ASARRAY = ". Pass numpy.asarray() of it"
CONVERTIBLE: list[Any] = [
    5, 1.5, 1j, True, [1, 2], (1.5,), range(3), [], [[1], [2]], [NUMBERS, NUMBERS],
    Column(NUMBERS), Column(NUMBERS, dtype=NUMBERS.dtype), Column(NUMBERS, dtype="a text"),
]  # fmt: skip
OTHERS: list[Any] = [
    None, "a", ["a"], [[1], [1, 2]], [None], {}, object(), Column, sys,
    Column(np.array(["a"])), Column(np.array([None])), Column(ValueError("ragged")),
    Column(NUMBERS, dtype=np.dtype("O")),
    Column(RuntimeError("sparse"), dtype=NUMBERS.dtype, todense=None),
]  # fmt: skip
TAKES_OBJECTS = [dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack]


@pytest.mark.parametrize("take", TAKES_OBJECTS)
def test_the_hint_fits_the_object(take: Any) -> None:
    for x in CONVERTIBLE:
        with pytest.raises(TypeError) as raised:
            take(x)
        assert str(raised.value).endswith(ASARRAY), x
        assert dlbridge.from_dlpack(np.asarray(x)).tolist() == np.asarray(x).tolist()
    for x in OTHERS:
        with pytest.raises(TypeError) as raised:
            take(x)
        assert "asarray" not in str(raised.value), x
    with pytest.raises(TypeError) as raised:
        take(OfCapsules())
    assert str(raised.value).endswith(". Pass the capsule that its to_dlpack() returns")
    assert dlbridge.from_dlpack(OfCapsules().to_dlpack()).tolist() == [0, 1, 2]


def test_no_elements_are_computed_for_a_hint() -> None:
    """As those of a chunked array, which states a dtype of NumPy."""
    x = Column(NUMBERS, dtype=NUMBERS.dtype)
    with pytest.raises(TypeError, match=re.escape(ASARRAY)):
        dlbridge.as_tensor(x)
    assert x.calls == 0


def test_a_list_in_itself_has_no_hint() -> None:
    x: list[Any] = []
    x.append(x)
    with pytest.raises(TypeError, match=r"got one of type list$"):
        dlbridge.from_dlpack(x)


def test_an_interrupted_search_for_the_hint_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        dlbridge.as_tensor(Column(KeyboardInterrupt()))


def test_a_refusal_of_a_derived_class_stays() -> None:
    def refuse(self: Any, **keywords: Any) -> Any:
        raise BufferError("by the class")

    x: Any = np.zeros(2, ">f4").view(type("Derived", (np.ndarray,), {"__dlpack__": refuse}))
    with pytest.raises(BufferError, match=r"^by the class$"):
        dlbridge.from_dlpack(x)


@pytest.mark.parametrize("take", [dlbridge.from_dlpack, dlbridge.as_tensor])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_import_with_a_copy(layout: str, take: Any) -> None:
    array = LAYOUTS[layout]()
    t = take(array, copy=True)
    assert t.size == 0 or t.data_ptr != address_of(array)
    assert not t.readonly
    assert np.array_equal(np.asarray(t), array)


def test_import_without_a_copy() -> None:
    array = whole()
    for take in (dlbridge.from_dlpack, dlbridge.as_tensor):
        assert same_memory(take(array, copy=False), array)


def test_import_on_the_same_device() -> None:
    array = whole()
    assert same_memory(dlbridge.from_dlpack(array, device="cpu", stream=7), array)


@pytest.mark.parametrize("device", ["mps", "xpu:1", "vulkan", dlbridge.device("metal")])
@pytest.mark.parametrize("copy", [None, True, False])
def test_a_device_that_dlbridge_does_not_reach(device: Any, copy: bool | None) -> None:
    error = dlbridge.CopyForbiddenError if copy is False else BufferError
    for take in (dlbridge.from_dlpack, dlbridge.as_tensor):
        with pytest.raises(error) as raised:
            take(whole(), device=device, copy=copy)
        if NEW:
            assert "unsupported device" in str(raised.value.__cause__)
        if NEW or copy is not False:  # an older NumPy does not know the keyword
            assert f"{dlbridge.device(device)}" in str(raised.value)


def test_scalars_are_imported_as_buffers() -> None:
    t = dlbridge.as_tensor(np.float32(2.5))
    assert (t.shape, t.dtype, t.readonly) == ((), "float32", True)
    assert np.asarray(t) == 2.5


@pytest.mark.parametrize("date", [np.datetime64("2020-01-01"), np.timedelta64(5, "s")])
def test_a_date_is_refused_as_an_array_of_dates_is(date: Any) -> None:
    """NumPy exports the bytes of the scalar as a buffer."""
    with pytest.raises(BufferError, match=re.escape(f"got '{date.dtype.str}'")):
        dlbridge.as_tensor(date)


MASKED = "Pass x.filled(value), or x.data to ignore the mask"
CALLS: list[Any] = [
    *(
        lambda x, f=f, k=k: f(x, **k)
        for f in (dlbridge.from_dlpack, dlbridge.as_tensor)
        for k in ({}, {"copy": True}, {"copy": False}, {"device": "cpu"}, {"readonly": True})
    ),
    dlbridge.to_dlpack,
    lambda x: dlbridge.to_dlpack(x, copy=True),
]


@pytest.mark.parametrize("call", range(len(CALLS)))
@pytest.mark.parametrize("dtype", ["float64", ">f4", "U1", "i4,f4"])
def test_masked_elements_are_refused(call: int, dtype: str) -> None:
    """DLPack has no mask, and NumPy exports the elements behind it."""
    x = np.ma.array(np.zeros(3, dtype), mask=[False, True, False])
    for each in (x, x.view(type("Derived", (np.ma.MaskedArray,), {})), x[1:], x[1:2].T):
        with pytest.raises(BufferError, match=re.escape(MASKED)):
            CALLS[call](each)
    if dtype == "float64":
        for unmasked in (x.filled(0), x.data, x[:1], np.ma.zeros((2, 3)), np.ma.zeros(0)):
            CALLS[call](unmasked)


def test_an_unmasked_array_is_not_copied() -> None:
    for x in (np.ma.array(whole()), np.ma.array(whole(), mask=np.zeros(whole().shape))):
        for take in (dlbridge.from_dlpack, dlbridge.as_tensor):
            assert same_memory(take(x), x.data)


def test_an_exception_of_a_mask() -> None:
    def no_mask(_: Any) -> Any:
        raise LookupError("no mask")

    broken = type("Broken", (np.ma.MaskedArray,), {"mask": property(no_mask)})
    with pytest.raises(LookupError, match="no mask"):
        dlbridge.from_dlpack(np.ma.zeros(3).view(broken))


class Subclass(np.ndarray):
    """Overrides __dlpack__ and counts its calls."""

    calls = 0

    def __dlpack__(self, **keywords: Any) -> Any:
        Subclass.calls += 1
        return super().__dlpack__(**keywords)


def test_the_method_of_a_subclass_is_called() -> None:
    array = whole().view(Subclass)
    assert same_memory(dlbridge.from_dlpack(array), array)
    assert Subclass.calls == (1 if NEW else 2)


# Export.

METHODS: dict[str, Callable[[dlbridge.Tensor], Array]] = {
    "from_dlpack": np.from_dlpack,
    "asarray": np.asarray,
    "memoryview": lambda t: np.asarray(memoryview(t)),
    "__array__": lambda t: t.__array__(),
}
if NEW:
    METHODS.update(
        {
            "from_dlpack, no copy": lambda t: np.from_dlpack(t, copy=False),
            "from_dlpack, cpu": lambda t: np.from_dlpack(t, device="cpu"),
            "asarray, no copy": lambda t: np.asarray(t, copy=False),
        }
    )


def is_dlpack(method: str) -> bool:
    return method.startswith("from_dlpack")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_export(layout: str, method: str) -> None:
    array = LAYOUTS[layout]()
    t = dlbridge.as_tensor(array)
    if not NEW and t.readonly and is_dlpack(method):
        with pytest.raises(BufferError, match="a legacy tensor has no read-only flag"):
            METHODS[method](t)
        return
    back = METHODS[method](t)
    assert same_arrays(back, array)
    expected = array.flags.writeable and (NEW or not is_dlpack(method) or array.size == 0)
    assert back.flags.writeable == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_export_of_every_dtype(dtype: str, method: str) -> None:
    array = np.array([[0, 1], [1, 0]]).astype(dtype)
    assert same_arrays(METHODS[method](dlbridge.from_dlpack(array)), array)


@pytest.mark.parametrize("method", METHODS)
def test_export_of_a_foreign_tensor(method: str) -> None:
    """With the strides and the offset of the producer."""
    p = producers.Producer(shape=(2, 3), strides=(-4, 2), byte_offset=32)
    back = METHODS[method](dlbridge.from_dlpack(p))
    assert address_of(back) == p.handle.address + 32
    assert (back.strides, back.tolist()) == ((-16, 8), [[8, 10, 12], [4, 6, 8]])
    del back
    assert p.calls == [1]


@pytest.mark.parametrize("method", METHODS)
def test_memory_is_shared(method: str) -> None:
    array = whole()
    back = METHODS[method](dlbridge.from_dlpack(array))
    array[0, 0, 0] = 55
    assert back[0, 0, 0] == 55
    if back.flags.writeable:
        back[1, 2, 3] = 66
        assert array[1, 2, 3] == 66
    else:
        assert not NEW and is_dlpack(method)


@pytest.mark.parametrize("method", METHODS)
def test_the_memory_outlives_the_tensor(method: str) -> None:
    p = producers.Producer()
    back = METHODS[method](dlbridge.from_dlpack(p))
    view = back[1:]
    del back
    assert (p.calls, view.tolist()) == ([0], [[3, 4, 5]])
    del view
    assert p.calls == [1]


@pytest.mark.parametrize("method", METHODS)
def test_the_memory_outlives_the_array(method: str) -> None:
    array = whole()
    t = dlbridge.as_tensor(array)
    expected = array.copy()
    del array
    assert np.array_equal(METHODS[method](t), expected)


def test_copies_that_numpy_requests() -> None:
    t = dlbridge.from_dlpack(whole())
    copies = [np.array(t), np.array(t, copy=True), t.__array__(copy=True), t.__array__("f4", True)]
    if NEW:
        copies += [np.from_dlpack(t, copy=True), np.asarray(t, copy=True)]
    for each in copies:
        assert address_of(each) != t.data_ptr
        assert each.flags.writeable
        assert np.array_equal(each, whole())


def test_conversions() -> None:
    t = dlbridge.from_dlpack(whole())
    for each in (np.asarray(t, dtype="f8"), t.__array__("f8"), t.__array__(dtype=np.float64)):
        assert each.dtype == np.float64 and np.array_equal(each, whole())
    assert address_of(t.__array__("f4")) == t.data_ptr
    with pytest.raises(dlbridge.CopyForbiddenError, match="Leave copy= out"):
        t.__array__("f8", copy=False)
    assert address_of(t.__array__("f4", copy=False)) == t.data_ptr


OTHER_TENSORS: list[tuple[dict[str, Any], str]] = [
    (
        {"device": (2, 0)},
        "expected memory that the CPU can read; got float32[2, 3] on cuda:0: device differs. Copy "
        "it to the host first",
    ),
    (
        {"dtype": (0, 4, 1)},
        "expected elements of whole bytes; got int4[2, 3] on cpu, packed: dtype differs. NumPy has "
        "no packed dtypes; unpack it first",
    ),
    (
        {"dtype": (2, 32, 2)},
        "expected a dtype that NumPy or ml_dtypes has; got float32x2[2, 3] on cpu: dtype differs. "
        + (
            "View it as another dtype, with dlbridge.from_dlpack(x).view(...), or convert it first"
            if importlib.util.find_spec("ml_dtypes")
            else "Install ml_dtypes, or convert it first"
        ),
    ),
]


@pytest.mark.parametrize("make", [np.asarray, lambda t: t.__array__()])
@pytest.mark.parametrize("fields, text", OTHER_TENSORS)
def test_tensors_that_numpy_cannot_have(fields: dict[str, Any], text: str, make: Any) -> None:
    with pytest.raises(BufferError) as raised:
        make(dlbridge.from_dlpack(producers.Producer(**fields)))
    assert str(raised.value) == text


def test_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    t = dlbridge.from_dlpack(producers.Producer(dtype=(4, 16, 1)))
    with pytest.raises(BufferError, match="a dtype that NumPy or ml_dtypes has") as raised:
        np.asarray(t)
    assert isinstance(raised.value.__cause__, ImportError)


def test_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError):
        dlbridge.from_dlpack(producers.Producer()).__array__()


# Round trips.


def test_the_consumer_in_c() -> None:
    """NumPy's memory, read by the consumer in C after the array is deleted."""
    array = whole()[:, ::2, ::-1]
    expected = array.tobytes()
    tensor = foreign.consume(dlbridge.from_dlpack(array).__dlpack__())
    del array
    assert tensor.tobytes() == expected
    assert tensor.release("thread")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pickle(layout: str, protocol: int) -> None:
    array = LAYOUTS[layout]()
    unpickled = pickle.loads(pickle.dumps(dlbridge.as_tensor(array), protocol))
    back = np.asarray(unpickled)
    assert np.array_equal(back, array) and back.dtype == array.dtype
    assert back.flags.f_contiguous == array.flags.f_contiguous or not array.flags.forc
    assert back.flags.writeable == array.flags.writeable


def test_a_read_only_memory_map(tmp_path: Any) -> None:
    path = tmp_path / "array"
    whole().tofile(path)
    t = dlbridge.as_tensor(np.memmap(path, np.float32, "r", shape=(2, 3, 4)))
    assert t.readonly
    assert np.array_equal(np.asarray(t), whole())
