# SPDX-License-Identifier: BSD-3-Clause
"""Every remedy that a message names: the refusal, then the remedy on the object that caused it.

The first table is executed here. The remedies for memory of devices are in test_device_remedies.py,
those for authors of C++ in the tests that ELSEWHERE names, and NOT_EXECUTED states what no test can
do. A text with advice in the sources that is in none of the tables fails.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import pickle
import re
import sys
import types
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable
from unittest import mock

import numpy as np
import pytest

import dlbridge
import extension
import foreign
from producers import OldStyle, Producer

ROOT = Path(__file__).resolve().parents[2]
Refused = Any  # a function of a call without arguments, which must raise
REMEDIES: list[tuple[str, Callable[[Refused], None]]] = []


def remedy(*advice: str) -> Callable[[Any], Any]:
    """Registers a test of remedies, which first calls its argument with a call that is refused."""

    def register(test: Callable[[Refused], None]) -> Callable[[Refused], None]:
        REMEDIES.extend((each, test) for each in advice)
        return test

    return register


def pattern(advice: str) -> str:
    """What a message with the advice contains: %s and its like stand for any text."""
    return re.sub(r"%[\w.]*[a-zA-Z]", ".*", re.escape(advice).replace(r"\%", "%"))


@pytest.mark.parametrize(
    "advice, test", REMEDIES, ids=lambda each: each if isinstance(each, str) else each.__name__
)
def test_a_remedy_works(advice: str, test: Callable[[Refused], None]) -> None:
    texts: list[str] = []

    def refused(call: Callable[[], object]) -> None:
        with pytest.raises(Exception) as raised:
            call()
        texts.append(str(raised.value))

    test(refused)
    assert [text for text in texts if re.search(pattern(advice), text, re.DOTALL)], texts


by_def = extension.by_def
Tensor: Any = dlbridge.Tensor
FLOATS = np.arange(3, dtype=np.float32)


# Arguments of compiled functions.


@remedy("Pass a copy in that layout")
def layouts(refused: Refused) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for function, unfit, fit in (
        (by_def.row_major, x.T, np.ascontiguousarray(x.T)),
        (by_def.column_major, x, np.asfortranarray(x)),
        (by_def.compact, x[:, ::2], x[:, ::2].copy()),
        (by_def.row_major, dlbridge.from_dlpack(x.T), dlbridge.from_dlpack(x.T).copy()),
    ):
        refused(lambda f=function, a=unfit: f(a))
        assert function(fit)


@remedy("Pass an array that you keep, as y = numpy.array(x), to which the function writes")
def read_only_arguments(refused: Refused) -> None:
    x = FLOATS.copy()
    x.flags.writeable = False
    t = dlbridge.from_dlpack(FLOATS, readonly=True)
    immutable = [importlib.import_module("jax.numpy").asarray(x)] if find_spec("jax") else []
    for unfit in (x, t, *immutable):
        refused(lambda a=unfit: extension.scale(a, 2.0))
        y = np.array(unfit)
        extension.scale(y, 2.0)
        assert y.tolist() == [0, 2, 4]


@remedy("Pass an array that is exported without a copy")
def copies_by_the_producer(refused: Refused) -> None:
    p = Producer(shape=(3,), flags=2)
    refused(lambda: extension.scale(p, 2.0))
    array = np.asarray(dlbridge.from_dlpack(p))  # of the copy, which the function then writes
    before = array.tolist()
    extension.scale(array, 2.0)
    assert array.tolist() == [2 * each for each in before]


@remedy("Pass an aligned copy")
def alignment(refused: Refused) -> None:
    x = np.frombuffer(bytearray(13), np.float32, offset=1)
    refused(lambda: by_def.span_to_read(x))
    assert by_def.span_to_read(x.copy())
    p = Producer(byte_offset=16)
    refused(lambda: by_def.aligned_64(p))
    assert by_def.aligned_64(dlbridge.from_dlpack(p).copy())


@remedy("Pass its real part")
def complex_arguments(refused: Refused) -> None:
    x = np.array([1 + 2j, 3])
    refused(lambda: by_def.sum_as_float32(x))
    assert by_def.sum_as_float32(x.real) == 4


@remedy("Round it and convert its dtype first: a float may have a fraction")
def floats_to_integers(refused: Refused) -> None:
    x = np.array([1.4, 2.6])
    refused(lambda: by_def.sum_as_int32(x))
    assert by_def.sum_as_int32(np.rint(x).astype(np.int32)) == 4


@remedy("Convert its dtype first if its values fit: not every value of it does")
def wider_integers(refused: Refused) -> None:
    x = np.array([1, 2])
    refused(lambda: by_def.sum_as_int32(x))
    assert by_def.sum_as_int32(x.astype(np.int32)) == 3


@remedy("Convert its dtype first")
def dtypes_without_a_conversion(refused: Refused) -> None:
    t = dlbridge.from_dlpack(Producer(shape=(3,), dtype=(2, 32, 2)))
    refused(lambda: by_def.sum_as_float32(t))
    assert by_def.sum_as_float32(t.view("float32")) == sum(t.view("float32").tolist())


@remedy("Convert it on its device first", "Copy it to the CPU first")
def conversions_on_a_device(refused: Refused) -> None:
    class Movable(Producer):
        def with_changes(self, **changed: Any) -> Producer:  # as a library of the device
            return Producer(**{**self.fields, **changed})

    x = Movable(shape=(3,), dtype=(0, 32, 1), device=(2, 0))
    refused(lambda: by_def.converted_anywhere(x))
    converted = x.with_changes(dtype=(2, 32, 1))
    assert by_def.converted_anywhere(converted) == converted.handle.address
    refused(lambda: by_def.sum_as_float32(x))
    moved = x.with_changes(device=(1, 0))
    assert by_def.sum_as_float32(moved) == sum(dlbridge.from_dlpack(moved).tolist())


@remedy("Pass numpy.asarray() of it")
def numbers_and_lists(refused: Refused) -> None:
    for x in ([1.0, 2.0], (1.0, 2.0), range(1, 3)):
        refused(lambda a=x: by_def.sum(a))
        refused(lambda a=x: dlbridge.from_dlpack(a))
        assert by_def.sum(np.asarray(x).astype(np.float32)) == 3
        assert dlbridge.from_dlpack(np.asarray(x)).tolist() == [1, 2]
    refused(lambda: dlbridge.as_tensor(1.5))
    assert dlbridge.as_tensor(np.asarray(1.5)).item() == 1.5
    described = Interface(FLOATS)
    refused(lambda: by_def.sum(described))
    assert by_def.sum(np.asarray(described)) == FLOATS.sum()


@remedy("Pass numpy.frombuffer() of it, with its dtype")
def bytes_as_an_argument(refused: Refused) -> None:
    x = FLOATS.tobytes()
    refused(lambda: by_def.sum(x))
    array = np.frombuffer(x, np.float32)
    if tuple(map(int, np.__version__.split(".")[:2])) < (2, 1):
        array = array.copy()  # NumPy before 2.1 exports no read-only array
    assert by_def.sum(array) == 3


@remedy("Pass an object of it")
def a_class_as_an_argument(refused: Refused) -> None:
    refused(lambda: by_def.sum(np.ndarray))
    assert by_def.sum(np.ndarray(3, np.float32, FLOATS)) == 3


@remedy("Call as_tensor(), which also takes buffers, array interfaces and Arrow arrays")
def buffers_as_producers(refused: Refused) -> None:
    for x in (b"ab", bytearray(b"ab"), Interface(np.frombuffer(b"ab", np.uint8))):
        refused(lambda a=x: dlbridge.from_dlpack(a))
        assert dlbridge.as_tensor(x).tobytes() == b"ab"


@remedy("A capsule is consumed once; ask the producer for a new one")
def used_capsules(refused: Refused) -> None:
    capsule = FLOATS.__dlpack__()
    assert by_def.sum(capsule) == 3
    refused(lambda: by_def.sum(capsule))
    refused(lambda: dlbridge.from_dlpack(capsule))
    assert by_def.sum(FLOATS.__dlpack__()) == 3


@remedy(
    "dlbridge: the binding of %s() states that argument '%s' may be None, which its type refuses. "
    "Write std::optional of the type"
)
def a_default_of_none(refused: Refused) -> None:
    members = extension.members
    refused(lambda: members.bind_a_default_of_none(members))
    assert by_def.optional_span_to_read(None) == 0


@remedy("def_fast adds no overload. Use def for all overloads")
def overloads_of_def_fast(refused: Refused) -> None:
    module = types.ModuleType("functions")
    extension.define_fast(module)
    refused(lambda: extension.define_fast(module))
    assert extension.kind(FLOATS) == "float32"
    assert extension.kind(FLOATS.astype(np.float64)) == "float64"


@remedy("a dlbridge::member_view has no object to keep alive; return it from a method")
def views_of_members(refused: Refused) -> None:
    image = extension.Image(2, 3)
    refused(lambda: extension.row_of_no_object())
    assert extension.first_row_of(image).data_ptr == image.row(0).data_ptr


@remedy(". Pass list() of it")
def iterators_as_arguments_of_overloads(refused: Refused) -> None:
    x = iter([FLOATS])
    refused(lambda: by_def.kind_of(x))
    assert by_def.kind_of(list(x)) == "floats"


# The functions of the module.


class Interface:
    """Has the array interface of an array, and no other protocol."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


