# SPDX-License-Identifier: BSD-3-Clause
"""Tensor.__dlpack__ and to_dlpack: what a consumer in C gets for every request."""

from __future__ import annotations

import inspect
import itertools
import sys
from typing import Any, Callable

import pytest

import dlbridge
import foreign
import producers

READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
SAME = "the same memory"
COPY = "a copy"

# The whole matrix on the CPU: each keyword determines its part of the result alone.
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


def without_left_out(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value != "left out"}


@pytest.mark.parametrize("max_version, versioned", [("left out", False), *VERSIONS], ids=repr)
@pytest.mark.parametrize("copy, memory", [("left out", SAME), *COPIES])
def test_the_whole_matrix(max_version: Any, versioned: bool, copy: Any, memory: str) -> None:
    p = producers.Producer(strides=(1, 2), byte_offset=8)
    t = dlbridge.from_dlpack(p)
    expected = foreign.consume(p.handle.capsule()).tobytes()
    for stream, device in itertools.product(["left out", *STREAMS], ["left out", *DEVICES]):
        keywords = without_left_out(
            stream=stream, max_version=max_version, dl_device=device, copy=copy
        )
        result = foreign.consume(t.__dlpack__(**keywords))
        assert result.name == ("dltensor_versioned" if versioned else "dltensor")
        assert result.version == (dlbridge.DLPACK_VERSION if versioned else None)
        assert (result.dtype, result.device, result.shape) == ((2, 32, 1), (1, 0), (2, 3))
        assert (result.byte_offset, result.has_deleter) == (0, True)
        assert result.tobytes() == expected
        if memory is SAME:
            assert (result.data, result.strides) == (p.handle.address + 8, (1, 2))
            assert result.flags == (0 if versioned else None)
        else:
            assert result.data != p.handle.address + 8 and result.data % 64 == 0
            assert result.strides == (3, 1)
            assert result.flags == (IS_COPIED if versioned else None)
    del t, result
    assert p.handle.calls == 2 == p.handle.handed_out


# The device of the tensor, the requested device, the device of the result. The CPU has every
# ordinal, and so has other memory that the CPU can access.
ORDINALS = [
    ((1, 0), (1, 1), (1, 0)),
    ((1, 0), (1, -1), (1, 0)),
    ((1, 3), (1, 3), (1, 3)),
    ((1, 3), (1, 4), (1, 3)),
    ((1, 3), (1, 0), (1, 0)),
    ((3, 0), (1, 1), (1, 0)),
    ((13, 0), (13, 1), (13, 0)),
    ((20, 0), (20, 1), (20, 0)),
]


@pytest.mark.parametrize("own, requested, expected", ORDINALS)
def test_ordinals_of_host_memory_do_not_matter(
    own: tuple[int, int], requested: tuple[int, int], expected: tuple[int, int]
) -> None:
    p = producers.Producer(device=own)
    t = dlbridge.from_dlpack(p)
    result = foreign.consume(t.__dlpack__(dl_device=requested, copy=False))
    assert (result.device, result.data) == (expected, p.handle.address)
    moved = dlbridge.from_dlpack(t, device=requested, copy=False)
    assert moved.data_ptr == t.to(requested).data_ptr == p.handle.address
    assert moved.__dlpack_device__()[0] == requested[0]


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
    result = foreign.consume(t.__dlpack__(**{name: values[name] for name in names}))
    assert result.flags == IS_COPIED


class Spelled(str):
    """A keyword of a subclass of str, which is not interned."""


@pytest.mark.parametrize("spell", [lambda name: "".join(list(name)), Spelled])
def test_keywords_are_compared_by_their_text(spell: Any) -> None:
    name: str = spell("max_version")
    keywords: dict[str, Any] = {name: (1, 0)}
    assert name is not sys.intern("max_version")
    t = dlbridge.from_dlpack(producers.Producer(), **{spell("readonly"): True})
    assert t.readonly
    assert foreign.consume(t.__dlpack__(**keywords)).name == "dltensor_versioned"
    capsule = dlbridge.to_dlpack(t, **keywords)
    assert foreign.consume(capsule).flags == READ_ONLY


def test_signatures() -> None:
    signature = inspect.signature(dlbridge.Tensor.__dlpack__)
    assert str(signature) == (
        "(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)"
    )
    for function in (dlbridge.from_dlpack, dlbridge.as_tensor):
        assert str(inspect.signature(function)) == (
            "(x, /, *, device=None, copy=None, stream=None, readonly=None)"
        )
    assert str(inspect.signature(dlbridge.to_dlpack)) == "(x, /, *, max_version=None, copy=None)"


