# SPDX-License-Identifier: BSD-3-Clause
"""Refused arguments: the complete error messages; no tensor is leaked or freed twice."""

from __future__ import annotations

import gc
import inspect
import re
import sys
from typing import Any

import pytest

import dlbridge
import foreign
from bindings import BINDINGS, DETAILED, OWNING, function
from producers import Producer, Raises, ReportsDevice, Returns

COPY = {"flags": 2}  # by its producer

KEEP = "Pass an array that you keep, as y = numpy.array(x), to which the function writes"

# Function, fields of a foreign tensor, and the message after "function(): argument 'x': ".
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("int64", {}, "expected int64[...] on cpu; got float32[2, 3] on cpu: dtype differs"),
    ("float_or_double", {"dtype": (2, 16, 1)},
     "expected float32 or float64 [...] on cpu; got float16[2, 3] on cpu: dtype differs"),
    ("float_or_double", {"dtype": (2, 64, 1), "shape": (2,), "byte_offset": 4},
     "expected float32 or float64 [...] on cpu, aligned to 8 bytes; got float64[2] on cpu, aligned "
     "to 4 bytes: alignment differs. Pass an aligned copy"),
    ("rank_2", {"shape": (6,)},
     "expected float32[*, *] on cpu; got float32[6] on cpu: rank differs"),
    ("rank_0", {"shape": (1,)}, "expected float32[] on cpu; got float32[1] on cpu: rank differs"),
    ("fixed", {"shape": (3, 2)},
     "expected float32[2, 3] on cpu; got float32[3, 2] on cpu: extents differ"),
    ("rgb", {"dtype": (0, 64, 1), "shape": (4, 2), "device": (2, 0)},
     "expected uint8[*, *, 3] on cpu; got int64[4, 2] on cuda:0: dtype, rank, device differ"),
    ("rgb", {"dtype": (1, 8, 1), "shape": (4, 5, 4)},
     "expected uint8[*, *, 3] on cpu; got uint8[4, 5, 4] on cpu: extents differ"),
    ("writable", {"flags": 1},
     "expected float32[...] on cpu, writable; got float32[2, 3] on cpu, read-only: writability "
     "differs. " + KEEP),
    ("writable", COPY,
     "expected float32[...] on cpu, writable; got float32[2, 3] on cpu, a read-only copy by its "
     "producer: writability differs. Pass an array that is exported without a "
     "copy"),
    ("row_major", {"strides": (1, 2)},
     "expected float32[...] on cpu, row-major; got float32[2, 3] on cpu with strides [1, 2]: "
     "layout differs. Pass a copy in that layout"),
    ("column_major", {},
     "expected float32[...] on cpu, column-major; got float32[2, 3] on cpu with strides [3, 1]: "
     "layout differs. Pass a copy in that layout"),
    ("compact", {"strides": (6, 1)},
     "expected float32[...] on cpu, compact; got float32[2, 3] on cpu with strides [6, 1]: layout "
     "differs. Pass a copy in that layout"),
    ("on_cuda", {}, "expected float32[...] on cuda; got float32[2, 3] on cpu: device differs"),
    ("anywhere", {"device": (2, 1), "dtype": (4, 16, 1)},
     "expected float32[...]; got bfloat16[2, 3] on cuda:1: dtype differs"),
    ("span_to_read", {"shape": (2,), "byte_offset": 2},
     "expected float32[*] on cpu, aligned to 4 bytes; got float32[2] on cpu, aligned to 2 bytes: "
     "alignment differs. Pass an aligned copy"),
    ("aligned_64", {"byte_offset": 16},
     "expected float32[...] on cpu, aligned to 64 bytes; got float32[2, 3] on cpu, aligned to 16 "
     "bytes: alignment differs. Pass an aligned copy"),
    ("all", {"shape": (3, 2), "strides": (1, 3), "flags": 1, "byte_offset": 4, "dtype": (0, 32, 1)},
     "expected float32[*, 3] on cpu, row-major, writable, aligned to 256 bytes; got int32[3, 2] on "
     "cpu with strides [1, 3], read-only, aligned to 4 bytes: dtype, extents, layout, writability, "
     "alignment differ. " + KEEP),
]  # fmt: skip

# Fields of an unreadable tensor, and the exception, which is the cause of the TypeError.
FAULTS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"data": None}, BufferError,
     "tensor without data: expected memory; got null data for float32[3] on cpu. Give the tensor "
     "storage first: fake, meta and lazy tensors have none"),
    ({"version": (2, 0)}, BufferError,
     "unreadable DLPack version: expected DLPack version 1.x; got version 2.0. Ask the producer "
     "for max_version=(1, x), or use a newer dlbridge"),
    ({"ndim": -1}, BufferError,
     "malformed tensor: expected ndim from 0 to 64; got ndim -1. The producer is broken; dlbridge "
     "cannot read this tensor"),
]  # fmt: skip


