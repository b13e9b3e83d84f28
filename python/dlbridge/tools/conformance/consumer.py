"""The probes of consumers, C-01 to C-07: how they ask, what they refuse, and who frees."""

from __future__ import annotations

from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.handmade import (
    VERSION,
    BareProducer,
    Fed,
    OldProducer,
    Producer,
    RaisingProducer,
    SpoilingProducer,
    feed,
    negotiates,
    takes_capsules,
)
from dlbridge.tools.conformance.judging import (
    CUDA,
    NOWHERE,
    Gives,
    accepts,
    must_be_right,
    right_or_refused,
    several,
    spelled,
    takes_versioned,
)
from dlbridge.tools.conformance.probes import Broken, Function, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

NEW_MINOR, UNKNOWN_FLAG = 99, 1 << 40


# C-01 to C-03: how it asks ---------------------------------------------------------------------


@probe("C-01")
def takes_legacy_capsules(target: Target) -> None:
    fed = Fed(target, OldProducer())
    if fed.refusal is not None:
        raise Broken(f"a legacy capsule, from a producer of 2021.12, is refused: {fed.said}")
    must_be_right(fed, {})


@probe("C-01")
def takes_versioned_capsules(target: Target) -> str | None:
    fed = feed(target, version=VERSION)
    if fed.refusal is None:
        must_be_right(fed, {})
        return None
    raw = Fed(target, Producer(version=VERSION), raw=True)
    if raw.refusal is not None:
        raise Broken(f"a versioned capsule is refused: {fed.said}")
    return f"as a raw capsule only; from a producer it is refused: {fed.said}"


@probe("C-02")
def sends_max_version_first(target: Target) -> str:
    negotiates(target)
    asked = feed(target).producer.asked
    if not asked:
        raise Skip("it asked for no capsule")
    wanted = asked[0].get("max_version")
    if wanted is None:
        raise Broken(f"the first call was __dlpack__({spelled(asked[0])})")
    if not (isinstance(wanted, tuple) and len(wanted) == 2 and wanted[0] >= 1):
        raise Broken(f"max_version was {wanted!r}, which is no pair of (major, minor) from (1, 0)")
    return f"__dlpack__({spelled(asked[0])})"


@probe("C-02")
def falls_back_on_type_error(target: Target) -> None:
    negotiates(target)
    fed = Fed(target, OldProducer())
    if isinstance(fed.refusal, TypeError):
        raise Broken(f"a producer without max_version is not asked again: {fed.said}")


@probe("C-02")
def retries_after_no_other_error(target: Target) -> None:
    """A BufferError is an answer. To ask again with less said undoes what was asked."""
    negotiates(target)
    asked = Fed(target, RaisingProducer(BufferError("this cannot be exported"))).producer.asked
    for before, after in zip(asked, asked[1:]):
        dropped = before.keys() - after.keys()
        if dropped:
            raise Broken(
                f"after a BufferError it asked again without {', '.join(sorted(dropped))}",
            )


@probe("C-02")
def copy_false_is_not_dropped(target: Target) -> str:
    try:
        probing = Fed(target, Producer(), copy=False)
    except Skip as why:
        return f"copy=False cannot be asked for: {why}"
    if probing.refusal is not None:
        return f"copy=False is refused: {probing.said}"
    if not any(each.get("copy") is False for each in probing.producer.asked):
        raise Broken(f"copy=False is never passed on: __dlpack__({_spelled_all(probing)})")
    fed = Fed(target, OldProducer(), copy=False)
    if fed.refusal is None:
        raise Broken(
            "a producer that knows no copy was asked again without copy=False; the result may be a"
            " copy"
        )
    return f"refused: {fed.said}"


def _spelled_all(fed: Fed) -> str:
    return "), then (".join(spelled(each) for each in fed.producer.asked)


@probe("C-03")
def takes_legacy_when_it_asked_for_versioned(target: Target) -> None:
    negotiates(target)
    fed = feed(target, version=None)
    if fed.refusal is not None:
        raise Broken(f"refused: {fed.said}")
    must_be_right(fed, {})


@probe("C-03", hostile=True)
def never_misreads_versioned(target: Target) -> str | None:
    """Versioned where it asked for nothing: a fault of the producer, and no reason to misread."""
    return right_or_refused(target, version=VERSION)


# C-04 and C-05: versions and flags -------------------------------------------------------------


