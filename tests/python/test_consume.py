"""from_dlpack against producers of every habit: what is asked, what comes of it, who frees."""

from __future__ import annotations

import gc
import struct
from typing import Any, Callable

import pytest

import dlbridge
import foreign
import producers


def consumed(x: Any, **how: Any) -> Any:
    """What comes through dlbridge, as the plain-C consumer reads it."""
    return foreign.consume(dlbridge.from_dlpack(x, **how).__dlpack__(max_version=(1, 0)))


# What runs while a producer is asked may change whatever was found out before.


def drop_the_method(cls: Any) -> None:
    del cls.__dlpack__
    gc.collect()


def replace_the_method(cls: Any) -> None:
    cls.__dlpack__ = lambda self, **keywords: pytest.fail("that method came too late")
    gc.collect()


@pytest.mark.parametrize("change", [drop_the_method, replace_the_method])
@pytest.mark.parametrize("when", ["device", "first question", "integer"])
def test_a_type_may_change_while_it_is_asked(when: str, change: Callable[[Any], None]) -> None:
    class Shifting(producers.Producer):
        def __dlpack_device__(self) -> Any:
            if when == "device":
                change(Shifting)
            return (1, Ordinal()) if when == "integer" else (1, 0)

    class Ordinal:
        def __index__(self) -> int:
            change(Shifting)
            return 0

    def ask(self: Any, **keywords: Any) -> object:
        self.asked.append(keywords)
        if when == "first question" and "max_version" in keywords:
            change(Shifting)
            raise TypeError("older than that")
        return self.give("max_version" in keywords)

    Shifting.__dlpack__ = ask  # type: ignore[method-assign]
    del ask
    p = Shifting()
    t = dlbridge.from_dlpack(p)
    assert t.data_ptr == p.handle.address
    del t
    assert p.calls == [1]


def test_an_object_may_change_its_class_while_it_is_asked() -> None:
    class Before(producers.Producer):
        def __dlpack_device__(self) -> Any:
            self.__class__ = producers.Bare  # type: ignore[assignment]
            return (1, 0)

    p = Before()
    t = dlbridge.from_dlpack(p)
    assert t.data_ptr == p.handle.address
    assert p.asked == [{"max_version": dlbridge.DLPACK_VERSION}]


# What a producer raises is the answer, and what is no answer at all stops everything.


@pytest.mark.parametrize("exception", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
@pytest.mark.parametrize("question", [1, 2])
@pytest.mark.parametrize("how", [{}, {"copy": True}])
def test_a_stop_is_no_answer(exception: BaseException, question: int, how: dict[str, bool]) -> None:
    class Stops(producers.Copier):
        stopped = 0

        def __dlpack__(self, **keywords: Any) -> object:
            if "max_version" in keywords and not how:
                raise TypeError("older than that")
            self.stopped += 1
            if self.stopped == question:
                raise exception
            return super().__dlpack__(**keywords)

    class Learned(producers.Bare):
        stopped = 0

        def __dlpack__(self) -> object:  # type: ignore[override]
            self.stopped += 1
            if self.stopped == question:
                raise exception
            return super().__dlpack__()

    for p in (Stops(marks=False), Learned()):
        with pytest.raises(BaseException) as raised:
            for _ in range(question):
                dlbridge.from_dlpack(p, **how)
        assert raised.value is exception
        assert p.stopped == question
        assert p.calls == p.owed


def test_an_exception_raised_twice_is_not_its_own_context() -> None:
    mine = TypeError("mine")
    p = producers.Raises(mine)
    with pytest.raises(TypeError) as raised:
        dlbridge.from_dlpack(p)
    assert raised.value is mine
    assert mine.__context__ is None
    assert len(p.asked) == 2


def fail_plainly() -> object:
    raise RuntimeError("the second")


def fail_with_a_context() -> object:
    try:
        raise KeyError("its own")
    except KeyError:
        raise RuntimeError("the second")  # noqa: B904  the context is the point


@pytest.mark.parametrize(
    "fail, context",
    [(fail_plainly, "TypeError('the first')"), (fail_with_a_context, "KeyError('its own')")],
)
def test_the_first_answer_is_kept_with_the_second(fail: Callable[[], object], context: str) -> None:
    class Twice(producers.KwEcho):
        def __dlpack__(self, **keywords: Any) -> object:
            if keywords:
                raise TypeError("the first")
            return fail()

    with pytest.raises(RuntimeError, match="the second") as raised:
        dlbridge.from_dlpack(Twice())
    assert repr(raised.value.__context__) == context


class Lazy:
    """Fails to make its method when that is looked for."""

    def __init__(self, attribute: str, exception: BaseException) -> None:
        self.attribute = attribute
        self.exception = exception

    def __getattr__(self, name: str) -> Any:
        if name == self.attribute:
            raise self.exception
        raise AttributeError(name)


@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor])
def test_what_a_look_up_raises_comes_unchanged(function: Any) -> None:
    exception = RuntimeError("not loaded yet")
    with pytest.raises(RuntimeError) as raised:
        function(Lazy("__dlpack__", exception))
    assert raised.value is exception


