"""The probes of release: who calls the deleter, how often, and what keeps the memory alive."""

from __future__ import annotations

import contextlib
import gc
import random
import threading
from collections.abc import Callable
from typing import Any

from dlbridge.tools import abi, devices
from dlbridge.tools.conformance.helpers import samples
from dlbridge.tools.conformance.helpers.consumption import (
    LEGACY,
    VERSIONED,
    Cases,
    ConsumerCall,
    announce,
    each_import,
    function_with_keywords,
    import_as,
    kinds,
    owed,
    short,
    summed_up,
    support,
    takes_capsules,
    wait_until,
)
from dlbridge.tools.conformance.helpers.expectations import NOWHERE, note, same, wrong_values
from dlbridge.tools.conformance.helpers.producers import (
    VERSION,
    BareProducer,
    CopyingProducer,
    Producer,
)
from dlbridge.tools.conformance.helpers.results import (
    CannotRead,
    Way,
    device_of,
    is_within,
    readers,
    reported_dtype,
    shares_memory,
    values_in,
    values_of,
    views,
)
from dlbridge.tools.conformance.helpers.trials import fatal, how_it_ends, survivors
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.probes.layouts import INVALID_SHAPES
from dlbridge.tools.conformance.registry import probe
from dlbridge.tools.conformance.target import Target

REPEATED, THREADS, EACH = 50, 4, 20
ENOUGH = 8  # refusals that leak: a report needs no more, and each is waited for

# C-07: once, and not before the last use -------------------------------------------------------


def _release_all(calls: list[ConsumerCall]) -> tuple[int, int]:
    """Drops results that are still there, and returns the deleter calls and the tensors."""
    producers = [call.producer for call in calls]
    for call in calls:
        call.result = call.refusal = None
        call.producer.capsules.clear()
    calls.clear()
    wait_until(lambda: sum(each.deleter_calls for each in producers) >= owed(*producers))
    return sum(each.deleter_calls for each in producers), owed(*producers)


def _must_be_once(calls: list[ConsumerCall], what: str) -> None:
    producers = [call.producer for call in calls]
    count, tensors = _release_all(calls)
    most = max((it.calls for each in producers for it in each.tensors), default=0)
    if count != tensors or most > 1:
        raise Broken(
            f"{what}, after the result and the capsule were dropped: the deleters were called"
            f" {count} times, and the number of tensors is {tensors}"
        )


def _accepted(call: ConsumerCall, what: str = "a tensor") -> ConsumerCall:
    if call.refusal is not None:
        raise Skip(f"{what} is refused: {call.error_text}")
    return call


@probe("C-07")
def frees_once(target: Target) -> str:
    for kind in kinds(target):
        _must_be_once([_accepted(import_as(target, kind))], kind)
        _must_be_once(
            [_accepted(import_as(target, kind)) for _ in range(REPEATED)], f"{kind}, many"
        )
        call = _accepted(import_as(target, kind))
        call.producer.capsules.clear()
        _must_be_once([call], f"{kind}, the capsule first")
    return note(target, "once each", [])


@probe("C-07")
def frees_once_in_any_order(target: Target) -> str:
    order = random.Random(0)
    for kind in kinds(target):
        calls = [_accepted(import_as(target, kind)) for _ in range(REPEATED)]
        producers = [call.producer for call in calls]
        already = sum(each.deleter_calls for each in producers)  # a consumer may copy and free
        order.shuffle(calls)
        while calls:
            call = calls.pop()
            if call.release() != 1:
                raise Broken(f"{kind}: {call.producer.deleter_calls} calls of the deleter")
            if not already and sum(it.deleter_calls for it in producers) > REPEATED - len(calls):
                raise Broken(f"{kind}: dropping one result freed another tensor")
    return note(target, "once each", [])


@probe("C-07")
def frees_once_what_is_empty_or_has_no_context(target: Target) -> str | None:
    bare = ConsumerCall(target, BareProducer())
    if bare.refusal is None:
        _must_be_once([bare], "a tensor whose manager_ctx is NULL")
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
    }
    for title, call in each_import(target, cases, times=2):
        if call.refusal is None:
            _must_be_once([call], title)
    return None


@probe("C-07")
def frees_both_of_two_on_the_same_memory(target: Target) -> None:
    for kind in kinds(target):
        first = _accepted(import_as(target, kind))
        pointer = first.producer.tensors[-1].data
        second = _accepted(import_as(target, kind, pointer=pointer))
        calls = [first.release(), second.release()]
        if calls != [1, 1]:
            raise Broken(f"{kind}, two tensors on the same memory: {calls} calls of their deleters")