def refused(call: Any, *args: Any, **keywords: Any) -> TypeError:
    """The TypeError that a call raises."""
    with pytest.raises(TypeError) as raised:
        call(*args, **keywords)
    return raised.value


@pytest.mark.parametrize("name, fields, words", REFUSALS, ids=lambda each: str(each)[:30])
@pytest.mark.parametrize("binding", DETAILED)
def test_messages(binding: str, name: str, fields: dict[str, Any], words: str) -> None:
    p = Producer(**fields)
    error = refused(function(binding, name), p)
    assert str(error) == f"{name}(): argument 'x': {words}"
    assert error.__cause__ is None
    assert (p.exports, p.calls) == ([1], [1])


@pytest.mark.parametrize("name, fields, words", REFUSALS, ids=lambda each: str(each)[:30])
def test_messages_of_the_library(
    extension: Any, name: str, fields: dict[str, Any], words: str
) -> None:
    p = Producer(**fields)
    error = str(refused(extension.by_library.__dict__[name], p))
    expected = words.partition("; got ")[0].partition("expected ")[2]
    expected = re.sub(", aligned to (4|8|64) bytes", "", expected)
    assert error.startswith(f"{name}(): incompatible function arguments.")
    assert f'x: typing.Annotated[SupportsDLPack, "{expected}"]' in error
    assert (p.exports, p.calls) == ([1], [1])


@pytest.mark.parametrize("kind", ["span_to_read", "owned", "owned_to_write", "argument"])
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_copy_by_the_producer_is_read_or_owned(binding: str, kind: str) -> None:
    """The producer would not see what a borrowing parameter writes."""
    p = Producer(shape=(3,), flags=2)
    refused(function(binding, "span_to_write"), p)
    assert function(binding, kind)(p) == p.handles[-1].address
    assert (p.exports, p.calls) == ([1, 1], [1, 1])


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_refused_capsule_is_consumed_and_its_tensor_freed_once(binding: str) -> None:
    p = Producer()
    capsule = p.__dlpack__(max_version=(1, 0))
    refused(function(binding, "int64"), capsule)
    assert "used_dltensor_versioned" in repr(capsule)
    assert (p.exports, p.calls) == ([1], [1])
    del capsule
    assert p.calls == [1]


@pytest.mark.parametrize("fields, kind, words", FAULTS, ids=lambda each: str(each)[:30])
@pytest.mark.parametrize("name", ["span_to_read", "span_to_write", "any_tensor", "optional_owned"])
@pytest.mark.parametrize("binding", DETAILED)
def test_faulty_tensors(
    binding: str, name: str, fields: dict[str, Any], kind: type[Exception], words: str
) -> None:
    p = Producer(**{"shape": (3,), **fields})
    error = refused(function(binding, name), p)
    assert str(error) == f"{name}(): argument 'x': {kind.__name__}: {words}"
    assert (type(error.__cause__), str(error.__cause__)) == (kind, words)
    assert (p.exports, p.calls) == ([1], [1])


@pytest.mark.parametrize(
    "value", [3, None, "text", [1.0, 2.0], object()], ids=lambda x: repr(x)[:20]
)
@pytest.mark.parametrize("binding", DETAILED)
def test_other_objects_than_producers(binding: str, value: object) -> None:
    error = refused(function(binding, "sum"), value)
    assert str(error).startswith(
        "sum(): argument 'x': not a DLPack producer: expected an object with __dlpack__ and "
        f"__dlpack_device__; got one of type {type(value).__name__}"
    )
    assert error.__cause__ is None


@pytest.mark.parametrize("exception", [RuntimeError("boom"), ValueError("é"), TypeError("its own")])
@pytest.mark.parametrize("binding", DETAILED)
def test_a_producer_that_raises(binding: str, exception: Exception) -> None:
    error = refused(function(binding, "sum"), Raises(exception))
    assert str(error) == f"sum(): argument 'x': {type(exception).__name__}: {exception}"
    assert error.__cause__ is exception
    assert exception.__traceback__ is not None


@pytest.mark.parametrize("binding", DETAILED)
def test_a_producer_whose_device_raises(binding: str) -> None:
    boom = RuntimeError("boom")
    error = refused(function(binding, "sum"), ReportsDevice(boom))
    assert (str(error), error.__cause__) == ("sum(): argument 'x': RuntimeError: boom", boom)


