# SPDX-License-Identifier: BSD-3-Clause
"""Which side frees the memory, and when: in every order, from every thread, also at exit."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import weakref
from typing import Any, Callable

import pytest
from cpython_build import FREE_THREADED
from new_interpreter import run

import dlbridge
import foreign
import producers
from dlbridge._core import _vector as vector

V = (1, 0)

# Every order: the last holder frees the memory, once.


def hold_capsule(t: dlbridge.Tensor) -> Any:
    return t.__dlpack__(max_version=V)


def hold_consumed(t: dlbridge.Tensor) -> Any:
    return foreign.consume(t.__dlpack__())


def hold_buffer(t: dlbridge.Tensor) -> Any:
    return memoryview(t)


def hold_tensor(t: dlbridge.Tensor) -> Any:
    return dlbridge.from_dlpack(t)


def hold_through_another(t: dlbridge.Tensor) -> Any:
    """Through another import and export."""
    return dlbridge.from_dlpack(producers.Returns(t.__dlpack__(max_version=V)))


HOLDERS = [hold_capsule, hold_consumed, hold_buffer, hold_tensor, hold_through_another]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("second", HOLDERS)
@pytest.mark.parametrize("first", HOLDERS)
def test_every_order(first: Any, second: Any, order: tuple[int, ...]) -> None:
    p = producers.Producer()
    holders: dict[int, Any] = {0: dlbridge.from_dlpack(p)}
    holders[1] = first(holders[0])
    holders[2] = second(holders[0])
    for index in order:
        assert p.calls == [0]
        del holders[index]
    assert p.calls == [1]
    assert not p.handle.log[0].pending


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("raw", [False, True])
def test_a_tensor_frees_what_it_imported(versioned: bool, raw: bool) -> None:
    handle = foreign.tensor()
    capsule = handle.capsule(versioned)
    t = dlbridge.from_dlpack(capsule if raw else producers.Returns(capsule))
    del capsule
    gc.collect()
    assert handle.calls == 0
    del t
    assert handle.calls == 1
    assert handle.log[0].thread == threading.get_ident()


@pytest.mark.parametrize("destructor", ["spec", "blind", "clears"])
def test_a_consumed_capsule_frees_nothing(destructor: Any) -> None:
    """Also if its destructor ignores the name."""
    handle = foreign.tensor()
    capsule = handle.capsule(destructor=destructor)
    t = dlbridge.from_dlpack(capsule)
    del t
    assert handle.calls == 1
    del capsule
    assert handle.calls == 1


# The deleters of dlbridge, from any thread.


class Owner:
    """Memory that a Python object owns."""

    def __init__(self, threads: list[int]) -> None:
        self.part: object = None
        self.memory = bytearray(24)
        self.threads = threads
        self.__array_interface__ = {
            "shape": (24,),
            "typestr": "|u1",
            "data": (foreign.buffer(self.memory, 0)["data"], False),
        }

    def __del__(self) -> None:
        self.threads.append(threading.get_ident())


def python_owner(threads: list[int]) -> dlbridge.Tensor:
    return dlbridge.as_tensor(Owner(threads))


def cpp_owner(threads: list[int]) -> dlbridge.Tensor:
    return vector(6, lambda: threads.append(threading.get_ident()))


RELEASES = ["here", "nogil", "thread", "pending"]


@pytest.mark.parametrize("how", RELEASES)
@pytest.mark.parametrize("max_version", [None, V])
@pytest.mark.parametrize("make", [python_owner, cpp_owner])
def test_deleters_of_dlbridge(make: Any, max_version: Any, how: Any) -> None:
    threads: list[int] = []
    tensor = foreign.consume(make(threads).__dlpack__(max_version=max_version))
    gc.collect()
    assert threads == []
    assert tensor.release(how)  # a pending exception is unchanged
    (thread,) = threads
    if not FREE_THREADED:  # where an object is destroyed in the thread that created it
        assert (thread == threading.get_ident()) == (how != "thread")


@pytest.mark.parametrize("how", RELEASES)
def test_a_foreign_deleter_is_called_in_the_same_state(how: Any) -> None:
    """A deleter acquires the GIL itself (spec 3.3): dlbridge calls it on the same thread, with or
    without the GIL."""
    p = producers.Producer()
    tensor = foreign.consume(dlbridge.from_dlpack(p).__dlpack__())
    assert tensor.release(how)
    (call,) = p.handle.log
    assert call.gil == (how in ("here", "pending"))
    assert (call.thread == threading.get_ident()) == (how != "thread")


def test_exceptions_in_a_deleter_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_value))

    def fail() -> None:
        raise ArithmeticError("in the deleter")

    assert foreign.consume(vector(3, fail).__dlpack__()).release("pending")
    assert foreign.survives_drop(lambda: vector(3, fail))
    assert [repr(each) for each in reported] == ["ArithmeticError('in the deleter')"] * 2
    reported.clear()


# The destruction of an object preserves a pending exception.

DESTROYED: dict[str, Callable[[], Any]] = {
    "tensor": lambda: dlbridge.from_dlpack(producers.Producer()),
    "shared tensor": lambda: dlbridge.as_tensor(dlbridge.from_dlpack(producers.Producer())),
    "python owner": lambda: python_owner([]),
    "cpp owner": lambda: cpp_owner([]),
    "legacy capsule": lambda: dlbridge.from_dlpack(producers.Producer()).__dlpack__(),
    "versioned capsule": lambda: dlbridge.from_dlpack(producers.Producer()).__dlpack__(
        max_version=V
    ),
    "capsule of a python owner": lambda: python_owner([]).__dlpack__(),
    "capsule of a copy": lambda: dlbridge.to_dlpack(b"abc", copy=True),
    "consumed capsule": lambda: consumed_capsule(),
    "memoryview": lambda: memoryview(dlbridge.from_dlpack(producers.Producer())),
    "dtype": lambda: dlbridge.dtype("float32"),
}


def consumed_capsule() -> object:
    capsule = dlbridge.from_dlpack(producers.Producer()).__dlpack__()
    foreign.consume(capsule).release()
    return capsule


@pytest.mark.parametrize("name", DESTROYED)
def test_a_pending_exception_is_preserved(name: str) -> None:
    exports, calls = foreign.accounts()
    assert foreign.survives_drop(DESTROYED[name])
    gc.collect()
    now = foreign.accounts()
    assert now[0] - exports == now[1] - calls


def test_a_destructor_that_clears_exceptions() -> None:
    """dlbridge drops the capsule before it raises the exception."""
    handle = foreign.tensor()
    p = producers.Returns(None)

    class Once(producers.KwEcho):
        def __dlpack__(self, **keywords: Any) -> object:
            return handle.capsule(name=b"something else", destructor="clears")

    with pytest.raises(BufferError, match=r"^producer failed: "):
        dlbridge.from_dlpack(Once())
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(p)


def test_a_deleter_preserves_an_exception_that_a_destructor_clears() -> None:
    owner = Owner([])
    owner.part = foreign.tensor().capsule(name=b"other", destructor="clears")
    tensor = foreign.consume(dlbridge.as_tensor(owner).__dlpack__())
    del owner
    assert tensor.release("pending")


# Weak references and cycles.


def test_a_tensor_does_not_keep_its_producer_alive() -> None:
    p = producers.Producer()
    reference = weakref.ref(p)
    method = p.__dlpack__
    del method
    t = dlbridge.from_dlpack(p)
    handles = p.handles
    del p
    assert reference() is None
    assert handles[0].calls == 0
    del t
    assert handles[0].calls == 1


class Holder:
    """Memory with an attribute that can refer to a tensor on it."""

    tensor: Any = None

    def __init__(self) -> None:
        self.memory = bytearray(8)
        self.__array_interface__ = {
            "shape": (8,),
            "typestr": "|u1",
            "data": (foreign.buffer(self.memory, 0)["data"], False),
        }


def test_a_cycle_through_a_deleter_is_not_collected() -> None:
    """The collector cannot traverse a deleter in C, in any library. A caller that stores a tensor
    in its own producer must remove it."""
    x = Holder()
    reference = weakref.ref(x)
    x.tensor = dlbridge.as_tensor(x)
    del x
    gc.collect()
    holder = reference()
    assert holder is not None
    holder.tensor = None
    del holder
    assert reference() is None


def test_a_long_chain_of_tensors_is_freed() -> None:
    """Repeated imports do not build a chain of owners."""
    p = producers.Producer()
    t = dlbridge.from_dlpack(p)
    for _ in range(200_000):
        t = dlbridge.from_dlpack(t)
        t = dlbridge.as_tensor(t, device="cpu")
    assert t.data_ptr == p.handle.address
    del t
    assert p.calls == [1]


def test_threads_release_at_once() -> None:
    """Sixteen threads release exports of one tensor: one deleter call."""
    p = producers.Producer()
    tensors = [dlbridge.from_dlpack(p)]
    start = threading.Barrier(16)

    def work() -> None:
        exports = [foreign.consume(tensors[0].__dlpack__()) for _ in range(50)]
        start.wait()
        for number, each in enumerate(exports):
            each.release(("nogil", "thread", "here")[number % 3])

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert p.calls == [0]
    tensors.clear()
    assert p.calls == [1]


# Exit of the interpreter, with tensors alive on both sides.


AFTER_EXIT = "with Python gone\n"
PROGRAMS: dict[str, tuple[str, str]] = {
    "tensors in the module": (
        """
        t = dlbridge.from_dlpack(producers.Producer())
        u = dlbridge.as_tensor(bytearray(8))
        v = dlbridge.from_dlpack(t)
        m = memoryview(v)
        """,
        "",
    ),
    "tensors in a cycle": (
        """
        class Holder: pass
        h = Holder()
        h.self = h
        h.t = dlbridge.from_dlpack(producers.Producer())
        h.capsule = h.t.__dlpack__()
        del h
        """,
        "",
    ),
    "unconsumed capsules": (
        """
        capsules = [dlbridge.as_tensor(bytearray(8)).__dlpack__() for _ in range(3)]
        sys.capsules = capsules
        sys.capsule = dlbridge.from_dlpack(producers.Producer()).__dlpack__(max_version=(1, 0))
        """,
        "",
    ),
    "a foreign tensor held in C": (
        """
        foreign.consume(dlbridge.from_dlpack(producers.Producer()).__dlpack__()).keep_until_exit()
        """,
        "released 1 " + AFTER_EXIT,
    ),
    "a Python object held in C": (
        """
        for version in (None, (1, 0)):
            t = dlbridge.as_tensor(bytearray(8))
            foreign.consume(t.__dlpack__(max_version=version)).keep_until_exit()
        """,
        "released 2 " + AFTER_EXIT,
    ),
    "a copy held in C": (
        """
        foreign.consume(dlbridge.to_dlpack(b"abc", copy=True)).keep_until_exit()
        """,
        "released 1 " + AFTER_EXIT,
    ),
    "a C++ vector held in C": (
        """
        from dlbridge._core import _vector
        t = _vector(3, lambda: print("freed"))
        foreign.consume(t.__dlpack__()).keep_until_exit()
        """,
        "released 1 " + AFTER_EXIT,
    ),
    "released by atexit": (
        """
        tensor = foreign.consume(dlbridge.as_tensor(bytearray(8)).__dlpack__())
        atexit.register(lambda: print(tensor.release("thread")))
        """,
        "True\n",
    ),
    "released when a module is cleared": (
        """
        class Late:
            def __init__(self, tensor): self.tensor = tensor
            def __del__(self): self.tensor.release()
        sys.late = Late(foreign.consume(dlbridge.as_tensor(bytearray(8)).__dlpack__()))
        """,
        "",
    ),
    "released by a thread after the main thread": (
        """
        tensor = foreign.consume(dlbridge.as_tensor(bytearray(8)).__dlpack__())
        def late():
            threading.main_thread().join()
            print(tensor.release("thread"))
        threading.Thread(target=late).start()
        """,
        "True\n",
    ),
    "SystemExit": (
        """
        def fail():
            t = dlbridge.from_dlpack(producers.Producer())
            c = t.__dlpack__()
            raise SystemExit(0)
        fail()
        """,
        "",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_exit_of_the_interpreter(name: str) -> None:
    code, output = PROGRAMS[name]
    assert run(code) == output