@probe("C-07")
def frees_each_import_from_one_producer(target: Target) -> None:
    for producer in support(target).producers.values():
        shared = producer()
        calls = [_accepted(ConsumerCall(target, shared)) for _ in range(3)]
        for call in calls:
            call.result = None
        _must_be_once(calls[:1], "three imports from one producer")


@probe("C-07")
def frees_once_in_several_threads(target: Target) -> str:
    for kind in kinds(target):
        _must_be_once(_in_threads(target, kind), f"{kind}, {THREADS} threads at the same time")
    dropped = [_accepted(import_as(target, kinds(target)[0])) for _ in range(REPEATED)]
    thread = threading.Thread(target=lambda: [call.release() for call in dropped])
    thread.start()
    thread.join()
    _must_be_once(dropped, "dropped in another thread")
    return f"{THREADS * EACH} imports in {THREADS} threads"


def _in_threads(target: Target, kind: str) -> list[ConsumerCall]:
    readers(target)
    calls: list[ConsumerCall] = []
    wrong: list[str] = []
    start = threading.Barrier(THREADS)

    def work() -> None:
        start.wait()
        for _ in range(EACH):
            call = import_as(target, kind, shape=(4, 5), strides=(1, 4))
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
            _churn()
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


def _lies_in_memory(call: ConsumerCall) -> bool:
    """Whether the result is over the producer's memory: by its address, which nothing reads.

    A consumer may copy and call the deleter at once. Only that of a result in the memory is early.
    """
    return is_within(call.target, call.producer, call.result)


@probe("C-07", hostile=True, extra=True)
def does_not_free_what_it_returns(target: Target) -> str:
    """Needs no values: where they are overwritten, nothing that reads them can tell its own."""
    kinds(target)
    early = [
        f"{title}: the deleter had been called when the import returned, and the result is at"
        f" {call.producer.address:#x}, in the memory of the producer"
        for title, call in each_import(target, _KEPT)
        if call.refusal is None and call.producer.deleter_calls and _lies_in_memory(call)
    ]
    if early:
        raise Broken(summed_up(early))
    return ""


@probe("C-07", hostile=True, extra=True)
def does_not_free_with_a_view(target: Target) -> str:
    """The result lives: neither a view of it nor its export may free it when they die."""
    early = []
    ways: dict[str, Way] = {**views(target), "x.__dlpack__()": lambda x: x.__dlpack__()}
    for kind in kinds(target):
        calls = {name: _accepted(import_as(target, kind)) for name in ways}
        before = {name: call.producer.deleter_calls for name, call in calls.items()}
        for name, way in ways.items():
            with contextlib.suppress(Exception):  # it has no such view
                way(calls[name].result)
        gc.collect()
        early += [
            f"{kind}: after {name} was dropped, the deleter was called, and x lives"
            for name, call in calls.items()
            if call.producer.deleter_calls > before[name] and _lies_in_memory(call)
        ]
    if early:
        raise Broken(summed_up(early))
    return ""


def _churn() -> None:
    """Reuses memory that has been freed."""
    blocks = [bytearray(b"\xdd" * size) for size in (32, 48, 64, 96, 128, 256, 1024) * 20]
    del blocks


# C-20: the name of a consumed capsule ----------------------------------------------------------


@probe("C-20")
def renames_consumed_capsules(target: Target) -> str:
    for kind in kinds(target):
        call = _accepted(import_as(target, kind))
        capsule = call.producer.capsules[-1]
        name, used = abi.name_of(capsule), abi.USED[call.producer.tensors[-1].name]
        if name == used:
            continue
        if name not in abi.STRUCTS:
            raise Broken(f"{kind}: a consumed capsule is named {name!r}, and not {used!r}")
        if not shares_memory(call):
            return f"{kind}: it copies, and leaves the tensor to the capsule"
        raise Broken(f"{kind}: a consumed capsule is still named {name!r}, and not {used!r}")
    return note(target, "renamed", [])


# C-21 and C-22: what is refused ----------------------------------------------------------------

