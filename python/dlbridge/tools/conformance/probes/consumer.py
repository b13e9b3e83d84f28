"""The probes of consumers, C-01 to C-07: negotiation, refusal and release."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.helpers.consumption import (
    ConsumerCall,
    import_tensor,
    negotiates,
    takes_capsules,
)
from dlbridge.tools.conformance.helpers.expectations import (
    CUDA,
    NOWHERE,
    FixedProducer,
    accepts,
    must_be_right,
    right_or_refused,
    several,
    spelled,
    takes_versioned,
)
from dlbridge.tools.conformance.helpers.producers import (
    VERSION,
    BareProducer,
    OldProducer,
    OverwritingProducer,
    Producer,
    RaisingProducer,
)
from dlbridge.tools.conformance.outcomes import Broken, Skip, name_error
from dlbridge.tools.conformance.registry import Function, probe
from dlbridge.tools.conformance.target import Target

NEW_MINOR, UNKNOWN_FLAG = 99, 1 << 40


# C-01 to C-03: negotiation ----------------------------------------------------------------------


@probe("C-01")
def takes_legacy_capsules(target: Target) -> None:
    call = ConsumerCall(target, OldProducer())
    if call.refusal is not None:
        raise Broken(f"a legacy capsule, from a producer of 2021.12, is refused: {call.error_text}")
    must_be_right(call, {})


@probe("C-01")
def takes_versioned_capsules(target: Target) -> str | None:
    call = import_tensor(target, version=VERSION)
    if call.refusal is None:
        must_be_right(call, {})
        return None
    raw = ConsumerCall(target, Producer(version=VERSION), raw=True)
    if raw.refusal is not None:
        raise Broken(f"a versioned capsule is refused: {call.error_text}")
    return f"only as a raw capsule; from a producer it is refused: {call.error_text}"


@probe("C-02")
def sends_max_version_first(target: Target) -> str:
    negotiates(target)
    requests = import_tensor(target).producer.requests
    if not requests:
        raise Skip("it called __dlpack__ of no producer")
    version = requests[0].get("max_version")
    if version is None:
        raise Broken(f"the first call was __dlpack__({spelled(requests[0])})")
    if not (isinstance(version, tuple) and len(version) == 2 and version[0] >= 1):
        raise Broken(f"max_version was {version!r}; expected a pair (major, minor) from (1, 0) on")
    return f"__dlpack__({spelled(requests[0])})"


@probe("C-02")
def falls_back_on_type_error(target: Target) -> None:
    negotiates(target)
    call = ConsumerCall(target, OldProducer())
    if isinstance(call.refusal, TypeError):
        raise Broken(f"a producer without max_version gets no second call: {call.error_text}")


@probe("C-02")
def retries_after_no_other_error(target: Target) -> None:
    """A BufferError is final. A second call with fewer keywords would drop the request."""
    negotiates(target)
    requests = ConsumerCall(
        target, RaisingProducer(BufferError("this cannot be exported"))
    ).producer.requests
    for before, after in zip(requests, requests[1:]):
        dropped = before.keys() - after.keys()
        if dropped:
            raise Broken(
                f"after a BufferError it called again without {', '.join(sorted(dropped))}",
            )


@probe("C-02")
def copy_false_is_not_dropped(target: Target) -> str:
    try:
        probing = ConsumerCall(target, Producer(), copy=False)
    except Skip as why:
        return f"the consumer has no copy=False: {why}"
    if probing.refusal is not None:
        return f"copy=False is refused: {probing.error_text}"
    if not any(each.get("copy") is False for each in probing.producer.requests):
        raise Broken(f"copy=False is never forwarded: __dlpack__({_spelled_all(probing)})")
    call = ConsumerCall(target, OldProducer(), copy=False)
    if call.refusal is None:
        raise Broken(
            "a producer without the keyword copy was called again without copy=False; the result"
            " may be a copy"
        )
    return f"refused: {call.error_text}"


def _spelled_all(call: ConsumerCall) -> str:
    return "), then (".join(spelled(each) for each in call.producer.requests)


@probe("C-03")
def takes_legacy_when_it_asked_for_versioned(target: Target) -> None:
    negotiates(target)
    call = import_tensor(target, version=None)
    if call.refusal is not None:
        raise Broken(f"refused: {call.error_text}")
    must_be_right(call, {})


@probe("C-03", hostile=True)
def never_misreads_versioned(target: Target) -> str | None:
    """A versioned capsule for a bare call is the producer's error, but must not be misread."""
    return right_or_refused(target, version=VERSION)


# C-04 and C-05: versions and flags -------------------------------------------------------------


def _refuses_major_2(target: Target, *, raw: bool = False, **fields: Any) -> str:
    call = ConsumerCall(target, Producer(version=(2, 0), **fields), raw=raw)
    error_text, accepted, tensors = (
        call.error_text,
        call.refusal is None,
        len(call.producer.tensors),
    )
    calls = call.release()
    if accepted:
        raise Broken("it was accepted, and read as major version 1")
    if calls != tensors:
        raise Broken(f"refused, {error_text}; and its deleter was called {calls} times")
    return f"refused: {error_text}"


@probe("C-04")
def refuses_major_2(target: Target) -> str:
    return _refuses_major_2(target)


@probe("C-04", hostile=True)
def reads_nothing_of_major_2(target: Target) -> str:
    return _refuses_major_2(target, shape=None, strides=None, ndim=3, pointer=NOWHERE)


@probe("C-04", hostile=True)
def looks_at_no_ndim_of_major_2(target: Target) -> str:
    return _refuses_major_2(target, ndim=-5, dtype=(200, 0, 0))


