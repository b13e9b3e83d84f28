"""Tensor.__dlpack__ and to_dlpack: what a plain-C consumer gets for every question."""

from __future__ import annotations

import inspect
import itertools
import sys
from typing import Any

import pytest

import dlbridge
import foreign
import producers

READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
SAME = "the memory itself"
COPY = "a copy"

# The whole matrix on the CPU: every answer follows from its row and columns alone.
STREAMS: list[Any] = [None, -1]
VERSIONS: list[tuple[Any, bool]] = [
    (None, False),
    ((0, 8), False),
    ([0, 9], False),
    ((1, 0), True),
    ([1, 1], True),
    ((1, 99), True),
    ((2, 0), True),
    ((2**32 - 1, 2**32 - 1), True),
]
DEVICES: list[Any] = [None, (1, 0), [1, 0], (1, None)]
COPIES: list[tuple[Any, str]] = [(None, SAME), (False, SAME), (True, COPY)]


def only_given(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value != "left out"}


@pytest.mark.parametrize("max_version, versioned", [("left out", False), *VERSIONS], ids=repr)
@pytest.mark.parametrize("copy, memory", [("left out", SAME), *COPIES])
def test_the_whole_matrix(max_version: Any, versioned: bool, copy: Any, memory: str) -> None:
    p = producers.Producer(strides=(1, 2), byte_offset=8)
    t = dlbridge.from_dlpack(p)
    expected = foreign.consume(p.handle.capsule()).tobytes()
    for stream, device in itertools.product(["left out", *STREAMS], ["left out", *DEVICES]):
        keywords = only_given(stream=stream, max_version=max_version, dl_device=device, copy=copy)
        taken = foreign.consume(t.__dlpack__(**keywords))
        assert taken.name == ("dltensor_versioned" if versioned else "dltensor")
        assert taken.version == (dlbridge.DLPACK_VERSION if versioned else None)
        assert (taken.dtype, taken.device, taken.shape) == ((2, 32, 1), (1, 0), (2, 3))
        assert (taken.byte_offset, taken.has_deleter) == (0, True)
        assert taken.tobytes() == expected
        if memory is SAME:
            assert (taken.data, taken.strides) == (p.handle.address + 8, (1, 2))
            assert taken.flags == (0 if versioned else None)
        else:
            assert taken.data != p.handle.address + 8 and taken.data % 64 == 0
            assert taken.strides == (3, 1)
            assert taken.flags == (IS_COPIED if versioned else None)
    del t, taken
    assert p.handle.calls == 2 == p.handle.handed_out


@pytest.mark.parametrize(
    "names", list(itertools.permutations(["stream", "max_version", "dl_device", "copy"]))
)
def test_order_of_keywords_does_not_matter(names: tuple[str, ...]) -> None:
    values: dict[str, Any] = {
        "stream": None,
        "max_version": (1, 0),
        "dl_device": (1, 0),
        "copy": True,
    }
    t = dlbridge.from_dlpack(producers.Producer())
    taken = foreign.consume(t.__dlpack__(**{name: values[name] for name in names}))
    assert taken.flags == IS_COPIED


class Spelled(str):
    """A keyword that is no plain str, and not interned."""


@pytest.mark.parametrize("spell", [lambda name: "".join(list(name)), Spelled])
def test_keywords_are_told_by_their_text(spell: Any) -> None:
    name: str = spell("max_version")
    ask: dict[str, Any] = {name: (1, 0)}
    assert name is not sys.intern("max_version")
    t = dlbridge.from_dlpack(producers.Producer(), **{spell("readonly"): True})
    assert t.readonly
    assert foreign.consume(t.__dlpack__(**ask)).name == "dltensor_versioned"
    capsule = dlbridge.to_dlpack(t, **ask)
    assert foreign.consume(capsule).flags == READ_ONLY


def test_the_signature_that_inspect_shows() -> None:
    signature = inspect.signature(dlbridge.Tensor.__dlpack__)
    assert str(signature) == (
        "(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)"
    )
    for function in (dlbridge.from_dlpack, dlbridge.as_tensor):
        assert str(inspect.signature(function)) == (
            "(x, /, *, device=None, copy=None, stream=None, readonly=None)"
        )
    assert str(inspect.signature(dlbridge.to_dlpack)) == "(x, /, *, max_version=None, copy=None)"