def test_what_a_look_up_of_the_array_interface_raises_comes_unchanged() -> None:
    exception = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt) as raised:
        dlbridge.as_tensor(Lazy("__array_interface__", exception))
    assert raised.value is exception


class OnlyDevice:
    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class SaysNone(producers.Producer):
    __dlpack__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("x", [OnlyDevice(), SaysNone()], ids=["no __dlpack__", "None"])
def test_without_the_method_it_is_no_producer(x: object) -> None:
    with pytest.raises(TypeError, match=r"^not a DLPack producer: "):
        dlbridge.from_dlpack(x)


def test_a_method_that_is_none_leaves_the_other_protocols() -> None:
    class Bytes(bytearray):
        __dlpack__ = None

    assert dlbridge.as_tensor(Bytes(b"ab")).nbytes == 2


# What a type answers for all its objects, and what one object answers for what is behind it.


def test_a_proxy_answers_for_what_is_behind_it() -> None:
    """After an old producer came through it, a read-only tensor still arrives as read-only."""
    old = producers.OldStyle()
    dlbridge.from_dlpack(producers.Forwarding(old))
    assert old.asked == [{}]
    new = producers.Producer(flags=1)
    assert dlbridge.from_dlpack(producers.Forwarding(new)).readonly
    assert new.asked == [{"max_version": dlbridge.DLPACK_VERSION}]


def test_a_type_that_refused_once_for_another_reason_is_asked_in_full_again() -> None:
    class Moody(producers.Producer):
        moods = iter([TypeError("not today"), None])

        def __dlpack__(self, *, max_version: Any = None) -> object:  # type: ignore[override]
            self.asked.append({"max_version": max_version})
            mood = next(self.moods, None) if max_version else None
            if mood:
                raise mood
            return self.give(max_version is not None)

    p = Moody(flags=1)
    assert not dlbridge.from_dlpack(p).readonly
    assert dlbridge.from_dlpack(p).readonly


# What was asked for is what comes.


@pytest.mark.parametrize(
    "device, target, sent",
    [
        ((1, 0), "cpu", None),
        ((1, 3), "cpu", None),  # host memory is host memory
        ((13, 1), (13, 0), None),
        ((2, 0), "cuda:0", None),
        ((2, 0), "cuda:1", (2, 1)),
        ((10, 2), "rocm:1", (10, 1)),
        ((2, 0), "cpu", (1, 0)),
        ((3, 0), "cpu", (1, 0)),
    ],
)
def test_device_is_sent_where_it_differs(
    device: tuple[int, int], target: Any, sent: tuple[int, int] | None
) -> None:
    p = producers.KwEcho(device=device)
    try:
        dlbridge.from_dlpack(p, device=target)
    except BufferError as refused:
        assert sent is not None
        assert str(refused).endswith(
            "device differs. The producer did not move it; move it with its own library first"
        )
    else:
        assert sent is None or device == (3, 0)
    assert p.asked[0].get("dl_device") == sent
    assert p.calls == p.owed == [1]


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("device", [(1, 0), (3, 0)])
def test_a_copy_is_a_copy(device: tuple[int, int], marks: bool) -> None:
    """Whether the producer marks it or not, and also where it need not move."""
    p = producers.Copier(marks, device=device)
    taken = consumed(p, copy=True, device="cpu")
    assert taken.data != p.kept.address
    assert taken.device == (1, 0)
    assert taken.tobytes() == foreign.consume(p.kept.capsule()).tobytes()


