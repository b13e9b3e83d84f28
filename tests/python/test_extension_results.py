"""Results: whose type they come back as, what keeps their memory, and what a body may throw."""

from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
from typing import Any

import pytest

import dlbridge
import extension
import foreign
from bindings import BINDINGS, freed_once, function
from producers import Producer

PLAIN = ["to_managed", "to_tensor", "to_any", "to_maybe"]


def values(x: Any) -> Any:
    return memoryview(dlbridge.from_dlpack(x)).tolist()


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("binding", BINDINGS)
def test_every_kind_of_result(binding: str, name: str) -> None:
    made = function(binding, name)(4)
    assert type(made) is dlbridge.Tensor
    assert (made.dtype, made.shape, values(made)) == ("float32", (4,), [0, 1, 2, 3])
    assert not made.readonly


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_shared_owner(binding: str) -> None:
    assert values(function(binding, "to_shared")(3)) == [1, 1, 1]


@pytest.mark.parametrize("binding", BINDINGS)
def test_no_result(binding: str) -> None:
    assert function(binding, "to_maybe")(-1) is None
    assert function(binding, "maybe_same")(None) is None


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_argument_goes_back_where_it_came_from(binding: str) -> None:
    """A Producer is of no library, so it comes back as a Tensor, on the same memory."""
    for name in ("same", "maybe_same"):
        p = Producer(shape=(3,))
        back = function(binding, name)(p)
        assert type(back) is dlbridge.Tensor
        assert (back.data_ptr, p.calls) == (p.handle.address, [0])
        del back
        assert freed_once(p)


@pytest.mark.parametrize("binding", BINDINGS)
def test_new_memory_like_an_argument(binding: str) -> None:
    doubled = function(binding, "doubled")(Producer(shape=(3,)))
    assert (type(doubled), values(doubled)) == (dlbridge.Tensor, [0, 2, 4])
    assert doubled.data_ptr % 64 == 0
    for shape in ((), (0,), (2, 0, 3), (2, 3)):
        wide = function(binding, "widened")(Producer(shape=shape))
        assert (wide.dtype, wide.shape) == ("float64", shape)


@pytest.mark.parametrize("binding", ["by_def", "by_fast"])
def test_an_owning_result_is_like_the_first_tensor(binding: str) -> None:
    assert values(function(binding, "counted_like")(Producer(shape=(3,)))) == [0, 1, 2]
    assert values(extension.second_decides(None, Producer(shape=(2,)))) == [0, 1]


def test_the_origins_library_decides() -> None:
    """Through __array_namespace__, where the type is of no library that is known by name."""
    made: list[dlbridge.Tensor] = []

    class Namespace:
        @staticmethod
        def from_dlpack(x: dlbridge.Tensor) -> str:
            made.append(x)
            return "of its own"

    class Array(Producer):
        def __array_namespace__(self) -> Any:
            return Namespace

    p = Array(shape=(3,))
    for name in ("same", "doubled", "counted_like"):
        assert extension.by_def.__dict__[name](p) == "of its own"
    assert [values(x) for x in made] == [[0, 1, 2], [0, 2, 4], [0, 1, 2]]
    made.clear()
    assert p.calls == [1, 1, 1]


def test_a_library_that_does_not_take_it() -> None:
    """What it raises is raised, and the tensor is freed."""

    class Namespace:
        @staticmethod
        def from_dlpack(x: dlbridge.Tensor) -> str:
            raise LookupError("not today")

    class Array(Producer):
        def __array_namespace__(self) -> Any:
            return Namespace

    p = Array(shape=(3,))
    for binding in BINDINGS:
        with pytest.raises(LookupError, match="not today"):
            function(binding, "same")(p)
    assert p.calls == [1, 1, 1]


def test_returns_our_own() -> None:
    assert type(extension.returns.dlbridge(3)) is dlbridge.Tensor


def test_returns_a_library_that_is_not_here() -> None:
    with pytest.raises(ModuleNotFoundError, match="cupy"):
        extension.returns.cupy(3)


# Parts of an object.