@probe("C-04", hostile=True)
def refuses_major_2_without_its_producer(target: Target) -> str:
    """Some consumers check the requested version and not that of the capsule."""
    call = ConsumerCall(target, Producer(version=None), raw=True)
    if call.refusal is not None:
        return f"raw capsules are refused: {call.error_text}"
    return _refuses_major_2(target, raw=True)


@probe("C-05")
def takes_a_newer_minor(target: Target) -> None:
    takes_versioned(target)
    accepts(target, version=(1, NEW_MINOR))


@probe("C-05")
def takes_unknown_flags(target: Target) -> None:
    takes_versioned(target)
    accepts(target, version=VERSION, flags=UNKNOWN_FLAG)


@probe("C-05")
def takes_what_was_copied(target: Target) -> None:
    takes_versioned(target)
    accepts(target, version=VERSION, flags=abi.IS_COPIED)


# C-06: objects that are no fresh capsule --------------------------------------------------------


def _refuses(target: Target, argument: Any) -> str:
    try:
        result = target.consume(argument if takes_capsules(target) else FixedProducer(argument))
    except (Skip, SystemError):
        raise
    except Exception as error:
        return f"refused: {name_error(error)}"
    raise Broken(f"it was accepted; the result is of type {type(result).__name__}")


def _refuses_named(target: Target, kind: str, name: str | None) -> str:
    producer = Producer()
    capsule = producer.export(VERSION if kind == abi.VERSIONED else None)
    abi.rename(capsule, name)
    try:
        return _refuses(target, capsule)
    finally:
        producer.capsules.clear()
        del capsule
        if producer.deleter_calls:
            raise Broken(f"the deleter of a capsule named {name!r} was called")


NOT_FRESH: dict[str, Function] = {
    "refuses_used_legacy": lambda target: _refuses_named(target, abi.LEGACY, abi.USED[abi.LEGACY]),
    "refuses_used_versioned": lambda target: _refuses_named(
        target, abi.VERSIONED, abi.USED[abi.VERSIONED]
    ),
    "refuses_no_name": lambda target: _refuses_named(target, abi.LEGACY, None),
    "refuses_another_name": lambda target: _refuses_named(target, abi.LEGACY, "dltensor2"),
    "refuses_none": lambda target: _refuses(target, None),
    "refuses_a_number": lambda target: _refuses(target, 42),
    "refuses_an_object": lambda target: _refuses(target, object()),
}
several("C-06", NOT_FRESH)


# C-07: who calls the deleter, and how often -----------------------------------------------------


def _freed_once(target: Target, **fields: Any) -> None:
    call = import_tensor(target, **fields)
    if call.refusal is not None:
        raise Skip(f"refused: {call.error_text}")
    names = [abi.name_of(capsule) for capsule in call.producer.capsules]
    must_be_right(call, fields)
    calls = call.release()
    if calls != 1:
        raise Broken(f"after the result and the capsule were dropped: {calls} calls of the deleter")
    if not all(name in abi.USED.values() for name in names):
        raise Broken(
            f"a consumed capsule is still named {names[-1]!r}; the tensor was freed once, by the"
            " capsule's destructor",
            severity="W",
        )


@probe("C-07")
def frees_legacy_once(target: Target) -> None:
    _freed_once(target, version=None)


@probe("C-07")
def frees_versioned_once(target: Target) -> None:
    takes_versioned(target)
    _freed_once(target, version=VERSION)


@probe("C-07")
def frees_what_has_no_context(target: Target) -> None:
    call = ConsumerCall(target, BareProducer())
    if call.refusal is not None:
        raise Skip(f"refused: {call.error_text}")
    if (calls := call.release()) != 1:
        raise Broken(f"a tensor whose manager_ctx is NULL: {calls} calls of the deleter")


@probe("C-07")
def frees_both_of_two_on_the_same_memory(target: Target) -> None:
    first = ConsumerCall(target, Producer())
    second = ConsumerCall(target, Producer(pointer=first.producer.tensors[-1].data))
    if first.refusal is not None or second.refusal is not None:
        raise Skip(f"refused: {first.error_text or second.error_text}")
    calls = [first.release(), second.release()]
    if calls != [1, 1]:
        raise Broken(f"two tensors on the same memory: {calls} calls of their deleters")


@probe("C-07", hostile=True)
def keeps_memory_while_it_is_used(target: Target) -> None:
    call = ConsumerCall(target, OverwritingProducer())
    if call.refusal is not None:
        raise Skip(f"refused: {call.error_text}")
    call.producer.capsules.clear()
    for _ in range(2):
        must_be_right(call, {})


# Fields that few consumers accept.
REFUSABLE: dict[str, dict[str, Any]] = {
    "unknown_device": {"device": (99, 0)},
    "cuda": {"device": CUDA, "pointer": NOWHERE},
    "cuda_said_by_the_capsule_only": {"device": CUDA, "reported_device": abi.CPU},
    "unknown_dtype": {"dtype": (200, 32, 1)},
    "two_lanes": {"dtype": (2, 32, 2)},
    "no_bits": {"dtype": (2, 0, 1)},
    "too_many_elements": {"shape": (2**62, 2**62), "strides": (0, 0)},
}


def _refusal_of(**fields: Any) -> Function:
    def refused_frees_once(target: Target) -> str:
        call = import_tensor(target, **fields)
        if call.refusal is None:
            call.result = None
            return "accepted"
        error_text, tensors = call.error_text, len(call.producer.tensors)
        calls = call.release()
        if calls != tensors:
            raise Broken(
                f"refused, {error_text}; {calls} calls of the deleter for {tensors} capsules"
            )
        return f"refused: {error_text}"

    return refused_frees_once


several(
    "C-07",
    {
        f"frees_once_what_it_refuses_{name}": _refusal_of(**fields)
        for name, fields in REFUSABLE.items()
    },
)
