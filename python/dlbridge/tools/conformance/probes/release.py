# SPDX-License-Identifier: BSD-3-Clause
"""The probes of release: who calls the deleter, how often, and what keeps the memory alive."""

from __future__ import annotations

import contextlib
import gc
import random
import threading

from ... import abi
from ..helpers import samples
from ..helpers.consumption import (
    LAZY,
    Cases,
    ConsumerCall,
    each_import,
    import_as,
    kinds,
    owed,
    short,
    summed_up,
    support,
    wait_until,
)
from ..helpers.expectations import note, same, wrong_values
from ..helpers.producers import (
    VERSION,
    BareProducer,
)
from ..helpers.results import (
    CannotRead,
    Way,
    export_again,
    readers,
    shares_memory,
    tensors_below,
    values_of,
    views,
)
from ..helpers.trials import fatal
from ..outcomes import Broken, Skip
from ..registry import probe
from ..target import Target

REPEATED, THREADS, EACH = 50, 4, 20

# C-07: once, and not before the last use -------------------------------------------------------


def release_all(calls: list[ConsumerCall]) -> tuple[int, int]:
    """Drops results that are still there, and returns the deleter calls and the tensors."""
    producers = [call.producer for call in calls]
    for call in calls:
        call.drop()
        call.producer.capsules.clear()
    calls.clear()
    wait_until(lambda: sum(each.deleter_calls for each in producers) >= owed(*producers))
    return sum(each.deleter_calls for each in producers), owed(*producers)


def must_be_once(calls: list[ConsumerCall], what: str) -> None:
    producers = [call.producer for call in calls]
    count, tensors = release_all(calls)
    most = max((it.calls for each in producers for it in each.tensors), default=0)
    if count != tensors or most > 1:
        raise Broken(
            f"{what}, after the result and the capsule were dropped: the deleters were called"
            f" {count} times, and the number of tensors is {tensors}"
        )


def accepted(call: ConsumerCall, what: str = "a tensor") -> ConsumerCall:
    if call.refusal is not None:
        raise Skip(f"{what} is refused: {call.error_text}")
    if call.is_lazy:
        raise Skip(LAZY)
    return call


@probe("C-07")
def frees_once(target: Target) -> str:
    for kind in kinds(target):
        must_be_once([accepted(import_as(target, kind))], kind)
        must_be_once([accepted(import_as(target, kind)) for _ in range(REPEATED)], f"{kind}, many")
        call = accepted(import_as(target, kind))
        call.producer.capsules.clear()
        must_be_once([call], f"{kind}, the capsule first")
    return note(target, "once each", [])


@probe("C-07")
def frees_once_in_any_order(target: Target) -> str:
    order = random.Random(0)
    for kind in kinds(target):
        calls = [accepted(import_as(target, kind)) for _ in range(REPEATED)]
        already = any(call.producer.deleter_calls for call in calls)  # it may copy and free
        order.shuffle(calls)
        while calls:
            call = calls.pop()
            tensors = owed(call.producer)
            if call.release() != tensors:
                raise Broken(f"{kind}: {call.producer.deleter_calls} calls of the deleter; the "
                             f"number of tensors is {tensors}")  # fmt: skip
            if not already and any(it.producer.deleter_calls for it in calls):
                raise Broken(f"{kind}: dropping one result freed another tensor")
    return note(target, "once each", [])


@probe("C-07")
def frees_once_what_is_empty_or_has_no_context(target: Target) -> str | None:
    bare = ConsumerCall(target, BareProducer())
    if bare.refusal is None:
        must_be_once([bare], "a tensor whose manager_ctx is NULL")
    cases: Cases = {
        "an empty tensor": {"shape": (0, 3), "strides": (3, 1)},
        "an empty tensor at NULL": {"shape": (0,), "strides": (1,), "pointer": 0},
        "a tensor without dimensions": {"shape": (), "strides": ()},
        "a transposed tensor": {"strides": (1, 2)},
        "a tensor with a byte_offset": {"byte_offset": 16},
        "unaligned data": {"shift": 4},
        "float64": {"dtype": (2, 64, 1)},
        "a read-only tensor": {"version": VERSION, "flags": abi.READ_ONLY},
        "a copy": {"version": VERSION, "flags": abi.IS_COPIED},
        "a large tensor": {"shape": (128, 512), "strides": (512, 1)},
        "a large transposed tensor": {"shape": (512, 128), "strides": (1, 512)},
        **{name: {"dtype": dtype} for dtype, name in samples.READABLE.items()},
    }
    for title, call in each_import(target, cases, times=2):
        if call.refusal is None:
            must_be_once([call], title)
    return None


