# SPDX-License-Identifier: BSD-3-Clause
"""Every bad input: the class and the text of the exception, and the numbers of deleter calls."""

from __future__ import annotations

import gc
import re
import sys
from typing import Any, Callable, ClassVar

import pytest

import dlbridge
import foreign
import producers

MOST = 2**63 - 1
TRAPS = {"shape": foreign.trap(), "strides": foreign.trap(), "data": foreign.trap()}
BROKEN = ". The producer is broken; dlbridge cannot read this tensor"
NULL_DATA = "tensor without data: expected memory; got null data for "
NO_STORAGE = ". Give the tensor storage first: fake, meta and lazy tensors have none"
OTHER_DTYPE = ". Ask the producer for another dtype, or use a newer dlbridge"
OTHER_DEVICE = ". Move the tensor to a device that dlbridge supports, or use a newer dlbridge"


def name_of(capsule: object) -> str:
    match = re.search(r'capsule object (?:"([^"]*)"|NULL) at', repr(capsule))
    assert match is not None
    return match.group(1)


# Broken tensors, by every protocol: a BufferError, and one deleter call.

SIZE = "size overflows: expected a size in bits that fits 64 bits; got shape "
BYTES = "size overflows: expected bytes that can be addressed; got shape "
DTYPE = "expected a dtype of DLPack 1.x; got (code {}, bits {}, lanes {}): dtype differs"
DEVICE = (
    "expected a device of DLPack 1.x; got (device type {}, id {}): device differs" + OTHER_DEVICE
)

Fields = dict[str, Any]
BROKEN_COUNTS: list[tuple[Fields, int]] = [
    ({"ndim": -1}, -1),
    ({"ndim": -(2**31)}, -(2**31)),
    ({"ndim": 2**31 - 1}, 2**31 - 1),
    ({"shape": (1,) * 65}, 65),
]
OUT_OF_REACH: list[tuple[tuple[int, ...], tuple[int, ...], Fields]] = [
    ((2, 2), (MOST, 1), {}),
    ((2, 2), (-MOST - 1, 1), {}),
    ((3,), (2**60,), {}),
    ((2, 3), (3, 1), {"byte_offset": 2**63}),
    ((2, 3), (3, 1), {"byte_offset": 2**64 - 4}),
    ((2, 3), (3, 1), {"data": 2**64 - 8}),
    ((2, 3), (-3, -1), {"data": 16}),
]
WITHOUT_DATA: list[tuple[Fields, str]] = [
    ({}, "float32[2, 3] on cpu"),
    ({"device": (2, 1)}, "float32[2, 3] on cuda:1"),
    ({"shape": ()}, "float32[] on cpu"),
    ({"byte_offset": 64}, "float32[2, 3] on cpu"),
]

TENSORS: list[tuple[Fields, str]] = [
    *(
        (fields, f"malformed tensor: expected ndim from 0 to 64; got ndim {ndim}{BROKEN}")
        for fields, ndim in BROKEN_COUNTS
    ),
    (
        {"shape": None, "ndim": 2},
        f"malformed tensor: expected a shape; got a null shape with ndim 2{BROKEN}",
    ),
    *(
        (
            {"shape": shape},
            f"malformed tensor: expected extents of 0 and above; got shape {list(shape)}{BROKEN}",
        )
        for shape in [(2, -3), (0, -1), (-1, -6), (-MOST - 1,)]
    ),
    *(
        (
            {"shape": shape, "strides": strides},
            f"{SIZE}{list(shape)}. Pass a view of fewer elements",
        )
        for shape, strides in [
            ((2**62, 2), (2, 1)),
            ((2**32, 2**32), None),
            ((2**62, 2**62), (0, 0)),
            ((2**60,), (1,)),
        ]
    ),
    *(
        (
            {"shape": shape, "strides": strides, **rest},
            f"{BYTES}{list(shape)} with strides {list(strides)} and byte offset "
            f"{rest.get('byte_offset', 0)}{BROKEN}",
        )
        for shape, strides, rest in OUT_OF_REACH
    ),
    (
        {"byte_offset": 2**63, "strides": None},
        f"{BYTES}[2, 3] and byte offset {2**63}{BROKEN}",
    ),
    *(
        ({"dtype": dtype}, DTYPE.format(*dtype) + (OTHER_DTYPE if all(dtype[1:]) else BROKEN))
        for dtype in [
            (200, 32, 1),
            (19, 32, 1),
            (2, 0, 1),
            (2, 32, 0),
            (17, 8, 1),
            (15, 4, 1),
        ]
    ),
    *(({"data": None, **rest}, f"{NULL_DATA}{name}{NO_STORAGE}") for rest, name in WITHOUT_DATA),
    *(
        ({"device": device}, DEVICE.format(*device))
        for device in [(99, 0), (0, 0), (5, 3), (-1, 0)]
    ),
]