@remedy("Leave copy= out if a copy is acceptable")
def forbidden_copies(refused: Refused) -> None:
    for p in (OldStyle(), Producer(flags=2)):
        refused(lambda x=p: dlbridge.from_dlpack(x, copy=False))
        assert dlbridge.from_dlpack(p).shape == (2, 3)


@remedy("Pass a compact copy, as numpy.array(x) makes it")
def strides_between_items(refused: Refused) -> None:
    x = Interface(np.zeros(3, [("a", np.float32), ("b", np.uint8)])["a"])
    refused(lambda: dlbridge.as_tensor(x))
    assert dlbridge.as_tensor(np.array(x)).tolist() == [0, 0, 0]


@remedy("Convert it to a type that DLPack has, or pass its bytes")
def types_that_dlpack_lacks(refused: Refused) -> None:
    x = memoryview(b"ab").cast("c")
    refused(lambda: dlbridge.as_tensor(x))
    assert dlbridge.as_tensor(x.cast("b")).tolist() == [97, 98]
    assert dlbridge.as_tensor(bytes(x)).tobytes() == b"ab"


@remedy("Convert it to the byte order of this machine")
def foreign_byte_order(refused: Refused) -> None:
    x = np.array([1, 2], np.dtype(np.int32).newbyteorder())
    refused(lambda: dlbridge.as_tensor(Interface(x)))
    assert dlbridge.as_tensor(Interface(x.astype(np.int32))).tolist() == [1, 2]