_PERMITTED: Cases = {
    **{
        f"memory of {name}": {"device": (number, 0), "pointer": NOWHERE}
        for number, name in devices.NAMES.items()
        if number <= devices.TRN and number not in devices.HOST_ACCESSIBLE
    },
    **{name: {"dtype": dtype} for dtype, name in samples.READABLE.items()},
    "complex32": {"dtype": (5, 32, 1)},
    "float128": {"dtype": (2, 128, 1)},
    "int128": {"dtype": (0, 128, 1)},
    "int4": {"dtype": (0, 4, 1)},
    "opaque": {"dtype": (3, 64, 1)},
    "float4_e2m1fnx2": {"dtype": (17, 4, 2)},
    "float6_e2m3fn": {"dtype": (15, 6, 1)},
    "two lanes": {"dtype": (2, 32, 2)},
    "four lanes of int8": {"dtype": (0, 8, 4)},
    "backwards": {"shape": (3,), "strides": (-1,)},
    "all backwards": {"strides": (-3, -1)},
    "repeated": {"strides": (0, 1)},
    "4096 times repeated": {"shape": (4096,), "strides": (0,)},
    "transposed": {"strides": (1, 2)},
    "with gaps": {"strides": (8, 2)},
    "overlapping": {"shape": (4, 3), "strides": (1, 1)},
    "NULL strides": {"strides": None, "version": VERSION},
    "no dimensions": {"shape": None, "strides": None, "ndim": 0},
    "no elements": {"shape": (2, 0), "strides": (0, 1), "pointer": 0},
    **{f"{rank} dimensions": {"shape": (1,) * rank, "strides": (1,) * rank}
       for rank in (9, 33, 65)},
    "a byte_offset": {"byte_offset": 4},
    "unaligned data": {"shift": 4},
    "bytes at an odd address": {"shift": 1, "dtype": (1, 8, 1)},
    "a read-only tensor": {"version": VERSION, "flags": abi.READ_ONLY},
    "an unknown flag": {"version": VERSION, "flags": 1 << 40},
    "a newer minor version": {"version": (1, 99)},
}  # fmt: skip
_INVALID: Cases = {
    "an unknown device": {"device": (99, 0)},
    "no device type": {"device": (0, 0)},
    "cuda, said by the capsule only": {"device": (2, 0), "reported_device": abi.CPU},
    "an unknown dtype": {"dtype": (200, 32, 1)},
    "no bits": {"dtype": (2, 0, 1)},
    "no lanes": {"dtype": (2, 32, 0)},
    "33 bits": {"dtype": (2, 33, 1)},
    "a float4 of 8 bits": {"dtype": (17, 8, 1)},
    **INVALID_SHAPES,
    "a vector at NULL": {"shape": (3,), "strides": (1,), "pointer": 0},
    "one dimension at NULL": {"shape": None, "strides": None, "ndim": 1},
    "the extents at NULL": {"shape": None, "ndim": 2},
    "data between elements": {"shift": 1},
}


def _refusals_free_once(target: Target, cases: Cases) -> str:
    wrong: list[str] = []
    count = 0
    for title, call in each_import(target, survivors(target, cases)):
        if len(wrong) == ENOUGH:
            break
        if call.refusal is None:
            call.release()
            continue
        error_text, fields = call.error_text, call.producer.fields
        producer = type(call.producer)
        count += 1
        calls = [call]
        calls += [ConsumerCall(target, producer(**fields)) for _ in range(2)]
        try:
            raise KeyError("an exception that is being handled")
        except KeyError:
            calls.append(ConsumerCall(target, producer(**fields)))
        producers = [it.producer for it in calls]
        _release_all(calls)
        freed = [tensor.calls for each in producers for tensor in each.tensors]
        if freed != [1] * len(freed):
            times = next(number for number in freed if number != 1)
            wrong.append(
                f"{title}, refused, {error_text}: the deleter was called {times} times, and should"
                " be called once"
            )
    if wrong:
        raise Broken(summed_up(wrong))
    return note(target, f"{count} of {len(cases) * len(kinds(target))} refused, and freed once", [])


@probe("C-21", hostile=True)
def refusals_free_once(target: Target) -> str:
    return _refusals_free_once(target, _PERMITTED)


@probe("C-21", hostile=True)
def refusals_by_keywords_free_once(target: Target) -> str:
    if takes_capsules(target):
        raise Skip("it takes capsules, and has no keywords")
    function_with_keywords(target)
    asked: list[tuple[Callable[[], Producer], dict[str, Any]]] = [
        (lambda: Producer(strides=(0, 1)), {"copy": False}),
        (lambda: Producer(shift=4), {"copy": False}),
        (lambda: Producer(dtype=(2, 64, 1)), {"copy": False}),
        (lambda: Producer(byte_offset=4), {"copy": False}),
        (lambda: CopyingProducer(), {"copy": False}),
        (lambda: Producer(), {"copy": True}),
        (lambda: Producer(dtype=(10, 8, 1)), {"copy": True}),
        (lambda: Producer(), {"device": "cpu"}),
        (lambda: Producer(device=(devices.WEBGPU, 0), pointer=NOWHERE), {"device": "cpu"}),
        (lambda: Producer(), {"device": object()}),
    ]
    count = 0
    for create, keywords in asked:
        call = ConsumerCall(target, create(), **keywords)
        error_text = call.error_text
        count += call.refusal is not None
        freed, tensors = _release_all([call])
        if freed != tensors:
            raise Broken(
                f"with {keywords}, {error_text}: {freed} calls of the deleter for {tensors}"
            )
    return f"{count} of {len(asked)} refused, and freed once"