def test_parts_keep_their_object() -> None:
    image = extension.Image(2, 3)
    image.fill(2)
    rows = [image.first_row, image.row(1), extension.first_row_of(image)]
    assert [values(row) for row in rows] == [[2, 2, 2]] * 3
    assert rows[0].data_ptr == rows[2].data_ptr == rows[1].data_ptr - 12
    image.fill(5)
    assert values(rows[1]) == [5, 5, 5]
    del image
    assert values(rows[1]) == [5, 5, 5]


def test_parts_of_what_is_constant_are_read_only() -> None:
    image = extension.Image(2, 3)
    assert (image.row(1).readonly, image.constant_row(1).readonly) == (False, True)


def test_a_part_of_nothing() -> None:
    with pytest.raises(
        TypeError, match=r"^a dlbridge::member_view has no object to keep alive; return it"
    ):
        extension.row_of_nothing()


# Methods.


def test_methods() -> None:
    image = extension.Image(2, 3)
    image.fill(2)
    assert image.dot(Producer()) == 2 * (0 + 1 + 2 + 3 + 4 + 5)
    assert image.dot(other=image) == 24
    like = image.like(dlbridge.from_dlpack(Producer()))
    assert (type(like), like.shape) == (dlbridge.Tensor, (2, 3))
    assert image.add(Producer(byte_offset=4)) is image
    assert image.add(Producer(dtype=(2, 64, 1), fill=struct.pack("d", 4))) is image
    assert values(image.row(0))[0] == 7


# What a body throws.

FAILURES: list[tuple[int, type[BaseException], str]] = [
    (0, BufferError, "size overflows: expected less; got more"),
    (1, KeyError, "\"of pybind11's\""),
    (2, RuntimeError, "of the standard library's"),
    (3, LookupError, "of Python's"),
    (4, LookupError, "of Python's"),
    (5, MemoryError, ""),
    (6, TypeError, "of the body's"),
    (7, BufferError, "expected float64[2, 2] on cpu, writable; got float32[3] on cpu: dtype, rank "
     "differ"),
]  # fmt: skip


@pytest.mark.parametrize("how, kind, words", FAILURES)
@pytest.mark.parametrize("binding", BINDINGS)
def test_what_a_body_throws(binding: str, how: int, kind: type[BaseException], words: str) -> None:
    with pytest.raises(kind) as raised:
        function(binding, "fail")(how)
    assert type(raised.value) is kind
    assert words in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_body_that_throws_frees_its_arguments() -> None:
    for how, kind, _ in FAILURES:
        p = Producer(shape=(3,))
        with pytest.raises(kind):
            extension.fail_with(p, how)
        assert freed_once(p)


@pytest.mark.parametrize("binding", BINDINGS)
def test_results_are_freed_once(binding: str) -> None:
    gc.collect()
    out, calls = foreign.accounts()
    for name in ("same", "maybe_same", "doubled", "counted_like"):
        del_me = function(binding, name)(Producer(shape=(3,)))
        foreign.consume(del_me.__dlpack__()).release()
        del del_me
    now_out, now_calls = foreign.accounts()
    assert now_out - out == now_calls - calls == 4


ALONE = """
import sys
sys.modules["dlbridge"] = None  # as if it were not installed
import weakref
import extension, foreign

made = extension.by_def.to_managed(3)
assert type(made).__name__ == "Tensor"
assert repr(made) == "<dlbridge.Tensor float32[3] on cpu>"
assert made.__dlpack_device__() == (1, 0)
assert [hasattr(made, name) for name in ("shape", "__array__", "__buffer__")] == [False] * 3
for version in (None, (1, 0)):
    taken = foreign.consume(made.__dlpack__(max_version=version))
    assert (taken.shape, taken.flags) == ((3,), version and 0)
    taken.release()
copied = foreign.consume(made.__dlpack__(max_version=(1, 0), copy=True))
assert copied.flags == 2
copied.release()
try:
    type(made)()
except TypeError:
    pass
back = extension.by_fast.same(made)
assert type(back) is type(made) is type(extension.by_fast.doubled(back))
gone = weakref.ref(made)
del made
assert gone() is None
print("done")
"""


def test_without_the_package_a_plain_tensor_serves() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        env={**os.environ, "PYTHONPATH": os.environ["DLBRIDGE_TEST_MODULES"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