@remedy("Pass x.filled(value), or x.data to ignore the mask")
def masked_arrays_of_numpy(refused: Refused) -> None:
    x = np.ma.masked_equal(FLOATS, 2)
    calls: list[Callable[[Any], Any]] = [dlbridge.from_dlpack, dlbridge.as_tensor, by_def.sum]
    for call in calls:
        refused(lambda f=call: f(x))
        call(x.filled(0))
        call(x.data)
    assert (by_def.sum(x.filled(0)), by_def.sum(x.data)) == (1, 3)


@remedy("Fill the masked elements, and pass the result")
def masked_arrays(refused: Refused) -> None:
    class Masked(Interface):
        def __init__(self, array: Any) -> None:
            super().__init__(array)
            self.__array_interface__ = {**array.__array_interface__, "mask": array.mask}

    x = np.ma.masked_equal([1, 2, 3], 2)
    refused(lambda: dlbridge.as_tensor(Masked(x)))
    assert dlbridge.as_tensor(x.filled(0)).tolist() == [1, 0, 3]


@remedy(
    "Give the consumer dlbridge.to_dlpack(x, copy=True) where it takes capsules, or else "
    "dlbridge.as_tensor(x, copy=True); or dlbridge.as_tensor(x, readonly=False) if it does not "
    "write. Callers of __dlpack__ and to_dlpack can pass max_version=(1, 0)"
)
def read_only_in_a_legacy_capsule(refused: Refused) -> None:
    x = dlbridge.from_dlpack(FLOATS, readonly=True)
    refused(lambda: x.__dlpack__())
    for each in (x, b"bytes", memoryview(b"bytes")):
        refused(lambda a=each: dlbridge.to_dlpack(a))
        address = dlbridge.as_tensor(each).data_ptr
        for copied in (dlbridge.to_dlpack(each, copy=True),
                       dlbridge.as_tensor(each, copy=True).__dlpack__()):  # fmt: skip
            assert foreign.consume(copied).data != address
        shared = foreign.consume(dlbridge.as_tensor(each, readonly=False).__dlpack__())
        assert shared.data == address
    for capsule in (x.__dlpack__(max_version=(1, 0)), dlbridge.to_dlpack(x, max_version=(1, 0))):
        assert foreign.consume(capsule).flags == 1


@remedy("Pass max_version=(1, 1)")
def padded_in_a_legacy_capsule(refused: Refused) -> None:
    x = dlbridge.from_dlpack(Producer(dtype=(0, 4, 1), flags=4))
    refused(lambda: x.__dlpack__())
    assert foreign.consume(x.__dlpack__(max_version=(1, 1))).flags == 4


@remedy("Ask for an owning one")
def lending_by_the_exchange_table(refused: Refused) -> None:
    for fields in ({"flags": 1}, {"dtype": (0, 4, 1), "flags": 4}):
        x = dlbridge.from_dlpack(Producer(**fields))
        refused(lambda t=x: foreign.slot(dlbridge.Tensor, "lend", t))
        assert foreign.slot(dlbridge.Tensor, "give", x).flags == fields["flags"]


@remedy("Ask the producer for max_version=(1, x), or use a newer dlbridge")
def newer_capsules(refused: Refused) -> None:
    class Newer(Producer):
        def export(self, versioned: bool, **fields: Any) -> object:
            newest = self.requests[-1].get("max_version", (1, 0))
            return super().export(versioned, version=newest, **fields)

    p = Newer()
    refused(lambda: dlbridge.from_dlpack(p.__dlpack__(max_version=(2, 0))))
    assert dlbridge.from_dlpack(p.__dlpack__(max_version=(1, 3))).shape == (2, 3)