def from_capsule(handle: foreign.Handle, versioned: bool) -> None:
    capsule = handle.capsule(versioned)
    try:
        dlbridge.from_dlpack(capsule)
    finally:  # dlbridge consumed it before the refusal
        assert name_of(capsule).startswith("used_dltensor")


def from_producer(handle: foreign.Handle, versioned: bool) -> None:
    dlbridge.from_dlpack(producers.Returns(handle.capsule(versioned)))


def by_as_tensor(handle: foreign.Handle, versioned: bool) -> None:
    dlbridge.as_tensor(producers.Returns(handle.capsule(versioned)), copy=True)


def by_to_dlpack(handle: foreign.Handle, versioned: bool) -> None:
    dlbridge.to_dlpack(handle.capsule(versioned))


@pytest.mark.parametrize("versioned", [False, True], ids=["legacy", "versioned"])
@pytest.mark.parametrize("function", [from_capsule, from_producer, by_as_tensor, by_to_dlpack])
@pytest.mark.parametrize("fields, text", TENSORS, ids=[str(fields) for fields, _ in TENSORS])
def test_broken_tensor(
    fields: Fields,
    text: str,
    function: Callable[[foreign.Handle, bool], None],
    versioned: bool,
) -> None:
    handle = foreign.tensor(**fields)
    before = handle.snapshot()
    with pytest.raises(BufferError) as raised:
        function(handle, versioned)
    assert (type(raised.value), str(raised.value)) == (BufferError, text)
    assert raised.value.__cause__ is None
    assert [call.pending for call in handle.log] == [False]
    assert handle.snapshot() == before


# An exception of the producer is raised unchanged.


@pytest.mark.parametrize(
    "exception",
    [
        BufferError("mine"),
        RuntimeError("mine"),
        TypeError("mine"),
        AttributeError("mine"),
        KeyboardInterrupt("mine"),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "make", [producers.Raises, producers.ReportsDevice], ids=["__dlpack__", "__dlpack_device__"]
)
@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack])
def test_an_exception_of_the_producer_is_raised_unchanged(
    function: Any, make: Any, exception: BaseException
) -> None:
    exception.__cause__ = exception.__context__ = None
    with pytest.raises(type(exception)) as raised:
        function(make(exception))
    assert raised.value is exception
    assert (exception.args, exception.__cause__) == (("mine",), None)
    assert exception.__context__ is None


# Everything else: a name, a function that makes an object, a call with it, the exception and its
# text, and the deleter calls for each tensor at that time.

Row = tuple[str, Callable[[], Any], Callable[[Any], object], type[Exception], str, list[int]]


class OneCapsule(producers.Producer):
    """A foreign tensor and its only capsule, which __dlpack__ returns."""

    def __init__(self, versioned: bool = False, name: Any = ..., **fields: Any) -> None:
        super().__init__(**fields)
        self.handles.append(foreign.tensor(**fields))
        keywords = {} if name is ... else {"name": name}
        self.capsule = self.handle.capsule(versioned, **keywords)

    def __dlpack__(self, **keywords: Any) -> object:
        return self.capsule


