"""Who frees what and when: in every order, from every thread, also after Python is gone."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path
from typing import Any, Callable

import pytest

import dlbridge
import foreign
import producers
from dlbridge._core import _vector as vector

HERE = Path(__file__).resolve().parent
V = (1, 0)

# Every order: the memory goes with the last holder, once.


def hold_capsule(t: dlbridge.Tensor) -> Any:
    return t.__dlpack__(max_version=V)


def hold_consumed(t: dlbridge.Tensor) -> Any:
    return foreign.consume(t.__dlpack__())


def hold_buffer(t: dlbridge.Tensor) -> Any:
    return memoryview(t)


def hold_tensor(t: dlbridge.Tensor) -> Any:
    return dlbridge.from_dlpack(t)


def hold_through_another(t: dlbridge.Tensor) -> Any:
    """By way of a consumer that exports again."""
    return dlbridge.from_dlpack(producers.Gives(t.__dlpack__(max_version=V)))


HOLDERS = [hold_capsule, hold_consumed, hold_buffer, hold_tensor, hold_through_another]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("second", HOLDERS)
@pytest.mark.parametrize("first", HOLDERS)
def test_every_order(first: Any, second: Any, order: tuple[int, ...]) -> None:
    p = producers.Producer()
    held: dict[int, Any] = {0: dlbridge.from_dlpack(p)}
    held[1] = first(held[0])
    held[2] = second(held[0])
    for who in order:
        assert p.calls == [0]
        del held[who]
    assert p.calls == [1]
    assert not p.handle.log[0].pending


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("raw", [False, True])
def test_a_tensor_frees_what_it_took(versioned: bool, raw: bool) -> None:
    handle = foreign.tensor()
    capsule = handle.capsule(versioned)
    t = dlbridge.from_dlpack(capsule if raw else producers.Gives(capsule))
    del capsule
    gc.collect()
    assert handle.calls == 0
    del t
    assert handle.calls == 1
    assert handle.log[0].thread == threading.get_ident()


@pytest.mark.parametrize("destructor", ["spec", "blind", "clears"])
def test_a_capsule_that_lives_on_frees_nothing(destructor: Any) -> None:
    """Also where its destructor does not look at the name."""
    handle = foreign.tensor()
    capsule = handle.capsule(destructor=destructor)
    t = dlbridge.from_dlpack(capsule)
    del t
    assert handle.calls == 1
    del capsule
    assert handle.calls == 1


# Deleters of ours, from wherever they are called.


class Owner:
    """Memory that a Python object keeps."""

    def __init__(self, seen: list[int]) -> None:
        self.memory = bytearray(24)
        self.seen = seen
        self.__array_interface__ = {
            "shape": (24,),
            "typestr": "|u1",
            "data": (foreign.buffer(self.memory, 0)["data"], False),
        }

    def __del__(self) -> None:
        self.seen.append(threading.get_ident())


def python_owner(seen: list[int]) -> dlbridge.Tensor:
    return dlbridge.as_tensor(Owner(seen))


def cpp_owner(seen: list[int]) -> dlbridge.Tensor:
    return vector(6, lambda: seen.append(threading.get_ident()))


RELEASES = ["here", "nogil", "thread", "pending"]


@pytest.mark.parametrize("how", RELEASES)
@pytest.mark.parametrize("max_version", [None, V])
@pytest.mark.parametrize("make", [python_owner, cpp_owner])
def test_deleters_of_ours(make: Any, max_version: Any, how: Any) -> None:
    seen: list[int] = []
    taken = foreign.consume(make(seen).__dlpack__(max_version=max_version))
    gc.collect()
    assert seen == []
    assert taken.release(how)  # and a pending exception is as it was
    (thread,) = seen
    assert (thread == threading.get_ident()) == (how != "thread")


@pytest.mark.parametrize("how", RELEASES)
def test_a_foreign_deleter_is_called_as_we_are(how: Any) -> None:
    """Who needs the GIL takes it (spec 3.3): ours passes the call on from any thread, with or
    without."""
    p = producers.Producer()
    taken = foreign.consume(dlbridge.from_dlpack(p).__dlpack__())
    assert taken.release(how)
    (call,) = p.handle.log
    assert call.gil == (how in ("here", "pending"))
    assert (call.thread == threading.get_ident()) == (how != "thread")


def test_what_fails_in_a_deleter_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: reported.append(args.exc_value))

    def fail() -> None:
        raise ArithmeticError("in the deleter")

    assert foreign.consume(vector(3, fail).__dlpack__()).release("pending")
    assert foreign.survives_drop(lambda: vector(3, fail))
    assert [repr(each) for each in reported] == ["ArithmeticError('in the deleter')"] * 2
    reported.clear()


# Whatever dies while an exception is pending leaves it as it is.

DYING: dict[str, Callable[[], Any]] = {
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


@pytest.mark.parametrize("what", DYING)
def test_a_pending_exception_survives(what: str) -> None:
    out, calls = foreign.accounts()
    assert foreign.survives_drop(DYING[what])
    gc.collect()
    now = foreign.accounts()
    assert now[0] - out == now[1] - calls


def test_a_careless_capsule_does_not_cost_our_refusal() -> None:
    """Its destructor loses the pending exception: it runs before there is one."""
    handle = foreign.tensor()
    p = producers.Gives(None)

    class Once(producers.KwEcho):
        def __dlpack__(self, **keywords: Any) -> object:
            return handle.capsule(name=b"something else", destructor="clears")

    with pytest.raises(BufferError, match=r"^producer failed: "):
        dlbridge.from_dlpack(Once())
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(p)


# Weak references and cycles.


def test_a_tensor_does_not_keep_its_producer() -> None:
    p = producers.Producer()
    gone = weakref.ref(p)
    handle = p.__dlpack__
    del handle
    t = dlbridge.from_dlpack(p)
    handles = p.handles
    del p
    assert gone() is None
    assert handles[0].calls == 0
    del t
    assert handles[0].calls == 1


class Holder:
    """Memory that can hold a tensor on itself."""

    tensor: Any = None

    def __init__(self) -> None:
        self.memory = bytearray(8)
        self.__array_interface__ = {
            "shape": (8,),
            "typestr": "|u1",
            "data": (foreign.buffer(self.memory, 0)["data"], False),
        }


def test_a_cycle_through_a_deleter_is_not_found() -> None:
    """A tensor's owner is behind a C function, where the collector cannot look, as with every
    library's. Whoever stores a tensor in its own producer has to take it out again."""
    x = Holder()
    gone = weakref.ref(x)
    x.tensor = dlbridge.as_tensor(x)
    del x
    gc.collect()
    held = gone()
    assert held is not None
    held.tensor = None
    del held
    assert gone() is None