@remedy("Ask the producer for another dtype, or use a newer dlbridge")
def unknown_dtypes(refused: Refused) -> None:
    p = Producer(dtype=(200, 32, 1))
    refused(lambda: dlbridge.from_dlpack(p))
    p.fields["dtype"] = (2, 32, 1)
    assert dlbridge.from_dlpack(p).dtype == "float32"


@remedy("Move the tensor to a device that dlbridge supports, or use a newer dlbridge")
def unknown_devices(refused: Refused) -> None:
    p = Producer(device=(99, 0))
    refused(lambda: dlbridge.from_dlpack(p))
    p.fields["device"] = (1, 0)
    assert dlbridge.from_dlpack(p).device == "cpu"


@remedy(
    "Copy the tensor with its own library first",
    "Copy it to the CPU first, with its own library",
    "Move the tensor with a library that works on both devices",
    "Move the tensor with its own library first",
    "The producer did not move it; move it with its own library first",
)
def memory_that_dlbridge_cannot_copy(refused: Refused) -> None:
    class Movable(Producer):
        def to_cpu(self) -> Producer:
            return Producer(shape=(1,))

    p = Movable(shape=(1,), device=(7, 0))
    t = dlbridge.from_dlpack(p)
    for call in (
        lambda: t.copy(),
        lambda: t.item(),
        lambda: bool(t),
        lambda: t.numpy(),
        lambda: pickle.dumps(t),
        lambda: t.__dlpack__(dl_device=(7, 1), max_version=(1, 0)),
        lambda: t.__dlpack__(dl_device=(1, 0), max_version=(1, 0)),
        lambda: dlbridge.from_dlpack(p, device="cpu"),
    ):
        refused(call)
    moved = dlbridge.from_dlpack(p.to_cpu())
    assert moved.copy().item() == moved.item() == moved.numpy()[0]
    assert pickle.loads(pickle.dumps(moved)).item() == moved.item() == bool(moved)
    assert np.from_dlpack(moved).tolist() == dlbridge.from_dlpack(moved, device="cpu").tolist()


@remedy("Pass a view of fewer elements")
def more_elements_than_64_bits_count(refused: Refused) -> None:
    p = Producer(shape=(2**62, 2), strides=(0, 1))
    refused(lambda: dlbridge.from_dlpack(p))
    p.fields["shape"] = (4, 2)
    assert dlbridge.from_dlpack(p).size == 8


@remedy("Give the tensor storage first: fake, meta and lazy tensors have none")
def tensors_without_memory(refused: Refused) -> None:
    p = Producer(data=None)
    refused(lambda: dlbridge.from_dlpack(p))
    del p.fields["data"]
    assert dlbridge.from_dlpack(p).data_ptr


@remedy("Leave stream= out")
def streams_of_the_cpu(refused: Refused) -> None:
    t = dlbridge.from_dlpack(FLOATS)
    refused(lambda: t.__dlpack__(stream=1))
    assert foreign.consume(t.__dlpack__()).data == t.data_ptr


@remedy("Import it with stream=queue, or order the queues yourself and pass -1")
def unknown_queues(refused: Refused) -> None:
    class Queue:
        def submit_barrier(self, dependent_events: Any = ()) -> str:
            return "event"

        def wait(self) -> None:
            pass

    p, queue = Producer(device=(14, 0)), Queue()
    refused(lambda: dlbridge.from_dlpack(p).__dlpack__(stream=Queue()))
    assert dlbridge.from_dlpack(p, stream=queue).__dlpack__(stream=Queue())
    assert dlbridge.from_dlpack(p).__dlpack__(stream=-1)


# Buffers, NumPy arrays and values of a Tensor.


@remedy("Request a buffer with strides, or pass a compact copy")
def buffers_of_strided_tensors(refused: Refused) -> None:
    t: Any = dlbridge.as_tensor(memoryview(bytes(range(6))).cast("B", (2, 3))).T
    refused(lambda: hashlib.sha256(t))
    assert np.asarray(memoryview(t)).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert hashlib.sha256(t.copy()).digest() == hashlib.sha256(bytes([0, 3, 1, 4, 2, 5])).digest()


@remedy("Request a read-only buffer, or pass a writable copy")
def writable_buffers_of_read_only_tensors(refused: Refused) -> None:
    t = dlbridge.as_tensor(b"abcd")
    buffer, writable = (ctypes.c_byte * 256)(), 1

    def get_buffer(x: object, flags: int) -> None:
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), buffer, flags)
        ctypes.pythonapi.PyBuffer_Release(buffer)

    refused(lambda: get_buffer(t, writable))
    get_buffer(t, 0)
    get_buffer(t.copy(), writable)
    assert bytes((ctypes.c_char * 4).from_buffer(t.copy())) == bytes(memoryview(t)) == b"abcd"