@probe("C-22", hostile=True)
def refusals_of_invalid_tensors_free_once(target: Target) -> str:
    survived = {
        name: fields
        for name, fields in _INVALID.items()
        if not any(how_it_ends(target, kind, fields) for kind in kinds(target))
    }
    return _refusals_free_once(target, survived)


# C-29: views of the result ---------------------------------------------------------------------


def _view(target: Target, kind: str, way: Callable[[Any], Any]) -> tuple[Producer, Any] | None:
    """Imports a tensor and keeps only a view of it. None where there is no such view."""
    call = import_as(target, kind)
    if call.refusal is not None:
        return None
    try:
        view = way(call.result)
    except Exception:
        return None
    producer = call.producer
    call.result = None
    producer.capsules.clear()
    return producer, view


def _expected_of(target: Target, kind: str, way: Callable[[Any], Any]) -> Any:
    """Reads the view while the result is alive."""
    call = import_as(target, kind)
    return values_of(target, way(call.result))


@probe("C-29", hostile=True)
def views_keep_the_memory(target: Target) -> str:
    readers(target)
    kept: list[str] = []
    for kind in kinds(target):
        for name, way in views(target).items():
            announce(f"the last view was {kind}, {name}")
            found = _view(target, kind, way)
            if found is None:
                continue
            producer, view = found
            _churn()
            try:
                values, expected = values_of(target, view), _expected_of(target, kind, way)
            except CannotRead:
                continue
            if not same(values, _as_lists(expected)):
                raise Broken(
                    f"{kind}: after x was dropped, {name} holds {short(repr(values))} instead of"
                    f" {short(repr(expected))}; its deleter was called {producer.deleter_calls}"
                    " times"
                )
            kept.append(name)
    if not kept:
        raise Skip("its arrays have no view that can be read")
    return f"views: {', '.join(dict.fromkeys(kept))}"


def _as_lists(values: Any) -> Any:
    return [_as_lists(each) for each in values] if isinstance(values, (list, tuple)) else values


@probe("C-07", hostile=True)
def frees_once_after_the_last_view(target: Target) -> None:
    for kind in kinds(target):
        for name, way in views(target).items():
            found = _view(target, kind, way)
            if found is None:
                continue
            producer, view = found
            del found, view
            wait_until(lambda: producer.deleter_calls >= 1)  # noqa: B023 - called at once
            if producer.deleter_calls != 1:
                raise Broken(
                    f"{kind}: after x and {name} were dropped: {producer.deleter_calls} calls of"
                    " the deleter"
                )


# C-30: the result as a producer ----------------------------------------------------------------

_EXPORTED: Cases = {
    "a plain tensor": {},
    "a byte_offset": {"byte_offset": 8},
    "transposed": {"strides": (1, 2)},
    "with gaps": {"strides": (8, 2)},
    "backwards": {"strides": (-3, -1)},
    "repeated": {"strides": (0, 1)},
    "three dimensions": {"shape": (2, 3, 4), "strides": (1, 2, 6)},
    "no dimensions": {"shape": (), "strides": ()},
    "NULL strides": {"strides": None, "version": VERSION},
    **{f"{name}": {"dtype": dtype} for dtype, name in samples.READABLE.items()},
}
_REQUESTS: dict[str, dict[str, Any]] = {LEGACY: {}, VERSIONED: {"max_version": VERSION}}


def _export(x: Any, request: str) -> Any:
    """Returns a fresh capsule; None where the result refuses this request or exports nothing."""
    try:
        return x.__dlpack__(**_REQUESTS[request])
    except Exception:
        return None


