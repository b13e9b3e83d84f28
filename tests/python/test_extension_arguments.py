# SPDX-License-Identifier: BSD-3-Clause
"""Accepted arguments: every kind of parameter and every constraint, by each binding."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import warnings
from typing import Any

import pytest
from cpython_build import FREE_THREADED

import dlbridge
import foreign
from bindings import BINDINGS, MODULES, OWNING, freed_once, function
from producers import AlwaysLegacy, Bare, NoDevice, OldStyle, OnInstance, Producer

TO_READ = ["span_to_read", "owned", "argument", "any_tensor", "managed_tensor"]
TO_WRITE = ["span_to_write", "owned_to_write"]
KINDS = [*TO_READ, *TO_WRITE]

# Functions with a constraint, and the fields of a tensor that meets it.
ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("int64", {"dtype": (0, 64, 1)}),
    ("int64", {"dtype": (0, 64, 1), "shape": (), "flags": 1}),
    ("float_or_double", {"shape": (2, 3), "byte_offset": 4}),
    ("float_or_double", {"dtype": (2, 64, 1), "shape": (3,), "flags": 1}),
    ("rank_0", {"shape": ()}),
    ("rank_2", {"shape": (2, 3), "strides": (1, 2)}),
    ("rank_2", {"shape": (2, 3), "strides": (-3, 0), "byte_offset": 24}),
    ("rgb", {"dtype": (1, 8, 1), "shape": (4, 5, 3)}),
    ("rgb", {"dtype": (1, 8, 1), "shape": (4, 0, 3)}),
    ("fixed", {"shape": (2, 3), "byte_offset": 4}),
    ("writable", {"shape": (2, 3)}),
    ("row_major", {"shape": (2, 3)}),
    ("row_major", {"shape": (2, 3), "strides": None}),
    ("row_major", {"shape": (1, 3), "strides": (77, 1)}),
    ("column_major", {"shape": (2, 3), "strides": (1, 2)}),
    ("compact", {"shape": (2, 3, 4), "strides": (4, 8, 1)}),
    ("anywhere", {"shape": (2, 3), "device": (2, 1)}),
    ("on_cuda", {"shape": (2, 3), "device": (2, 1)}),
    ("aligned_64", {"shape": (2, 3), "byte_offset": 64}),
    ("aligned_256", {"shape": (2, 3)}),
    ("aligned_256", {"shape": (0, 3), "byte_offset": 4}),
    ("all", {"shape": (5, 3)}),
]


@pytest.mark.parametrize("name", [*KINDS, *[f"optional_{kind}" for kind in KINDS]])
@pytest.mark.parametrize("binding", BINDINGS)
def test_every_kind_of_parameter(binding: str, name: str) -> None:
    p, q = Producer(shape=(3,)), Producer(shape=(3,))
    assert function(binding, name)(p) == p.handle.address
    assert function(binding, name)(x=q) == q.handle.address
    assert freed_once(p, q)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("binding", BINDINGS)
def test_optional_parameters_accept_none(binding: str, kind: str) -> None:
    assert function(binding, f"optional_{kind}")(None) == 0
    with pytest.raises(TypeError):
        function(binding, kind)(None)


@pytest.mark.parametrize("kind", TO_READ)
@pytest.mark.parametrize("binding", BINDINGS)
def test_const_parameters_accept_read_only_memory(binding: str, kind: str) -> None:
    p = Producer(shape=(3,), flags=1)
    assert function(binding, kind)(p) == p.handle.address
    assert freed_once(p)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_tensor_of_dlbridge_is_imported_without_dlpack(
    binding: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = Producer(shape=(3,))
    t = dlbridge.from_dlpack(p)
    monkeypatch.delattr(dlbridge.Tensor, "__dlpack__")
    assert function(binding, kind)(t) == p.handle.address
    assert p.calls == [0]
    del t
    assert freed_once(p)


@pytest.mark.skipif(FREE_THREADED, reason="the table costs less there")
@pytest.mark.parametrize("kind", ["span_to_read", "span_to_write"])
@pytest.mark.parametrize("binding", [each for each in BINDINGS if each != OWNING])
def test_a_tensor_of_dlbridge_is_borrowed_without_a_call(
    binding: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = Producer(shape=(3,))
    t = dlbridge.from_dlpack(p)
    monkeypatch.delattr(dlbridge.Tensor, "__dlpack__")
    monkeypatch.delattr(dlbridge.Tensor, "__dlpack_c_exchange_api__")
    assert function(binding, kind)(t) == p.handle.address


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_class_with_the_attributes_of_tensor_is_no_tensor(binding: str) -> None:
    names = ["__dlbridge_tensor__", "__dlpack_device__"]
    other = type("Other", (), {name: vars(dlbridge.Tensor)[name] for name in names})
    with pytest.raises(TypeError):
        function(binding, "span_to_read")(other())


@pytest.mark.parametrize("make", [OldStyle, Bare, AlwaysLegacy, NoDevice, OnInstance])
@pytest.mark.parametrize("binding", BINDINGS)
def test_producers_of_every_behaviour(binding: str, make: Any) -> None:
    assert function(binding, "sum")(make(shape=(4,))) == 6
    p = make(shape=(4,))
    assert function(binding, "owned")(p) == getattr(p, "target", p).handle.address


@pytest.mark.parametrize("name, fields", ACCEPTED, ids=lambda each: str(each))
@pytest.mark.parametrize("binding", BINDINGS)
def test_every_constraint(binding: str, name: str, fields: dict[str, Any]) -> None:
    p = Producer(**fields)
    empty = 0 in fields["shape"] if "shape" in fields else False
    address = function(binding, name)(p)
    assert empty or address == p.handle.address + fields.get("byte_offset", 0)
    assert freed_once(p)


@pytest.mark.parametrize("name, fields", ACCEPTED, ids=lambda each: str(each))
@pytest.mark.parametrize("binding", BINDINGS)
def test_every_constraint_of_a_tensor(binding: str, name: str, fields: dict[str, Any]) -> None:
    p = Producer(**fields)
    t = dlbridge.from_dlpack(p)
    address = function(binding, name)(t)
    assert t.size == 0 or address == t.data_ptr
    del t
    assert freed_once(p)


def test_strides_and_byte_offset_are_applied(extension: Any) -> None:
    sums = {
        binding: function(binding, "sum")(Producer(shape=(4,), strides=(5,)))
        for binding in BINDINGS
    }
    backwards = Producer(shape=(4,), strides=(-1,), byte_offset=12)
    assert set(sums.values()) == {0 + 5 + 10 + 15}
    assert extension.by_def.sum(backwards) == 6


def test_defaults_and_keywords(extension: Any) -> None:
    p = Producer(shape=(3,))
    extension.scale(p)
    t = dlbridge.from_dlpack(p.handle.capsule())
    assert memoryview(t).tolist() == [0, 2, 4]
    extension.scale(factor=10, x=t)
    assert memoryview(t).tolist() == [0, 20, 40]
    assert extension.join(t, y=Producer(shape=(3,))) == 3
    assert extension.join(x=t, y=t, how="there") == 60
    with pytest.raises(TypeError, match=r"^join\(\) takes 2 positional arguments, not 3$"):
        extension.join(t, t, "there")
    factor = {"extension": "typing.SupportsFloat | typing.SupportsIndex"}
    assert extension.scale.__doc__.rstrip() == (
        'scale(x: typing.Annotated[SupportsDLPack, "float32[*] on cpu, writable"], '
        f"factor: {factor.get(extension.__name__, 'float')} = 2.0) -> None\n\n"
        "Multiplies in place."
    )


def test_one_object_as_two_arguments(extension: Any) -> None:
    p = Producer(shape=(3,))
    assert extension.unnamed(p, p) == 6
    assert (p.exports, p.calls) == ([1, 1], [1, 1])


def test_owning_arguments_without_the_gil(extension: Any) -> None:
    producers = [Producer(shape=(4,)), Producer(shape=(5,))]
    assert extension.without_gil(*producers) == 16
    assert freed_once(*producers)
    # The function frees x, which it takes by value. The caller frees y, which it takes by const&.
    assert [p.handle.log[0].gil for p in producers] == [False, True]


def test_an_argument_outlives_the_call_in_its_result(extension: Any) -> None:
    p = Producer(shape=(3,))
    result = extension.by_def.same(p)
    assert (result.data_ptr, p.calls) == (p.handle.address, [0])
    del result
    assert freed_once(p)


def test_every_tensor_is_freed() -> None:
    gc.collect()
    exports, calls = foreign.accounts()
    for binding in BINDINGS:
        for kind in KINDS:
            function(binding, kind)(Producer(shape=(3,)))
    now_exports, now_calls = foreign.accounts()
    assert now_exports - exports == now_calls - calls == len(BINDINGS) * len(KINDS)


# Python code that runs while a later argument is imported may change an earlier one.


class Meanwhile(Producer):
    """Runs a function while it is asked for its tensor."""

    def __init__(self, run: Any, **fields: Any) -> None:
        super().__init__(**fields)
        self.run = run

    def __dlpack__(self, **keywords: Any) -> object:
        self.run()
        return super().__dlpack__(**keywords)


class Lender(foreign.Exported):
    """Lends its tensor by an exchange table."""

    __dlpack_c_exchange_api__ = foreign.exchange_capsule(foreign.exchange_table())


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_array_that_is_reshaped_meanwhile(binding: str) -> None:
    np = pytest.importorskip("numpy")
    first_of_two = function(binding, "first_of_two")

    # Every array has a later argument of another type: two types may share one entry of the cache.
    types = [type("Meanwhile", (Meanwhile,), {}) for _ in range(4)]

    def call_with(later: type[Meanwhile], *shape: int) -> int:
        a = np.arange(6, dtype=np.float32)[::2]

        def reshape() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
                a.shape = shape

        return int(first_of_two(a, later(reshape, shape=(3,))))

    refused = 0
    for each in types:
        assert call_with(each, 3) == 302
        try:
            assert call_with(each, 3, 1, 1, 1, 1, 1, 1) == 302
        except (TypeError, BufferError) as refusal:
            assert "stays as it is during the call" in str(refusal)
            refused += 1
    assert refused >= len(types) - 1


@pytest.mark.parametrize("binding", BINDINGS)
def test_types_that_share_an_entry_of_the_cache(binding: str) -> None:
    np = pytest.importorskip("numpy")
    first_of_two = function(binding, "first_of_two")
    a = np.arange(6, dtype=np.float32)[::2]
    types = [type("Later", (Producer,), {}) for _ in range(1500)]  # of 512 entries
    for each in types:
        for _ in range(2):
            assert first_of_two(a, each(shape=(3,))) == 302


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_unusual_array_is_borrowed_again(binding: str) -> None:
    """An empty array, and one with a negative stride, which no fast path accepts."""
    np = pytest.importorskip("numpy")
    first_of_two = function(binding, "first_of_two")
    for a, expected in (
        (np.empty(0, dtype=np.float32), {0, 1}),  # its stride leads to no element
        (np.arange(6, dtype=np.float32)[::-2], {298}),
    ):
        for _ in range(2):
            assert first_of_two(a, Meanwhile(int, shape=(3,))) in expected


@pytest.mark.parametrize("binding", BINDINGS)
def test_memory_of_the_cpu_is_no_device_memory(binding: str) -> None:
    """Also from the second call on, when the type of the object is known."""
    x = Lender(foreign.tensor(shape=(2, 3)))
    arrays: list[Any] = [x, dlbridge.from_dlpack(Producer()), Producer()]
    with contextlib.suppress(ImportError):
        import numpy as np

        arrays.append(np.zeros((2, 3), dtype=np.float32))
    for _ in range(3):
        for array in arrays:
            with pytest.raises(TypeError):
                function(binding, "on_cuda")(array)


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_lent_tensor_is_borrowed_again(binding: str) -> None:
    x = Lender(foreign.tensor(shape=(3,)))
    before = foreign.slot_calls()["lend"]
    assert function(binding, "first_of_two")(x, Meanwhile(int, shape=(3,))) == 301
    assert foreign.slot_calls()["lend"] == before + (1 if binding == OWNING else 2)


class Sharing:
    """Shares its memory although a copy was requested."""

    def __init__(self, handle: foreign.Handle) -> None:
        self.handle = handle

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> object:
        return self.handle.capsule(True)


class SharingOldStyle(Sharing):
    """Does not accept the keyword either."""

    def __dlpack__(self, stream: Any = None) -> object:  # type: ignore[override]
        return self.handle.capsule(False)


@pytest.mark.parametrize("make", [Sharing, SharingOldStyle, lambda handle: handle.capsule(True)])
def test_consume_copies_what_the_producer_does_not(extension: Any, make: Any) -> None:
    handle = foreign.tensor(shape=(3,))
    copy = extension.consumed_copy(make(handle))
    assert (copy.shape, copy.flags & 2) == ((3,), 2)  # IS_COPIED
    assert copy.data_ptr != handle.address
    assert handle.calls == handle.handed_out


def test_an_argument_is_viewed_and_copied_as_a_tensor_is(extension: Any) -> None:
    assert extension.counts(Producer(shape=(3,))) == [3, 3, 6]


def test_what_an_argument_was_moved_from_has_no_view(extension: Any) -> None:
    texts = extension.refusals_of_moved(Producer(shape=(3,)), Producer(shape=(3,)))
    empty = "tensor without data: expected an owner of a tensor; got an empty one"
    assert texts == [empty] * 7


@pytest.mark.parametrize("module", MODULES)
def test_a_tensor_that_owns_a_copy_is_written_from_the_first_call_on(module: str) -> None:
    """The mark IS_COPIED is of the Tensor's own memory, and of no copy that the call made. A new
    process: the first call does not know the type yet."""
    code = f"""
import dlbridge, {module} as e
t = dlbridge.from_dlpack(dlbridge.empty((3,), "float32"), copy=True)
print(t.flags & 2, *(e.by_def.span_to_write(t) == t.data_ptr for _ in range(2)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["2", "True", "True"]
