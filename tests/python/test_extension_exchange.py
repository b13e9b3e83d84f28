# SPDX-License-Identifier: BSD-3-Clause
"""The C exchange table: foreign tables, correct and faulty, for arguments and results; and every
slot of dlbridge's tables, called from C."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import pytest

import dlbridge
import foreign
from bindings import BINDINGS, DETAILED, MODULES, OWNING, function
from producers import Producer

NAME = "__dlpack_c_exchange_api__"
OLD_NAME = "__c_dlpack_exchange_api__"  # of dlpack.h 1.2
CPU = (1, 0)
FLOAT32 = (2, 32, 1)


def stored(table: object) -> object:
    """A table, by its address or a capsule, as dlpack.h 1.3 stores it: in a capsule."""
    return foreign.exchange_capsule(table) if isinstance(table, int) else table


def table_class(table: object, name: str = NAME) -> Any:
    """A class with an exchange table, and without __dlpack__."""
    return type("Array", (foreign.Exported,), {name: table if name == OLD_NAME else stored(table)})


class WithMethods(foreign.Exported):
    """Has __dlpack__ as well, and counts its calls."""

    def __init__(self, handle: foreign.Handle) -> None:
        self.handle = handle
        self.requests = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    def __dlpack__(self, **keywords: Any) -> object:
        self.requests += 1
        return self.handle.capsule(True)


def table_and_methods(table: object) -> Any:
    """A class with an exchange table and __dlpack__."""
    return type("Array", (WithMethods,), {NAME: stored(table)})


class Calls:
    """Counts the calls of each slot since its construction."""

    def __init__(self) -> None:
        self.before = foreign.slot_calls()

    def counts(self) -> dict[str, int]:
        now = foreign.slot_calls()
        return {slot: now[slot] - old for slot, old in self.before.items() if now[slot] != old}


def table(**fields: Any) -> int:
    return foreign.exchange_table(**fields)


# Foreign tables, for arguments.

SPELLINGS: dict[str, Any] = {
    "an address, 1.2": lambda: table_class(table(), OLD_NAME),
    "a capsule": lambda: table_class(foreign.exchange_capsule(table())),
    "a capsule, 1.2": lambda: table_class(foreign.exchange_capsule(table()), OLD_NAME),
    "a newer minor": lambda: table_class(table(version=(1, 99))),
    "a newer major": lambda: table_class(table(version=(2, 0), prev=table())),
    "much newer": lambda: table_class(
        table(version=(9, 0), prev=table(version=(2, 0), prev=table()))
    ),
    "a subclass": lambda: type("Subclass", (table_class(table()),), {}),
}  # fmt: skip


# A caster of the binding library reads a tensor again, as it cannot know what later casters do.
READ_AGAIN: dict[str, dict[str, int]] = {
    binding: {"lend": 1} if binding.endswith("by_library") else {} for binding in BINDINGS
}


def lends(binding: str) -> dict[str, int]:
    """The calls of slots for a span."""
    if binding == OWNING:
        return {"give": 1, "lend": 1}
    return {"lend": 2 if READ_AGAIN[binding] else 1}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_table_is_found_by_every_spelling(binding: str, spelling: str) -> None:
    handle = foreign.tensor(shape=(3,))
    x = SPELLINGS[spelling]()(handle)
    calls = Calls()
    assert function(binding, "span_to_read")(x) == handle.address
    assert calls.counts() == lends(binding)
    assert handle.handed_out == (binding == OWNING)


@pytest.mark.parametrize("kind", ["span_to_read", "owned", "any_tensor"])
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_subclass_that_overrides_dlpack_does_not_use_the_table(binding: str, kind: str) -> None:
    base = type("Base", (table_and_methods(table()),), {})
    derived = type("Derived", (base,), {"__dlpack__": lambda self, **_: self.other.capsule(True)})
    x = type("Again", (derived,), {})(foreign.tensor(shape=(3,)))
    x.other = foreign.tensor(shape=(3,))
    calls = Calls()
    assert function(binding, kind)(x) == x.other.address
    assert calls.counts() == {}
    assert (x.requests, x.other.handed_out) == (0, 1)


@pytest.mark.parametrize(
    "kind", ["span_to_write", "owned", "owned_to_write", "argument", "any_tensor", "managed_tensor"]
)
@pytest.mark.parametrize("binding", BINDINGS)
def test_owning_and_writing_parameters_own_the_tensor(binding: str, kind: str) -> None:
    handle = foreign.tensor(shape=(3,))
    calls = Calls()
    assert function(binding, kind)(table_class(table())(handle)) == handle.address
    assert calls.counts() == {"give": 1, **READ_AGAIN[binding]}
    assert (handle.handed_out, handle.calls) == (1, 1)


@pytest.mark.parametrize(
    "fields",
    [{"version": (2, 0)}, {"version": (0, 9)}, {"missing": ("lend", "give")},
     {"failing": ("lend", "give")}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kind", ["span_to_read", "owned"])
@pytest.mark.parametrize("binding", BINDINGS)
def test_without_a_usable_table_dlpack_is_called(
    binding: str, kind: str, fields: dict[str, Any]
) -> None:
    x = table_and_methods(table(**fields))(foreign.tensor(shape=(3,)))
    assert function(binding, kind)(x) == x.handle.address
    assert (x.requests, x.handle.handed_out, x.handle.calls) == (1, 1, 1)


# dlpack.h 1.2 stored the address of a table as an int, under another name.
NO_TABLES = [
    *[(NAME, value) for value in (12345, 1 << 40, -1, 0, True, None, "table", object())],
    *[(OLD_NAME, value) for value in (12345, 8, 0, -1, 1 << 70, True, None, "table")],
]


@pytest.mark.parametrize("name, value", NO_TABLES, ids=lambda x: str(x)[:20])
@pytest.mark.parametrize("binding", BINDINGS)
def test_what_is_no_table(binding: str, name: str, value: Any) -> None:
    x = type("Array", (WithMethods,), {name: value})(foreign.tensor(shape=(3,)))
    assert function(binding, "span_to_read")(x) == x.handle.address
    assert dlbridge.from_dlpack(x).data_ptr == x.handle.address
    assert x.requests == 2


def test_without_the_lend_slot_the_give_slot_is_used(extension: Any) -> None:
    handle = foreign.tensor(shape=(3,))
    calls = Calls()
    assert extension.by_def.span_to_read(table_class(table(missing=["lend"]))(handle))
    assert calls.counts() == {"give": 1}
    assert handle.calls == 1


@pytest.mark.parametrize("kind", ["span_to_read", "owned"])
@pytest.mark.parametrize("binding", DETAILED)
def test_a_table_that_fails_without_dlpack(binding: str, kind: str) -> None:
    handle = foreign.tensor(shape=(3,))
    x = table_class(table(failing=["lend", "give"]))(handle)
    with pytest.raises(TypeError) as raised:
        function(binding, kind)(x)
    assert "not a DLPack producer" in str(raised.value)
    assert handle.handed_out == handle.calls == 0


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"data": None}, "tensor without data: expected memory; got null data for float32[3] on cpu"),
    ({"ndim": -1}, "malformed tensor: expected ndim from 0 to 64; got ndim -1"),
    ({"shape": None, "ndim": 1}, "malformed tensor: expected "),
    ({"byte_offset": 2}, "expected float32[*] on cpu"),
    ({"dtype": (0, 64, 1)}, "; got int64[3] on cpu: dtype differs"),
]  # fmt: skip


@pytest.mark.parametrize("fields, words", FAULTS, ids=str)
@pytest.mark.parametrize("kind", ["span_to_read", "span_to_write", "owned"])
@pytest.mark.parametrize("binding", DETAILED)
def test_a_tensor_of_a_table_is_checked(
    binding: str, kind: str, fields: dict[str, Any], words: str
) -> None:
    x = table_and_methods(table())(foreign.tensor(**{"shape": (3,), **fields}))
    with pytest.raises(TypeError) as raised:
        function(binding, kind)(x)
    assert words in str(raised.value)
    assert x.requests == 0
    assert x.handle.calls == x.handle.handed_out == (0 if kind == "span_to_read" else 1)


@pytest.mark.parametrize("fields", [{"version": (2, 0)}, {"flags": 1}], ids=str)
def test_an_owned_tensor_that_is_refused_is_freed(extension: Any, fields: dict[str, Any]) -> None:
    handle = foreign.tensor(shape=(3,), **fields)
    with pytest.raises(TypeError):
        extension.by_def.owned_to_write(table_class(table())(handle))
    assert (handle.handed_out, handle.calls) == (1, 1)


@pytest.mark.parametrize("binding", BINDINGS)
def test_complex_tensors_are_imported_by_dlpack(binding: str) -> None:
    x = table_and_methods(table())(foreign.tensor(shape=(2,), dtype=(5, 64, 1)))
    calls = Calls()
    assert function(binding, "complex_sum")(x) == 1 + 3
    assert (calls.counts(), x.requests) == (lends(binding), 1)
    exports = 2 if binding == OWNING else 1
    assert (x.handle.handed_out, x.handle.calls) == (exports, exports)


def test_a_class_that_gets_a_table_later(extension: Any) -> None:
    cls = type("Array", (WithMethods,), {})
    x: Any = cls(foreign.tensor(shape=(3,)))
    extension.by_def.span_to_read(x)
    assert x.requests == 1
    cls.__dlpack_c_exchange_api__ = stored(table())  # type: ignore[attr-defined]
    extension.by_def.span_to_read(x)
    assert x.requests == 1


# Foreign tables, for results.


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_result_is_converted_by_the_table(binding: str) -> None:
    handle = foreign.tensor(shape=(3,))
    calls = Calls()
    result = function(binding, "same")(table_class(table())(handle))
    assert type(result) is foreign.Consumed
    assert (result.data, result.shape, handle.calls) == (handle.address, (3,), 0)
    assert calls.counts() == {"give": 1, "take": 1, **READ_AGAIN[binding]}
    result.release()
    assert handle.calls == 1


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_table_allocates_new_memory(binding: str) -> None:
    exports, freed = foreign.accounts()
    calls = Calls()
    result = function(binding, "doubled")(table_class(table())(foreign.tensor(shape=(3,))))
    assert type(result) is foreign.Consumed
    assert memoryview(result.tobytes()).cast("f").tolist() == [0, 2, 4]
    assert calls.counts() == {"give": 1, "allocate": 1, "take": 1, **READ_AGAIN[binding]}
    result.release()
    assert [now - before for now, before in zip(foreign.accounts(), (exports, freed))] == [2, 2]


def test_without_an_allocator_dlbridge_allocates(extension: Any) -> None:
    result = extension.by_def.doubled(
        table_class(table(missing=["allocate"]))(foreign.tensor(shape=(3,)))
    )
    assert type(result) is foreign.Consumed
    assert (result.data % 64, result.version) == (0, (1, 3))
    assert memoryview(result.tobytes()).cast("f").tolist() == [0, 2, 4]


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_allocator_that_fails(binding: str) -> None:
    handle = foreign.tensor(shape=(3,))
    with pytest.raises(MemoryError) as raised:
        function(binding, "doubled")(table_class(table(failing=["allocate"]))(handle))
    assert str(raised.value) == (
        "out of memory: expected a tensor from the library's allocator, of float32 for Array; got "
        "the foreign heap is full"
    )
    assert handle.calls == 1


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_table_that_refuses_a_result(binding: str) -> None:
    handle = foreign.tensor(shape=(3,))
    with pytest.raises(RuntimeError, match=r"^the foreign slot fails$"):
        function(binding, "same")(table_class(table(failing=["take"]))(handle))
    assert (handle.handed_out, handle.calls) == (1, 1)


def test_without_the_take_slot_a_result_is_a_tensor(extension: Any) -> None:
    result = extension.by_def.same(table_class(table(missing=["take"]))(foreign.tensor(shape=(3,))))
    assert type(result) is dlbridge.Tensor


# The tables of dlbridge: every slot, called from C.


def filled(image: type) -> Any:
    """An object of a class of images."""
    result: Any = image(2, 3)
    result.fill(2)
    return result


def tensor(**fields: Any) -> dlbridge.Tensor:
    return dlbridge.from_dlpack(Producer(**fields))


IMAGES: list[type] = [
    cls
    for module in map(importlib.import_module, MODULES)
    for cls in (module.Image, module.plain_image_class())
]
CLASSES: list[tuple[type, Any]] = [
    (dlbridge.Tensor, tensor),
    *[(cls, partial(filled, cls)) for cls in IMAGES],
]
CONSTANTS = [importlib.import_module(module).Constant for module in MODULES]
ALL_CLASSES = [*CLASSES, *zip(CONSTANTS, CONSTANTS)]


@pytest.mark.parametrize("cls, _", ALL_CLASSES)
def test_header_and_stream_of_a_table(cls: type, _: Any) -> None:
    assert foreign.slot(cls, "version") == (1, 3, None)
    assert foreign.slot(cls, "stream", 1, 0) == 0
    assert foreign.slot(cls, "stream", 2, 3) == 0


@pytest.mark.parametrize("cls, make", CLASSES)
def test_a_table_gives(cls: type, make: Any) -> None:
    x = make()
    tensor = foreign.slot(cls, "give", x)
    assert (tensor.shape, tensor.strides) == ((2, 3), (3, 1))
    assert (tensor.dtype, tensor.device) == (FLOAT32, CPU)
    assert (tensor.version, tensor.flags, tensor.byte_offset) == ((1, 3), 0, 0)
    values = tensor.tobytes()
    del x
    assert tensor.tobytes() == values
    assert tensor.release("thread")


def test_a_table_lends() -> None:
    x = tensor()
    assert foreign.slot(dlbridge.Tensor, "lend", x) == {
        "data": x.data_ptr,
        "shape": (2, 3),
        "strides": (3, 1),
        "dtype": FLOAT32,
        "device": CPU,
        "byte_offset": 0,
    }


@pytest.mark.parametrize("other", [None, 2.5, "text"])
@pytest.mark.parametrize("slot", ["give", "lend"])
def test_the_table_of_tensor_refuses_other_objects(slot: Any, other: Any) -> None:
    with pytest.raises(TypeError, match=f"expected a Tensor; got {type(other).__name__}"):
        foreign.slot(dlbridge.Tensor, slot, other)


def test_a_lent_tensor_has_explicit_strides() -> None:
    x = tensor(strides=None)
    assert foreign.slot(dlbridge.Tensor, "lend", x)["strides"] == (3, 1)
    assert (x.strides, x.T.strides) == ((3, 1), (1, 3))


def test_a_table_lends_any_number_of_tensors() -> None:
    tensors = [tensor(shape=(n, 2), strides=None) for n in range(1, 201)]
    lent = foreign.slot(dlbridge.Tensor, "lend", tensors)
    assert [each["shape"] for each in lent] == [(n, 2) for n in range(1, 201)]
    assert {each["strides"] for each in lent} == {(2, 1)}


def test_a_table_lends_a_tensor_of_high_rank() -> None:
    x = tensor(shape=(2,) + (1,) * 11, strides=None)
    assert foreign.slot(dlbridge.Tensor, "lend", x)["strides"] == (1,) * 12


@pytest.mark.parametrize("cls, make", ALL_CLASSES[1:])
def test_a_class_without_memory_for_extents_does_not_lend(cls: type, make: Any) -> None:
    with pytest.raises(LookupError, match="does not lend"):
        foreign.slot(cls, "lend", make())


def test_a_table_gives_read_only_memory_and_does_not_lend_it(extension: Any) -> None:
    x = tensor(flags=1)
    with pytest.raises(BufferError) as raised:
        foreign.slot(dlbridge.Tensor, "lend", x)
    assert str(raised.value) == (
        "expected writable memory for a tensor that is lent; got read-only memory: writability "
        "differs. Ask for an owning one"
    )
    assert foreign.slot(dlbridge.Tensor, "give", x).flags == 1
    assert foreign.slot(extension.Constant, "give", extension.Constant()).flags == 1


def test_a_table_gives_padded_elements_and_does_not_lend_them() -> None:
    x = tensor(dtype=(0, 4, 1), flags=4)
    with pytest.raises(BufferError) as raised:
        foreign.slot(dlbridge.Tensor, "lend", x)
    assert str(raised.value) == (
        "unreadable DLPack version: expected packed elements for a tensor that is lent; got padded "
        "sub-byte elements. Ask for an owning one"
    )
    assert foreign.slot(dlbridge.Tensor, "give", x).flags == 4


@pytest.mark.parametrize("cls, _", CLASSES)
def test_a_table_takes(cls: type, _: Any) -> None:
    handle = foreign.tensor(strides=(1, 8))
    source = foreign.consume(handle.capsule(True))
    array = foreign.slot(cls, "take", source)
    assert type(array) is cls
    values: Any = memoryview(dlbridge.from_dlpack(array)).tolist()
    assert values == [[0, 8, 16], [1, 9, 17]]
    with pytest.raises(RuntimeError, match="released"):
        source.release()
    del array
    assert handle.calls == 1


REFUSED: list[tuple[type, dict[str, Any], str]] = [
    *[(cls, {"version": (2, 0)}, "unreadable DLPack version: expected DLPack version 1.x")
      for cls, _ in ALL_CLASSES],
    *[(cls, {"ndim": -1}, "malformed tensor") for cls, _ in ALL_CLASSES],
    *[(cls, {"data": None}, "tensor without data") for cls, _ in ALL_CLASSES],
    *[(cls, {"dtype": (0, 32, 1)}, "expected float32.*: dtype differs") for cls in IMAGES],
    *[(cls, {"shape": (3,)}, "rank differs") for cls in IMAGES],
]  # fmt: skip


def test_a_table_of_a_class_without_adopt_gives_a_tensor(extension: Any) -> None:
    handle = foreign.tensor(strides=(1, 8))
    tensor = foreign.slot(extension.Constant, "take", foreign.consume(handle.capsule(True)))
    assert isinstance(tensor, dlbridge.Tensor)
    assert tensor.tolist() == [[0, 8, 16], [1, 9, 17]]
    del tensor
    assert handle.calls == 1


@pytest.mark.parametrize("cls, fields, words", REFUSED, ids=lambda each: str(each)[:30])
def test_the_caller_still_owns_a_tensor_that_a_table_refuses(
    cls: type, fields: dict[str, Any], words: str
) -> None:
    handle = foreign.tensor(**fields)
    source = foreign.consume(handle.capsule(True))
    with pytest.raises((BufferError, ValueError), match=words):
        foreign.slot(cls, "take", source)
    assert handle.calls == 0
    source.release()
    assert handle.calls == 1


@pytest.mark.parametrize("cls, _", ALL_CLASSES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (5, 0, 7)], ids=str)
def test_a_table_allocates(shape: tuple[int, ...], cls: type, _: Any) -> None:
    tensor = foreign.slot(cls, "allocate", shape, (0, 16, 1), CPU)
    assert (tensor.shape or (), tensor.dtype, tensor.device) == (shape, (0, 16, 1), CPU)
    assert tensor.data % 64 == 0
    tensor.write(b"\1" * 2 * len(tensor.tobytes() and b"1"))
    assert tensor.release("nogil")


def test_a_table_allocates_on_the_cpu_of_any_ordinal() -> None:
    tensor = foreign.slot(dlbridge.Tensor, "allocate", (2,), FLOAT32, (1, 3))
    assert tensor.device == CPU


NOT_ALLOCATED: list[tuple[tuple[int, ...], tuple[int, int, int], tuple[int, int], str]] = [
    (
        (2,),
        FLOAT32,
        (2, 1),
        "BufferError: .*expected cpu, where this library allocates; got cuda:1",
    ),
    ((-1,), FLOAT32, CPU, "BufferError: bad argument: expected extents of 0 and above"),
    ((2**40, 2**40), FLOAT32, CPU, "BufferError: size overflows"),
    ((1,) * 65, FLOAT32, CPU, "BufferError: bad argument: expected at most 64 extents"),
    ((2**45,), FLOAT32, CPU, "MemoryError: out of memory"),
]


@pytest.mark.parametrize("shape, dtype, device, words", NOT_ALLOCATED, ids=lambda e: str(e)[:20])
@pytest.mark.parametrize("cls, _", ALL_CLASSES)
def test_the_reasons_of_an_allocator(
    cls: type, _: Any, shape: Any, dtype: Any, device: Any, words: str
) -> None:
    with pytest.raises(RuntimeError, match=f"^{words}"):
        foreign.slot(cls, "allocate", shape, dtype, device)


# Classes of an extension.


def test_an_argument_of_an_extension_class_is_imported_by_its_table(
    extension: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(extension.Image, "__dlpack__")
    image = filled(extension.Image)
    assert image.dot(image) == 24
    result = image.like(image)
    assert type(result) is extension.Image
    assert isinstance(result.dot(result), float)  # of uninitialized elements, perhaps NaN


def test_a_static_type_is_not_made_a_producer(extension: Any) -> None:
    with pytest.raises(TypeError, match=r"(immutable|extension) type 'float'"):
        extension.make_a_static_type_a_producer()
    assert not hasattr(float, "__dlpack__")


def test_dlpack_of_an_extension_class(extension: Any) -> None:
    for cls, make in ALL_CLASSES[1:]:
        x = make()
        tensor = foreign.consume(x.__dlpack__(max_version=(1, 0)))
        assert (x.__dlpack_device__(), type(x)) == (CPU, cls)
        address = tensor.data
        assert foreign.slot(cls, "give", x).data == address
        del x
        assert tensor.tobytes()
    with pytest.raises(BufferError, match="a legacy tensor has no read-only flag"):
        extension.Constant().__dlpack__()
    copy = foreign.consume(extension.Constant().__dlpack__(max_version=(1, 0), copy=True))
    assert copy.flags == 2