@remedy("View it as another dtype such as uint8, packed elements after reshape(-1)")
def buffers_of_other_dtypes(refused: Refused) -> None:
    wide = dlbridge.from_dlpack(Producer(dtype=(4, 16, 1)))
    packed = dlbridge.from_dlpack(Producer(dtype=(0, 4, 1), shape=(2, 4)))
    for t, remedied in ((wide, wide.view("uint8")), (packed, packed.reshape(-1).view("uint8"))):
        refused(lambda x=t: memoryview(x))
        assert bytes(memoryview(remedied)) == t.tobytes()


@remedy("View it as another dtype, with dlbridge.from_dlpack(x).view(...), or convert it first")
def numpy_arrays_of_unknown_dtypes(refused: Refused) -> None:
    t = dlbridge.from_dlpack(Producer(dtype=(2, 32, 2)))
    with mock.patch.dict(sys.modules, ml_dtypes=types.ModuleType("ml_dtypes")):
        refused(lambda: t.numpy())
    assert dlbridge.from_dlpack(t).view("float32").numpy().shape == (2, 6)


@remedy("Install ml_dtypes, or convert it first")
def numpy_arrays_of_bfloat16(refused: Refused) -> None:
    t = dlbridge.from_dlpack((FLOATS.view(np.uint32) >> 16).astype(np.uint16)).view("bfloat16")
    installed = types.ModuleType("ml_dtypes")
    installed.__dict__["bfloat16"] = np.dtype("V2")
    with mock.patch.dict(sys.modules, ml_dtypes=None):
        refused(lambda: t.numpy())
    with mock.patch.dict(sys.modules, ml_dtypes=installed):
        assert t.numpy().shape == (3,)
    wide = t.view("uint16").numpy().astype(np.uint32) << 16
    assert wide.view(np.float32).tolist() == FLOATS.tolist()


@remedy("NumPy has no packed dtypes; unpack it first")
def numpy_arrays_of_packed_elements(refused: Refused) -> None:
    t = dlbridge.from_dlpack(Producer(dtype=(0, 4, 1), shape=(2, 4)))
    refused(lambda: t.numpy())
    both = t.reshape(-1).view("uint8").numpy()
    unpacked = np.stack([both & 15, both >> 4], axis=-1).reshape(t.shape).astype(np.int8)
    assert ((unpacked ^ 8) - 8).tolist() == t.tolist()


@remedy("Packed elements share bytes; unpack them with their library first")
def views_within_a_byte(refused: Refused) -> None:
    t = dlbridge.from_dlpack(Producer(dtype=(0, 4, 1), shape=(4,)))
    refused(lambda: t[1:])
    assert dlbridge.from_dlpack(np.array(t.tolist(), np.int8))[1:].tolist() == t.tolist()[1:]


@remedy(
    "bool() expects a tensor of one element, not %s: a tensor of %s elements has no truth value; "
    "test it with its library, such as np.from_dlpack(t).any()"
)
def truth_of_several_elements(refused: Refused) -> None:
    t = dlbridge.from_dlpack(FLOATS)
    refused(lambda: bool(t))
    assert np.from_dlpack(t).any()


@remedy("the tensor has no truth value; test it with its library, such as np.from_dlpack(t).any()")
def truth_of_a_plain_tensor(refused: Refused) -> None:
    array = extension.returns.numpy(3)
    t = array.base
    assert type(t).__name__ == "PlainTensor"
    refused(lambda: bool(t))
    assert np.from_dlpack(t).any() == array.any()


@remedy("view it as a dtype of one lane, with t.view(...)")
def values_of_several_lanes(refused: Refused) -> None:
    t = dlbridge.from_dlpack(Producer(dtype=(2, 32, 2), shape=(1,)))
    refused(lambda: bool(t))
    refused(lambda: t.item())
    assert len(t.view("float32").tolist()) == 2


@remedy("convert it with its library")
def values_of_other_dtypes(refused: Refused) -> None:
    t: Any = dlbridge.from_dlpack(Producer(dtype=(0, 128, 1), shape=(1,)))
    refused(lambda: t.item())
    low, high = t.view("uint64").tolist()
    assert bool(dlbridge.from_dlpack(np.array([low + high * 2.0**64])).item())


@remedy("Tensor has no constructor; use dlbridge.from_dlpack(x) or dlbridge.as_tensor(x)")
def constructor(refused: Refused) -> None:
    refused(lambda: Tensor(FLOATS))
    assert dlbridge.from_dlpack(FLOATS).tolist() == dlbridge.as_tensor(FLOATS).tolist()