@pytest.mark.parametrize(
    "exception", [KeyboardInterrupt("stop"), SystemExit(3), MemoryError("none")]
)
@pytest.mark.parametrize("binding", [each for each in BINDINGS if each != OWNING])
def test_an_exception_that_is_no_refusal_is_raised(binding: str, exception: BaseException) -> None:
    with pytest.raises(type(exception)) as raised:
        function(binding, "sum")(Raises(exception))
    assert raised.value is exception


@pytest.mark.parametrize("first", [Raises(KeyboardInterrupt()), Producer(shape=(2, 2))])
def test_an_interrupt_precedes_a_refusal(extension: Any, first: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        extension.join(first, Raises(KeyboardInterrupt()))


def test_two_wrong_arguments_at_once(extension: Any) -> None:
    x, y = Producer(dtype=(0, 64, 1), shape=(4, 2)), Producer(shape=(2, 2))
    error = refused(extension.join, x, y, how=3)  # whose type is wrong as well
    assert str(error) == (
        "join():\n"
        "  argument 'x': expected float32[*] on cpu; got int64[4, 2] on cpu: dtype, rank differ\n"
        "  argument 'y': expected float32[*] on cpu; got float32[2, 2] on cpu: rank differs"
    )
    assert (x.exports, x.calls, y.exports, y.calls) == ([1], [1], [1], [1])


def test_two_wrong_arguments_of_which_one_raises(extension: Any) -> None:
    boom = RuntimeError("boom")
    error = refused(extension.unnamed, Producer(shape=()), Raises(boom))
    assert str(error) == (
        "unnamed():\n"
        "  argument 1: expected float32[*] on cpu; got float32[] on cpu: rank differs\n"
        "  argument 2: RuntimeError: boom"
    )
    assert error.__cause__ is boom


def test_one_wrong_argument_of_two(extension: Any) -> None:
    x, y = Producer(shape=(2,)), Producer(shape=(2, 2))
    assert str(refused(extension.join, x, y)) == (
        "join(): argument 'y': expected float32[*] on cpu; got float32[2, 2] on cpu: rank differs"
    )
    assert (x.exports, x.calls, y.exports, y.calls) == ([1], [1], [1], [1])


def test_a_method_does_not_count_self(extension: Any) -> None:
    dot = extension.Image(2, 3).dot
    assert str(refused(dot)) == "dot() is missing argument 'other'"
    error = refused(dot, Producer(shape=(3,)))
    assert str(error) == (
        "dot(): argument 'other': expected float32[*, *] on cpu; got float32[3] on cpu: rank "
        "differs"
    )


@pytest.mark.parametrize("binding", DETAILED)
def test_dlpack_that_returns_no_capsule(binding: str) -> None:
    error = refused(function(binding, "sum"), Returns(3))
    assert str(error) == (
        "sum(): argument 'x': BufferError: producer failed: expected a capsule named 'dltensor' or "
        "'dltensor_versioned'; got an object of type int. Its __dlpack__ is broken"
    )


@pytest.mark.parametrize("kind", ["span_to_write", "owned_to_write"])
@pytest.mark.parametrize("binding", DETAILED)
def test_a_read_only_tensor_of_dlbridge(binding: str, kind: str) -> None:
    t = dlbridge.from_dlpack(Producer(shape=(3,)), readonly=True)
    assert str(refused(function(binding, kind), t)) == (
        f"{kind}(): argument 'x': expected float32[*] on cpu, writable; got float32[3] on cpu, "
        "read-only: writability differs. " + KEEP
    )


def test_a_long_message_is_truncated(extension: Any) -> None:
    error = refused(extension.by_def.fixed, Producer(shape=(1,) * 64))
    assert "rank differs" in str(error)


@pytest.mark.parametrize("binding", BINDINGS)
def test_every_tensor_is_freed(binding: str) -> None:
    gc.collect()
    exports, calls = foreign.accounts()
    for name, fields, _ in REFUSALS:
        refused(function(binding, name), Producer(**fields))
    for fields, _, _ in FAULTS:
        refused(function(binding, "sum"), Producer(**{"shape": (3,), **fields}))
    now_exports, now_calls = foreign.accounts()
    assert now_exports - exports == now_calls - calls == len(REFUSALS) + len(FAULTS)


class Endless:
    """Its export is the result of a call with itself."""

    calls = 0

    def __init__(self, call: Any) -> None:
        self.call = call

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.calls += 1
        if self.calls > 1000:
            raise KeyboardInterrupt  # each level has doubled the calls
        return self.call(self)


@pytest.mark.parametrize("binding", DETAILED)
def test_a_recursion_error_ends_the_call(binding: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)  # sanitizers make the frames of C++ large
    try:
        with pytest.raises(RecursionError):
            function(binding, "sum")(Endless(function(binding, "sum")))
    finally:
        sys.setrecursionlimit(limit)