class Exporting(producers.Producer):
    """A Tensor on a foreign tensor."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.tensor = dlbridge.from_dlpack(self)


class Described:
    __array_interface__: ClassVar[dict[str, Any]] = {}

    def __repr__(self) -> str:
        return "Described()"


class NoText:
    def __repr__(self) -> str:
        raise ValueError("no text either")


def used(versioned: bool = False) -> OneCapsule:
    p = OneCapsule(versioned)
    foreign.consume(p.capsule).release()
    return p


def take(x: Any) -> object:
    return dlbridge.from_dlpack(x)


def take_capsule(p: OneCapsule) -> object:
    return dlbridge.from_dlpack(p.capsule)


def take_with(**keywords: Any) -> Callable[[Any], object]:
    return lambda x: dlbridge.from_dlpack(x, **keywords)


def export_with(**keywords: Any) -> Callable[[Any], object]:
    return lambda x: x.tensor.__dlpack__(**keywords)


def maker(producer: Any, **fields: Any) -> Callable[[], Any]:
    return lambda: producer(**fields)


def rows(
    name: str,
    values: list[Any],
    make: Callable[[Any], Callable[[], Any]],
    call: Callable[[Any], Callable[[Any], object]],
    error: type[Exception],
    text: str,
    calls: list[int],
) -> list[Row]:
    """One row for each value; {value} and {type} in the text stand for it."""
    return [
        (
            f"{name} {value!r}",
            make(value),
            call(value),
            error,
            text.format(value=repr(value), type=type(value).__name__),
            calls,
        )
        for value in values
    ]


NOT_A_PRODUCER = (
    "not a DLPack producer: expected an object with __dlpack__ and __dlpack_device__; got one of "
    "type {type}"
)
BUFFER = ". Call as_tensor(), which also takes buffers, array interfaces and Arrow arrays"
NO_PROTOCOL = (
    "not a DLPack producer: expected an object with __dlpack__ and __dlpack_device__, a buffer, "
    "an array interface, or an Arrow array; got one of type {type}"
)
CAPSULE = "expected a capsule named 'dltensor' or 'dltensor_versioned'; got "
USED = f"capsule already used: {CAPSULE}one named "
ONCE = ". A capsule is consumed once; ask the producer for a new one"
BROKEN_METHOD = ". Its __dlpack__ is broken"

NO_PROTOCOL_OF_A_NUMBER = NO_PROTOCOL + ". Pass numpy.asarray() of it"

TYPES: list[Row] = [
    *rows(
        "from_dlpack",
        [None, "x", dlbridge.dtype, sys],
        lambda value: lambda: value,
        lambda value: take,
        TypeError,
        NOT_A_PRODUCER,
        [],
    ),
    *rows(
        "from_dlpack",
        [b"x", Described()],
        lambda value: lambda: value,
        lambda value: take,
        TypeError,
        NOT_A_PRODUCER + BUFFER,
        [],
    ),
    *rows(
        "from_dlpack",
        [5, [1, 2]],
        lambda value: lambda: value,
        lambda value: take,
        TypeError,
        NOT_A_PRODUCER + ". Pass numpy.asarray() of it",
        [],
    ),
    *rows(
        "as_tensor",
        ["x"],
        lambda x: lambda: x,
        lambda _: dlbridge.as_tensor,
        TypeError,
        NO_PROTOCOL,
        [],
    ),
    *rows(
        "as_tensor",
        [5, [1, 2]],
        lambda x: lambda: x,
        lambda _: dlbridge.as_tensor,
        TypeError,
        NO_PROTOCOL_OF_A_NUMBER,
        [],
    ),
    *rows(
        "to_dlpack",
        ["x"],
        lambda x: lambda: x,
        lambda _: dlbridge.to_dlpack,
        TypeError,
        NO_PROTOCOL,
        [],
    ),
    *rows(
        "to_dlpack",
        [5, [1, 2]],
        lambda x: lambda: x,
        lambda _: dlbridge.to_dlpack,
        TypeError,
        NO_PROTOCOL_OF_A_NUMBER,
        [],
    ),
    *(
        (
            f"capsule {name!r}",
            maker(OneCapsule, name=name),
            take_capsule,
            TypeError,
            f"not a DLPack capsule: {CAPSULE}{shown}",
            [0],
        )
        for name, shown in [
            (None, "a capsule without a name"),
            (b"dltensors", "one named 'dltensors'"),
            (b"", "one named ''"),
            (b"dl\xff", "one named 'dl\N{REPLACEMENT CHARACTER}'"),
        ]
    ),
    ("used", used, take_capsule, ValueError, f"{USED}'used_dltensor'{ONCE}", [1]),
    (
        "used versioned",
        lambda: used(True),
        take_capsule,
        ValueError,
        f"{USED}'used_dltensor_versioned'{ONCE}",
        [1],
    ),
    *(
        (
            f"returns {shown}",
            make,
            take,
            BufferError,
            f"producer failed: {CAPSULE}{shown}{BROKEN_METHOD}",
            calls,
        )
        for make, shown, calls in [
            (maker(producers.Returns, result=5), "an object of type int", []),
            (maker(producers.Returns, result=None), "an object of type NoneType", []),
            (maker(producers.Returns, result=producers.Bare()), "an object of type Bare", []),
            (maker(OneCapsule, name=b"dl"), "one named 'dl'", [0]),
            (maker(OneCapsule, name=None), "a capsule without a name", [0]),
            (used, "one named 'used_dltensor'", [1]),
        ]
    ),
    *(
        (
            f"version {version} by {call.__name__}",
            # dlbridge must not read shape, strides and data: they point to unreadable memory.
            maker(OneCapsule, versioned=True, version=version, ndim=3, **TRAPS),
            call,
            BufferError,
            f"unreadable DLPack version: expected DLPack version 1.x; got version {version[0]}."
            f"{version[1]}. Ask the producer for max_version=(1, x), or use a newer dlbridge",
            [1],
        )
        for version in [(2, 0), (0, 9), (2**32 - 1, 2**32 - 1)]
        for call in (take, take_capsule)
    ),
]

DEVICE_METHOD = (
    "producer failed: expected what __dlpack_device__() gives to be a pair (device type, device "
    "id) of integers of 32 bits; got {value} of type {type}. Its __dlpack_device__ is broken"
)
NOT_MOVED = ": device differs. The producer did not move it; move it with its own library first"

DEVICES: list[Row] = [
    *rows(
        "reports",
        [5, None, "cpu", (1,), (1, 0, 0), (1, "0"), (None, 0), (1.0, 0), (2**31, 0), (1, 2**63)],
        lambda reported: maker(producers.ReportsDevice, reported=reported),
        lambda _: take,
        BufferError,
        DEVICE_METHOD,
        [],
    ),
    *rows(
        "to",
        ["gpu", "", "cpu:", "cuda:x", "cuda:-1", "cuda:99999999999", "cpu\0", 1, [1, 0], 1.5],
        lambda _: producers.Producer,
        lambda target: take_with(device=target),
        ValueError,
        "bad argument: expected device to be a device that DLPack has: a name such as 'cpu' or "
        "'cuda:0', a pair (device type, device id), or a framework's device; got {value} of type "
        "{type}",
        [],
    ),
    *rows(
        "to",
        [(1,), (1, 0, 0), ("cpu", 0), (2**40, 0)],
        lambda _: producers.Producer,
        lambda target: take_with(device=target),
        ValueError,
        "bad argument: expected device to be a pair (device type, device id) of integers of 32 "
        "bits; got {value} of type {type}",
        [],
    ),
    *(
        (
            f"{name} to {target}",
            make,
            call(device=target),
            BufferError,
            f"expected {target}; got {name}{NOT_MOVED}",
            [1],
        )
        for name, make, target in [
            # Of no runtime: for others, test_device_without_driver.py has the messages.
            ("cpu", producers.KwEcho, "vulkan:0"),
            ("vulkan:0", maker(producers.KwEcho, device=(7, 0)), "cpu"),
            ("vulkan:0", maker(producers.KwEcho, device=(7, 0)), "vulkan:1"),
            ("cpu", producers.OldStyle, "vulkan:3"),
        ]
        for call in (take_with,)
    ),
    (
        "capsule to vulkan:2",
        OneCapsule,
        lambda p: dlbridge.from_dlpack(p.capsule, device="vulkan:2"),
        BufferError,
        f"expected vulkan:2; got cpu{NOT_MOVED}",
        [1],
    ),
]

LEAVE_OUT = ". Leave copy= out if a copy is acceptable"

COPIES: list[Row] = [
    (
        "old and copy=False",
        producers.OldStyle,
        take_with(copy=False),
        dlbridge.CopyForbiddenError,
        "a copy is needed but forbidden: expected a producer that understands copy=False; got "
        f"OldStyle, whose __dlpack__ raised TypeError for it{LEAVE_OUT}",
        [],
    ),
    (
        "copied with copy=False",
        maker(producers.Producer, flags=2),
        take_with(copy=False),
        dlbridge.CopyForbiddenError,
        "a copy is needed but forbidden: expected no copy; got one, made by Producer all the same"
        f"{LEAVE_OUT}",
        [1],
    ),
    (
        "copy of device memory",
        maker(OneCapsule, device=(7, 0)),
        lambda p: dlbridge.from_dlpack(p.capsule, copy=True),
        BufferError,
        "expected memory that the CPU can read, to copy it; got vulkan:0: device differs. Copy the "
        "tensor with its own library first",
        [1],
    ),
]

ARGUMENTS: list[Row] = [
    *rows(
        "copy",
        [1, 0, "no", (), 1.0],
        lambda _: producers.Producer,
        lambda value: take_with(copy=value),
        ValueError,
        "bad argument: expected copy to be True, False or None; got {value} of type {type}",
        [],
    ),
    (
        "copy without a text",
        producers.Producer,
        take_with(copy=NoText()),
        ValueError,
        "bad argument: expected copy to be True, False or None; got a value of type NoText",
        [],
    ),
    (
        "copy with a long text",
        producers.Producer,
        take_with(copy="\N{SNOWMAN}" * 99),
        ValueError,
        "bad argument: expected copy to be True, False or None; got '"
        + "\N{SNOWMAN}" * 78
        + "....",  # one more dot in place of the part of a character
        [],
    ),
    *rows(
        "readonly",
        [1, 0, "yes"],
        lambda _: producers.Producer,
        lambda value: take_with(readonly=value),
        ValueError,
        "bad argument: expected readonly to be True, False or None; got {value} of type {type}",
        [],
    ),
    *(
        (
            f"{function.__name__}({name}=)",
            producers.Producer,
            lambda x, f=function, n=name: f(x, **{n: None}),
            TypeError,
            f"{function.__name__}() got an unexpected keyword argument '{name}'; it takes {takes}",
            [],
        )
        for function, takes in [
            (dlbridge.from_dlpack, ["device", "copy", "stream", "readonly"]),
            (dlbridge.as_tensor, ["device", "copy", "stream", "readonly"]),
            (dlbridge.to_dlpack, ["max_version", "copy"]),
        ]
        for name in ("dl_device", "copy_", "Copy", "\N{GREEK SMALL LETTER ALPHA}", "")
    ),
    *(
        (
            f"{function.__name__} with {count} arguments",
            producers.Producer,
            lambda x, f=function, n=count: f(*[x] * n),
            TypeError,
            f"{function.__name__}() takes 1 positional argument, not {count}; the others are "
            "keyword-only",
            [],
        )
        for function in (dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack)
        for count in (0, 2)
    ),
    *(
        (
            f"stream {stream} on {name}",
            maker(producers.Producer, device=device),
            take_with(stream=stream),
            ValueError,
            f"bad stream: expected {values}; got stream {stream} for {name}. For the default "
            f"stream pass {default}",
            [],
        )
        for device, name, values, default, streams in [
            (
                (2, 0),
                "cuda:0",
                "None, -1, 1, 2 or a stream handle on CUDA",
                "1 (legacy) or 2 (per thread)",
                [0, -2],
            ),
            ((10, 1), "rocm:1", "None, -1, 0 or a stream handle on ROCm", "0", [1, 2, -2]),
        ]
        for stream in streams
    ),
    *rows(
        "stream",
        [2**63, -(2**63) - 1],
        lambda _: maker(producers.Producer, device=(2, 0)),
        lambda stream: take_with(stream=stream),
        ValueError,
        "bad stream: expected stream to be a handle of 63 bits; got {value} of type {type}",
        [],
    ),
    *rows(
        "stream",
        ["s", True, 1.0, (0, 1)],
        lambda _: maker(producers.Producer, device=(2, 0)),
        lambda stream: take_with(stream=stream),
        ValueError,
        "bad stream: expected stream to be None, an integer, or an object with __cuda_stream__, "
        "cuda_stream, ptr or handle; got {value} of type {type}",
        [],
    ),
]

CUDA = maker(Exporting, device=(2, 0))
UNREADABLE_BY_THE_CPU: list[tuple[Fields, type[Exception], str]] = [
    (
        {"dl_device": (1, 0)},
        BufferError,
        "expected memory that the CPU can read; got cuda:0: device differs",
    ),
    (
        {"copy": True, "max_version": (1, 0)},
        BufferError,
        "expected memory that the CPU can read; got cuda:0: device differs",
    ),
    (
        {"dl_device": (1, 0), "copy": False},
        dlbridge.CopyForbiddenError,
        "a copy is needed but forbidden: expected memory that the CPU can read; got cuda:0",
    ),
]

READ_ONLY_AS_LEGACY = (
    "Give the consumer dlbridge.to_dlpack(x, copy=True) where it takes capsules, or else "
    "dlbridge.as_tensor(x, copy=True); or dlbridge.as_tensor(x, readonly=False) if it does not "
    "write. Callers of __dlpack__ and to_dlpack can pass max_version=(1, 0)"
)

EXPORTS: list[Row] = [
    (
        "read-only as legacy",
        maker(Exporting, flags=1),
        export_with(),
        BufferError,
        "__dlpack__(): expected writable memory, as a legacy tensor has no read-only flag; got "
        "read-only memory: writability differs. " + READ_ONLY_AS_LEGACY,
        [0],
    ),
    (
        "read-only as legacy by to_dlpack",
        maker(Exporting, flags=1),
        lambda x: dlbridge.to_dlpack(x.tensor),
        BufferError,
        "to_dlpack(): expected writable memory, as a legacy tensor has no read-only flag; got "
        "read-only memory: writability differs. " + READ_ONLY_AS_LEGACY,
        [0],
    ),
    (
        "padded as legacy",
        maker(Exporting, flags=4, dtype=(0, 4, 1)),
        export_with(),
        BufferError,
        "__dlpack__(): unreadable DLPack version: expected a versioned tensor for padded sub-byte "
        "elements; got a request for a legacy one. Pass max_version=(1, 1)",
        [0],
    ),
    *(
        (
            f"{own} to {name}",
            make,
            export_with(dl_device=target),
            BufferError,
            f"__dlpack__(): expected a device to which a tensor on {own} can be copied; got "
            f"dl_device {name}: device differs. Move the tensor with a library that works on both "
            "devices",
            [0],
        )
        for own, make, target, name in [
            ("cpu", Exporting, (2, 0), "cuda:0"),
            ("cpu", Exporting, (99, -7), "(device type 99, id -7)"),
            ("cuda:0", CUDA, (2, 1), "cuda:1"),
        ]
    ),
    *(
        (
            f"cuda with {keywords}",
            CUDA,
            export_with(**keywords),
            error,
            f"__dlpack__(): {text}. Move the tensor with its own library first",
            [0],
        )
        for keywords, error, text in UNREADABLE_BY_THE_CPU
    ),
    (
        "cuda to cpu on a stream",
        CUDA,
        export_with(dl_device=(1, 0), stream=1),
        ValueError,
        "bad stream: expected stream to be None with dl_device=(1, 0), as the data is then safe on "
        "return; got 1 of type int",
        [0],
    ),
    *rows(
        "max_version",
        [(1,), (1, 0, 0), 1, "1.0", (1, None), (-1, 0), (2**32, 0), (1, 2**64), (1.0, 0)],
        lambda _: Exporting,
        lambda value: export_with(max_version=value),
        ValueError,
        "bad argument: expected max_version to be a pair (major, minor) of integers from 0 to "
        "2**32 - 1; got {value} of type {type}",
        [0],
    ),
    *rows(
        "dl_device",
        [(1,), 1, "cpu", (1, 0, 0), (2**31, 0), (1, "0")],
        lambda _: Exporting,
        lambda value: export_with(dl_device=value),
        ValueError,
        "bad argument: expected dl_device to be a pair (device type, device id) of integers of 32 "
        "bits; got {value} of type {type}",
        [0],
    ),
    *rows(
        "export copy",
        [1, "x"],
        lambda _: Exporting,
        lambda value: export_with(copy=value),
        ValueError,
        "bad argument: expected copy to be True, False or None; got {value} of type {type}",
        [0],
    ),
    *rows(
        "export stream",
        [0, 1, -2, 2**62],
        lambda _: Exporting,
        lambda value: export_with(stream=value),
        ValueError,
        "__dlpack__(): bad stream: expected None or -1, as this device has no streams; got stream "
        "{value} for cpu. Leave stream= out",
        [0],
    ),
    *rows(
        "export keyword",
        ["max_versions", "device", "Stream"],
        lambda _: Exporting,
        lambda name: export_with(**{name: None}),
        TypeError,
        "__dlpack__() got an unexpected keyword argument {value}; it takes ['stream', "
        "'max_version', 'dl_device', 'copy']",
        [0],
    ),
    (
        "export with a position",
        Exporting,
        lambda x: x.tensor.__dlpack__(None),
        TypeError,
        "__dlpack__() takes 0 positional arguments, not 1; the others are keyword-only",
        [0],
    ),
]

INPUTS = [*TYPES, *DEVICES, *COPIES, *ARGUMENTS, *EXPORTS]


@pytest.mark.parametrize(
    "make, call, error, text, calls", [row[1:] for row in INPUTS], ids=[row[0] for row in INPUTS]
)
def test_bad_input(
    make: Callable[[], Any],
    call: Callable[[Any], object],
    error: type[Exception],
    text: str,
    calls: list[int],
) -> None:
    x = make()
    handles: list[foreign.Handle] = getattr(x, "handles", [])
    before = [handle.snapshot() for handle in handles]
    with pytest.raises(error) as raised:
        call(x)
    assert (type(raised.value), str(raised.value)) == (error, text)
    assert [handle.calls for handle in handles] == calls
    assert [handle.snapshot() for handle in handles[: len(before)]] == before
    assert not any(call.pending for handle in handles for call in handle.log)
    del x, raised
    gc.collect()
    freed = [handle for handle in handles if not is_misnamed(handle, error)]
    assert [handle.calls for handle in freed] == [handle.handed_out for handle in freed]


def is_misnamed(handle: foreign.Handle, error: type[Exception]) -> bool:
    """Whether the capsule has another name: its destructor frees nothing."""
    return handle.calls == 0 and error in (TypeError, BufferError)