@remedy(": a view selects no elements by masks, lists or arrays. Use np.asarray(t)[index]")
def indices_by_arrays(refused: Refused) -> None:
    t = dlbridge.from_dlpack(FLOATS)
    for index in (FLOATS > 0, [1, 2], np.array([1, 2])):
        refused(lambda i=index: t[i])
        assert np.asarray(t)[index].tolist() == [1, 2]


@remedy(
    "'in' does not compare the elements of a Tensor; use x in np.asarray(t), or x in t.tolist()"
)
def membership(refused: Refused) -> None:
    t: Any = dlbridge.from_dlpack(FLOATS)
    refused(lambda: 2 in t)
    assert 2 in np.asarray(t)
    assert 2 in t.tolist()


@remedy(
    "a Tensor does not write elements; use np.asarray(t)[index] = value, or the library that owns "
    "the memory"
)
def assignment(refused: Refused) -> None:
    x = FLOATS.copy()
    t: Any = dlbridge.from_dlpack(x)
    refused(lambda: t.__setitem__(1, 5))
    np.asarray(t)[1] = 5
    assert t.tolist() == [0, 5, 2]
    x[1] = 6
    assert t.tolist() == [0, 6, 2]


@remedy("reshape() computes no extent for %s: pass one in place of the -1 in %s")
def reshape_of_no_elements(refused: Refused) -> None:
    t = dlbridge.empty((0, 3), "float32")
    refused(lambda: t.reshape(0, -1))
    assert t.reshape(0, 5).shape == (0, 5)


@remedy("Copy it first, with t.copy().reshape(...)")
def reshape_of_strided_tensors(refused: Refused) -> None:
    t = dlbridge.from_dlpack(np.arange(6).reshape(2, 3)).T
    refused(lambda: t.reshape(6))
    assert t.copy().reshape(6).tolist() == [0, 3, 1, 4, 2, 5]


@remedy("Copy it first, with t.copy().view(...)")
def other_dtypes_of_strided_tensors(refused: Refused) -> None:
    t = dlbridge.from_dlpack(np.arange(6, dtype=np.int32))[::2]
    refused(lambda: t.view("int8"))
    assert t.copy().view("int8").shape == (12,)
    unaligned = dlbridge.from_dlpack(np.arange(9, dtype=np.uint8))[1:]
    refused(lambda: unaligned.view("float64"))
    assert unaligned.copy().view("uint64").tobytes() == bytes(range(1, 9))


@remedy("a format such as %R applies to a 0-d tensor, not to %s; format the values of t.tolist()")
def formats(refused: Refused) -> None:
    t = dlbridge.from_dlpack(FLOATS)
    refused(lambda: format(t, ".1f"))
    assert [format(each, ".1f") for each in t.tolist()] == ["0.0", "1.0", "2.0"]


@remedy("Correct the pointer, the shape or the strides")
def wrong_pointers(refused: Refused) -> None:
    refused(lambda: dlbridge.from_pointer(0, (3,), "float32"))
    refused(lambda: dlbridge.from_pointer(FLOATS.ctypes.data, (-3,), "float32"))
    t = dlbridge.from_pointer(FLOATS.ctypes.data, (3,), "float32", owner=FLOATS)
    assert t.tolist() == [0, 1, 2]


@remedy("Copy the elements to aligned memory")
def unaligned_pointers(refused: Refused) -> None:
    x = np.frombuffer(bytes(1) + FLOATS.tobytes(), np.float32, offset=1)
    refused(lambda: dlbridge.from_pointer(x.ctypes.data, (3,), "float32"))
    copied = x.copy()
    t = dlbridge.from_pointer(copied.ctypes.data, (3,), "float32", owner=copied)
    assert t.tolist() == [0, 1, 2]


@remedy("Allocate with a library of the device, and pass the array to from_dlpack()")
def memory_of_other_devices(refused: Refused) -> None:
    refused(lambda: dlbridge.empty(3, "float32", device="vulkan"))
    assert dlbridge.from_dlpack(Producer(shape=(3,), device=(7, 0))).device == "vulkan:0"


# Every advice of the sources is in one table.

VERBS = """
Add|Align|Allocate|Apply|Ask|Bind|Build|Call|Cast|Check|Choose|Clone|Compare|Compile|Convert|Copy|
Correct|Create|Declare|Define|Detach|Disable|Do|Drop|Enable|Exchange|Export|Fill|Format|Free|Give|
Import|Include|Install|Keep|Leave|Let|Link|Load|Make|Mark|Move|Name|Open|Order|Pass|Pickle|Provide|
Put|Raise|Read|Rebuild|Register|Release|Remove|Rename|Replace|Request|Reshape|Restart|Return|Round|
Run|Select|Set|Specify|Start|Stop|Store|Switch|Take|Test|Transfer|Turn|Unpack|Unset|Update|Upgrade|
Use|Verify|View|Wait|Wrap|Write
""".replace("\n", "")
# A sentence, or a clause after a semicolon or colon, that begins with a verb; or that says "must".
ADVICE = re.compile(
    rf"(^|[.?!] )({VERBS})\b|[;:] ({VERBS.lower()})\b|^({VERBS.lower()}) it\b|"
    r"^For [\w ]+ pass\b|; until then |\bmust\b"
)
COMMENT_OR_TEXT = re.compile(
    r"//[^\n]*|^#(?:[^\n\\]|\\.)*|'(?:[^'\\\n]|\\.)+'|static_assert\(.*?\);|"
    r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"(?:\s*\"(?:[^\"\\\n]|\\.)*\")*)",
    re.DOTALL | re.MULTILINE,
)


