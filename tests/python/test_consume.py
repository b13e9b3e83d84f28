# SPDX-License-Identifier: BSD-3-Clause
"""from_dlpack with producers of every behaviour: the requests, the results, and the deleters."""

from __future__ import annotations

import enum
import gc
import struct
import threading
import unittest.mock
from typing import Any, Callable

import pytest

import dlbridge
import foreign
import producers


def consume(x: Any, **keywords: Any) -> Any:
    """The tensor that dlbridge exports again, as the consumer in C reads it."""
    return foreign.consume(dlbridge.from_dlpack(x, **keywords).__dlpack__(max_version=(1, 0)))


# The methods of a producer may change its type during an import.


def drop_the_method(cls: Any) -> None:
    del cls.__dlpack__
    gc.collect()


def replace_the_method(cls: Any) -> None:
    cls.__dlpack__ = lambda self, **keywords: pytest.fail("the replaced method was called")
    gc.collect()


@pytest.mark.parametrize("change", [drop_the_method, replace_the_method])
@pytest.mark.parametrize("when", ["device", "first request", "integer"])
def test_a_type_may_change_during_an_import(when: str, change: Callable[[Any], None]) -> None:
    class Changed(producers.Producer):
        def __dlpack_device__(self) -> Any:
            if when == "device":
                change(Changed)
            return (1, Ordinal()) if when == "integer" else (1, 0)

    class Ordinal:
        def __index__(self) -> int:
            change(Changed)
            return 0

    def export(self: Any, **keywords: Any) -> object:
        self.requests.append(keywords)
        if when == "first request" and "max_version" in keywords:
            change(Changed)
            raise TypeError("max_version is not supported")
        return self.export("max_version" in keywords)

    Changed.__dlpack__ = export  # type: ignore[method-assign]
    del export
    p = Changed()
    t = dlbridge.from_dlpack(p)
    assert t.data_ptr == p.handle.address
    del t
    assert p.calls == [1]


def test_an_object_may_change_its_class_during_an_import() -> None:
    class Before(producers.Producer):
        def __dlpack_device__(self) -> Any:
            self.__class__ = producers.Bare  # type: ignore[assignment]
            return (1, 0)

    p = Before()
    t = dlbridge.from_dlpack(p)
    assert t.data_ptr == p.handle.address
    assert p.requests == [{"max_version": dlbridge.DLPACK_VERSION}]


# Exceptions of a producer: refusals, and those that end the import at once.


@pytest.mark.parametrize("exception", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("keywords", [{}, {"copy": True}])
def test_other_exceptions_end_the_import(
    exception: BaseException, call: int, keywords: dict[str, bool]
) -> None:
    class WithKeywords(producers.Copier):
        count = 0

        def __dlpack__(self, **words: Any) -> object:
            if "max_version" in words and not keywords:
                raise TypeError("max_version is not supported")
            self.count += 1
            if self.count == call:
                raise exception
            return super().__dlpack__(**words)

    class WithoutKeywords(producers.Bare):
        count = 0

        def __dlpack__(self) -> object:  # type: ignore[override]
            self.count += 1
            if self.count == call:
                raise exception
            return super().__dlpack__()

    for p in (WithKeywords(marks=False), WithoutKeywords()):
        with pytest.raises(BaseException) as raised:
            for _ in range(call):
                dlbridge.from_dlpack(p, **keywords)
        assert raised.value is exception
        assert p.count == call
        assert p.calls == p.exports


def test_an_exception_raised_twice_is_not_its_own_context() -> None:
    error = TypeError("refused")
    p = producers.Raises(error)
    with pytest.raises(TypeError) as raised:
        dlbridge.from_dlpack(p)
    assert raised.value is error
    assert error.__context__ is None
    assert len(p.requests) == 2


def fail_without_context() -> object:
    raise RuntimeError("the second")


def fail_with_context() -> object:
    try:
        raise KeyError("its own")
    except KeyError:
        raise RuntimeError("the second")  # noqa: B904 - the test is about the context


@pytest.mark.parametrize(
    "fail, context",
    [(fail_without_context, "TypeError('the first')"), (fail_with_context, "KeyError('its own')")],
)
def test_the_first_exception_is_the_context_of_the_second(
    fail: Callable[[], object], context: str
) -> None:
    class Twice(producers.KwEcho):
        def __dlpack__(self, **keywords: Any) -> object:
            if keywords:
                raise TypeError("the first")
            return fail()

    with pytest.raises(RuntimeError, match="the second") as raised:
        dlbridge.from_dlpack(Twice())
    assert repr(raised.value.__context__) == context


class Lazy:
    """Raises an exception on access to one attribute."""

    def __init__(self, attribute: str, exception: BaseException) -> None:
        self.attribute = attribute
        self.exception = exception

    def __getattr__(self, name: str) -> Any:
        if name == self.attribute:
            raise self.exception
        raise AttributeError(name)


@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor])
def test_an_exception_of_attribute_access_is_raised_unchanged(function: Any) -> None:
    exception = RuntimeError("not loaded yet")
    with pytest.raises(RuntimeError) as raised:
        function(Lazy("__dlpack__", exception))
    assert raised.value is exception