# What the producer said is passed on; what it left out is filled in.

PASSED_ON: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("null strides", {"strides": None}, {"strides": (3, 1)}),
    ("null strides of no element", {"shape": (2, 0, 4), "strides": None}, {"strides": (4, 4, 1)}),
    ("negative strides", {"strides": (-3, -1), "byte_offset": 20}, {"strides": (-3, -1)}),
    ("zero strides", {"strides": (0, 0)}, {"strides": (0, 0)}),
    ("strides that lead nowhere", {"shape": (1, 6), "strides": (-9, 1)}, {"strides": (-9, 1)}),
    ("rank 0", {"shape": ()}, {"ndim": 0, "shape": None, "strides": None}),
    ("rank 64", {"shape": (1,) * 64}, {"ndim": 64, "shape": (1,) * 64}),
    ("no element", {"shape": (0, 3)}, {"data": 0, "shape": (0, 3)}),
    ("read-only", {"flags": READ_ONLY}, {"flags": READ_ONLY}),
    ("an unknown flag", {"flags": 1 << 40}, {"flags": 1 << 40}),
    ("padded", {"flags": PADDED, "dtype": (17, 4, 1)}, {"flags": PADDED, "dtype": (17, 4, 1)}),
    ("a version of its own", {"version": (1, 99)}, {"version": dlbridge.DLPACK_VERSION}),
    ("lanes", {"dtype": (2, 32, 2), "shape": (3,)}, {"dtype": (2, 32, 2), "shape": (3,)}),
    ("another host device", {"device": (3, 1)}, {"device": (3, 1)}),
    ("an address on a device", {"device": (2, 1), "byte_offset": 4}, {"byte_offset": 0}),
    ("a handle with an offset", {"device": (4, 0), "byte_offset": 4}, {"byte_offset": 4}),
]


@pytest.mark.parametrize(
    "fields, seen", [each[1:] for each in PASSED_ON], ids=[each[0] for each in PASSED_ON]
)
def test_what_is_passed_on(fields: dict[str, Any], seen: dict[str, Any]) -> None:
    p = producers.Producer(**fields)
    taken = foreign.consume(dlbridge.from_dlpack(p).__dlpack__(max_version=(1, 0)))
    assert {name: getattr(taken, name) for name in seen} == seen
    assert taken.has_deleter
    if 0 not in (taken.shape or ()):
        assert taken.data + taken.byte_offset == p.handle.address + fields.get("byte_offset", 0)


@pytest.mark.parametrize("deleter", [True, False])
def test_a_deleter_is_always_given(deleter: bool) -> None:
    """JAX, dpnp and onnxruntime crash without one."""
    p = producers.Producer(deleter=deleter)
    taken = foreign.consume(dlbridge.from_dlpack(p).__dlpack__())
    assert taken.has_deleter
    taken.release()
    assert p.calls == [int(deleter)]


DEVICE_TYPES = [1, 2, 3, 4, *range(7, 22)]


@pytest.mark.parametrize("code", DEVICE_TYPES)
def test_device_of_every_type(code: int) -> None:
    t = dlbridge.from_dlpack(producers.Producer(device=(code, 3)))
    assert t.__dlpack_device__() == (code, 3)
    assert [type(each) for each in t.__dlpack_device__()] == [int, int]
    assert foreign.consume(t.__dlpack__(max_version=(1, 0))).device == (code, 3)
    assert foreign.consume(t.__dlpack__(dl_device=(code, 3))).device == (code, 3)


@pytest.mark.parametrize("device", [(1, 2), (3, 0), (11, 0), (20, 0)])
@pytest.mark.parametrize("copy, memory", COPIES)
def test_host_memory_is_the_cpus_as_well(device: tuple[int, int], copy: Any, memory: str) -> None:
    p = producers.Producer(device=device)
    t = dlbridge.from_dlpack(p)
    taken = foreign.consume(t.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=copy))
    assert taken.device == (1, 0)
    assert (taken.data == p.handle.address) == (memory is SAME)