def texts_with_advice() -> Iterator[str]:
    """The texts of the library that tell the reader what to do. Docstrings end with a period, and
    those of Python functions have a signature; no message has either."""
    folders = [ROOT / "include", ROOT / "python" / "src"]
    for header in [each for f in folders for each in f.rglob("*.[hi][np][plp]")]:
        for match in COMMENT_OR_TEXT.finditer(header.read_text()):
            text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match["text"] or ""))
            if ADVICE.search(text) and not text.endswith(".") and "\\n--" not in text:
                yield text


# Whose tests evaluate the expression in the message.
EVALUATED = {
    "tests/python/peers/test_numpy.py": [
        "Pass a field, as x[x.dtype.names[0]].copy(), or numpy.frombuffer(x.tobytes(), 'u1')",
        "Pass its integers, x.astype('i8')",
        "Pass x.astype('f8') if its items are numbers, or their codes, numpy.unique(x, "
        "return_inverse=True)[1]",
        "Pass x.astype('f8') if its texts are numbers, or their codes, numpy.unique(x, "
        "return_inverse=True)[1]",
        "Pass x.astype('c16')",
        "Pass x.astype('f8')",
        "Pass x.astype(x.dtype.newbyteorder('='))",
    ],
    "tests/python/test_or_other_numbers.py": ["Pass numpy.stack(x)"],
}
# For authors of C++, for devices, and for libraries that not every environment has: the test that
# refuses, and then executes the remedy.
ELSEWHERE = {
    "tests/unit/test_build.cpp": [
        "Pass no_owner{} for memory that outlives the tensor",
        "Name the owner, build_on(std::move(owner), describe(view)); or state borrows in its "
        "array_traits, if the caller keeps the memory valid",
    ],
    "tests/python/peers/test_numpy.py": ["Pass the capsule that its to_dlpack() returns"],
    "tests/python/peers/test_paddle.py": [
        "Call the function under paddle.no_grad(), or pass x.detach()"
    ],
    "tests/python/test_changes_during_call.py": ["Pass a copy of it"],
    "tests/python/test_device_visible_classes.py": [
        "Copy it first, with dlbridge.from_dlpack(x, device='cpu') or, from NumPy 2.1 on, "
        "numpy.from_dlpack(x, device='cpu')"
    ],
    "tests/python/test_or_other_arrays.py": [
        "Pass a column, as x['name']",
        "Pass a field, as pyarrow.compute.struct_field(pyarrow.chunked_array(x), 'name')",
        "Pass its integers, numpy.asarray(x).astype('M8[ns]').astype('i8')",
        "Pass its items, x.explode()",
        "Pass its items, x.flatten()",
        "Pass numpy.asarray(x).astype('f8') if its values are numbers, or their codes, "
        "numpy.unique(x, return_inverse=True)[1]",
        "Pass numpy.asarray(x).astype('f8')",
        "Pass pyarrow.chunked_array(x).fill_null(value), with a value for nulls",
        "Pass pyarrow.chunked_array(x).to_numpy()",
        "Pass pyarrow.table(x)['name'].combine_chunks()",
        "Pass pyarrow.table(x)['name'].fill_null(value), with a value for nulls",
        "Pass pyarrow.table(x)['name'].to_numpy()",
        "Pass x.combine_chunks()",
        "Pass x.fill_null(value), with a value for nulls",
        "Pass x.fillna(value), with a value for nulls",
        "Pass x.rechunk()",
        "Pass x.todense()",
    ],
    "tests/python/test_result_dtypes.py": [
        'Call jax.config.update("jax_enable_x64", True)',
        "Pass numpy.asarray of the argument",
    ],
    "tests/python/test_visible_classes.py": [
        "Name the owner in def_dlpack: dlbridge::shares<&owner>()"
    ],
    "tests/unit/test_remedies.cpp": [
        "Build a versioned tensor, copy it, or pass read_only_policy::drop",
        "Build a versioned tensor",
        "Correct the description of the array",
        "Correct array_traits<T>::describe. An array that points into itself, such as an "
        "Eigen::Ref to a copy of its own, cannot be exported",
        "Pass a std::unique_ptr or a std::shared_ptr of it",
        "Pass a writable copy",
        "Pass a writable destination",
        "Compare it with 0 first",
        "Pass integers within these limits",
        "Pass 0 and 1, or compare it with 0 first",
        "Convert its dtype first if its values may be rounded",
        "Use a view type with a wider index",
    ],
    "tests/unit/test_tensor_view.cpp": ["Read it by data(), or copy it with copy_of"],
    "tests/bridges/test_opencv.cpp": [
        "Pass a writable copy: also a const Mat gives writable memory to its copies"
    ],
    "tests/runtime/test_order.cpp": ["Order the streams yourself, and pass stream=-1"],
    "tests/runtime/test_transfer.cpp": [
        "Copy through the CPU, or request a copy from the producer",
        "Leave the driver out, and dlbridge selects it",
    ],
    "tests/python/test_extension_torch.py": [
        "Call the function under torch.no_grad(), or pass x.detach()",
        "Call its resolve_neg() first",
        "For the author: return a copy, such as copy_of(view)",
    ],
    "tests/python/test_dispatch.py": [
        "a dlbridge::member_view refers to an object that was converted for this call only; pass "
        "an object of the class itself",
    ],
    "tests/python/test_interpreters.py": [
        "this module uses dlbridge, which does not support subinterpreters: import it in the "
        "main interpreter"
    ],
    "tests/python/test_device_remedies.py": [
        "Copy it first, with t.to('cpu')",
        "Copy it first, with t.to('cpu').numpy()",
        "Copy it first, with from_dlpack(t, device='cpu')",
        "Copy it to the host first",
        "Pass a device that the runtime has",
        "For the default stream pass 1 (legacy) or 2 (per thread)",
        "For the default stream pass 0",
        "For no order pass the integer -1 itself",
        "Pass device= as the driver of the memory reports it",
        "Order the owner's stream after yours before you drop the tensor, or use the "
        "record_stream of its library",
        "Free device memory, or transfer the tensor in smaller pieces",
        "Exchange tensors before the capture begins, or pass stream=-1 and order the streams "
        "yourself",
        "Captured operations have not run yet: wait after launching the graph",
        "A stream must belong to this runtime, and must exist until the call returns",
        "A stream and its context must exist until the call returns. A reset of the device "
        "destroys both",
        "Pass a device that the runtime has; ordinals start at 0",
        "For the author: take the result as an argument of its own",
        "The array has moved; export it again",
        "Its author calls dlbridge::use_devices() where the module is made; until then pass "
        "stream=-1 and order the streams yourself",
    ],
}
# What no test can do, and why.
NOT_EXECUTED = {
    "changes the machine": [
        "Install NVIDIA's driver, or use memory that the CPU can access",
        "Install ROCm's runtime, or use memory that the CPU can access",
        "Update the driver",
        "The driver is installed but finds no device. Provide a device, or use memory that the "
        "CPU can access",
        "The library is a stub for linking: remove its folder from the search path of libraries",
        "The library and the kernel module of the driver have different versions: restart the "
        "machine after an update, or use the library of the host in a container",
        "CUDA's compatibility package does not support this device: remove it from the search "
        "path of libraries, or update the driver",
        "Start the services that the system needs, such as NVIDIA's fabric manager",
        "Check the daemon of the Multi-Process Service, nvidia-cuda-mps-control",
        "A call of the operating system failed: check that the process may open the device files",
    ],
    "concerns a process that cannot go on": [
        "A forked process, or one that is exiting, cannot use the runtime; start a new process",
        "The process has loaded two copies of ROCm's runtime, and neither knows the streams and "
        "the memory of the other: import the library that contains a copy before dlbridge uses a "
        "device",
    ],
    "the simulated driver lets every function call it": [
        "A host function that runs on a stream cannot use the driver: use another thread"
    ],
    "only a test module of CPython exports such a buffer": ["Copy it to a compact array first"],
    "only where an address has 32 bits": ["Pass the handle of the stream"],
}


def test_every_advice_of_the_sources_has_a_test() -> None:
    executed = {each for each, _ in REMEDIES}
    elsewhere = {each for texts in ELSEWHERE.values() for each in texts}
    argued = {each for texts in NOT_EXECUTED.values() for each in texts}
    evaluated = {each for texts in EVALUATED.values() for each in texts}
    listed = executed | evaluated | elsewhere | argued
    found = {text.replace('\\"', '"') for text in texts_with_advice()}
    assert sorted(found - listed) == [], "texts of the sources in no table"
    assert sorted(listed - found) == [], "texts of the tables in no source"


@pytest.mark.parametrize("file", ELSEWHERE)
def test_the_tests_elsewhere_state_the_remedy(file: str) -> None:
    text = re.sub(r'"\s+r?"', "", (ROOT / file).read_text()).replace("\\", "")
    assert [each for each in ELSEWHERE[file] if each[-25:] not in text] == []