def test_an_exception_of_the_array_interface_is_raised_unchanged() -> None:
    exception = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt) as raised:
        dlbridge.as_tensor(Lazy("__array_interface__", exception))
    assert raised.value is exception


class OnlyDevice:
    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class MethodIsNone(producers.Producer):
    __dlpack__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("x", [OnlyDevice(), MethodIsNone()], ids=["no __dlpack__", "None"])
def test_an_object_without_the_method_is_not_a_producer(x: object) -> None:
    with pytest.raises(TypeError, match=r"^not a DLPack producer: "):
        dlbridge.from_dlpack(x)


def test_other_protocols_are_used_if_the_method_is_none() -> None:
    class Bytes(bytearray):
        __dlpack__ = None

    assert dlbridge.as_tensor(Bytes(b"ab")).nbytes == 2


# What dlbridge caches for a type must not depend on one object.


def test_a_forwarding_type_depends_on_its_target() -> None:
    """After the import of an old producer, a read-only tensor is still imported as read-only."""
    old = producers.OldStyle()
    dlbridge.from_dlpack(producers.Forwarding(old))
    assert old.requests == [{}]
    new = producers.Producer(flags=1)
    assert dlbridge.from_dlpack(producers.Forwarding(new)).readonly
    assert new.requests == [{"max_version": dlbridge.DLPACK_VERSION}]


def test_one_refusal_does_not_disable_max_version_for_the_type() -> None:
    class RefusesOnce(producers.Producer):
        errors = iter([TypeError("refused once"), None])

        def __dlpack__(self, *, max_version: Any = None) -> object:  # type: ignore[override]
            self.requests.append({"max_version": max_version})
            error = next(self.errors, None) if max_version else None
            if error:
                raise error
            return self.export(max_version is not None)

    p = RefusesOnce(flags=1)
    assert not dlbridge.from_dlpack(p).readonly
    assert dlbridge.from_dlpack(p).readonly


def test_an_object_replaces_the_older_method_of_its_class() -> None:
    """The method of the class has no max_version; that of the object has, and is asked for it."""

    class Old:
        def __dlpack__(self, stream: Any = None) -> object:
            raise AssertionError("the method of the object comes first")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    new = producers.Producer(flags=1)
    x: Any = Old()
    x.__dlpack__ = new.__dlpack__
    for _ in range(2):
        assert dlbridge.from_dlpack(x).readonly
        consumed = foreign.consume(dlbridge.from_dlpack(x).__dlpack__(max_version=(1, 3)))
        assert consumed.flags == 1
    assert new.requests == [{"max_version": dlbridge.DLPACK_VERSION}] * 4


# Requests for a device and a copy are fulfilled or refused.


@pytest.mark.parametrize(
    "device, target, dl_device",
    [
        ((1, 0), "cpu", None),
        ((1, 3), "cpu", None),  # any id of the CPU is the same memory
        ((13, 1), (13, 0), None),
        ((2, 0), "cuda:0", None),
        ((2, 0), "cuda:1", (2, 1)),
        ((10, 2), "rocm:1", (10, 1)),
        ((2, 0), "cpu", (1, 0)),
        ((3, 0), "cpu", (1, 0)),
    ],
)
def test_dl_device_is_passed_if_the_device_differs(
    device: tuple[int, int], target: Any, dl_device: tuple[int, int] | None
) -> None:
    p = producers.KwEcho(device=device)
    try:
        dlbridge.from_dlpack(p, device=target)
    except RuntimeError as error:  # dlbridge would move it, but no driver is installed
        assert dl_device is not None
        assert str(error).startswith("device runtime ")
    else:
        assert dl_device is None or device == (3, 0)
    assert p.requests[0].get("dl_device") == dl_device
    assert p.calls == p.exports == [1]


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("device", [(1, 0), (3, 0)])
def test_the_producer_copies(device: tuple[int, int], marks: bool) -> None:
    """With and without the flag of a copy, and also if the memory is already on the device."""
    p = producers.Copier(marks, device=device)
    result = consume(p, copy=True, device="cpu")
    assert result.data != p.original.address
    assert result.device == (1, 0)
    assert result.tobytes() == foreign.consume(p.original.capsule()).tobytes()