@probe("C-30", hostile=True)
def exports_what_was_imported(target: Target) -> str:
    wrong, right = [], 0
    for title, call in each_import(target, survivors(target, _EXPORTED)):
        if call.refusal is not None or not _is_right(call):
            continue
        for request in _REQUESTS:
            capsule = _export(call.result, request)
            if capsule is None:
                continue
            try:
                how = _differs(call, abi.read(capsule))
            except abi.Unreadable as why:
                how = str(why)
            right += how is None
            if how is not None:
                wrong.append(f"{title}, exported again ({request}): {how}")
    if wrong:
        raise Broken(summed_up(wrong))
    if not right:
        raise Skip("it exports no result again")
    return f"{right} exports are right"


def _is_right(call: ConsumerCall) -> bool:
    """Whether the result itself is right: other rules report where it is not."""
    try:
        return wrong_values(call) is None
    except CannotRead:
        return True


def _differs(call: ConsumerCall, contents: abi.Contents) -> str | None:
    if contents.device[0] != abi.CPU[0]:
        return f"the device is {contents.device}"
    own = device_of(call.result)
    if own is not None and own != contents.device:
        return f"the device is {contents.device}, and __dlpack_device__() returned {own}"
    dtype = call.producer.fields["dtype"]
    if contents.dtype != dtype:
        reported, name = reported_dtype(call.result), samples.READABLE.get(contents.dtype)
        # A library that converted says so; C-12 compares the values then.
        return None if reported == name else f"the dtype is {contents.dtype}, and was {dtype}"
    try:
        values, expected = values_in(contents), call.producer.values
    except (abi.Unreadable, KeyError) as why:
        return str(why)
    if not same(values, expected):
        return f"expected {short(repr(expected))}; got {short(repr(values))}"
    return None


@probe("C-30", hostile=True)
def exports_outlive_the_result(target: Target) -> str:
    count = 0
    for title, call in each_import(target, {"plain": {}, "transposed": {"strides": (1, 2)}}):
        for request in _REQUESTS:
            if call.refusal is not None:
                continue
            again = ConsumerCall(target, type(call.producer)(**call.producer.fields))
            if again.refusal is not None or (capsule := _export(again.result, request)) is None:
                continue
            producer, expected = again.producer, again.producer.values
            again.result = None
            producer.capsules.clear()
            _churn()
            try:
                values = values_in(abi.read(capsule))
            except abi.Unreadable as why:
                raise Broken(f"{title}, after the result was dropped: {why}") from None
            if not same(values, expected):
                raise Broken(
                    f"{title}: a capsule that the result exported ({request}) holds"
                    f" {short(repr(values))} after the result was dropped, and held"
                    f" {short(repr(expected))}; the deleter of the import was called"
                    f" {producer.deleter_calls} times"
                )
            del capsule
            if not wait_until(lambda: producer.deleter_calls >= 1):  # noqa: B023 - called at once
                raise Broken(f"{title}: after the export ({request}) was dropped too, the deleter"
                             " of the import was not called")  # fmt: skip
            if producer.deleter_calls > 1:
                raise Broken(f"{title}: {producer.deleter_calls} calls of the import's deleter")
            count += 1
    if not count:
        raise Skip("it exports no result again")
    return f"{count} exports outlive the result"


@probe("C-30", hostile=True)
def imports_of_its_own_results(target: Target) -> str:
    """The result goes through the consumer twice more; the first two are dropped."""
    readers(target)
    count = 0
    for kind in kinds(target):
        call = _accepted(import_as(target, kind))
        producer, expected = call.producer, call.producer.values
        x = call.result
        call.result = None
        try:
            for _ in range(2):
                x = target.consume(x)
        except Exception as error:
            raise Skip(f"it does not import its own arrays: {name_error(error)}") from None
        producer.capsules.clear()
        _churn()
        try:
            values = values_of(target, x)
        except CannotRead as why:
            raise Skip(f"the third array cannot be read: {why}") from None
        if not same(values, expected):
            raise Broken(
                f"{kind}: after two more imports and the drop of the arrays before them: expected"
                f" {short(repr(expected))}; got {short(repr(values))}"
            )
        del x
        wait_until(lambda: producer.deleter_calls >= 1)  # noqa: B023 - called at once
        if producer.deleter_calls != 1:
            raise Broken(f"{kind}: after all arrays were dropped: {producer.deleter_calls} calls of"
                         " the deleter")  # fmt: skip
        count += 1
    return f"{count} chains of three arrays"


# C-32: no deleter ------------------------------------------------------------------------------


@probe("C-32", hostile=True)
def no_deleter_is_accepted(target: Target) -> str:
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
            call.result = None
            call.producer.capsules.clear()
            gc.collect()
    if not count:
        raise Skip("tensors without deleter are refused")
    return f"{count} tensors without deleter were dropped"