# dlbridge exports the producer's fields, and fills in absent strides.

EXPORTED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("null strides", {"strides": None}, {"strides": (3, 1)}),
    ("null strides of no element", {"shape": (2, 0, 4), "strides": None}, {"strides": (4, 4, 1)}),
    ("negative strides", {"strides": (-3, -1), "byte_offset": 20}, {"strides": (-3, -1)}),
    ("zero strides", {"strides": (0, 0)}, {"strides": (0, 0)}),
    ("strides of size 1", {"shape": (1, 6), "strides": (-9, 1)}, {"strides": (-9, 1)}),
    ("rank 0", {"shape": ()}, {"ndim": 0, "shape": None, "strides": None}),
    ("rank 64", {"shape": (1,) * 64}, {"ndim": 64, "shape": (1,) * 64}),
    ("no element", {"shape": (0, 3)}, {"data": 0, "shape": (0, 3)}),
    ("read-only", {"flags": READ_ONLY}, {"flags": READ_ONLY}),
    ("an unknown flag", {"flags": 1 << 40}, {"flags": 1 << 40}),
    ("padded", {"flags": PADDED, "dtype": (17, 4, 1)}, {"flags": PADDED, "dtype": (17, 4, 1)}),
    ("a newer version", {"version": (1, 99)}, {"version": dlbridge.DLPACK_VERSION}),
    ("lanes", {"dtype": (2, 32, 2), "shape": (3,)}, {"dtype": (2, 32, 2), "shape": (3,)}),
    ("another host device", {"device": (3, 1)}, {"device": (3, 1)}),
    ("an address on a device", {"device": (2, 1), "byte_offset": 4}, {"byte_offset": 0}),
    ("a handle with an offset", {"device": (4, 0), "byte_offset": 4}, {"byte_offset": 4}),
]


@pytest.mark.parametrize(
    "fields, expected", [each[1:] for each in EXPORTED], ids=[each[0] for each in EXPORTED]
)
def test_exported_fields(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    p = producers.Producer(**fields)
    result = foreign.consume(dlbridge.from_dlpack(p).__dlpack__(max_version=(1, 0)))
    assert {name: getattr(result, name) for name in expected} == expected
    assert result.has_deleter
    if 0 not in (result.shape or ()):
        assert result.data + result.byte_offset == p.handle.address + fields.get("byte_offset", 0)


@pytest.mark.parametrize("deleter", [True, False])
def test_exports_always_have_a_deleter(deleter: bool) -> None:
    """JAX, dpnp and onnxruntime crash without one."""
    p = producers.Producer(deleter=deleter)
    result = foreign.consume(dlbridge.from_dlpack(p).__dlpack__())
    assert result.has_deleter
    result.release()
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
def test_host_memory_is_also_exported_as_cpu_memory(
    device: tuple[int, int], copy: Any, memory: str
) -> None:
    p = producers.Producer(device=device)
    t = dlbridge.from_dlpack(p)
    result = foreign.consume(t.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=copy))
    assert result.device == (1, 0)
    assert (result.data == p.handle.address) == (memory is SAME)


@pytest.mark.parametrize(
    "device, streams",
    [
        ((2, 0), [None, -1, 1]),  # other streams wait: test_device_streams.py
        ((13, 0), [None, -1, 1]),
        ((10, 0), [None, -1, 0]),
        ((14, 0), [None, -1]),
        ((4, 0), [None, -1]),
    ],
)
def test_accepted_streams(device: tuple[int, int], streams: list[Any]) -> None:
    t = dlbridge.from_dlpack(producers.Producer(device=device))
    for stream in streams:
        assert foreign.consume(t.__dlpack__(stream=stream)).device == device


@pytest.mark.parametrize("device", [(2, 0), (13, 0), (10, 0)])
def test_a_stream_that_cannot_be_ordered_is_refused(device: tuple[int, int]) -> None:
    """The machine has no driver, or the driver has no such stream."""
    p = producers.Producer(device=device)
    t = dlbridge.from_dlpack(p)
    with pytest.raises(RuntimeError, match="device runtime"):
        t.__dlpack__(stream=2**40 + 8)
    del t
    assert p.calls == p.exports


# Read-only memory and legacy consumers.


def test_a_copy_of_read_only_memory_is_writable() -> None:
    t = dlbridge.from_dlpack(producers.Producer(flags=READ_ONLY))
    assert foreign.consume(t.__dlpack__(copy=True)).name == "dltensor"
    assert foreign.consume(t.__dlpack__(copy=True, max_version=(1, 0))).flags == IS_COPIED