@pytest.mark.parametrize("device", [(1, 0), (3, 0)])
def test_dlbridge_copies_if_the_producer_does_not(device: tuple[int, int]) -> None:
    class Same(producers.Copier):
        def export(self, versioned: bool, **fields: Any) -> object:
            return self.original.capsule(versioned)

    p = Same(marks=False, device=device)
    result = consume(p, copy=True, device="cpu")
    assert result.data != p.original.address
    assert result.device == (1, 0)
    assert p.original.calls == p.original.handed_out


@pytest.mark.parametrize("request_", [{}, {"copy": True}, {"device": "cpu"}])
def test_a_device_method_of_none_is_a_missing_one(request_: dict[str, Any]) -> None:
    class Without(producers.Producer):
        __dlpack_device__ = None  # type: ignore[assignment]

    class Broken(producers.Producer):
        def __dlpack_device__(self) -> Any:
            raise TypeError("of the producer")

    assert dlbridge.from_dlpack(Without(), **request_).device == "cpu"
    with pytest.raises(TypeError, match=r"^of the producer$"):
        dlbridge.from_dlpack(Broken(), **request_)


@pytest.mark.parametrize("copies", [True, False])
def test_a_producer_that_names_a_device_for_memory_of_the_cpu(copies: bool) -> None:
    """From the device that it names, a move to the CPU would be a copy."""

    class OnGpu(producers.Copier):
        def __dlpack_device__(self) -> Any:
            return (2, 0)

        def export(self, versioned: bool, **fields: Any) -> object:
            return super().export(versioned) if copies else self.original.capsule(versioned)

    p = OnGpu(marks=False)
    result = consume(p, copy=True, device="cpu")
    assert result.data != p.original.address
    del result
    assert p.original.calls == p.original.handed_out
    assert p.calls == p.exports == ([1] if copies else [])


class CopyOf(producers.Copier):
    """Sets these flags in a copy, and none in the original."""

    def __init__(self, flags: int, **fields: Any) -> None:
        super().__init__(True, **fields)
        self.flags = flags

    def export(self, versioned: bool, **fields: Any) -> object:
        if not self.requests[-1].get("copy"):
            return self.original.capsule(versioned)
        return producers.Producer.export(self, versioned, flags=self.flags)


@pytest.mark.parametrize("flags", [0, 1, 2, 3])
@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor])
def test_a_copy_is_memory_of_its_own(function: Any, flags: int) -> None:
    """Only a copy that is marked as such, and that is not read-only, is passed on."""
    p = CopyOf(flags)
    t = function(p, copy=True)
    assert (t.readonly, t.flags) == (False, 2)
    assert (t.data_ptr == p.handle.address) == (flags == 2)
    assert p.calls == ([0] if flags == 2 else [1])
    assert len(p.requests) == 1


@pytest.mark.parametrize("flags", [0, 1, 3])
def test_a_copy_that_dlbridge_cannot_make(flags: int) -> None:
    """On OpenCL."""
    p = CopyOf(flags, device=(4, 0))
    with pytest.raises(BufferError, match="Copy the tensor with its own library first"):
        dlbridge.from_dlpack(p, copy=True)
    assert p.calls == [1]
    assert dlbridge.from_dlpack(CopyOf(2, device=(4, 0)), copy=True).flags == 2


@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack])
def test_a_forbidden_copy_is_refused(function: Any) -> None:
    p = producers.KwEcho(flags=2)
    with pytest.raises(dlbridge.CopyForbiddenError) as raised:
        function(p, copy=False)
    assert str(raised.value) == (
        "a copy is needed but forbidden: expected no copy; got one, made by KwEcho all the same. "
        "Leave copy= out if a copy is acceptable"
    )
    assert p.requests == [{"max_version": dlbridge.DLPACK_VERSION, "copy": False}]
    assert p.calls == [1]