@pytest.mark.parametrize(
    "device, streams",
    [
        ((2, 0), [None, -1, 1]),  # other streams are to wait: test_device_streams.py
        ((13, 0), [None, -1, 1]),
        ((10, 0), [None, -1, 0]),
        ((14, 0), [None, -1]),
        ((4, 0), [None, -1]),
    ],
)
def test_streams_that_are_taken(device: tuple[int, int], streams: list[Any]) -> None:
    t = dlbridge.from_dlpack(producers.Producer(device=device))
    for stream in streams:
        assert foreign.consume(t.__dlpack__(stream=stream)).device == device


@pytest.mark.parametrize("device", [(2, 0), (13, 0), (10, 0)])
def test_a_stream_that_cannot_be_ordered_is_said(device: tuple[int, int]) -> None:
    """There is no driver here, or it knows no such stream."""
    p = producers.Producer(device=device)
    t = dlbridge.from_dlpack(p)
    with pytest.raises(RuntimeError, match="device runtime"):
        t.__dlpack__(stream=2**40 + 8)
    del t
    assert p.calls == p.owed


# Read-only memory and legacy consumers.


def test_a_copy_of_read_only_memory_is_writable() -> None:
    t = dlbridge.from_dlpack(producers.Producer(flags=READ_ONLY))
    assert foreign.consume(t.__dlpack__(copy=True)).name == "dltensor"
    assert foreign.consume(t.__dlpack__(copy=True, max_version=(1, 0))).flags == IS_COPIED


def test_the_caller_may_drop_or_set_the_mark() -> None:
    p = producers.Producer(flags=READ_ONLY)
    t = dlbridge.from_dlpack(p, readonly=False)
    assert foreign.consume(t.__dlpack__()).data == p.handle.address
    q = producers.Bare()
    u = dlbridge.from_dlpack(q, readonly=True)
    assert foreign.consume(u.__dlpack__(max_version=(1, 0))).flags == READ_ONLY
    with pytest.raises(BufferError):
        u.__dlpack__()


# to_dlpack: for consumers that take nothing but a capsule.


@pytest.mark.parametrize("max_version, versioned", VERSIONS, ids=repr)
@pytest.mark.parametrize("copy, memory", COPIES)
@pytest.mark.parametrize("kind", ["producer", "capsule", "tensor", "buffer"])
def test_to_dlpack(kind: str, max_version: Any, versioned: bool, copy: Any, memory: str) -> None:
    block = bytearray(range(24))
    p = producers.Producer(fill=bytes(block))
    given: dict[str, Any] = {"producer": p, "buffer": block}
    if kind == "capsule":
        given[kind] = p.give(True)
    elif kind == "tensor":
        given[kind] = dlbridge.from_dlpack(p)
    x = given.pop(kind)
    taken = foreign.consume(dlbridge.to_dlpack(x, max_version=max_version, copy=copy))
    assert taken.name == ("dltensor_versioned" if versioned else "dltensor")
    assert taken.tobytes() == bytes(block)
    where = foreign.buffer(block, 0)["data"] if kind == "buffer" else p.handle.address
    assert (taken.data == where) == (memory is SAME)
    assert taken.flags == ((IS_COPIED if memory is COPY else 0) if versioned else None)
    del x, given
    taken.release()
    assert p.calls == p.owed


def test_to_dlpack_of_read_only_memory() -> None:
    with pytest.raises(BufferError, match="writable memory for a legacy tensor"):
        dlbridge.to_dlpack(b"abc")
    assert foreign.consume(dlbridge.to_dlpack(b"abc", copy=True)).tobytes() == b"abc"
    assert foreign.consume(dlbridge.to_dlpack(b"abc", max_version=(1, 0))).flags == READ_ONLY


def test_every_export_is_its_own() -> None:
    p = producers.Producer()
    t = dlbridge.from_dlpack(p)
    capsules = [t.__dlpack__() for _ in range(5)]
    taken = [foreign.consume(capsule) for capsule in capsules]
    assert {each.data for each in taken} == {p.handle.address}
    del t, capsules
    for each in taken:
        assert p.calls == [0]
        each.release()
    assert p.calls == [1]