def test_a_long_chain_of_tensors_is_freed() -> None:
    """One that is taken anew a million times is no chain of a million owners."""
    p = producers.Producer()
    t = dlbridge.from_dlpack(p)
    for _ in range(200_000):
        t = dlbridge.from_dlpack(t)
        t = dlbridge.as_tensor(t, device="cpu")
    assert t.data_ptr == p.handle.address
    del t
    assert p.calls == [1]


def test_threads_let_go_together() -> None:
    """Sixteen threads at once, each with shares of one tensor: one deleter call."""
    p = producers.Producer()
    shares = [dlbridge.from_dlpack(p)]
    start = threading.Barrier(16)

    def work() -> None:
        mine = [foreign.consume(shares[0].__dlpack__()) for _ in range(50)]
        start.wait()
        for number, each in enumerate(mine):
            each.release(("nogil", "thread", "here")[number % 3])

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert p.calls == [0]
    shares.clear()
    assert p.calls == [1]


# The end of Python, with tensors alive on both sides.


def run(code: str) -> str:
    """What a new interpreter prints, which must end well and say nothing else."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONFAULTHANDLER": "1",
        "PYTHONDEVMODE": "1",
    }
    prologue = "import sys, gc, atexit, threading\nimport dlbridge, foreign, producers\n"
    done = subprocess.run(
        [sys.executable, "-c", prologue + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=HERE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


GONE = "with Python gone\n"
ENDS: dict[str, tuple[str, str]] = {
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
    "capsules that nobody took": (
        """
        kept = [dlbridge.as_tensor(bytearray(8)).__dlpack__() for _ in range(3)]
        sys.kept = kept
        sys.also = dlbridge.from_dlpack(producers.Producer()).__dlpack__(max_version=(1, 0))
        """,
        "",
    ),
    "a foreign tensor that we hold in C": (
        """
        foreign.consume(dlbridge.from_dlpack(producers.Producer()).__dlpack__()).keep_until_exit()
        """,
        "released 1 " + GONE,
    ),
    "a Python object that C holds": (
        """
        for version in (None, (1, 0)):
            t = dlbridge.as_tensor(bytearray(8))
            foreign.consume(t.__dlpack__(max_version=version)).keep_until_exit()
        """,
        "released 2 " + GONE,
    ),
    "a copy that C holds": (
        """
        foreign.consume(dlbridge.to_dlpack(b"abc", copy=True)).keep_until_exit()
        """,
        "released 1 " + GONE,
    ),
    "a C++ vector that C holds": (
        """
        from dlbridge._core import _vector
        t = _vector(3, lambda: print("freed"))
        foreign.consume(t.__dlpack__()).keep_until_exit()
        """,
        "released 1 " + GONE,
    ),
    "released by atexit": (
        """
        taken = foreign.consume(dlbridge.as_tensor(bytearray(8)).__dlpack__())
        atexit.register(lambda: print(taken.release("thread")))
        """,
        "True\n",
    ),
    "released by a module's end": (
        """
        class Late:
            def __init__(self, taken): self.taken = taken
            def __del__(self): self.taken.release()
        sys.late = Late(foreign.consume(dlbridge.as_tensor(bytearray(8)).__dlpack__()))
        """,
        "",
    ),
    "from a thread that outlives the main one": (
        """
        taken = foreign.consume(dlbridge.as_tensor(bytearray(8)).__dlpack__())
        def late():
            threading.main_thread().join()
            print(taken.release("thread"))
        threading.Thread(target=late).start()
        """,
        "True\n",
    ),
    "on the way out of an exception": (
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


@pytest.mark.parametrize("what", ENDS)
def test_the_end_of_python(what: str) -> None:
    code, printed = ENDS[what]
    assert run(code) == printed