def test_only_a_sole_owner_gets_the_flag_of_a_copy() -> None:
    """Two consumers of one copy would overwrite each other's values."""
    t = dlbridge.from_dlpack(producers.Producer(flags=2))
    assert t.flags == 2
    for _ in range(2):
        assert foreign.consume(t.__dlpack__(max_version=(1, 0))).flags == 0
    assert foreign.consume(t.__dlpack__(max_version=(1, 0), copy=True)).flags == 2


# dlbridge passes only the required keywords, for each kind of device.

V = dlbridge.DLPACK_VERSION
CPU, CUDA, PINNED, ROCM, MANAGED = (1, 0), (2, 0), (3, 0), (10, 1), (13, 0)
ONEAPI, OPENCL = (14, 0), (4, 0)


class Stream:
    """A stream object of a framework with these attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Numba:
    def __init__(self, result: Any) -> None:
        self.result = result

    def __cuda_stream__(self) -> Any:
        return self.result


class Handle:
    """A driver's handle, which int() converts."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __int__(self) -> int:
        return self.value


class Int:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


QUEUE = object()
PASSED: list[tuple[tuple[int, int], dict[str, Any], dict[str, Any]]] = [
    (CPU, {}, {}),
    (CPU, {"stream": 5}, {}),
    (CPU, {"stream": QUEUE}, {}),
    (CPU, {"device": None, "copy": None, "readonly": None, "stream": None}, {}),
    (CPU, {"device": "cpu"}, {}),
    (CPU, {"copy": True}, {"copy": True}),
    (CPU, {"copy": False}, {"copy": False}),
    (CPU, {"device": "cuda:1"}, {"dl_device": (2, 1), "stream": 1}),
    (PINNED, {}, {}),
    (PINNED, {"device": "cpu"}, {"dl_device": (1, 0)}),
    (CUDA, {}, {"stream": 1}),
    (CUDA, {"stream": None}, {"stream": 1}),
    (CUDA, {"stream": 2}, {"stream": 2}),
    (CUDA, {"stream": -1}, {"stream": -1}),
    (CUDA, {"stream": 2**62}, {"stream": 2**62}),
    (CUDA, {"stream": Int(7)}, {"stream": 7}),
    (CUDA, {"stream": Stream(cuda_stream=7)}, {"stream": 7}),
    (CUDA, {"stream": Stream(cuda_stream=0)}, {"stream": 1}),
    (CUDA, {"stream": Stream(ptr=8)}, {"stream": 8}),
    (CUDA, {"stream": Stream(handle=Handle(9))}, {"stream": 9}),
    (CUDA, {"stream": Stream(cuda_stream="x", ptr=None, handle=6)}, {"stream": 6}),
    (CUDA, {"stream": Numba((0, 11))}, {"stream": 11}),
    (CUDA, {"stream": Stream(__cuda_stream__=(0, 12))}, {"stream": 12}),
    (CUDA, {"device": "cpu"}, {"dl_device": (1, 0)}),
    (CUDA, {"device": "cpu", "stream": 5}, {"dl_device": (1, 0)}),
    (CUDA, {"device": "cpu", "copy": False}, {"dl_device": (1, 0), "copy": False}),
    (MANAGED, {}, {"stream": 1}),
    (ROCM, {}, {"stream": 0}),
    (ROCM, {"stream": Stream(cuda_stream=0)}, {"stream": 0}),
    (ROCM, {"stream": 5}, {"stream": 5}),
    (ONEAPI, {}, {}),
    (ONEAPI, {"stream": QUEUE}, {"stream": QUEUE}),
    (OPENCL, {"stream": QUEUE}, {"stream": QUEUE}),
]


@pytest.mark.parametrize("device, keywords, passed", PASSED)
def test_only_required_keywords_are_passed(
    device: tuple[int, int], keywords: dict[str, Any], passed: dict[str, Any]
) -> None:
    p = producers.KwEcho(device=device)
    try:
        dlbridge.from_dlpack(p, **keywords)
    except (BufferError, RuntimeError):
        # No driver moves or copies device memory.
        assert "device" in keywords or keywords.get("copy")
    assert p.requests[0] == {"max_version": V, **passed}
    assert [type(each) for each in p.requests[0].get("dl_device", ())] in ([], [int, int])
    assert p.calls == p.exports