def _refuses_major_2(target: Target, *, raw: bool = False, **words: Any) -> str:
    fed = Fed(target, Producer(version=(2, 0), **words), raw=raw)
    said, accepted, made = fed.said, fed.refusal is None, len(fed.producer.made)
    calls = fed.let_go()
    if accepted:
        raise Broken("it was accepted, and read as if it were version 1")
    if calls != made:
        raise Broken(f"refused, {said}; and its deleter was called {calls} times")
    return f"refused: {said}"


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
    """Some check what they asked for, and not what they are handed."""
    fed = Fed(target, Producer(version=None), raw=True)
    if fed.refusal is not None:
        return f"raw capsules are refused: {fed.said}"
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


# C-06: what is no fresh capsule ----------------------------------------------------------------


def _refuses(target: Target, gift: Any) -> str:
    try:
        result = target.consume(gift if takes_capsules(target) else Gives(gift))
    except (Skip, SystemError):
        raise
    except Exception as raised:
        return f"refused: {name_error(raised)}"
    raise Broken(f"it was accepted, and gave a {type(result).__name__}")


def _refuses_named(target: Target, flavour: str, name: str | None) -> str:
    producer = Producer()
    capsule = producer.give(VERSION if flavour == abi.VERSIONED else None)
    abi.rename(capsule, name)
    try:
        return _refuses(target, capsule)
    finally:
        producer.capsules.clear()
        del capsule
        if producer.calls:
            raise Broken(f"the deleter of a capsule that is named {name!r} was called")


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


# C-07: who frees, and how often ----------------------------------------------------------------


def _freed_once(target: Target, **words: Any) -> None:
    fed = feed(target, **words)
    if fed.refusal is not None:
        raise Skip(f"refused: {fed.said}")
    names = [abi.name_of(capsule) for capsule in fed.producer.capsules]
    must_be_right(fed, words)
    calls = fed.let_go()
    if calls != 1:
        raise Broken(f"after the result and the capsule were dropped: {calls} calls of the deleter")
    if not all(name in abi.USED.values() for name in names):
        raise Broken(
            f"a consumed capsule is still named {names[-1]!r}; it was freed once, by luck or by"
            " its destructor",
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
    fed = Fed(target, BareProducer())
    if fed.refusal is not None:
        raise Skip(f"refused: {fed.said}")
    if (calls := fed.let_go()) != 1:
        raise Broken(f"a tensor whose manager_ctx is NULL: {calls} calls of the deleter")


@probe("C-07")
def frees_both_of_two_on_the_same_memory(target: Target) -> None:
    first = Fed(target, Producer())
    second = Fed(target, Producer(pointer=first.producer.made[-1].data))
    if first.refusal is not None or second.refusal is not None:
        raise Skip(f"refused: {first.said or second.said}")
    calls = [first.let_go(), second.let_go()]
    if calls != [1, 1]:
        raise Broken(f"two tensors on the same memory: {calls} calls of their deleters")


@probe("C-07", hostile=True)
def keeps_memory_while_it_is_used(target: Target) -> None:
    fed = Fed(target, SpoilingProducer())
    if fed.refusal is not None:
        raise Skip(f"refused: {fed.said}")
    fed.producer.capsules.clear()
    for _ in range(2):
        must_be_right(fed, {})


# Words that few consumers accept.
REFUSABLE: dict[str, dict[str, Any]] = {
    "unknown_device": {"device": (99, 0)},
    "cuda": {"device": CUDA, "pointer": NOWHERE},
    "cuda_said_by_the_capsule_only": {"device": CUDA, "says": abi.CPU},
    "unknown_dtype": {"dtype": (200, 32, 1)},
    "two_lanes": {"dtype": (2, 32, 2)},
    "no_bits": {"dtype": (2, 0, 1)},
    "too_many_elements": {"shape": (2**62, 2**62), "strides": (0, 0)},
}


def _refusal_of(**words: Any) -> Function:
    def refused_frees_once(target: Target) -> str:
        fed = feed(target, **words)
        if fed.refusal is None:
            fed.result = None
            return "accepted"
        said, made = fed.said, len(fed.producer.made)
        calls = fed.let_go()
        if calls != made:
            raise Broken(f"refused, {said}; {calls} calls of the deleter for {made} capsules")
        return f"refused: {said}"

    return refused_frees_once


several(
    "C-07",
    {
        f"frees_once_what_it_refuses_{name}": _refusal_of(**words)
        for name, words in REFUSABLE.items()
    },
)