@pytest.mark.parametrize("device", [(1, 0), (3, 0)])
def test_a_copy_that_was_not_made_is_made_here(device: tuple[int, int]) -> None:
    class Same(producers.Copier):
        def give(self, versioned: bool, **fields: Any) -> object:
            return self.kept.capsule(versioned)

    p = Same(marks=False, device=device)
    taken = consumed(p, copy=True, device="cpu")
    assert taken.data != p.kept.address
    assert taken.device == (1, 0)
    assert p.kept.calls == p.kept.handed_out


@pytest.mark.parametrize("function", [dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack])
def test_a_copy_against_the_word_is_refused(function: Any) -> None:
    p = producers.KwEcho(flags=2)
    with pytest.raises(dlbridge.CopyForbiddenError) as refused:
        function(p, copy=False)
    assert str(refused.value) == (
        "a copy is needed but forbidden: expected no copy; got one, made by KwEcho all the same. "
        "Leave copy= out if a copy is acceptable"
    )
    assert p.asked == [{"max_version": dlbridge.DLPACK_VERSION, "copy": False}]
    assert p.calls == [1]


def test_only_a_sole_owner_is_told_that_it_has_a_copy() -> None:
    """It may write at will; two consumers of one copy would write over each other."""
    t = dlbridge.from_dlpack(producers.Producer(flags=2))
    assert t.flags == 2
    for _ in range(2):
        assert foreign.consume(t.__dlpack__(max_version=(1, 0))).flags == 0
    assert foreign.consume(t.__dlpack__(max_version=(1, 0), copy=True)).flags == 2


# What is sent: just what is needed, for each kind of device.

V = dlbridge.DLPACK_VERSION
CPU, CUDA, PINNED, ROCM, MANAGED = (1, 0), (2, 0), (3, 0), (10, 1), (13, 0)
ONEAPI, OPENCL = (14, 0), (4, 0)