@pytest.mark.parametrize("result", [(1, 2), (0, 1, 2), 5, (0,), None, (0, "x")])
def test_a_broken_stream_protocol(result: Any) -> None:
    with pytest.raises(ValueError, match="what __cuda_stream__ gives"):
        dlbridge.from_dlpack(producers.Producer(device=CUDA), stream=Numba(result))


# Producers of every behaviour: each is imported, and its tensor freed once.


class Static(producers.Producer):
    @staticmethod
    def __dlpack__(*positional: Any, **keywords: Any) -> object:
        assert positional == ()
        return SHARED.__dlpack__(**keywords)


class ByClass(producers.Producer):
    @classmethod
    def __dlpack__(cls, **keywords: Any) -> object:
        return SHARED.__dlpack__(**keywords)


class Callable_:
    def __call__(self, *positional: Any, **keywords: Any) -> object:
        assert positional == ()
        return SHARED.__dlpack__(**keywords)


class ByCallable(producers.Producer):
    __dlpack__ = Callable_()


class ByProperty(producers.Producer):
    @property
    def __dlpack__(self) -> Any:
        return SHARED.__dlpack__


class Inherits(producers.Producer):
    pass


class Slotted:
    __slots__ = ()

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> object:
        return SHARED.__dlpack__(**keywords)


class ProducerType(type):
    """A metaclass: its classes are producers."""

    def __dlpack_device__(cls) -> Any:
        return (1, 0)

    def __dlpack__(cls, **keywords: Any) -> object:
        return SHARED.__dlpack__(**keywords)


class ProducerClass(metaclass=ProducerType):
    pass