def test_the_caller_may_clear_or_set_the_flag() -> None:
    p = producers.Producer(flags=READ_ONLY)
    t = dlbridge.from_dlpack(p, readonly=False)
    assert foreign.consume(t.__dlpack__()).data == p.handle.address
    q = producers.Bare()
    u = dlbridge.from_dlpack(q, readonly=True)
    assert foreign.consume(u.__dlpack__(max_version=(1, 0))).flags == READ_ONLY
    with pytest.raises(BufferError):
        u.__dlpack__()


# to_dlpack: for consumers that accept capsules only.


@pytest.mark.parametrize("max_version, versioned", VERSIONS, ids=repr)
@pytest.mark.parametrize("copy, memory", COPIES)
@pytest.mark.parametrize("kind", ["producer", "capsule", "tensor", "buffer"])
def test_to_dlpack(kind: str, max_version: Any, versioned: bool, copy: Any, memory: str) -> None:
    block = bytearray(range(24))
    p = producers.Producer(fill=bytes(block))
    sources: dict[str, Any] = {"producer": p, "buffer": block}
    if kind == "capsule":
        sources[kind] = p.export(True)
    elif kind == "tensor":
        sources[kind] = dlbridge.from_dlpack(p)
    x = sources.pop(kind)
    result = foreign.consume(dlbridge.to_dlpack(x, max_version=max_version, copy=copy))
    assert result.name == ("dltensor_versioned" if versioned else "dltensor")
    assert result.tobytes() == bytes(block)
    address = foreign.buffer(block, 0)["data"] if kind == "buffer" else p.handle.address
    assert (result.data == address) == (memory is SAME)
    assert result.flags == ((IS_COPIED if memory is COPY else 0) if versioned else None)
    del x, sources
    result.release()
    assert p.calls == p.exports


def test_to_dlpack_of_read_only_memory() -> None:
    with pytest.raises(BufferError, match="a legacy tensor has no read-only flag"):
        dlbridge.to_dlpack(b"abc")
    assert foreign.consume(dlbridge.to_dlpack(b"abc", copy=True)).tobytes() == b"abc"
    assert foreign.consume(dlbridge.to_dlpack(b"abc", max_version=(1, 0))).flags == READ_ONLY


def test_exports_are_independent() -> None:
    p = producers.Producer()
    t = dlbridge.from_dlpack(p)
    capsules = [t.__dlpack__() for _ in range(5)]
    results = [foreign.consume(capsule) for capsule in capsules]
    assert {each.data for each in results} == {p.handle.address}
    del t, capsules
    for each in results:
        assert p.calls == [0]
        each.release()
    assert p.calls == [1]


def consumed(t: dlbridge.Tensor, **keywords: Any) -> tuple[int, int]:
    capsule = foreign.consume(t.__dlpack__(**keywords))
    return capsule.data, capsule.byte_offset


EXPORTS: dict[str, Callable[[dlbridge.Tensor], tuple[int, int]]] = {
    "legacy": consumed,
    "versioned": lambda t: consumed(t, max_version=(1, 0)),
    "a second one": lambda t: (t.__dlpack__(max_version=(1, 0)), consumed(t, max_version=(1, 0)))[
        1
    ],
    "shared": lambda t: consumed(dlbridge.from_dlpack(t)),
    "read-only": lambda t: consumed(dlbridge.from_dlpack(t, readonly=True), max_version=(1, 0)),
    "give": lambda t: (
        foreign.slot(dlbridge.Tensor, "give", t).data,
        foreign.slot(dlbridge.Tensor, "give", t).byte_offset,
    ),
    "lend": lambda t: (
        foreign.slot(dlbridge.Tensor, "lend", t)["data"],
        foreign.slot(dlbridge.Tensor, "lend", t)["byte_offset"],
    ),
}


@pytest.mark.parametrize("shape", [(2, 3), (0, 3)])
@pytest.mark.parametrize("export", EXPORTS)
def test_on_oneapi_data_and_byte_offset_are_those_of_the_producer(
    export: str, shape: tuple[int, int]
) -> None:
    capsule = producers.Producer(device=(14, 0), byte_offset=4, shape=shape).__dlpack__()
    memory = foreign.consume(capsule)
    data = memory.data
    capsule = producers.Producer(device=(14, 0), byte_offset=4, shape=shape, data=data).__dlpack__()
    t = dlbridge.from_dlpack(capsule)
    assert EXPORTS[export](t) == (data, 4)
    assert (t.data_ptr, t.byte_offset) == (data + 4, 0)