@probe("C-07")
def frees_both_of_two_on_the_same_memory(target: Target) -> None:
    for kind in kinds(target):
        first = accepted(import_as(target, kind))
        pointer = first.producer.tensors[-1].data
        second = accepted(import_as(target, kind, pointer=pointer))
        calls = [first.release(), second.release()]
        tensors = [owed(first.producer), owed(second.producer)]
        if calls != tensors:
            raise Broken(f"{kind}, two imports on the same memory: {calls} calls of their deleters;"
                         f" the numbers of their tensors are {tensors}")  # fmt: skip


@probe("C-07")
def frees_each_import_from_one_producer(target: Target) -> None:
    for producer in support(target).producers.values():
        shared = producer()
        calls = [accepted(ConsumerCall(target, shared)) for _ in range(3)]
        for call in calls:
            call.drop()
        must_be_once(calls[:1], "three imports from one producer")


@probe("C-07")
def frees_once_in_several_threads(target: Target) -> str:
    for kind in kinds(target):
        must_be_once(_in_threads(target, kind), f"{kind}, {THREADS} threads at the same time")
    dropped = [accepted(import_as(target, kinds(target)[0])) for _ in range(REPEATED)]
    thread = threading.Thread(target=lambda: [call.release() for call in dropped])
    thread.start()
    thread.join()
    must_be_once(dropped, "dropped in another thread")
    return f"{THREADS * EACH} imports in {THREADS} threads"


def _in_threads(target: Target, kind: str) -> list[ConsumerCall]:
    readers(target)
    calls: list[ConsumerCall] = []
    wrong: list[str] = []
    start = threading.Barrier(THREADS)

    def work() -> None:
        start.wait()
        for _ in range(EACH):
            call = import_as(target, kind, shape=(4, 5), strides=(5, 1))
            calls.append(call)
            try:
                difference = None if call.refusal is not None else wrong_values(call)
            except CannotRead:
                difference = None
            if difference is not None:
                wrong.append(difference)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise Broken(f"{kind}, in {THREADS} threads at the same time: {summed_up(wrong)}")
    return calls


@probe("C-07", hostile=True)
def keeps_memory_while_it_is_used(target: Target) -> str:
    """The deleter overwrites the memory, the shape and the strides."""
    readers(target)
    cases: Cases = {
        "compact": {},
        "transposed": {"strides": (1, 2)},
        "three dimensions": {"shape": (2, 3, 4), "strides": (24, 8, 2)},
        "NULL strides": {"strides": None, "version": VERSION},
        "a vector": {"shape": (100,), "strides": (1,)},
    }
    wrong = []
    for title, call in each_import(target, cases):
        if call.refusal is not None:
            continue
        call.producer.capsules.clear()
        for _ in range(2):
            churn()
            fresh = ConsumerCall(target, type(call.producer)(**call.producer.fields))
            try:
                values, expected = (values_of(target, it.result) for it in (call, fresh))
            except CannotRead:
                break
            if call.producer.deleter_calls:  # the other import may be overwritten too
                expected = call.producer.values
            if not same(values, expected):
                freed = ", and its deleter has been called" if call.producer.deleter_calls else ""
                wrong.append(
                    f"{title}: after the capsule was dropped, the result holds"
                    f" {short(repr(values))} instead of {short(repr(expected))}{freed}"
                )
                break
    if wrong:
        raise Broken(summed_up(wrong))
    return note(target, "the values stay", [])