SHARED = producers.Producer()
BEHAVIOURS: dict[str, Callable[[], Any]] = {
    "array API": lambda: SHARED,
    "any keyword": producers.KwEcho,
    "old style": producers.OldStyle,
    "no keyword": producers.Bare,
    "always legacy": producers.AlwaysLegacy,
    "always versioned": producers.VersionLiar,
    "newer minor": lambda: producers.VersionLiar(version=(1, 2**32 - 1), flags=1 << 63),
    "no device": producers.NoDevice,
    "no device id": lambda: producers.ReportsDevice((1, None)),
    "device as a list": lambda: producers.ReportsDevice([1, 0]),
    "on the object": producers.OnInstance,
    "proxy": lambda: producers.Proxy(SHARED),
    "proxy of a proxy": lambda: producers.Proxy(producers.Proxy(producers.OnInstance())),
    "forwarding": lambda: producers.Forwarding(SHARED),
    "static": Static,
    "by class": ByClass,
    "callable": ByCallable,
    "property": ByProperty,
    "inherits": Inherits,
    "slots": Slotted,
    "a class": lambda: ProducerClass,
    "null strides": lambda: producers.Producer(strides=None),
    "no deleter": lambda: producers.Producer(deleter=False),
    "reports another device": lambda: producers.ReportsDevice((3, 0)),
    "legacy capsule": lambda: foreign.tensor().capsule(False),
    "versioned capsule": lambda: foreign.tensor().capsule(True),
    "destructor ignores the name": lambda: foreign.tensor().capsule(destructor="blind"),
    "destructor clears exceptions": lambda: foreign.tensor().capsule(destructor="clears"),
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_every_behaviour(behaviour: str) -> None:
    before, calls = foreign.accounts()
    source = BEHAVIOURS[behaviour]()  # keeps the memory of a tensor without a deleter
    result = consume(source)
    assert (result.dtype, result.device, result.shape, result.strides) == (
        (2, 32, 1), (1, 0), (2, 3), (3, 1),
    )  # fmt: skip
    assert struct.unpack("6f", result.tobytes()) == (0, 1, 2, 3, 4, 5)
    exports = foreign.accounts()[0] - before
    assert foreign.accounts()[1] == calls
    result.release()
    assert foreign.accounts() == (before + exports, calls + exports)
    del source
    gc.collect()
    assert foreign.accounts() == (before + exports, calls + exports)
    assert exports == (0 if behaviour == "no deleter" else 1)


OFFSETS: list[tuple[dict[str, Any], int]] = [
    ({"byte_offset": 8}, 8),
    ({"byte_offset": 2}, 2),  # not even a whole element
    ({"byte_offset": 20, "strides": (-3, -1)}, 20),
    ({"byte_offset": 4, "strides": None}, 4),
    ({"byte_offset": 64, "shape": ()}, 64),
]


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("fields, offset", OFFSETS)
def test_the_offset_is_applied(fields: dict[str, Any], offset: int, versioned: bool) -> None:
    handle = foreign.tensor(**fields)
    t = dlbridge.from_dlpack(handle.capsule(versioned))
    assert (t.data_ptr, t.byte_offset) == (handle.address + offset, 0)
    result = foreign.consume(t.__dlpack__())
    assert (result.data, result.byte_offset) == (handle.address + offset, 0)


@pytest.mark.parametrize("data", [None, 16])
@pytest.mark.parametrize("byte_offset", [0, 8, 2**64 - 1])
def test_empty_tensors_need_no_memory(data: int | None, byte_offset: int) -> None:
    p = producers.Producer(shape=(2, 0), data=data, byte_offset=byte_offset, strides=(2**62, 5))
    result = consume(p)
    assert (result.data, result.byte_offset, result.shape) == (0, 0, (2, 0))


@pytest.mark.parametrize("kind", [enum.IntEnum, enum.Enum])
def test_the_type_of_a_device_may_be_a_member_of_an_enum(kind: Any) -> None:
    """The array API declares it as an Enum."""
    devices = kind("devices", {"CPU": 1, "CUDA": 2})

    class Producer(producers.Producer):
        def __dlpack_device__(self) -> Any:
            return (devices.CPU, 0)

    t = dlbridge.from_dlpack(Producer())
    assert t.__dlpack_device__() == (1, 0)
    exported = foreign.consume(t.__dlpack__(dl_device=(devices.CPU, 0)))
    assert (exported.ndim, exported.shape) == (t.ndim, t.shape)
    with pytest.raises(BufferError, match="cuda"):
        t.__dlpack__(dl_device=(devices.CUDA, 0), copy=False)
    texts: Any = enum.Enum("texts", {"CPU": "cpu"})
    with pytest.raises(ValueError, match="expected dl_device to be a pair"):
        t.__dlpack__(dl_device=(texts.CPU, 0))


def test_the_device_is_that_of_the_struct() -> None:
    """torch reports pinned memory as pinned, and exports it as CPU memory."""
    p = producers.ReportsDevice((3, 0))
    assert dlbridge.from_dlpack(p).device == "cpu"
    q = producers.ReportsDevice((1, 0), device=(2, 1))
    assert dlbridge.from_dlpack(q).device == "cuda:1"


def test_a_legacy_capsule_has_no_read_only_flag() -> None:
    legacy = producers.AlwaysLegacy(flags=1)
    assert not dlbridge.from_dlpack(legacy).readonly
    assert dlbridge.from_dlpack(legacy, readonly=True).readonly


# Copies: requested from the producer, or made by dlbridge.


@pytest.mark.parametrize(
    "refusal", [BufferError("no"), RuntimeError("no"), TypeError("no"), NotImplementedError("no")]
)
def test_dlbridge_copies_after_a_refusal(refusal: Exception) -> None:
    class Refuses(producers.NoCopy):
        pass

    Refuses.refusal = refusal
    p = Refuses()
    result = consume(p, copy=True)
    assert result.data != p.handle.address
    assert struct.unpack("6f", result.tobytes()) == (0, 1, 2, 3, 4, 5)
    assert p.calls == [1]  # dlbridge has freed the original


@pytest.mark.parametrize("make", [producers.OldStyle, producers.Bare])
def test_dlbridge_copies_tensors_of_old_producers(make: Any) -> None:
    p = make()
    assert consume(p, copy=True).data != p.handle.address
    assert p.calls == [1]


def test_the_reason_of_an_impossible_copy() -> None:
    class Refuses(producers.KwEcho):
        def __dlpack__(self, **keywords: Any) -> object:
            raise BufferError("with a copy" if keywords.get("copy") else "without one")

    with pytest.raises(BufferError, match=r"^without one$") as raised:
        dlbridge.from_dlpack(Refuses(), copy=True)
    assert repr(raised.value.__context__) == "BufferError('with a copy')"


# Types that change, and types at the addresses of deleted ones.


def test_a_type_may_change_after_an_import() -> None:
    class Changing(producers.Bare):
        pass

    p = Changing(flags=1)
    for _ in range(3):
        assert not dlbridge.from_dlpack(p).readonly
    Changing.__dlpack__ = producers.KwEcho.__dlpack__  # type: ignore[method-assign, assignment]
    assert dlbridge.from_dlpack(p).readonly
    Changing.__dlpack__ = producers.Bare.__dlpack__  # type: ignore[method-assign]
    assert not dlbridge.from_dlpack(p).readonly
    del Changing.__dlpack__
    assert not dlbridge.from_dlpack(p).readonly
    Changing.__bases__ = (producers.KwEcho,)
    assert dlbridge.from_dlpack(p).readonly


def test_bases_that_another_thread_changes() -> None:
    """The classes that an import reads stay alive, also without the GIL."""

    class First(producers.Producer):
        pass

    class Second(producers.Producer):
        pass

    class Changing(First):
        pass

    p = Changing()
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            Changing.__bases__ = (Second,)
            Changing.__bases__ = (First,)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(2000):
            assert dlbridge.from_dlpack(p).shape == (2, 3)
    finally:
        done.set()
        thread.join()


def test_a_base_may_change_too() -> None:
    class Base(producers.Producer):
        pass

    class Derived(Base):
        pass

    p = Derived()
    dlbridge.from_dlpack(p)
    exported = []

    def export(self: Any, **keywords: Any) -> object:
        exported.append(self)
        return self.export(True)

    Base.__dlpack__ = export  # type: ignore[method-assign]
    dlbridge.from_dlpack(p)
    assert exported == [p]


def test_a_type_without_a_version_tag_is_not_cached() -> None:
    """CPython assigns no more version tags to a type after a thousand changes."""

    class Modified(producers.Producer):
        pass

    for number in range(1500):

        def export(self: Any, number: int = number, **keywords: Any) -> object:
            return self.export(True, shape=(number,), data=None if number == 0 else 4096)

        Modified.__dlpack__ = export  # type: ignore[method-assign]
        p = Modified()
        assert dlbridge.from_dlpack(p).shape == (number,)


def test_many_types_and_types_at_old_addresses() -> None:
    for round_ in range(30):
        kinds = [
            type("Kind", (kind,), {})
            for kind in (producers.Bare, producers.KwEcho, producers.OldStyle) * 20
        ]
        for kind in kinds:
            for _ in range(2):
                p = kind(shape=(2, 2), flags=1)
                t = dlbridge.from_dlpack(p)
                assert t.readonly == (kind.__base__ is producers.KwEcho), round_
        del kinds, kind, p, t
        gc.collect()


# Producers that call dlbridge during an import.


class Reentrant(producers.Producer):
    """Exports a tensor that it imports with dlbridge."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth

    def __dlpack_device__(self) -> Any:
        if self.depth:
            return dlbridge.from_dlpack(Reentrant(self.depth - 1)).__dlpack_device__()
        return super().__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> object:
        if self.depth:
            return dlbridge.from_dlpack(Reentrant(self.depth - 1)).__dlpack__(**keywords)
        return super().__dlpack__(**keywords)


def test_producers_may_call_dlbridge() -> None:
    exports, calls = foreign.accounts()
    result = consume(Reentrant(6))
    assert struct.unpack("6f", result.tobytes()) == (0, 1, 2, 3, 4, 5)
    result.release()
    del result
    now = foreign.accounts()
    assert now[0] - exports == now[1] - calls == 2**6


def test_endless_recursion_is_an_error() -> None:
    class Endless(producers.Producer):
        def __dlpack__(self, **keywords: Any) -> object:
            return dlbridge.from_dlpack(self).__dlpack__(**keywords)

    with pytest.raises(RecursionError):
        dlbridge.from_dlpack(Endless())


def test_a_capsule_is_consumed_once() -> None:
    capsule = foreign.tensor().capsule()

    class ConsumesItself(producers.Producer):
        def __dlpack__(self, **keywords: Any) -> object:
            self.first = dlbridge.from_dlpack(capsule)
            return capsule

    with pytest.raises(BufferError, match=r"^producer failed: "):
        dlbridge.from_dlpack(ConsumesItself())


# Tensors of dlbridge.


@pytest.mark.parametrize("keywords", [{}, {"copy": False}, {"device": "cpu"}, {"stream": 5}])
def test_a_tensor_of_a_tensor_shares_the_memory(keywords: dict[str, Any]) -> None:
    p = producers.Producer(flags=1, strides=(1, 2))
    t = dlbridge.from_dlpack(dlbridge.from_dlpack(p), **keywords)
    result = foreign.consume(t.__dlpack__(max_version=(1, 0)))
    assert (result.data, result.strides, result.flags) == (p.handle.address, (1, 2), 1)
    del t
    assert p.calls == [0]
    result.release("thread")
    assert p.calls == [1]


def test_a_tensor_of_a_tensor_is_moved_and_copied_on_request() -> None:
    p = producers.Producer(device=PINNED)
    t = dlbridge.from_dlpack(p)
    result = foreign.consume(dlbridge.from_dlpack(t, device="cpu").__dlpack__())
    assert (result.data, result.device) == (p.handle.address, CPU)
    copy = dlbridge.from_dlpack(t, copy=True)
    assert copy.data_ptr != p.handle.address
    assert copy.flags == 2


# A __dlpack__ of the instance, which NumPy, PyTorch and mpi4py call as well.


def test_the_method_of_the_instance_comes_first() -> None:
    p, other = producers.Producer(), producers.Producer(shape=(4,))
    p.__dlpack__ = other.__dlpack__  # type: ignore[method-assign]
    assert dlbridge.from_dlpack(p).shape == (4,)
    assert dlbridge.as_tensor(p).shape == (4,)
    assert p.requests == []
    p.__dlpack__ = None  # type: ignore[method-assign, assignment]
    with pytest.raises(TypeError, match="not a DLPack producer"):
        dlbridge.from_dlpack(p)


@pytest.mark.parametrize("change", ["method", "class"])
def test_a_legacy_method_of_the_instance_that_changes_the_type(change: str) -> None:
    p = producers.Producer()

    class Changed:
        def __dlpack__(self) -> object:
            raise AssertionError("the method of the instance comes first")

        def __dlpack_device__(self) -> tuple[int, int]:
            return CPU

    class Other:
        pass

    types = [Changed]
    del Changed

    def export() -> object:  # called a second time without max_version, which it does not take
        if change == "method":
            types[0].__dlpack__ = None  # type: ignore[assignment, method-assign]
        else:
            changing.__class__ = Other  # type: ignore[assignment]
            types.clear()
        gc.collect()
        return p.__dlpack__()

    changing = types[0]()
    changing.__dlpack__ = export  # type: ignore[method-assign]
    t = dlbridge.from_dlpack(changing)
    assert t.data_ptr == p.handle.address


def test_a_mock_of_the_method_is_called() -> None:
    p = producers.Producer()
    with unittest.mock.patch.object(p, "__dlpack__", wraps=p.__dlpack__) as method:
        t = dlbridge.from_dlpack(p)
    assert method.call_count == 1
    assert t.data_ptr == p.handle.address


class OnUnknownDevice:
    """As an array of JAX whose memory was given away."""

    def __dlpack__(self, **keywords: Any) -> object:
        raise RuntimeError("the array was deleted")

    def __dlpack_device__(self) -> tuple[int, int]:
        raise TypeError("no device")


def test_the_exception_of_the_first_call_is_raised() -> None:
    of_jax = type("ArrayImpl", (OnUnknownDevice,), {"__module__": "jaxlib._jax"})
    with pytest.raises(RuntimeError, match="the array was deleted"):
        dlbridge.from_dlpack(of_jax())


@pytest.mark.parametrize("copy", [None, True, False])
def test_a_class_derived_from_type_error_is_the_producers_own(copy: Any) -> None:
    class TracedError(TypeError):
        pass

    calls: list[Any] = []

    class Traced:
        def __dlpack__(self, **keywords: Any) -> object:
            calls.append(keywords)
            raise TracedError("no values yet")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    with pytest.raises(TracedError, match="no values yet"):
        dlbridge.from_dlpack(Traced(), copy=copy)
    first = {"max_version": V} if copy is None else {"max_version": V, "copy": copy}
    again = [{"max_version": V}] if copy else []  # dlbridge would make the copy
    assert calls == [first, *again]


def test_a_derived_array_without_the_method() -> None:
    np = pytest.importorskip("numpy")
    without = type("Without", (np.ndarray,), {"__dlpack__": None})
    for copy in (None, True):
        with pytest.raises(TypeError, match=r"^not a DLPack producer"):
            dlbridge.from_dlpack(np.zeros(3).view(without), copy=copy)


def test_a_property_that_raises_does_not_hide_the_refusal() -> None:
    class Raising:
        @property
        def __array_interface__(self) -> object:
            raise RuntimeError("not now")

    with pytest.raises(TypeError, match=r"^not a DLPack producer"):
        dlbridge.from_dlpack(Raising())