class Stream:
    """A stream of some framework's: the attributes that it has."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Numba:
    def __init__(self, said: Any) -> None:
        self.said = said

    def __cuda_stream__(self) -> Any:
        return self.said


class Handle:
    """A driver's handle: it is no integer, but can be made one."""

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
SENT: list[tuple[tuple[int, int], dict[str, Any], dict[str, Any]]] = [
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


@pytest.mark.parametrize("device, how, sent", SENT)
def test_only_what_is_needed_is_sent(
    device: tuple[int, int], how: dict[str, Any], sent: dict[str, Any]
) -> None:
    p = producers.KwEcho(device=device)
    try:
        dlbridge.from_dlpack(p, **how)
    except BufferError:
        assert "device" in how or how.get("copy")  # nothing here moves or copies device memory
    assert p.asked[0] == {"max_version": V, **sent}
    assert [type(each) for each in p.asked[0].get("dl_device", ())] in ([], [int, int])
    assert p.calls == p.owed


@pytest.mark.parametrize("said", [(1, 2), (0, 1, 2), 5, (0,), None, (0, "x")])
def test_a_stream_protocol_that_is_not_kept(said: Any) -> None:
    with pytest.raises(ValueError, match="what __cuda_stream__ gives"):
        dlbridge.from_dlpack(producers.Producer(device=CUDA), stream=Numba(said))


# Producers of every habit: each is read, and freed once.


class Static(producers.Producer):
    @staticmethod
    def __dlpack__(*nothing: Any, **keywords: Any) -> object:
        assert nothing == ()
        return SHARED.__dlpack__(**keywords)


class ByClass(producers.Producer):
    @classmethod
    def __dlpack__(cls, **keywords: Any) -> object:
        return SHARED.__dlpack__(**keywords)


class Callable_:
    def __call__(self, *nothing: Any, **keywords: Any) -> object:
        assert nothing == ()
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


class Itself(type):
    """A class that is a producer."""

    def __dlpack_device__(cls) -> Any:
        return (1, 0)

    def __dlpack__(cls, **keywords: Any) -> object:
        return SHARED.__dlpack__(**keywords)


class OfItself(metaclass=Itself):
    pass


SHARED = producers.Producer()
HABITS: dict[str, Callable[[], Any]] = {
    "by the book": lambda: SHARED,
    "any keyword": producers.KwEcho,
    "old style": producers.OldStyle,
    "no keyword": producers.Bare,
    "always legacy": producers.AlwaysLegacy,
    "always versioned": producers.VersionLiar,
    "newer minor": lambda: producers.VersionLiar(version=(1, 2**32 - 1), flags=1 << 63),
    "no device": producers.NoDevice,
    "no number": lambda: producers.SaysDevice((1, None)),
    "a list": lambda: producers.SaysDevice([1, 0]),
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
    "a class": lambda: OfItself,
    "null strides": lambda: producers.Producer(strides=None),
    "no deleter": lambda: producers.Producer(deleter=False),
    "says another device": lambda: producers.SaysDevice((3, 0)),
    "legacy capsule": lambda: foreign.tensor().capsule(False),
    "versioned capsule": lambda: foreign.tensor().capsule(True),
    "blind destructor": lambda: foreign.tensor().capsule(destructor="blind"),
    "careless destructor": lambda: foreign.tensor().capsule(destructor="clears"),
}


@pytest.mark.parametrize("habit", HABITS)
def test_every_habit(habit: str) -> None:
    out, calls = foreign.accounts()
    made = HABITS[habit]()  # without a deleter nothing else keeps the memory
    taken = consumed(made)
    assert (taken.dtype, taken.device, taken.shape, taken.strides) == (
        (2, 32, 1), (1, 0), (2, 3), (3, 1),
    )  # fmt: skip
    assert struct.unpack("6f", taken.tobytes()) == (0, 1, 2, 3, 4, 5)
    owed = foreign.accounts()[0] - out
    assert foreign.accounts()[1] == calls
    taken.release()
    assert foreign.accounts() == (out + owed, calls + owed)
    del made
    gc.collect()
    assert foreign.accounts() == (out + owed, calls + owed)
    assert owed == (0 if habit == "no deleter" else 1)


OFFSETS: list[tuple[dict[str, Any], int]] = [
    ({"byte_offset": 8}, 8),
    ({"byte_offset": 2}, 2),  # not even a whole element
    ({"byte_offset": 20, "strides": (-3, -1)}, 20),
    ({"byte_offset": 4, "strides": None}, 4),
    ({"byte_offset": 64, "shape": ()}, 64),
]


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("fields, offset", OFFSETS)
def test_the_offset_counts(fields: dict[str, Any], offset: int, versioned: bool) -> None:
    handle = foreign.tensor(**fields)
    t = dlbridge.from_dlpack(handle.capsule(versioned))
    assert (t.data_ptr, t.byte_offset) == (handle.address + offset, 0)
    taken = foreign.consume(t.__dlpack__())
    assert (taken.data, taken.byte_offset) == (handle.address + offset, 0)


@pytest.mark.parametrize("data", [None, 16])
@pytest.mark.parametrize("byte_offset", [0, 8, 2**64 - 1])
def test_no_element_needs_no_memory(data: int | None, byte_offset: int) -> None:
    p = producers.Producer(shape=(2, 0), data=data, byte_offset=byte_offset, strides=(2**62, 5))
    taken = consumed(p)
    assert (taken.data, taken.byte_offset, taken.shape) == (0, 0, (2, 0))


def test_the_struct_says_where_the_memory_is() -> None:
    """torch says that pinned memory is pinned, and exports it as the CPU's."""
    p = producers.SaysDevice((3, 0))
    assert dlbridge.from_dlpack(p).device == "cpu"
    q = producers.SaysDevice((1, 0), device=(2, 1))
    assert dlbridge.from_dlpack(q).device == "cuda:1"


def test_a_read_only_mark_that_legacy_cannot_carry() -> None:
    legacy = producers.AlwaysLegacy(flags=1)
    assert not dlbridge.from_dlpack(legacy).readonly
    assert dlbridge.from_dlpack(legacy, readonly=True).readonly


# Copies: asked of the producer, made here when it cannot.


@pytest.mark.parametrize(
    "refusal", [BufferError("no"), RuntimeError("no"), TypeError("no"), NotImplementedError("no")]
)
def test_a_refused_copy_is_made_here(refusal: Exception) -> None:
    class Refuses(producers.NoCopy):
        pass

    Refuses.refusal = refusal
    p = Refuses()
    taken = consumed(p, copy=True)
    assert taken.data != p.handle.address
    assert struct.unpack("6f", taken.tobytes()) == (0, 1, 2, 3, 4, 5)
    assert p.calls == [1]  # the original is not needed any more


@pytest.mark.parametrize("make", [producers.OldStyle, producers.Bare])
def test_an_old_producer_is_copied_here(make: Any) -> None:
    p = make()
    assert consumed(p, copy=True).data != p.handle.address
    assert p.calls == [1]


def test_a_copy_that_cannot_be_had_says_why() -> None:
    class Refuses(producers.KwEcho):
        def __dlpack__(self, **keywords: Any) -> object:
            raise BufferError("with a copy" if keywords.get("copy") else "without one")

    with pytest.raises(BufferError, match=r"^without one$") as raised:
        dlbridge.from_dlpack(Refuses(), copy=True)
    assert repr(raised.value.__context__) == "BufferError('with a copy')"


# Types come and go, and change.


def test_a_type_that_was_asked_before_may_change() -> None:
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


def test_a_base_may_change_too() -> None:
    class Base(producers.Producer):
        pass

    class Derived(Base):
        pass

    p = Derived()
    dlbridge.from_dlpack(p)
    seen = []

    def late(self: Any, **keywords: Any) -> object:
        seen.append(self)
        return self.give(True)

    Base.__dlpack__ = late  # type: ignore[method-assign]
    dlbridge.from_dlpack(p)
    assert seen == [p]


def test_a_type_without_a_version_is_looked_up_each_time() -> None:
    """After a thousand changes CPython gives a type no more version tags."""

    class Restless(producers.Producer):
        pass

    for number in range(1500):

        def answer(self: Any, number: int = number, **keywords: Any) -> object:
            return self.give(True, shape=(number,), data=None if number == 0 else 4096)

        Restless.__dlpack__ = answer  # type: ignore[method-assign]
        p = Restless()
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


# Producers that come back to us while they are asked.


class Reentrant(producers.Producer):
    """Asks dlbridge for what it gives."""

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


def test_producers_may_use_us() -> None:
    out, calls = foreign.accounts()
    taken = consumed(Reentrant(6))
    assert struct.unpack("6f", taken.tobytes()) == (0, 1, 2, 3, 4, 5)
    taken.release()
    del taken
    now = foreign.accounts()
    assert now[0] - out == now[1] - calls == 2**6


def test_endless_recursion_is_an_error() -> None:
    class Endless(producers.Producer):
        def __dlpack__(self, **keywords: Any) -> object:
            return dlbridge.from_dlpack(self).__dlpack__(**keywords)

    with pytest.raises(RecursionError):
        dlbridge.from_dlpack(Endless())


def test_one_capsule_for_two_is_for_one() -> None:
    capsule = foreign.tensor().capsule()

    class Greedy(producers.Producer):
        def __dlpack__(self, **keywords: Any) -> object:
            self.first = dlbridge.from_dlpack(capsule)
            return capsule

    with pytest.raises(BufferError, match=r"^producer failed: "):
        dlbridge.from_dlpack(Greedy())


# Our own tensors.


@pytest.mark.parametrize("how", [{}, {"copy": False}, {"device": "cpu"}, {"stream": 5}])
def test_a_tensor_of_a_tensor_is_on_the_same_memory(how: dict[str, Any]) -> None:
    p = producers.Producer(flags=1, strides=(1, 2))
    t = dlbridge.from_dlpack(dlbridge.from_dlpack(p), **how)
    taken = foreign.consume(t.__dlpack__(max_version=(1, 0)))
    assert (taken.data, taken.strides, taken.flags) == (p.handle.address, (1, 2), 1)
    del t
    assert p.calls == [0]
    taken.release("thread")
    assert p.calls == [1]


def test_a_tensor_of_a_tensor_moves_and_copies_where_it_is_told() -> None:
    p = producers.Producer(device=PINNED)
    t = dlbridge.from_dlpack(p)
    moved = foreign.consume(dlbridge.from_dlpack(t, device="cpu").__dlpack__())
    assert (moved.data, moved.device) == (p.handle.address, CPU)
    copied = dlbridge.from_dlpack(t, copy=True)
    assert copied.data_ptr != p.handle.address
    assert copied.flags == 2