_KEPT: Cases = {
    "a plain tensor": {},
    "transposed": {"strides": (1, 2)},
    "a byte_offset": {"byte_offset": 16},
    "float64": {"dtype": (2, 64, 1)},
    "a read-only tensor": {"version": VERSION, "flags": abi.READ_ONLY},
    "a copy": {"version": VERSION, "flags": abi.IS_COPIED},
}


def _freed_below(call: ConsumerCall) -> int:
    """Returns the deleter calls of the tensors in whose memory the result is: by its address.

    A consumer may copy and call the deleter at once, or leave a second capsule to its destructor.
    Only the deleter of a tensor that the result is over is called early. Nothing is read.
    """
    return sum(tensor.calls for tensor in tensors_below(call.target, call.producer, call.result))


@probe("C-07", hostile=True, extra=True)
def does_not_free_what_it_returns(target: Target) -> str:
    """Needs no values: where they are overwritten, nothing that reads them can tell its own."""
    kinds(target)
    early = [
        f"{title}: the deleter had been called when the import returned, and the result is in the"
        f" memory of its tensor, at {call.producer.address:#x}"
        for title, call in each_import(target, _KEPT)
        if call.refusal is None and _freed_below(call)
    ]
    if early:
        raise Broken(summed_up(early))
    return ""


@probe("C-07", hostile=True, extra=True)
def does_not_free_with_a_view(target: Target) -> str:
    """The result lives: neither a view of it nor its export may free it when they die."""
    early = []
    ways: dict[str, Way] = {**views(target), "x.__dlpack__()": export_again}
    for kind in kinds(target):
        calls = {name: accepted(import_as(target, kind)) for name in ways}
        before = {name: _freed_below(call) for name, call in calls.items()}
        for name, way in ways.items():
            with contextlib.suppress(Exception):  # it has no such view
                way(calls[name].result)
        gc.collect()
        early += [
            f"{kind}: after {name} was dropped, the deleter was called, but x still exists"
            for name, call in calls.items()
            if _freed_below(call) > before[name]
        ]
    if early:
        raise Broken(summed_up(early))
    return ""


def churn() -> None:
    """Reuses memory that has been freed."""
    blocks = [bytearray(b"\xdd" * size) for size in (32, 48, 64, 96, 128, 256, 1024) * 20]
    del blocks


# C-20: the name of a consumed capsule ----------------------------------------------------------


@probe("C-20")
def renames_consumed_capsules(target: Target) -> str:
    for kind in kinds(target):
        call = accepted(import_as(target, kind))
        capsules = zip(call.producer.capsules, call.producer.tensors)
        names = [(abi.name_of(capsule), abi.USED[tensor.name]) for capsule, tensor in capsules]
        if any(name == used for name, used in names):
            continue
        name, used = names[-1]
        if name not in abi.STRUCTS:
            raise Broken(f"{kind}: a consumed capsule is named {name!r}, and not {used!r}")
        if not shares_memory(call):
            return f"{kind}: it copies, and leaves the tensor to the capsule"
        raise Broken(f"{kind}: a consumed capsule is still named {name!r}, and not {used!r}")
    return note(target, "renamed", [])


# C-32: no deleter ------------------------------------------------------------------------------


@probe("C-32", hostile=True)
def no_deleter_isaccepted(target: Target) -> str:
    refused = []
    if fatal(target, {"no deleter": {"deleter": False}}):
        raise Skip("it ends the process, which X-06 reports")
    for title, call in each_import(target, {"no deleter": {"deleter": False}}, times=2):
        if call.refusal is not None:
            refused.append(f"{title}: refused: {call.error_text}")
    if refused:
        raise Broken(summed_up(refused))
    return note(target, "accepted", [])


@probe("X-06", hostile=True)
def no_deleter_is_called(target: Target) -> str:
    """A NULL deleter that is called ends this process."""
    count = 0
    for kind in kinds(target):
        for _ in range(2):
            call = import_as(target, kind, deleter=False)
            count += call.refusal is None
            call.drop()
            call.producer.capsules.clear()
            gc.collect()
    if not count:
        raise Skip("tensors without deleter are refused")
    return f"{count} tensors without deleter were dropped"
